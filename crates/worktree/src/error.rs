//! What can go wrong, one type per operation.

use std::fmt;
use std::io;
use std::path::PathBuf;

use probity_core::RepoPath;

/// The folder cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the repository `{}`", path.display())]
pub struct OpenError {
    /// The folder.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// The tree cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A commit has not ended: it is under way, or it was interrupted and awaits
    /// [`recover`](crate::Worktree::recover).
    #[error("the tree is between two states: a commit is under way or was interrupted")]
    Interrupted,
    /// The file system says no.
    #[error("cannot read `{}`", path.display())]
    Io {
        /// The file or folder, relative to the root.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The contents are larger than the limit.
    #[error("`{path}` brings what is read above the limit of {limit} bytes")]
    TooLarge {
        /// The file at which the limit was passed.
        path: RepoPath,
        /// The limit, in bytes.
        limit: u64,
    },
    /// There are more files than the limit.
    #[error("there are more than {limit} files")]
    TooManyFiles {
        /// The limit.
        limit: usize,
    },
    /// The patch names a device, a pipe or a socket.
    #[error("`{path}` is a device, a pipe or a socket")]
    Special {
        /// The path.
        path: RepoPath,
    },
    /// The file changed each time it was read, or became something else.
    #[error("`{path}` changes while it is being read")]
    Unsettled {
        /// The path.
        path: RepoPath,
    },
}

/// A plan was not committed. But for [`NotUndone`](Self::NotUndone) the tree is as before.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Someone else holds the lock.
    #[error("another process is changing this repository")]
    Locked,
    /// The lock is one of another repository.
    #[error("the lock is that of another repository")]
    WrongLock,
    /// An earlier commit was interrupted and awaits [`recover`](crate::Worktree::recover).
    #[error("an earlier commit was interrupted")]
    Interrupted,
    /// The plan makes or changes a link.
    #[error("`{path}` is a symbolic link, which is never changed")]
    Link {
        /// The path.
        path: RepoPath,
    },
    /// The file is not as the plan was made on it.
    #[error("`{path}` was changed by someone else meanwhile")]
    Stale {
        /// The path.
        path: RepoPath,
    },
    /// A link or file stands where a folder leads to the file.
    #[error("`{path}` cannot be reached: `{at}` is not a folder")]
    InTheWay {
        /// The path.
        path: RepoPath,
        /// What stands in the way.
        at: String,
    },
    /// A folder whose place a file takes holds something that the plan does not name.
    #[error("the folder `{path}` cannot give way to a file: it is not empty")]
    NotEmpty {
        /// The folder.
        path: RepoPath,
    },
    /// The plan needs a journal larger than the limit.
    #[error("the plan needs a journal of more than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The file system says no.
    #[error("cannot {action} `{path}`")]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder, relative to the root.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The commit failed and not all of it could be taken back; the journal is kept for
    /// [`recover`](crate::Worktree::recover).
    #[error("the commit failed and could not be taken back: {}", list(left))]
    NotUndone {
        /// What is not as before.
        left: Vec<Left>,
        /// Why the commit failed.
        source: Box<CommitError>,
    },
}

/// An interrupted commit was not brought to an end.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The lock is one of another repository.
    #[error("the lock is that of another repository")]
    WrongLock,
    /// The journal is not one to act upon; nothing was touched.
    #[error("the journal `{place}` is not used: {problem}")]
    Journal {
        /// The journal, relative to the root.
        place: String,
        /// What is wrong with it.
        problem: JournalProblem,
    },
    /// Something stands where the old state belongs, or the old state is gone. The rest was
    /// put back. The journal is kept as long as there is something to try again.
    #[error("not everything could be put back: {}", list(left))]
    Left {
        /// What is not as before.
        left: Vec<Left>,
    },
    /// The file system says no.
    #[error("cannot {action} `{path}`")]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder, relative to the root.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// Why a journal is not acted upon.
#[derive(Debug, thiserror::Error)]
pub enum JournalProblem {
    /// It is no ordinary file.
    #[error("it is not an ordinary file")]
    NotAFile,
    /// It is larger than the limit.
    #[error("it is larger than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// It is not of the form of a journal.
    #[error("it is malformed: {0}")]
    Malformed(serde_json::Error),
    /// It is of a version that this program does not know.
    #[error("it is of version {found}, not {known}")]
    Version {
        /// Its version.
        found: u32,
        /// The known version.
        known: u32,
    },
    /// It was made for another folder, or copied, or not made by Probity at all.
    #[error("it was not made here: its own file or the root is another than it says")]
    Foreign,
    /// It says something that no commit would.
    #[error("it is not possible: {0}")]
    Impossible(&'static str),
}

/// Something that could not be put back.
#[derive(Debug)]
pub struct Left {
    /// What is not as before.
    pub path: RepoPath,
    /// Where its old content is, relative to the root, if it had one.
    pub kept: Option<String>,
    /// Why it was left.
    pub reason: LeftReason,
}

/// Why something was not put back.
#[derive(Debug)]
pub enum LeftReason {
    /// Something that Probity did not write stands there.
    Foreign,
    /// The folder or the old content is gone, taken away or moved by somebody. There is
    /// nothing more to try.
    Gone,
    /// The file system says no.
    Io(io::Error),
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ", self.path)?;
        match &self.reason {
            LeftReason::Foreign => f.write_str("was changed by someone else")?,
            LeftReason::Gone => {
                f.write_str("cannot be put back: its old content was taken away or moved")?;
            }
            LeftReason::Io(error) => write!(f, "cannot be changed ({error})")?,
        }
        match &self.kept {
            Some(kept) => write!(f, "; what was set aside is in `{kept}`"),
            None => Ok(()),
        }
    }
}

/// At most this many are named in a message.
const MAX_LISTED: usize = 5;

fn list(left: &[Left]) -> String {
    if left.is_empty() {
        return "the journal cannot be changed".to_owned();
    }
    let mut text: Vec<String> = left.iter().take(MAX_LISTED).map(Left::to_string).collect();
    if let Some(more) = left.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
        text.push(format!("and {more} more"));
    }
    text.join(", ")
}

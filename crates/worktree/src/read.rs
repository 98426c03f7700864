//! Reading the whole tree.
//!
//! Links are read as links and never followed. `.git` is never read, nor is the folder of
//! the journal. Files that `.gitignore` excludes are left out unless asked for; only
//! `.gitignore` files inside the folder count, so that the result is the same on every
//! machine.

use std::ffi::OsStr;
use std::fs::File as DiskFile;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use probity_core::repo::{File, FileMode, JOURNAL_FOLDER};
use probity_core::{Repo, RepoPath};

use crate::error::LoadError;
use crate::folder::{Folder, Kind};
use crate::metadata::Metadata;
use crate::worktree::{Worktree, is_interrupted};

/// Most files read.
pub(crate) const MAX_FILES: usize = 1_000_000;
/// Most bytes read.
pub(crate) const MAX_BYTES: u64 = 4 << 30;
/// Most folders inside each other that are entered; each one is an open handle.
const MAX_DEPTH: usize = 256;
/// Most bytes of a `.gitignore` file that count.
const MAX_RULES: u64 = 16 << 20;

/// What becomes of files that `.gitignore` excludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// They are no part of the tree.
    LeaveOut,
    /// They are read like any other.
    Include,
}

/// A tree that was read whole.
#[derive(Debug)]
pub struct Loaded {
    /// The tree.
    pub repo: Repo,
    /// What was left out for another reason than `.gitignore`.
    pub skipped: Vec<Skipped>,
}

/// Something that is no part of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Where it is, relative to the root.
    pub path: PathBuf,
    /// Why it was left out.
    pub reason: &'static str,
}

impl Worktree {
    /// Reads the whole tree: at most 1,000,000 files of 4 GiB together.
    ///
    /// # Errors
    /// [`LoadError::Interrupted`] when a commit is under way or was interrupted;
    /// `TooManyFiles`, `TooLarge` at a limit; `Io` when something cannot be read.
    pub fn load(&self, ignored: Ignored) -> Result<Loaded, LoadError> {
        let root = || io_error(Path::new(""));
        let folders = self.folders().map_err(root())?;
        let refuse_interrupted = || match is_interrupted(&folders) {
            Ok(false) => Ok(()),
            Ok(true) => Err(LoadError::Interrupted),
            Err(error) => Err(root()(error)),
        };
        refuse_interrupted()?;
        let mut reader = Reader {
            ignored,
            repo: Repo::new(),
            skipped: Vec::new(),
        };
        reader.folder(&folders.root(), Path::new(""), 0, &mut Vec::new())?;
        // One may have begun meanwhile.
        refuse_interrupted()?;
        Ok(Loaded {
            repo: reader.repo,
            skipped: reader.skipped,
        })
    }
}

struct Reader {
    ignored: Ignored,
    repo: Repo,
    skipped: Vec<Skipped>,
}

impl Reader {
    fn folder(
        &mut self,
        folder: &Folder,
        path: &Path,
        depth: usize,
        rules: &mut Vec<Gitignore>,
    ) -> Result<(), LoadError> {
        if self.ignored == Ignored::LeaveOut {
            rules.push(gitignore(folder, path));
        }
        let names = folder
            .names()
            .and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut names = names.map_err(io_error(path))?;
        names.sort();
        for name in names {
            if name.as_bytes() == b".git" {
                continue;
            }
            let path = path.join(OsStr::from_bytes(name.as_bytes()));
            if path.as_path() == Path::new(JOURNAL_FOLDER) {
                self.skip(path, "it is reserved for the journal");
                continue;
            }
            let found = folder.metadata(&name).map_err(io_error(&path))?;
            let Some(metadata) = found else {
                return Err(io_error(&path)(io::ErrorKind::NotFound.into()));
            };
            let is_folder = metadata.kind == Kind::Folder;
            if is_ignored(rules, &path, is_folder) {
                continue;
            }
            let Ok(name) = name.to_str() else {
                self.skip(path, "its name cannot be part of a tree");
                continue;
            };
            if is_folder {
                if depth >= MAX_DEPTH {
                    self.skip(path, "it is in too many folders");
                    continue;
                }
                match folder.folder(name) {
                    Ok(inner) => self.folder(&inner, &path, depth.saturating_add(1), rules)?,
                    Err(_) => self.skip(path, "the folder cannot be opened"),
                }
                continue;
            }
            let Some(repo_path) = path.to_str().and_then(|text| RepoPath::new(text).ok()) else {
                self.skip(path, "its name cannot be part of a tree");
                continue;
            };
            self.file(folder, name, &repo_path, &metadata)?;
        }
        if self.ignored == Ignored::LeaveOut {
            rules.pop();
        }
        Ok(())
    }

    fn file(
        &mut self,
        folder: &Folder,
        name: &str,
        path: &RepoPath,
        metadata: &Metadata,
    ) -> Result<(), LoadError> {
        let place = Path::new(path.as_str());
        if self.repo.len() >= MAX_FILES {
            return Err(LoadError::TooManyFiles { limit: MAX_FILES });
        }
        let file = match metadata.kind {
            Kind::Link => {
                let target = folder.link_target(name).map_err(io_error(place))?;
                if std::str::from_utf8(&target).is_err() {
                    self.skip(place.to_owned(), "its target is not UTF-8");
                    return Ok(());
                }
                File::new(target, FileMode::Symlink)
            }
            Kind::File => {
                let room = MAX_BYTES.saturating_sub(self.repo.total_bytes());
                let opened = folder.file(name).map_err(io_error(place))?;
                let metadata = Metadata::of_open(&opened).map_err(io_error(place))?;
                if metadata.kind != Kind::File {
                    return Err(LoadError::Unsettled { path: path.clone() });
                }
                let bytes = read_within(opened, &metadata, room).map_err(io_error(place))?;
                let Some(bytes) = bytes else {
                    return Err(LoadError::TooLarge {
                        path: path.clone(),
                        limit: MAX_BYTES,
                    });
                };
                File::new(bytes, metadata.file_mode())
            }
            Kind::Special | Kind::Folder => {
                self.skip(place.to_owned(), "it is a device, a pipe or a socket");
                return Ok(());
            }
        };
        // The names come from one listing per folder, so no other file is in the way.
        let inserted = self.repo.insert(path, file);
        inserted.map_err(|_| LoadError::Unsettled { path: path.clone() })
    }

    fn skip(&mut self, path: PathBuf, reason: &'static str) {
        self.skipped.push(Skipped { path, reason });
    }
}

/// All bytes of `file`, or `None` if they are more than `room`.
pub(crate) fn read_within(
    file: DiskFile,
    metadata: &Metadata,
    room: u64,
) -> io::Result<Option<Vec<u8>>> {
    if metadata.size > room {
        return Ok(None);
    }
    let expected = usize::try_from(metadata.size).unwrap_or(0);
    // One byte more shows the end without growing the buffer.
    let mut bytes = Vec::with_capacity(expected.saturating_add(1));
    file.take(room.saturating_add(1)).read_to_end(&mut bytes)?;
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Ok((length <= room).then_some(bytes))
}

pub(crate) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> LoadError {
    let path = if path.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        path.to_owned()
    };
    move |source| LoadError::Io { path, source }
}

/// The rules of a folder's own `.gitignore`. Lines that are not valid patterns are passed
/// over, as git does.
fn gitignore(folder: &Folder, path: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(path);
    for line in gitignore_text(folder).unwrap_or_default().lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn gitignore_text(folder: &Folder) -> Option<String> {
    const NAME: &str = ".gitignore";
    let is_file = |metadata: &Metadata| metadata.kind == Kind::File;
    folder.metadata(NAME).ok().flatten().filter(is_file)?;
    let file = folder.file(NAME).ok()?;
    let metadata = Metadata::of_open(&file).ok().filter(is_file)?;
    let bytes = read_within(file, &metadata, MAX_RULES).ok().flatten()?;
    String::from_utf8(bytes).ok()
}

/// The innermost rule that says anything decides.
fn is_ignored(rules: &[Gitignore], path: &Path, is_folder: bool) -> bool {
    rules
        .iter()
        .rev()
        .map(|rules| rules.matched(path, is_folder))
        .find(|found| !found.is_none())
        .is_some_and(|found| found.is_ignore())
}

//! Putting a plan in place on disk, all of it or nothing.
//!
//! | step | what happens | if the process dies in it |
//! |---|---|---|
//! | prepare | the journal is written | undone |
//! | stage | new contents are written under temporary names, then the journal again, with what these files are | undone |
//! | check | every file is compared with what the plan was made on | undone |
//! | place | old files are set aside, new ones moved in | undone |
//! | mark | the journal is renamed | one or the other |
//! | tidy | old files and the journal go away | completed |
//!
//! An edited file never has no name: the new file and the old one change places at once,
//! and what was set aside is looked at once more, since it may have been changed after the
//! check; then everything is taken back. A file is created by giving its temporary name a
//! second one, which fails if somebody else has made it meanwhile.
//!
//! Where files cannot change places, an edited file has no name for an instant.

use std::io;

use probity_core::patch::Plan;
use serde::{Deserialize, Serialize};

use crate::error::CommitError;
use crate::folders::Folders;
use crate::journal::Journal;
use crate::layout::Layout;
use crate::metadata::{Metadata, Stamps};
use crate::state::{MAX_JOURNAL, Phase, State};
use crate::transaction::{Transaction, stage};
use crate::undo::{Handles, tidy, undo};
use crate::worktree::{Lock, Worktree, is_interrupted};

/// What a commit outlives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// The death of the process at any moment. Nothing is forced to the disk: the kernel
    /// keeps what a dead process has written.
    Process,
    /// A power failure at any moment, too, on a disk that keeps its promises. Waits for
    /// the disk a few times, however many files there are.
    Power,
}

impl Worktree {
    /// Changes the files of `plan`, all of them or none, even if the process is killed:
    /// then [`recover`](Self::recover) ends or undoes it.
    ///
    /// The files must be as they were when the plan was made: `stamps` shows it where it
    /// can, and bytes are compared where it cannot. Edited files keep their permissions,
    /// but for the executable bits, which follow the plan's mode. Folders are made as
    /// needed and go away with their last file.
    ///
    /// Once everything is in place the answer is `Ok`, even if something could not be
    /// tidied up; then the journal stays and the next [`recover`](Self::recover) does it.
    ///
    /// # Errors
    /// See [`CommitError`]; but for `NotUndone`, the tree is as before.
    pub fn commit(
        &self,
        lock: &Lock,
        plan: &Plan,
        stamps: &Stamps,
        durability: Durability,
    ) -> Result<(), CommitError> {
        let root = |action| failed(action, ".");
        let mut folders = self.folders().map_err(root("open"))?;
        let own = folders.root().own_metadata().map_err(root("look at"))?;
        if !lock.is_of(&own) {
            return Err(CommitError::WrongLock);
        }
        if is_interrupted(&folders).map_err(root("look at"))? {
            return Err(CommitError::Interrupted);
        }
        let changes = plan.changes();
        let layout = Layout::new(&mut folders, changes)?;
        let state = State::create(&folders).map_err(root("make the journal's folder in"))?;
        let mut journal = Journal::new(&own, durability, layout.entries, layout.removed);
        if let Err(error) = write(&state, &mut journal) {
            return Err(abandon(state, error));
        }
        let placed = stage(&mut folders, &mut journal, changes)
            .and_then(|kept| write(&state, &mut journal).map(|()| kept))
            .and_then(|kept| {
                let mut transaction = Transaction {
                    folders: &mut folders,
                    journal: &journal,
                    changes,
                    stamps,
                    kept: &kept,
                };
                transaction.place()
            })
            .and_then(|()| mark_done(&state, &journal));
        if let Err(error) = placed {
            return Err(take_back(&mut folders, &journal, state, error));
        }
        // What cannot be tidied up now is left to the next recovery.
        let _ = tidy(&mut folders, &journal, state);
        Ok(())
    }
}

/// Writes the journal, in the place of one that there is.
fn write(state: &State, journal: &mut Journal) -> Result<(), CommitError> {
    let place = state.journal_place(Phase::Prepared);
    let io = |source| failed("write", &place)(source);
    let file = state.begin().map_err(io)?;
    journal.set_own(&Metadata::of_open(&file).map_err(io)?);
    let bytes = serde_json::to_vec(journal).map_err(|error| io(error.into()))?;
    if u64::try_from(bytes.len()).map_or(true, |length| length > MAX_JOURNAL) {
        return Err(CommitError::TooLarge { limit: MAX_JOURNAL });
    }
    state.prepare(file, &bytes, journal.durability).map_err(io)
}

/// The commit happens here, or not.
fn mark_done(state: &State, journal: &Journal) -> Result<(), CommitError> {
    let marked = state.mark_done(journal.durability);
    marked.map_err(failed("make", &state.journal_place(Phase::Done)))
}

/// Takes away a journal before anything was done.
fn abandon(state: State, error: CommitError) -> CommitError {
    // Should it stay, it is recovered like any other, and nothing is there to undo.
    let _ = state.remove();
    error
}

/// Undoes a commit that failed with `error`.
fn take_back(
    folders: &mut Folders,
    journal: &Journal,
    state: State,
    error: CommitError,
) -> CommitError {
    // With the mark still there, whoever recovers finds everything in place.
    let unmarked = state.unmark(journal.durability);
    match unmarked.and_then(|()| undo(folders, journal, state, Handles::Open)) {
        Ok(left) if left.is_empty() => error,
        outcome => CommitError::NotUndone {
            left: outcome.unwrap_or_default(),
            source: Box::new(error),
        },
    }
}

/// A call that failed.
pub(crate) fn failed(action: &'static str, path: &str) -> impl FnOnce(io::Error) -> CommitError {
    let path = path.to_owned();
    move |source| CommitError::Io {
        action,
        path,
        source,
    }
}

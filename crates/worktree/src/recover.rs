//! Ending what an interrupted commit has begun.

use std::io;

use crate::error::{JournalProblem, RecoverError};
use crate::folders::Folders;
use crate::journal::Journal;
use crate::metadata::Metadata;
use crate::state::{Phase, State};
use crate::undo::{Handles, tidy, undo};
use crate::worktree::{Lock, Worktree};

/// What a recovery has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// No commit was interrupted.
    Nothing,
    /// A commit was taken back: the tree is as before it.
    Undone,
    /// A commit had happened and was tidied up after: the tree is as planned.
    Completed,
}

impl Worktree {
    /// Takes an interrupted commit back, or tidies up after it if it has happened. May
    /// itself be interrupted and done again.
    ///
    /// # Errors
    /// `Journal` when the journal is damaged, forged or copied from elsewhere; nothing was
    /// touched. `Left` when others have changed files of the commit since; they are named
    /// and left as they are. `Io` when the file system says no. The journal stays in each
    /// case.
    pub fn recover(&self, lock: &Lock) -> Result<Recovery, RecoverError> {
        let mut folders = self.folders().map_err(failed("open", "."))?;
        let root = folders.root().own_metadata();
        let root = root.map_err(failed("look at", "."))?;
        if !lock.is_of(&root) {
            return Err(RecoverError::WrongLock);
        }
        let states = State::all(&folders).map_err(failed("look at", "."))?;
        // All are read before any is acted upon.
        let mut found = Vec::new();
        for state in states {
            let journal = read(&state, &root)?;
            found.push((state, journal));
        }
        let mut recovery = Recovery::Nothing;
        for (state, journal) in found {
            match journal {
                Some((phase, journal)) => {
                    let done = end(&mut folders, state, phase, &journal)?;
                    if recovery != Recovery::Undone {
                        recovery = done;
                    }
                }
                None => {
                    let place = state.journal_place(Phase::Prepared);
                    state.remove().map_err(failed("tidy up at", &place))?;
                }
            }
        }
        Ok(recovery)
    }
}

/// The journal in a state folder.
fn read(state: &State, root: &Metadata) -> Result<Option<(Phase, Journal)>, RecoverError> {
    let holds = |phase| {
        let held = state.holds(phase);
        held.map_err(failed("look at", &state.journal_place(phase)))
    };
    let phase = match (holds(Phase::Prepared)?, holds(Phase::Done)?) {
        (false, false) => return Ok(None),
        (true, false) => Phase::Prepared,
        (false, true) => Phase::Done,
        (true, true) => {
            return Err(RecoverError::Journal {
                place: state.journal_place(Phase::Prepared),
                problem: JournalProblem::Impossible("a commit has and has not happened"),
            });
        }
    };
    let place = state.journal_place(phase);
    let bytes = state.read(phase).map_err(failed("read", &place))?;
    let journal = bytes.and_then(|(bytes, own)| Journal::read(&bytes, &own, root));
    match journal {
        Ok(journal) => Ok(Some((phase, journal))),
        Err(problem) => Err(RecoverError::Journal { place, problem }),
    }
}

fn end(
    folders: &mut Folders,
    state: State,
    phase: Phase,
    journal: &Journal,
) -> Result<Recovery, RecoverError> {
    let place = state.journal_place(phase);
    let failed = failed("tidy up after", &place);
    match phase {
        Phase::Done => {
            tidy(folders, journal, state).map_err(failed)?;
            Ok(Recovery::Completed)
        }
        Phase::Prepared => {
            let left = undo(folders, journal, state, Handles::Fresh).map_err(failed)?;
            if !left.is_empty() {
                return Err(RecoverError::Left { left });
            }
            Ok(Recovery::Undone)
        }
    }
}

fn failed(action: &'static str, path: &str) -> impl FnOnce(io::Error) -> RecoverError {
    let path = path.to_owned();
    move |source| RecoverError::Io {
        action,
        path,
        source,
    }
}

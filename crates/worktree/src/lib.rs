//! The repository on disk: read whole, or only as far as a patch needs, and changed whole
//! or not at all, even when the process is killed in the middle.
//!
//! | module | holds |
//! |---|---|
//! | `worktree` | [`Worktree`], its [`Lock`] |
//! | `read` | reading the whole tree, [`Loaded`] |
//! | `sparse`, `namesakes` | reading what one patch needs, [`Sparse`] |
//! | `metadata` | [`Stamp`]s, which show whether a file has changed since |
//! | `layout`, `transaction`, `commit` | [`commit`](Worktree::commit): what goes where, each step, their order |
//! | `journal`, `state` | what is written down first, and where |
//! | `undo`, `recover` | [`recover`](Worktree::recover): taking back or ending what was interrupted |
//! | `folder`, `folders` | the calls of the file system, one folder at a time |
//! | `steps` | making a step go wrong, for tests |
//!
//! Invariants: nothing outside the root is read or written, and no link is followed below
//! it. An error means that the tree is as before, unless it names what is not. What others
//! wrote is never overwritten or taken away.
//!
//! Deliberately absent: changing links; keeping owners and extended attributes of edited
//! files; a lock or journal for a folder *within* a repository that is opened as a root of
//! its own; Windows.

#[cfg(not(unix))]
compile_error!("probity-worktree needs the file system calls of Unix");

mod commit;
mod error;
mod folder;
mod folders;
mod journal;
mod layout;
mod metadata;
mod namesakes;
mod read;
mod recover;
mod sparse;
mod state;
mod steps;
mod transaction;
mod undo;
mod worktree;

pub use commit::Durability;
pub use error::{
    CommitError, JournalProblem, Left, LeftReason, LoadError, OpenError, RecoverError,
};
pub use metadata::{Stamp, Stamps};
pub use read::{Ignored, Loaded, Skipped};
pub use recover::Recovery;
pub use sparse::Sparse;
#[doc(hidden)]
pub use steps::Fault;
pub use worktree::{Lock, Worktree};

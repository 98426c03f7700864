//! The tree under test.

mod file;
mod path;
mod tree;

pub use file::{File, FileMode};
pub use path::{JOURNAL_FOLDER, PathProblem, RepoPath, RepoPathError, fold};
pub use tree::{Child, Collision, Directory, InsertError, Kind, Repo, Snapshot};

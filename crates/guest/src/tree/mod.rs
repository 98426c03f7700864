//! The repository under test, as a check sees it.

mod error;
mod handle;

pub use error::{EntryKind, TreeError};
pub use handle::{Tree, TreeLimits};

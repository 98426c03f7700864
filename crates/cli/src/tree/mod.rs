//! The repository on disk: read whole before anything is judged, written whole or not at
//! all.

mod read;
mod write;

pub(crate) use read::{Loaded, load};
pub(crate) use write::write_plan;

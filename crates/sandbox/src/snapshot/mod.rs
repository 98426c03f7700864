//! Guests that do not begin at the beginning: snapshots of a guest's state.
//!
//! What a core module is at some moment is its memory, its mutable globals and its tables.
//! [`strip`] makes of a module its [`Bare`] form: the same code without the contents of its
//! memory, with every mutable global exported. The bare module is compiled once; whatever
//! its memory holds — as the module comes, after a warm-up, after a suite was collected — is
//! data beside it, mapped copy-on-write under each guest that begins there. So a new warm-up
//! takes no compilation, and a guest costs the pages that it writes to.
//!
//! Modules that change their tables, or forget segments, are refused: that state is not kept.

mod bare;
mod image;

pub use bare::{Bare, StripError, strip};
pub(crate) use image::unnamed_file;
pub use image::{Rest, Snapshot, Taken};

//! The formats in which a patch arrives, and which of them a text is in.

mod apply_patch;
mod base;
mod choice;
mod edit_block;
mod lines;
mod search_replace;
mod unified_diff;
mod whole_file;

pub use choice::{Format, ParseFormatError, check_patch_size, detect, parse};

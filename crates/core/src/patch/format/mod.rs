//! The formats in which a patch arrives, and which of them a text is in.

mod base;
mod choice;
mod search_replace;
mod unified_diff;
mod whole_file;

pub use choice::{Format, ParseFormatError, detect, parse};

//! Unified diffs as `git diff` writes them.

mod binary;
mod draft;
mod header;
mod hunk;
mod resolve;
mod section;

pub(super) use resolve::{looks_like, parse};

//! `cargo xtask diffs`: `probity apply` against `git apply` on real release-to-release diffs.
//!
//! The releases are pinned in `tests/release-diffs/releases.json`. For every diff, the tree
//! that Probity makes must be the one that git makes, and where git refuses the diff, Probity
//! must refuse it and change nothing.

pub(crate) mod archive;
pub(crate) mod catalog;
mod chore;
pub(crate) mod download;
mod features;
mod git;
mod history;
mod plan;
mod stale;
pub(crate) mod tree;
mod trial;

pub(crate) use chore::run;

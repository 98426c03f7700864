//! The tree that a suite runs on: trusted tests laid over the patched tree, and what steers
//! the runner as it was before the patch.
//!
//! Nothing here runs anything. What is put back has no effect any more, so it is worth a
//! warning and decides nothing.
//!
//! Deliberately absent: judging what a patch's code does once it runs, and judging files by
//! anything but their paths and the tables of settings.

mod apart;
#[cfg(test)]
mod cases;
mod conventions;
mod importable;
mod lay;
mod settings;
mod steering;

pub use apart::{Apart, take_apart};
pub use lay::{Laid, Trusting, lay_trusted};

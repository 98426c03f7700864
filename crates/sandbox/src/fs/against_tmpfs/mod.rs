//! Random operations on our filesystem and on a folder of the kernel's tmpfs: both agree.
//!
//! [`operation`] says what can be asked and makes random sequences of it, [`native`] asks
//! the kernel through a thin layer with WASI's rules, [`direct`] asks the filesystem. An
//! adapter's tests give [`agree`] and [`refuse`] a subject of their own and run the same
//! sequences.
//!
//! `PROBITY_FS_CASES` multiplies the number of sequences for a long run.
//!
//! Where the two are meant to differ, `native.rs` puts WASI's rule in place of the
//! kernel's; its header lists every such place with the reason. Nothing else may differ.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test has nobody to report to"
)]

mod direct;
mod native;
mod operation;
mod run;

pub(crate) use operation::{Answer, At, Files, How, Operation, SLOTS, Seen, Whence, explicit};
pub(crate) use run::{agree, refuse};

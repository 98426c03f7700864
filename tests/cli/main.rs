//! The binary as its users meet it: output, exit codes, files on disk.
//!
//! Each test makes a repository in a folder of its own and runs `probity` there in a
//! cleared environment. What it prints is compared with a snapshot (`cargo insta review`
//! re-blesses); real times are replaced before.
//!
//! Suites run on the Python runtime of the cache; `cargo xtask test` installs it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test has nobody to report to"
)]

mod across;
mod apply;
#[cfg(unix)]
mod cases;
mod cheats;
mod env;
mod guard;
mod hardening;
mod init;
mod isolated;
mod isolation;
#[cfg(target_os = "linux")]
mod orphans;
mod pack;
mod project;
mod report;
mod request;
mod selftest;
mod suite;
mod verify;

//! WASI 0.1 (`wasi_snapshot_preview1`) over the in-memory filesystem.
//!
//! All 46 functions are linked: implemented, or refused with the right error number.
//! Sockets, signals and everything that could reach the host are refused. No call blocks,
//! and each charges fuel for the bytes and entries that it touches.

#[cfg(all(test, target_os = "linux"))]
mod against_tmpfs;
mod clock;
mod descriptor;
mod fd;
mod host;
mod link;
mod memory;
mod path;
mod poll;
mod process;
mod random;
mod socket;

pub(crate) use host::{Host, HostSetup, Stop};
pub(crate) use link::{Call, link};

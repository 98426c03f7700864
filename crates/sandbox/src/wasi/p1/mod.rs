//! WASI 0.1 (`wasi_snapshot_preview1`) over the shared host.
//!
//! All 46 functions are linked: implemented, or refused with the right error number.
//! Sockets, signals and everything that could reach the host are refused.

#[cfg(all(test, target_os = "linux"))]
mod against_tmpfs;
mod clock;
mod descriptor;
mod fd;
mod link;
mod memory;
mod path;
mod poll;
mod process;
mod random;
mod socket;

pub(super) use descriptor::Descriptors;
pub(crate) use link::{Call, link};

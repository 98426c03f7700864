//! What a worker gives up before it reads the first byte of a guest.
//!
//! WebAssembly is the first wall, this is the second: should a guest ever break out of the
//! engine, it is in a process that can compute and answer on descriptor 0, and nothing
//! else. Every layer is irrevocable, and each stands alone, so that a kernel that lacks
//! one still offers the others.
//!
//! Deliberately absent: user, mount and network namespaces and cgroups. They need rights
//! or a setup that a verifier in somebody's container does not have. The number of threads
//! is therefore not bounded here (the kernel counts them per user, across all programs).

mod landlock;
mod limits;
pub mod probe;
mod process;
mod report;
mod seccomp;
mod settings;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod stat_trap;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod syscalls;

pub use report::{Layer, Report, State};
pub use settings::{Role, Settings, apply};

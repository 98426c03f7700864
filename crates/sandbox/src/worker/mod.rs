//! Worker processes: guests run, and modules are compiled, in children of this process that
//! have given up everything but computing and answering.
//!
//! A worker is the same program again, asked by its first argument ([`serve_if_asked`]). It
//! locks itself down ([`lockdown`]) before it reads anything of a guest, is given modules and
//! trees as open files and sealed memory rather than copies, and is ended by the kernel when
//! its parent ends. Whatever becomes of a worker costs the one guest that it was running.
//!
//! ```text
//!   parent: Process ── nursery thread ──starts──▶ worker (locked down)
//!              │  order: job + files (SCM_RIGHTS) ──▶ runs the guest
//!              ◀── answer: how it ended, what it left ─┘
//! ```

mod child;
mod frame;
mod images;
pub mod lockdown;
mod message;
mod nursery;
mod process;
mod serve;

pub use child::WorkerCommand;
pub use process::{PoolSettings, Process};
pub use serve::serve_if_asked;

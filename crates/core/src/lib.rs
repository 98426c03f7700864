//! `probity-core` decides; it does no I/O.
//!
//! It holds the repository under test, the patch engine, the guard, the spec, the
//! verdict and the agent loop. Nothing here reads a file, a clock, the environment or
//! starts a thread or a process: a host does that and reports back.
//!
//! | module | holds |
//! |---|---|
//! | [`repo`] | the tree under test: [`Repo`], [`RepoPath`] |
//! | [`patch`] | untrusted edits: formats, planner, commit, rendering as a diff |
//! | [`guard`] | what a patch may touch |
//! | [`spec`] | what must hold: `probity.toml` |
//! | [`verify`] | running checks, [`Verdict`](verify::Verdict) |
//! | [`agent`] | the plan → patch → verify loop as a step engine, transcripts |
//! | [`commands`] | named templates that expand to a spec |
//! | [`statistics`] | pass@k |
//! | [`budget`] | what a guest may use |
//! | [`quantity`] | fuel, byte sizes, durations |
//! | [`digest`] | SHA-256 digests |

pub mod agent;
mod assurance;
pub mod budget;
pub mod commands;
pub mod digest;
pub mod guard;
pub mod patch;
pub mod quantity;
pub mod repo;
pub mod spec;
pub mod statistics;
pub mod verify;

pub use assurance::Assurance;
pub use budget::Budget;
pub use digest::Digest;
pub use repo::{Repo, RepoPath};

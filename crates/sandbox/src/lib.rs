//! `probity-sandbox` runs untrusted WebAssembly with nothing of the host in reach.
//!
//! A guest sees an in-memory filesystem, a virtual clock and seeded randomness; it has no
//! network, no processes and no host paths. Everything it uses is bounded by a
//! [`Budget`](probity_core::Budget), and whatever it does ends as a typed result.

pub mod engine;
pub mod executor;
pub mod fs;
pub mod guest;
pub mod limits;
pub mod output;
pub mod pack;
pub mod runtime;
pub mod suite;
mod wasi;

pub use engine::{Engine, Module};
pub use executor::{InProcess, SpecFiles};
pub use guest::{Ending, Entry, Invocation, Run};

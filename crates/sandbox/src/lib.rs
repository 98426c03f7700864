//! `probity-sandbox` runs untrusted WebAssembly with nothing of the host in reach.
//!
//! A guest sees an in-memory filesystem, a virtual clock and seeded randomness; it has no
//! network, no processes and no host paths. Everything it uses is bounded by a
//! [`Budget`](probity_core::Budget), and whatever it does ends as a typed result.

mod cancel;
#[cfg(target_os = "linux")]
pub mod doctor;
pub mod engine;
pub mod executor;
pub mod fs;
pub mod guest;
mod isolated;
pub mod isolation;
pub mod limits;
pub mod output;
pub mod pack;
pub mod results;
pub mod runtime;
mod sandbox;
mod sealed;
pub mod service;
pub mod snapshot;
pub mod suite;
mod text;
mod wasi;
#[cfg(target_os = "linux")]
pub mod worker;

pub use cancel::Cancel;
pub use engine::{CodeCache, Module};
pub use executor::{SpecExecutor, SpecFiles, TrustedTests};
pub use guest::{Conditions, Ending, Entry, Invocation, Run};
pub use isolation::{InProcess, Isolation, Paused, PausedGuest};
pub use results::{Listener, Mark};
pub use sandbox::{Sandbox, Trust};
pub use sealed::{SealError, SealedFolder, Seals};

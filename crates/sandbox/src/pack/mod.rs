//! Check packs: WASI commands that look at the tree and report findings.
//!
//! A pack is started as `PACK run CHECK PARAMS` with the repository read-only at `/repo`
//! and passes with exit code 0, fails with 1, and breaks with anything else. Its findings
//! are JSON lines on standard output; `PACK list` describes its checks.

mod builtin;
mod list;
mod run;

pub use builtin::{BUILT_IN, BuiltIn, built_in};
pub use list::{ListError, PackedCheck, list};
pub use run::run_check;
pub(crate) use run::{captured, cause_of, reproducible};

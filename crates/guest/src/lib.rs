//! `probity-guest`: the SDK for authors of Probity check packs in Rust.
//!
//! A *pack* is a plain WASI 0.1 command (`wasm32-wasip1`) that holds named *checks*.
//! It sees the repository under test read-only at `/repo` and is entered in two ways:
//!
//! | arguments after the program's name | what it does |
//! |---|---|
//! | `list` | prints one JSON line per check: `{"check", "summary", "params": {NAME: {"required", "about"}}}` |
//! | `run CHECK PARAMS` | runs one check; `PARAMS` is one JSON object |
//!
//! The exit code is the outcome: `0` pass, `1` fail, anything else error. This SDK uses
//! `2` for every error (unknown check, bad parameters, a tree past its limits), with the
//! reason on stderr. Findings are JSON lines on stdout:
//! `{"level": "error"|"warning"|"note", "path"?, "line"?, "message"}`. A check fails
//! exactly when it made a finding of level `error`.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use probity_guest::{CheckDef, CheckError, Pack, Params, Place, Report, Tree};
//!
//! fn readme_is_short(tree: &Tree, params: &Params, report: &mut Report) -> Result<(), CheckError> {
//!     let most = params.count("max-lines")?.unwrap_or(100);
//!     let lines = tree.read("README.md")?.lines().count();
//!     if u64::try_from(lines).unwrap_or(u64::MAX) > most {
//!         report.error(Place::file("README.md"), format!("{lines} lines, allowed are {most}"));
//!     }
//!     Ok(())
//! }
//!
//! fn main() -> ExitCode {
//!     Pack::new("house-rules")
//!         .check(
//!             CheckDef::new("readme-is-short", "the README is at most so many lines long")
//!                 .optional("max-lines", "largest number of lines; default 100"),
//!             readme_is_short,
//!         )
//!         .main()
//! }
//! ```
//!
//! A check is a function of a [`Tree`], its [`Params`] and a [`Report`], so its tests
//! run natively on a temporary folder ([`Tree::new`]) and need no sandbox.
//!
//! **Invariants.** Symbolic links are never followed. Listings are sorted. Reads,
//! listings and findings are bounded. Nothing is ever written but the two streams.
//! **Absent on purpose:** network, processes, time and randomness; a check is a pure
//! function of the tree and its parameters.

mod content;
mod finding;
mod nearest;
mod pack;
mod params;
mod select;
mod tree;

pub use content::Content;
pub use finding::{Finding, Level, Outcome, Place, Report};
pub use nearest::nearest;
pub use pack::{CheckDef, CheckError, CheckFn, Pack};
pub use params::{ParamError, Params};
pub use select::{Selection, TextFile};
pub use tree::{EntryKind, Tree, TreeError, TreeLimits};

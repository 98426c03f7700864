//! Language implementations compiled to WASI.
//!
//! A runtime is data: a manifest that pins, by SHA-256, a published package and the files
//! of it that are used, and says how they are mounted and entered.

mod manifest;
mod store;

pub use manifest::{EntryName, Manifest, ManifestError, PinnedFile, RuntimeModule, Source};
pub use store::{Installed, Phase, Runtime, RuntimeError, RuntimeStore};

//! Language implementations compiled to WASI.
//!
//! A runtime is data: a manifest that pins, by SHA-256, a published package and the files
//! of it that are used, and says how they are mounted and entered.

mod archive;
mod manifest;
mod store;

pub use manifest::{
    EntryName, Manifest, ManifestError, PinnedFile, Registry, RuntimeModule, Source,
};
pub use store::{Installed, Phase, Program, Runtime, RuntimeError, RuntimeStore};

//! Compiled code that is kept between runs.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use probity_core::Digest;

use super::module::Kind;
use crate::sealed::{SealError, SealedFolder, Seals};

/// Compiled code in a sealed folder, by the digest of its module and the engine that it is
/// for.
#[derive(Debug, Clone)]
pub struct CodeCache {
    folder: SealedFolder,
}

impl CodeCache {
    /// The cache in `folder`.
    #[must_use]
    pub const fn new(folder: SealedFolder) -> Self {
        Self { folder }
    }

    /// The cache in `folder`, with the key of its seals in the file `key`, which is made if
    /// there is none.
    ///
    /// # Errors
    /// When the key cannot be made, or belongs to or can be read by others.
    pub fn open(folder: &Path, key: &Path) -> Result<Self, SealError> {
        Ok(Self::new(Seals::open(key)?.folder(folder)))
    }

    /// The kept code of a module, if it is what was kept. `compatibility` tells the engine.
    #[must_use]
    pub fn find(&self, digest: Digest, kind: Kind, compatibility: &str) -> Option<File> {
        self.folder.find(&name(digest, kind, compatibility))
    }

    /// Keeps `code` and returns the file that holds it.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn keep(
        &self,
        digest: Digest,
        kind: Kind,
        compatibility: &str,
        code: &mut dyn Read,
    ) -> Result<File, SealError> {
        self.folder.keep(&name(digest, kind, compatibility), code)
    }
}

fn name(digest: Digest, kind: Kind, compatibility: &str) -> String {
    let suffix = match kind {
        Kind::Core => "cwasm",
        Kind::Component => "component.cwasm",
    };
    format!("{}-{compatibility}.{suffix}", digest.to_hex())
}

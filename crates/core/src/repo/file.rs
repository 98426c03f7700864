//! One file of the tree: content, mode, and its cached digest.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::Digest;

/// The kind of a file, as git knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileMode {
    /// An ordinary file (git mode 100644).
    Regular,
    /// An executable file (git mode 100755).
    Executable,
    /// A symbolic link, whose content is its target (git mode 120000).
    Symlink,
}

impl FileMode {
    /// The mode as git writes it in trees and diffs.
    #[must_use]
    pub const fn as_git(self) -> &'static str {
        match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
        }
    }
}

/// A file's content and mode. Cloning is O(1): the content is shared.
#[derive(Debug, Clone)]
pub struct File {
    blob: Arc<Blob>,
    mode: FileMode,
}

#[derive(Debug)]
struct Blob {
    bytes: Vec<u8>,
    digest: OnceLock<Digest>,
}

impl PartialEq for File {
    fn eq(&self, other: &Self) -> bool {
        self.mode == other.mode
            && (Arc::ptr_eq(&self.blob, &other.blob) || self.blob.bytes == other.blob.bytes)
    }
}

impl Eq for File {}

impl File {
    /// Makes a file of `mode` that holds `bytes`; a vector is taken over without a copy.
    pub fn new(bytes: impl Into<Vec<u8>>, mode: FileMode) -> Self {
        Self {
            blob: Arc::new(Blob {
                bytes: bytes.into(),
                digest: OnceLock::new(),
            }),
            mode,
        }
    }

    /// Makes an ordinary file that holds `bytes`.
    pub fn regular(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(bytes, FileMode::Regular)
    }

    /// The content; for a link, its target.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.blob.bytes
    }

    /// The mode.
    #[must_use]
    pub const fn mode(&self) -> FileMode {
        self.mode
    }

    /// The same content under another mode.
    #[must_use]
    pub fn with_mode(&self, mode: FileMode) -> Self {
        Self {
            blob: Arc::clone(&self.blob),
            mode,
        }
    }

    /// The id that git gives this content in a repository with SHA-256 objects: the digest
    /// of `blob <length>\0<content>`. Computed once and cached.
    #[must_use]
    pub fn digest(&self) -> Digest {
        *self.blob.digest.get_or_init(|| {
            let header = format!("blob {}\0", self.bytes().len());
            Digest::of_parts([header.as_bytes(), self.bytes()])
        })
    }
}

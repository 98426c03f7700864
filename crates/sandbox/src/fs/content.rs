//! The bytes of a file: shared with a layer until the guest first writes to them.

use std::path::Path;

use probity_core::repo::File;

use super::mapping::{Mapped, Mapping};

/// A file's bytes.
#[derive(Debug, Clone)]
pub enum Content {
    /// Shared with the repository or a layer.
    Shared(File),
    /// A part of a file that is mapped into memory, read-only.
    Mapped(Mapped),
    /// The guest's own.
    Owned(Vec<u8>),
}

impl Content {
    /// Maps a file of our own cache, which is only ever replaced by rename.
    ///
    /// # Errors
    /// When the file cannot be opened or mapped.
    pub fn map(path: &Path) -> std::io::Result<Self> {
        Ok(Self::Mapped(Mapped::whole(Mapping::open(path)?)))
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Shared(file) => file.bytes(),
            Self::Mapped(part) => part.bytes(),
            Self::Owned(bytes) => bytes,
        }
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        u64::try_from(self.bytes().len()).unwrap_or(u64::MAX)
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }

    /// The bytes that count against the guest's quota.
    #[must_use]
    pub fn charged(&self) -> u64 {
        match self {
            Self::Shared(_) | Self::Mapped(_) => 0,
            Self::Owned(_) => self.len(),
        }
    }
}

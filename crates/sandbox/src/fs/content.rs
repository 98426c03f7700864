//! The bytes of a file: shared with a layer until the guest first writes to them.

use std::path::Path;
use std::sync::Arc;

use probity_core::repo::File;

/// A file's bytes.
#[derive(Debug, Clone)]
pub enum Content {
    /// Shared with the repository or a layer.
    Shared(File),
    /// A read-only file of the host's private cache, mapped into memory.
    Mapped(Arc<memmap2::Mmap>),
    /// The guest's own.
    Owned(Vec<u8>),
}

impl Content {
    /// Maps a file of our own cache.
    ///
    /// # Errors
    /// When the file cannot be opened or mapped.
    #[allow(
        unsafe_code,
        reason = "mapping a file is safe as long as nobody truncates it; the cache is private to the user and its files are replaced by rename, never written in place"
    )]
    pub fn map(path: &Path) -> std::io::Result<Self> {
        let file = std::fs::File::open(path)?;
        // SAFETY: see the reason above.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        Ok(Self::Mapped(Arc::new(map)))
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Shared(file) => file.bytes(),
            Self::Mapped(map) => map,
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

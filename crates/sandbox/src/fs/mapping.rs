//! Files that are mapped into memory instead of read: the runtimes' own files, and trees
//! that another process handed over.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that no other shared thing of this process has.
pub(crate) fn fresh_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A file that is mapped read-only, and stays open so that another process can be given it.
#[derive(Debug)]
pub struct Mapping {
    map: memmap2::Mmap,
    file: File,
    id: u64,
}

impl Mapping {
    /// Maps a file of our own cache.
    ///
    /// # Errors
    /// When the file cannot be opened or mapped.
    pub fn open(path: &Path) -> std::io::Result<Arc<Self>> {
        Self::of(File::open(path)?)
    }

    /// Maps an open file, which nobody may truncate while it is mapped: a file of the
    /// private cache, which is only ever replaced by rename, or sealed memory.
    ///
    /// # Errors
    /// When the file cannot be mapped.
    #[allow(
        unsafe_code,
        reason = "mapping a file is safe as long as nobody truncates it, which the callers see to"
    )]
    pub(crate) fn of(file: File) -> std::io::Result<Arc<Self>> {
        // SAFETY: see the reason above. Should it happen nevertheless, the process that
        // reads beyond the new end is ended by a signal; with worker processes that is one
        // of them, and costs one check.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        Ok(Arc::new(Self {
            map,
            file,
            id: fresh_id(),
        }))
    }

    /// The mapped bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// The open file.
    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// What tells this mapping from every other one of this process.
    pub(crate) const fn id(&self) -> u64 {
        self.id
    }
}

/// A part of a mapping.
#[derive(Debug, Clone)]
pub struct Mapped {
    mapping: Arc<Mapping>,
    range: Range<usize>,
}

impl Mapped {
    /// All of `mapping`.
    #[must_use]
    pub fn whole(mapping: Arc<Mapping>) -> Self {
        let range = 0..mapping.bytes().len();
        Self { mapping, range }
    }

    /// The part of `mapping` from `start`, `length` bytes long; `None` if it does not reach
    /// that far.
    pub(crate) fn part(mapping: &Arc<Mapping>, start: u64, length: u64) -> Option<Self> {
        let start = usize::try_from(start).ok()?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        mapping.bytes().get(start..end)?;
        Some(Self {
            mapping: Arc::clone(mapping),
            range: start..end,
        })
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.mapping.bytes().get(self.range.clone()).unwrap_or(&[])
    }

    /// The mapping, if this is the whole of it.
    pub(crate) fn as_whole(&self) -> Option<&Arc<Mapping>> {
        (self.range == (0..self.mapping.bytes().len())).then_some(&self.mapping)
    }
}

//! What the file system says about a file, and the stamp that shows whether it changed.
//!
//! A stamp proves that a file is unchanged only if the file had come to rest before it was
//! read: two writes within one tick of the clock leave the same times. So a stamp knows
//! whether it was taken long enough after the last change, and counts for nothing if not.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::time::{SystemTime, UNIX_EPOCH};

use probity_core::RepoPath;
use probity_core::repo::FileMode;
use rustix::fs::{FileType, Stat};

use crate::folder::Kind;

/// How long a file must have been at rest, in nanoseconds: as coarse as the times of the
/// coarsest file system (FAT counts in 2 s).
const REST: i128 = 2_000_000_000;

/// What the file system says about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) kind: Kind,
    /// The permission bits.
    pub(crate) mode: u32,
    pub(crate) device: i128,
    pub(crate) inode: i128,
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    modified: i128,
    /// The last change of content, permissions or names, in nanoseconds since 1970.
    changed: i128,
}

impl Metadata {
    pub(crate) fn new(stat: &Stat) -> Self {
        Self {
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            mode: u32::try_from(wide(stat.st_mode) & 0o7777).unwrap_or(0),
            device: wide(stat.st_dev),
            inode: wide(stat.st_ino),
            size: u64::try_from(wide(stat.st_size)).unwrap_or(u64::MAX),
            modified: nanoseconds(wide(stat.st_mtime), wide(stat.st_mtime_nsec)),
            changed: nanoseconds(wide(stat.st_ctime), wide(stat.st_ctime_nsec)),
        }
    }

    pub(crate) fn of_open(file: impl AsFd) -> io::Result<Self> {
        Ok(Self::new(&rustix::fs::fstat(file)?))
    }

    /// The mode as git knows it; only for files.
    pub(crate) const fn file_mode(&self) -> FileMode {
        if self.mode & 0o111 == 0 {
            FileMode::Regular
        } else {
            FileMode::Executable
        }
    }

    pub(crate) const fn is_same_file(&self, other: &Self) -> bool {
        self.device == other.device && self.inode == other.inode
    }

    /// Whether `other` is this file with nothing written to it since. Another name or
    /// other permissions make no difference.
    pub(crate) fn has_same_content(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.is_same_file(other)
            && self.size == other.size
            && self.modified == other.modified
    }

    /// Whether a later change would be visible in the times.
    pub(crate) fn is_at_rest(&self) -> bool {
        let latest = self.changed.max(self.modified);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|now| {
            // More nanoseconds than this type holds is no time to wait for.
            i128::try_from(now.as_nanos()).unwrap_or(i128::MAX)
        });
        now.is_ok_and(|now| latest.saturating_add(REST) < now)
    }
}

fn wide(number: impl Into<i128>) -> i128 {
    number.into()
}

const fn nanoseconds(seconds: i128, rest: i128) -> i128 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// How a file was when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub(crate) metadata: Metadata,
    at_rest: bool,
}

impl Stamp {
    /// A stamp of a file that was read just now.
    pub(crate) fn new(metadata: Metadata) -> Self {
        Self {
            metadata,
            at_rest: metadata.is_at_rest(),
        }
    }

    /// Whether `now` shows without doubt that the file is as it was read.
    pub(crate) fn proves(&self, now: &Metadata) -> bool {
        self.at_rest && self.metadata == *now
    }
}

/// How the files were that were read, by their paths. An empty one is always right: the
/// files are then compared byte by byte when a plan is committed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamps(BTreeMap<RepoPath, Stamp>);

impl Stamps {
    /// The stamp of the file at `path`, if it was read.
    #[must_use]
    pub fn get(&self, path: &RepoPath) -> Option<&Stamp> {
        self.0.get(path)
    }

    /// How many files were read.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no file was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn insert(&mut self, path: RepoPath, stamp: Stamp) {
        self.0.insert(path, stamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_written_just_now_is_not_at_rest() {
        let file = tempfile::tempfile().unwrap();
        let metadata = Metadata::of_open(&file).unwrap();
        assert!(!metadata.is_at_rest());
        assert!(!Stamp::new(metadata).proves(&metadata));
        let old = Metadata {
            modified: 0,
            changed: 0,
            ..metadata
        };
        assert!(Stamp::new(old).proves(&old));
        assert!(!Stamp::new(old).proves(&Metadata { changed: 1, ..old }));
    }

    #[test]
    fn a_time_in_the_future_is_not_at_rest() {
        let file = tempfile::tempfile().unwrap();
        let future = Metadata {
            modified: i128::MAX,
            ..Metadata::of_open(&file).unwrap()
        };
        assert!(!future.is_at_rest());
    }
}

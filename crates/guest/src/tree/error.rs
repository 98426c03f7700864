//! What can be at a path, and why the tree could not be read.
//!
//! Errors that the file itself is to blame for are told apart from those of the caller
//! or the system: the former become findings, the latter leave a check without outcome.

use std::fs;
use std::io;

use thiserror::Error;

/// Why the tree could not be read.
#[derive(Debug, Error)]
pub enum TreeError {
    /// A path was asked for that no repository can hold.
    #[error("the path {path:?} {reason}")]
    BadPath {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Nothing is at this path.
    #[error("does not exist")]
    Missing {
        /// Path from the root.
        path: String,
    },
    /// Something other than a regular file is at this path.
    #[error("is {}, not a file", .kind.words())]
    NotAFile {
        /// Path from the root.
        path: String,
        /// What is there.
        kind: EntryKind,
    },
    /// The file is larger than [`TreeLimits::file_bytes`](crate::TreeLimits::file_bytes).
    #[error("has {size} bytes, more than the {limit} that a check reads")]
    TooLarge {
        /// Path from the root.
        path: String,
        /// Size of the file in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The tree has more entries than [`TreeLimits::entries`](crate::TreeLimits::entries).
    #[error("the repository has more than {limit} entries")]
    TooManyEntries {
        /// The limit.
        limit: usize,
    },
    /// A folder lies deeper than [`TreeLimits::depth`](crate::TreeLimits::depth).
    #[error("the folder {path:?} lies deeper than {limit} levels")]
    TooDeep {
        /// Path from the root.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// A name in this folder is not UTF-8.
    #[error("a name in the folder {path:?} is not UTF-8")]
    NotUtf8 {
        /// Path of the folder from the root.
        path: String,
    },
    /// The system refused.
    #[error("cannot read {path:?}")]
    Io {
        /// Path from the root.
        path: String,
        /// The system's error.
        source: io::Error,
    },
}

impl TreeError {
    /// Tells whether the file itself is to blame, which makes a finding and not an error.
    pub(super) fn blames_the_file(&self) -> bool {
        match self {
            Self::Missing { .. } | Self::NotAFile { .. } | Self::TooLarge { .. } => true,
            Self::BadPath { .. }
            | Self::TooManyEntries { .. }
            | Self::TooDeep { .. }
            | Self::NotUtf8 { .. }
            | Self::Io { .. } => false,
        }
    }
}

/// What is at a path, seen without following a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, wherever it leads.
    Link,
    /// A device, a socket or the like.
    Other,
}

impl EntryKind {
    /// The kind with its article, for messages.
    pub fn words(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a symbolic link",
            Self::Other => "a special file",
        }
    }

    pub(super) fn of(kind: fs::FileType) -> Self {
        if kind.is_symlink() {
            Self::Link
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_file() {
            Self::File
        } else {
            Self::Other
        }
    }
}

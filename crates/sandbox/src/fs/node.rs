//! Nodes of the guest's filesystem.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::content::Content;
use super::mounts::LowerDirectory;
use super::seals::{Sealed, SealedFolder};

/// Index of a node. Inode numbers shown to the guest are the index plus one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(pub(crate) u32);

impl NodeId {
    pub(crate) const ROOT: Self = Self(0);

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A character device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Device {
    /// `/dev/null`: reads nothing, swallows everything.
    Null,
    /// `/dev/zero`: reads zeros, swallows everything.
    Zero,
    /// `/dev/urandom`: reads the guest's seeded randomness, swallows everything.
    Random,
    /// The results channel: write-only, bounded, kept for the host.
    Results,
}

/// The type of a file, by WASI's number (`filetype`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FileType {
    /// A character device.
    CharacterDevice = 2,
    /// A folder.
    Directory = 3,
    /// A regular file.
    RegularFile = 4,
    /// A symbolic link.
    SymbolicLink = 7,
}

/// What `stat` tells of a node. Times are nanoseconds of the virtual clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Inode number.
    pub inode: u64,
    /// Type.
    pub file_type: FileType,
    /// Hard links.
    pub links: u64,
    /// Size in bytes.
    pub size: u64,
    /// Last access.
    pub accessed: u64,
    /// Last change of the content.
    pub modified: u64,
    /// Last change of the node.
    pub changed: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    /// Names that lead here.
    pub(crate) links: u32,
    /// Descriptors that hold it.
    pub(crate) opens: u32,
    /// Whether the guest may change it.
    pub(crate) writable: bool,
    /// Mount points and devices stay where they are.
    pub(crate) pinned: bool,
    /// Whether the guest made it, so that it counts against the quota.
    pub(crate) own: bool,
    /// Whether it, or something below it, stays as it is.
    pub(crate) sealed: Sealed,
    /// For a folder, the one that holds it.
    pub(crate) parent: NodeId,
    /// Whether the read set has it already.
    pub(crate) read: bool,
    /// Length of the path where it stood when the guest started, in bytes.
    pub(crate) origin_length: u32,
    /// Where it stood when the guest started, if it did.
    pub(crate) origin: Option<(NodeId, Arc<str>)>,
    pub(crate) accessed: u64,
    pub(crate) modified: u64,
    pub(crate) changed: u64,
}

#[derive(Debug, Clone)]
pub(crate) enum NodeKind {
    Directory(DirectoryNode),
    File(Content),
    Symlink(Arc<str>),
    Device(Device),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct DirectoryNode {
    pub(crate) entries: BTreeMap<Arc<str>, NodeId>,
    /// Entries of the layer below that have no node yet.
    pub(crate) pending: Option<LowerDirectory>,
    /// What of those entries is sealed.
    pub(crate) seals: Option<Arc<SealedFolder>>,
}

impl Node {
    pub(crate) const fn file_type(&self) -> FileType {
        match self.kind {
            NodeKind::Directory(_) => FileType::Directory,
            NodeKind::File(_) => FileType::RegularFile,
            NodeKind::Symlink(_) => FileType::SymbolicLink,
            NodeKind::Device(_) => FileType::CharacterDevice,
        }
    }

    pub(crate) fn size(&self) -> u64 {
        match &self.kind {
            NodeKind::File(content) => content.len(),
            NodeKind::Symlink(target) => u64::try_from(target.len()).unwrap_or(u64::MAX),
            NodeKind::Directory(_) | NodeKind::Device(_) => 0,
        }
    }
}

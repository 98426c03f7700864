//! What a guest learned about the files it was given.
//!
//! A verdict may be reused for another tree only if everything the guest read, listed or
//! looked up in vain is the same there. Only what stood in a layer counts: what the guest
//! made itself follows from the rest.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::node::NodeId;

/// Most entries that are kept; past it the set is marked as incomplete.
const MAX_ENTRIES: usize = 1_000_000;
/// Most bytes of all paths in the set, which is made of them when the guest has ended.
const MAX_BYTES: usize = 32 << 20;
/// What an entry takes up besides its text.
const ENTRY_BYTES: usize = 64;

/// The guest paths that a run depended on, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadSet {
    /// Files, links and folders that were there when they were looked up, whatever the guest
    /// learned of them: their content, target, metadata, or that they are there.
    pub read: BTreeSet<String>,
    /// Folders whose entries were listed.
    pub listed: BTreeSet<String>,
    /// Paths that were looked up and did not exist.
    pub missed: BTreeSet<String>,
    /// Whether the bookkeeping was cut short, so that the set proves nothing.
    pub incomplete: bool,
}

impl ReadSet {
    /// Whether it is no larger than a recorder makes one.
    #[cfg(target_os = "linux")]
    pub(crate) fn fits(&self) -> bool {
        let paths = self.read.iter().chain(&self.listed).chain(&self.missed);
        let bytes = paths.fold(0_usize, |sum, path| {
            sum.saturating_add(path.len()).saturating_add(ENTRY_BYTES)
        });
        bytes <= MAX_BYTES.saturating_mul(2)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) read: HashSet<NodeId>,
    pub(crate) listed: HashSet<NodeId>,
    pub(crate) missed: HashSet<(NodeId, Arc<str>)>,
    bytes: usize,
    pub(crate) incomplete: bool,
}

impl Recorder {
    /// Notes a node that was read; `path` is the length of its path, as for the others.
    pub(crate) fn read(&mut self, node: NodeId, path: usize) {
        if !self.read.contains(&node) && self.has_room(path) {
            self.read.insert(node);
        }
    }

    pub(crate) fn listed(&mut self, node: NodeId, path: usize) {
        if !self.listed.contains(&node) && self.has_room(path) {
            self.listed.insert(node);
        }
    }

    /// Notes a name that is not in a folder.
    pub(crate) fn missed(&mut self, directory: NodeId, name: &str, path: usize) {
        let key = (directory, Arc::from(name));
        if !self.missed.contains(&key) && self.has_room(path.saturating_add(name.len())) {
            self.missed.insert(key);
        }
    }

    /// Whether a path of this length may be added; notes if not.
    fn has_room(&mut self, path: usize) -> bool {
        let entries = self.read.len() + self.listed.len() + self.missed.len();
        let total = self.bytes.saturating_add(path).saturating_add(ENTRY_BYTES);
        let room = entries < MAX_ENTRIES && total <= MAX_BYTES;
        if room {
            self.bytes = total;
        }
        self.incomplete |= !room;
        room
    }
}

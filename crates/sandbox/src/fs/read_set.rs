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
/// Most bytes of missed paths; as many are kept twice when the set is made.
const MAX_MISSED_BYTES: usize = 32 << 20;
/// What an entry takes up besides its text.
const ENTRY_BYTES: usize = 64;

/// The guest paths that a run depended on, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadSet {
    /// Files whose content, links whose target, or nodes whose metadata was read.
    pub read: BTreeSet<String>,
    /// Folders whose entries were listed.
    pub listed: BTreeSet<String>,
    /// Paths that were looked up and did not exist.
    pub missed: BTreeSet<String>,
    /// Whether the bookkeeping was cut short, so that the set proves nothing.
    pub incomplete: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) read: HashSet<NodeId>,
    pub(crate) listed: HashSet<NodeId>,
    pub(crate) missed: HashSet<(NodeId, Arc<str>)>,
    missed_bytes: usize,
    pub(crate) incomplete: bool,
}

impl Recorder {
    pub(crate) fn read(&mut self, node: NodeId) {
        if self.has_room() {
            self.read.insert(node);
        }
    }

    pub(crate) fn listed(&mut self, node: NodeId) {
        if self.has_room() {
            self.listed.insert(node);
        }
    }

    /// Notes a name that is not in a folder; `path` is the length of the path that led there.
    pub(crate) fn missed(&mut self, directory: NodeId, name: &str, path: usize) {
        let key = (directory, Arc::from(name));
        if self.missed.contains(&key) || !self.has_room() {
            return;
        }
        let bytes = name.len().saturating_add(path).saturating_add(ENTRY_BYTES);
        let total = self.missed_bytes.saturating_add(bytes);
        if total > MAX_MISSED_BYTES {
            self.incomplete = true;
            return;
        }
        self.missed_bytes = total;
        self.missed.insert(key);
    }

    fn has_room(&mut self) -> bool {
        let room = self.read.len() + self.listed.len() + self.missed.len() < MAX_ENTRIES;
        self.incomplete |= !room;
        room
    }
}

//! The filesystem itself: nodes, mounts, sizes.
//!
//! Layers are folders of a [`Repo`](probity_core::Repo), mounted read-only or copy-on-write.
//! A folder's nodes are made when the guest first enters it, so mounting costs nothing.
//!
//! Invariants: node 0 is the root; a node never refers to a later-freed one (freed nodes
//! become empty files without names); what the guest adds is within the [`Quota`].
//! Deliberately absent: owners, permission bits, and any path to the host.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use probity_core::budget::Limit;
use probity_core::repo::{Child, FileMode};
use serde::{Deserialize, Serialize};

use super::content::Content;
use super::errno::Errno;
use super::image::ImageChild;
use super::mounts::{LowerDirectory, Source};
use super::node::{DirectoryNode, Node, NodeId, NodeKind};
use super::quota::{Quota, QuotaUse};
use super::read_set::{ReadSet, Recorder};
use super::seals::{Attempt, FileSeals, Guarded, Sealed};

/// Whether the guest may change what is mounted. Changes never leave the instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// Every change is refused with `EROFS`.
    ReadOnly,
    /// Changes are kept in the instance, copy-on-write.
    Writable,
}

/// A mount cannot be placed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot mount at `{path}`: {reason}")]
pub struct MountError {
    /// The guest path.
    pub path: String,
    /// What stands in the way.
    pub reason: &'static str,
}

/// An instance's filesystem.
#[derive(Debug)]
pub struct Filesystem {
    pub(crate) nodes: Vec<Node>,
    pub(crate) quota: Quota,
    pub(crate) used: QuotaUse,
    pub(crate) recorder: Recorder,
    /// Work of path resolution that nobody was charged for yet, in fuel.
    pub(crate) walked: u64,
    /// The virtual time that changes are stamped with, in nanoseconds.
    pub(crate) now: u64,
    /// Whether the results channel was opened, which it can be once.
    pub(super) results_opened: bool,
    /// How often it was to be opened after that.
    pub(crate) results_refused: u64,
    /// Nodes that nothing holds any more, to be used again.
    pub(super) free: Vec<NodeId>,
    /// Where new names are looked at.
    pub(super) guarded: Option<Guarded>,
    /// What was refused because of a seal; at most [`MAX_ATTEMPTS`](super::MAX_ATTEMPTS).
    pub(super) attempts: BTreeSet<Attempt>,
}

impl Filesystem {
    /// A filesystem with a read-only root folder and nothing in it. `now` stamps what the
    /// layers hold, in nanoseconds since the Unix epoch.
    #[must_use]
    pub fn new(quota: Quota, now: u64) -> Self {
        let mut fs = Self {
            nodes: Vec::new(),
            quota,
            used: QuotaUse::default(),
            recorder: Recorder::default(),
            walked: 0,
            now,
            results_opened: false,
            results_refused: 0,
            free: Vec::new(),
            guarded: None,
            attempts: BTreeSet::new(),
        };
        fs.push(
            NodeKind::Directory(DirectoryNode::default()),
            Access::ReadOnly,
            NodeId::ROOT,
        );
        if let Some(root) = fs.nodes.first_mut() {
            root.pinned = true;
            root.links = 1;
        }
        fs
    }

    /// Places one mount (absolute, canonical path). Missing parents are made read-only. A
    /// folder at `/` becomes the root and has to come first. What `seals` says holds for a
    /// folder.
    ///
    /// # Errors
    /// When the path is not canonical or something is already there.
    pub(crate) fn mount(
        &mut self,
        path: &str,
        source: Source,
        access: Access,
        seals: Option<&FileSeals>,
    ) -> Result<(), MountError> {
        let kind = match source {
            Source::Folder(lower) => folder_of(lower),
            Source::Empty => NodeKind::Directory(DirectoryNode::default()),
            Source::File(content) => NodeKind::File(content),
            Source::Device(device) => NodeKind::Device(device),
        };
        let node = if path == "/" {
            self.mount_root(kind, access)?
        } else {
            self.place(path, kind, access)?
        };
        if let Some(seals) = seals {
            self.seal(node, seals);
        }
        Ok(())
    }

    fn mount_root(&mut self, kind: NodeKind, access: Access) -> Result<NodeId, MountError> {
        let fail = |reason| MountError {
            path: "/".to_owned(),
            reason,
        };
        if self.nodes.len() > 1 {
            return Err(fail("something is already there"));
        }
        if !matches!(kind, NodeKind::Directory(_)) {
            return Err(fail("the root is a folder"));
        }
        let root = self.node_mut(NodeId::ROOT);
        root.kind = kind;
        root.writable = access == Access::Writable;
        Ok(NodeId::ROOT)
    }

    fn place(&mut self, path: &str, kind: NodeKind, access: Access) -> Result<NodeId, MountError> {
        let fail = |reason| MountError {
            path: path.to_owned(),
            reason,
        };
        let parts: Vec<&str> = match path.strip_prefix('/') {
            Some(rest) => rest.split('/').collect(),
            None => return Err(fail("the path is not absolute")),
        };
        let Some((name, parents)) = parts.split_last() else {
            return Err(fail("the path is empty"));
        };
        if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
            return Err(fail("the path is not canonical"));
        }
        let mut at = NodeId::ROOT;
        for part in parents {
            at = match self.child(at, part) {
                Ok(Some(next)) => next,
                Ok(None) => {
                    let next = self.push(
                        NodeKind::Directory(DirectoryNode::default()),
                        Access::ReadOnly,
                        at,
                    );
                    self.name(at, part, next);
                    next
                }
                Err(_) => return Err(fail("a parent is not a folder")),
            };
            self.node_mut(at).pinned = true;
        }
        match self.child(at, name) {
            Ok(None) => {}
            Ok(Some(_)) => return Err(fail("something is already there")),
            Err(_) => return Err(fail("a parent is not a folder")),
        }
        let node = self.push(kind, access, at);
        self.node_mut(node).pinned = true;
        self.name(at, name, node);
        Ok(node)
    }

    /// What the run depended on, as guest paths.
    #[must_use]
    pub fn read_set(&self) -> ReadSet {
        let paths = |nodes: &HashSet<NodeId>| -> BTreeSet<String> {
            nodes
                .iter()
                .filter_map(|node| self.origin_path(*node))
                .collect()
        };
        let read = paths(&self.recorder.read);
        ReadSet {
            listed: paths(&self.recorder.listed),
            missed: self
                .recorder
                .missed
                .iter()
                .filter_map(|(directory, name)| {
                    let parent = self.origin_path(*directory)?;
                    let parent = parent.strip_suffix('/').unwrap_or(&parent);
                    Some(format!("{parent}/{name}"))
                })
                // What the guest took away was there.
                .filter(|path| !read.contains(path))
                .collect(),
            read,
            incomplete: self.recorder.incomplete,
        }
    }

    /// Length of the path where a node stood when the guest started.
    pub(super) fn origin_length(&self, node: NodeId) -> usize {
        self.node(node).origin_length as usize
    }

    fn origin_path(&self, node: NodeId) -> Option<String> {
        if node == NodeId::ROOT {
            return Some("/".to_owned());
        }
        let mut names = Vec::new();
        let mut at = node;
        while at != NodeId::ROOT {
            let (parent, name) = self.node(at).origin.as_ref()?;
            names.push(Arc::clone(name));
            at = *parent;
        }
        let mut path = String::new();
        for name in names.iter().rev() {
            path.push('/');
            path.push_str(name);
        }
        Some(path)
    }

    /// The filesystem of a guest that goes on where this one stands. What was learned of the
    /// layers and which bounds were met stays with this one.
    pub(crate) fn fork(&self) -> Self {
        let mut used = self.used.clone();
        used.forget_hits();
        Self {
            nodes: self.nodes.clone(),
            quota: self.quota,
            used,
            recorder: Recorder::default(),
            walked: 0,
            now: self.now,
            results_opened: self.results_opened,
            results_refused: 0,
            free: self.free.clone(),
            guarded: self.guarded.clone(),
            attempts: BTreeSet::new(),
        }
    }

    /// What the guest tried with what is sealed.
    pub(crate) const fn attempts(&self) -> &BTreeSet<Attempt> {
        &self.attempts
    }

    /// The fuel for resolving paths since the last call.
    pub(crate) const fn take_walked(&mut self) -> u64 {
        std::mem::replace(&mut self.walked, 0)
    }

    /// What the guest added, and which bounds it met.
    #[must_use]
    pub const fn quota_use(&self) -> &QuotaUse {
        &self.used
    }

    #[allow(
        clippy::indexing_slicing,
        reason = "node ids are made by `push` only and nodes are never taken out of the vector"
    )]
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    #[allow(
        clippy::indexing_slicing,
        reason = "node ids are made by `push` only and nodes are never taken out of the vector"
    )]
    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }

    /// Makes a node that belongs to a layer or mount.
    fn push(&mut self, kind: NodeKind, access: Access, parent: NodeId) -> NodeId {
        let node = Node {
            kind,
            links: 0,
            opens: 0,
            writable: access == Access::Writable,
            pinned: false,
            sealed: Sealed::No,
            own: false,
            read: false,
            origin_length: 0,
            parent,
            origin: None,
            accessed: self.now,
            modified: self.now,
            changed: self.now,
        };
        if let Some(id) = self.free.pop() {
            *self.node_mut(id) = node;
            return id;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node);
        id
    }

    /// Gives `node` a name in a layer's folder.
    fn name(&mut self, directory: NodeId, name: &str, node: NodeId) {
        let name: Arc<str> = Arc::from(name);
        let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
        let above = self.node(directory).origin_length;
        let child = self.node_mut(node);
        child.origin_length = above.saturating_add(length).saturating_add(1);
        child.links = child.links.saturating_add(1);
        child.origin = Some((directory, Arc::clone(&name)));
        if let NodeKind::Directory(entries) = &mut self.node_mut(directory).kind {
            entries.entries.insert(name, node);
        }
    }

    /// Makes a node for the guest, within the quota.
    pub(crate) fn create(&mut self, kind: NodeKind, parent: NodeId) -> Result<NodeId, Errno> {
        self.check_inodes()?;
        self.used.inodes = self.used.inodes.saturating_add(1);
        let node = self.push(kind, Access::Writable, parent);
        self.node_mut(node).own = true;
        Ok(node)
    }

    /// Whether there is room for one more node or name of the guest's.
    pub(crate) fn check_inodes(&mut self) -> Result<(), Errno> {
        let wanted = self.used.inodes.saturating_add(1);
        if wanted > self.quota.inodes {
            self.used.hit(Limit::Inodes, self.quota.inodes, wanted);
            return Err(Errno::Nospc);
        }
        Ok(())
    }

    /// Makes room for `after` own bytes where `before` were charged.
    pub(crate) fn recharge(&mut self, before: u64, after: u64) -> Result<(), Errno> {
        let wanted = self.used.bytes.saturating_sub(before).saturating_add(after);
        if after > before && wanted > self.quota.bytes {
            self.used.hit(Limit::FileBytes, self.quota.bytes, wanted);
            return Err(Errno::Nospc);
        }
        self.used.bytes = wanted;
        Ok(())
    }

    /// Frees a node that no name and no descriptor holds any more.
    pub(crate) fn release(&mut self, id: NodeId) {
        let node = self.node(id);
        if node.links > 0 || node.opens > 0 {
            return;
        }
        let charged = match &node.kind {
            NodeKind::File(content) => content.charged(),
            // A link's target counts like the bytes of a file.
            NodeKind::Symlink(_) if node.own => node.size(),
            NodeKind::Directory(_) | NodeKind::Symlink(_) | NodeKind::Device(_) => 0,
        };
        self.used.bytes = self.used.bytes.saturating_sub(charged);
        if self.node(id).own {
            self.used.inodes = self.used.inodes.saturating_sub(1);
            self.free.push(id);
        }
        self.node_mut(id).kind = NodeKind::File(Content::Owned(Vec::new()));
    }

    /// The entries of a folder, made from its layer on first use.
    pub(crate) fn directory(&mut self, id: NodeId) -> Result<&mut DirectoryNode, Errno> {
        let writable = self.node(id).writable;
        let (pending, seals) = match &mut self.node_mut(id).kind {
            NodeKind::Directory(directory) => (directory.pending.take(), directory.seals.take()),
            NodeKind::File(_) | NodeKind::Symlink(_) | NodeKind::Device(_) => {
                return Err(Errno::Notdir);
            }
        };
        if let Some(lower) = pending {
            let access = if writable {
                Access::Writable
            } else {
                Access::ReadOnly
            };
            let modified = self.node(NodeId::ROOT).modified;
            let mut add = |name: &str, kind: NodeKind| {
                let node = self.push(kind, access, id);
                let stamp = self.node_mut(node);
                (stamp.accessed, stamp.modified, stamp.changed) = (modified, modified, modified);
                self.name(id, name, node);
                if let Some(entry) = seals.as_ref().and_then(|seals| seals.get(name)) {
                    self.mark_sealed(node, entry);
                }
            };
            match lower {
                LowerDirectory::Tree(tree) => {
                    for (name, child) in tree.entries() {
                        add(name, of_tree(child));
                    }
                }
                LowerDirectory::Image(folder) => {
                    for (name, child) in folder.entries() {
                        add(&name, of_image(child));
                    }
                }
            }
        }
        match &mut self.node_mut(id).kind {
            NodeKind::Directory(directory) => Ok(directory),
            NodeKind::File(_) | NodeKind::Symlink(_) | NodeKind::Device(_) => Err(Errno::Notdir),
        }
    }

    /// The node called `name` in a folder.
    pub(crate) fn child(&mut self, directory: NodeId, name: &str) -> Result<Option<NodeId>, Errno> {
        Ok(self.directory(directory)?.entries.get(name).copied())
    }

    /// How many folders are nested below a folder, itself included.
    pub(crate) fn height(&mut self, folder: NodeId) -> Result<u32, Errno> {
        let mut height = 0_u32;
        let mut level = vec![folder];
        while !level.is_empty() {
            height = height.saturating_add(1);
            let mut below = Vec::new();
            for folder in std::mem::take(&mut level) {
                let children: Vec<NodeId> =
                    self.directory(folder)?.entries.values().copied().collect();
                let looked_at = u64::try_from(children.len()).unwrap_or(u64::MAX);
                self.walked = self.walked.saturating_add(looked_at.saturating_mul(8));
                let is_folder =
                    |child: &NodeId| matches!(self.node(*child).kind, NodeKind::Directory(_));
                below.extend(children.into_iter().filter(is_folder));
            }
            level = below;
        }
        Ok(height)
    }

    /// How deep a folder is nested; the root is 0.
    pub(crate) fn depth(&self, directory: NodeId) -> u32 {
        let mut depth = 0_u32;
        let mut at = directory;
        while at != NodeId::ROOT {
            depth = depth.saturating_add(1);
            at = self.node(at).parent;
        }
        depth
    }
}

fn folder_of(lower: LowerDirectory) -> NodeKind {
    NodeKind::Directory(DirectoryNode {
        pending: Some(lower),
        ..DirectoryNode::default()
    })
}

fn of_tree(child: &Child) -> NodeKind {
    match child {
        Child::Directory(directory) => folder_of(LowerDirectory::Tree(Arc::clone(directory))),
        Child::File(file) if file.mode() == FileMode::Symlink => {
            NodeKind::Symlink(Arc::from(String::from_utf8_lossy(file.bytes()).as_ref()))
        }
        Child::File(file) => NodeKind::File(Content::Shared(file.clone())),
    }
}

fn of_image(child: ImageChild) -> NodeKind {
    match child {
        ImageChild::Folder(folder) => folder_of(LowerDirectory::Image(folder)),
        ImageChild::File(part) => NodeKind::File(Content::Mapped(part)),
        ImageChild::Link(target) => NodeKind::Symlink(target),
    }
}

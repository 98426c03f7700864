//! What a guest can do to its filesystem.
//!
//! Every operation either happens whole or leaves the filesystem as it was.

use std::cmp::Ordering;
use std::sync::Arc;

use probity_core::budget::Limit;

use super::content::Content;
use super::errno::Errno;
use super::filesystem::Filesystem;
use super::node::{Device, DirectoryNode, Node, NodeId, NodeKind, Stat};
use super::resolve::{Follow, Last, MAX_PATH, Resolved};
use super::seals::Attempted;

/// Most names for one file.
const MAX_LINKS: u32 = 32_000;

/// How a path is to be opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OpenFlags {
    pub(crate) create: bool,
    pub(crate) directory: bool,
    pub(crate) exclusive: bool,
    pub(crate) truncate: bool,
    pub(crate) write: bool,
}

/// Which times to set, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct NewTimes {
    pub(crate) accessed: Option<u64>,
    pub(crate) modified: Option<u64>,
}

impl Filesystem {
    /// Opens or makes a file or folder and counts the descriptor.
    pub(crate) fn open(
        &mut self,
        grant: NodeId,
        path: &str,
        follow: Follow,
        flags: OpenFlags,
    ) -> Result<NodeId, Errno> {
        if flags.create && flags.directory {
            return Err(Errno::Inval);
        }
        let follow = match (flags.create, follow) {
            (false, follow) => follow,
            (true, Follow::Yes) if !flags.exclusive => Follow::WithoutSlash,
            (true, _) => Follow::Never,
        };
        let resolved = self.resolve(grant, path, follow)?;
        if flags.create && resolved.slash {
            return Err(Errno::Isdir);
        }
        let node = match resolved.node {
            Some(_) if flags.create && flags.exclusive => return Err(Errno::Exist),
            Some(node) => {
                let is_directory = matches!(self.node(node).kind, NodeKind::Directory(_));
                if (flags.directory || resolved.slash) && !is_directory {
                    return Err(Errno::Notdir);
                }
                if matches!(self.node(node).kind, NodeKind::Symlink(_)) {
                    return Err(Errno::Loop);
                }
                if is_directory && (flags.write || flags.truncate || flags.create) {
                    return Err(Errno::Isdir);
                }
                if (flags.write || flags.truncate)
                    && !self.node(node).writable
                    && !matches!(self.node(node).kind, NodeKind::Device(_))
                {
                    self.note_if_sealed(node, Attempted::Write);
                    return Err(Errno::Rofs);
                }
                if matches!(self.node(node).kind, NodeKind::Device(Device::Results)) {
                    // Whoever comes second is not who the results are asked of.
                    if self.results_opened {
                        self.results_refused = self.results_refused.saturating_add(1);
                        return Err(Errno::Busy);
                    }
                    self.results_opened = true;
                }
                if flags.truncate && matches!(self.node(node).kind, NodeKind::File(_)) {
                    self.set_len(node, 0)?;
                }
                node
            }
            None if !flags.create => return Err(Errno::Noent),
            None => self.add(resolved, NodeKind::File(Content::Owned(Vec::new())))?,
        };
        self.hold(node);
        Ok(node)
    }

    /// Counts one more descriptor or stream on `node`; [`close`](Self::close) gives it up.
    pub(crate) fn hold(&mut self, node: NodeId) {
        let held = self.node_mut(node);
        held.opens = held.opens.saturating_add(1);
    }

    /// Gives up one descriptor on `node`.
    pub(crate) fn close(&mut self, node: NodeId) {
        let closed = self.node_mut(node);
        closed.opens = closed.opens.saturating_sub(1);
        self.release(node);
    }

    /// Makes a node where `resolved` found none.
    fn add(&mut self, resolved: Resolved<'_>, kind: NodeKind) -> Result<NodeId, Errno> {
        let (parent, existing) = (resolved.parent, resolved.node);
        let name = resolved.name(Errno::Exist)?;
        if existing.is_some() {
            return Err(Errno::Exist);
        }
        self.check_writable(parent)?;
        self.check_name(parent, &name)?;
        let node = self.create(kind, parent)?;
        self.link_name(parent, &name, node)?;
        Ok(node)
    }

    fn check_writable(&self, directory: NodeId) -> Result<(), Errno> {
        let node = self.node(directory);
        if !node.writable {
            return Err(Errno::Rofs);
        }
        // A folder that was removed while a descriptor holds it takes no new names.
        if node.links == 0 {
            return Err(Errno::Noent);
        }
        Ok(())
    }

    /// Adds a name. One that is not a node's first counts as an inode, since names take
    /// room too; who adds a lasting one has checked that it may.
    fn link_name(&mut self, directory: NodeId, name: &str, node: NodeId) -> Result<(), Errno> {
        self.directory(directory)?
            .entries
            .insert(Arc::from(name), node);
        let now = self.now;
        let child = self.node_mut(node);
        child.links = child.links.saturating_add(1);
        child.changed = now;
        if child.links > 1 {
            self.used.inodes = self.used.inodes.saturating_add(1);
        }
        self.touch(directory);
        Ok(())
    }

    fn unlink_name(&mut self, directory: NodeId, name: &str) -> Result<(), Errno> {
        let Some(node) = self.directory(directory)?.entries.remove(name) else {
            return Err(Errno::Noent);
        };
        let now = self.now;
        let child = self.node_mut(node);
        child.links = child.links.saturating_sub(1);
        child.changed = now;
        if child.links == 0 {
            // The folder above may go before a descriptor on this one does.
            child.parent = NodeId::ROOT;
        } else {
            self.used.inodes = self.used.inodes.saturating_sub(1);
        }
        self.touch(directory);
        self.release(node);
        Ok(())
    }

    fn touch(&mut self, node: NodeId) {
        let now = self.now;
        let touched = self.node_mut(node);
        touched.modified = now;
        touched.changed = now;
    }

    /// Makes a folder.
    pub(crate) fn make_directory(&mut self, grant: NodeId, path: &str) -> Result<(), Errno> {
        let resolved = self.resolve(grant, path, Follow::Never)?;
        if resolved.node.is_some() {
            return Err(Errno::Exist);
        }
        self.check_writable(resolved.parent)?;
        let depth = self.depth(resolved.parent).saturating_add(1);
        if depth > self.quota.depth {
            self.used.hit(
                Limit::PathDepth,
                u64::from(self.quota.depth),
                u64::from(depth),
            );
            return Err(Errno::Nametoolong);
        }
        self.add(resolved, NodeKind::Directory(DirectoryNode::default()))
            .map(|_| ())
    }

    /// Removes an empty folder.
    pub(crate) fn remove_directory(&mut self, grant: NodeId, path: &str) -> Result<(), Errno> {
        let resolved = self.resolve(grant, path, Follow::Never)?;
        let parent = resolved.parent;
        let name = match resolved.last {
            Last::Name(name) => name,
            Last::Dot => return Err(Errno::Inval),
            Last::DotDot => return Err(Errno::Notempty),
        };
        let node = resolved.node.ok_or(Errno::Noent)?;
        if !self.directory(node)?.entries.is_empty() {
            return Err(Errno::Notempty);
        }
        self.check_removable(parent, node)?;
        self.unlink_name(parent, &name)
    }

    /// Removes a file's or link's name.
    pub(crate) fn unlink(&mut self, grant: NodeId, path: &str) -> Result<(), Errno> {
        let resolved = self.resolve(grant, path, Follow::Never)?;
        let node = resolved.node.ok_or(Errno::Noent)?;
        if matches!(self.node(node).kind, NodeKind::Directory(_)) {
            return Err(Errno::Isdir);
        }
        if resolved.slash {
            return Err(Errno::Notdir);
        }
        let parent = resolved.parent;
        self.check_removable(parent, node)?;
        self.unlink_name(parent, &resolved.name(Errno::Isdir)?)
    }

    fn check_removable(&mut self, parent: NodeId, node: NodeId) -> Result<(), Errno> {
        if self.node(node).pinned {
            return Err(Errno::Busy);
        }
        self.check_unsealed(node, Attempted::Remove)?;
        self.check_writable(parent)
    }

    /// Makes a symbolic link. The target is text; it is judged when it is followed.
    pub(crate) fn symlink(&mut self, target: &str, grant: NodeId, path: &str) -> Result<(), Errno> {
        if target.is_empty() {
            return Err(Errno::Noent);
        }
        if target.len() > MAX_PATH {
            return Err(Errno::Nametoolong);
        }
        if target.contains('\0') {
            return Err(Errno::Inval);
        }
        let resolved = self.resolve(grant, path, Follow::Never)?;
        if resolved.node.is_none() && resolved.slash {
            return Err(Errno::Noent);
        }
        let length = u64::try_from(target.len()).unwrap_or(u64::MAX);
        let before = self.used.bytes;
        self.recharge(0, length)?;
        let added = self.add(resolved, NodeKind::Symlink(Arc::from(target)));
        if added.is_err() {
            self.used.bytes = before;
        }
        added.map(|_| ())
    }

    /// The target of a link.
    pub(crate) fn read_link(&mut self, grant: NodeId, path: &str) -> Result<Arc<str>, Errno> {
        let node = self.existing(grant, path, Follow::No)?;
        self.record_read(node);
        match &self.node(node).kind {
            NodeKind::Symlink(target) => Ok(Arc::clone(target)),
            NodeKind::Directory(_) | NodeKind::File(_) | NodeKind::Device(_) => Err(Errno::Inval),
        }
    }

    /// Gives a file a second name.
    pub(crate) fn hard_link(
        &mut self,
        from: (NodeId, &str),
        follow: Follow,
        to: (NodeId, &str),
    ) -> Result<(), Errno> {
        let node = self.existing(from.0, from.1, follow)?;
        self.record_read(node);
        let target = self.resolve(to.0, to.1, Follow::Never)?;
        if target.node.is_some() {
            return Err(Errno::Exist);
        }
        if target.slash {
            return Err(Errno::Noent);
        }
        let parent = target.parent;
        self.check_writable(parent)?;
        let source = self.node(node);
        match source.kind {
            NodeKind::File(_) | NodeKind::Symlink(_) => {}
            NodeKind::Directory(_) | NodeKind::Device(_) => return Err(Errno::Perm),
        }
        if source.pinned || !source.writable {
            return Err(Errno::Rofs);
        }
        if source.links >= MAX_LINKS {
            return Err(Errno::Mlink);
        }
        self.check_inodes()?;
        let name = target.name(Errno::Exist)?;
        self.check_name(parent, &name)?;
        self.link_name(parent, &name, node)
    }

    /// Moves a name, replacing what POSIX lets it replace.
    pub(crate) fn rename(&mut self, from: (NodeId, &str), to: (NodeId, &str)) -> Result<(), Errno> {
        let source = self.resolve(from.0, from.1, Follow::Never)?;
        let target = self.resolve(to.0, to.1, Follow::Never)?;
        let slashes = source.slash || target.slash;
        let (source_parent, target_parent) = (source.parent, target.parent);
        let (found, replaced) = (source.node, target.node);
        let source_name = source.name(Errno::Busy)?;
        let target_name = target.name(Errno::Busy)?;
        let node = found.ok_or(Errno::Noent)?;
        let is_directory = matches!(self.node(node).kind, NodeKind::Directory(_));
        if slashes && !is_directory {
            return Err(Errno::Notdir);
        }
        if is_directory && self.is_below(target_parent, node) {
            return Err(Errno::Inval);
        }
        if replaced.is_some_and(|replaced| self.is_below(source_parent, replaced)) {
            return Err(Errno::Notempty);
        }
        self.check_removable(source_parent, node)?;
        self.check_writable(target_parent)?;
        if let Some(replaced) = replaced {
            if replaced == node {
                return Ok(());
            }
            if self.node(replaced).pinned {
                return Err(Errno::Busy);
            }
            self.check_unsealed(replaced, Attempted::Replace)?;
            match (is_directory, &self.node(replaced).kind) {
                (true, NodeKind::Directory(_)) => {
                    if !self.directory(replaced)?.entries.is_empty() {
                        return Err(Errno::Notempty);
                    }
                }
                (true, NodeKind::File(_) | NodeKind::Symlink(_) | NodeKind::Device(_)) => {
                    return Err(Errno::Notdir);
                }
                (false, NodeKind::Directory(_)) => return Err(Errno::Isdir),
                (false, NodeKind::File(_) | NodeKind::Symlink(_) | NodeKind::Device(_)) => {}
            }
        }
        if is_directory {
            let depth = self.depth(target_parent);
            // What is below the folder moves with it.
            let depth = depth.saturating_add(self.height(node)?);
            if depth > self.quota.depth {
                let cap = u64::from(self.quota.depth);
                self.used.hit(Limit::PathDepth, cap, u64::from(depth));
                return Err(Errno::Nametoolong);
            }
        }
        self.check_name(target_parent, &target_name)?;
        if is_directory {
            self.check_names_below(node, target_parent)?;
        }
        if replaced.is_some() {
            self.unlink_name(target_parent, &target_name)?;
        }
        // The name is added before the old one goes, so that the node is never free between.
        self.link_name(target_parent, &target_name, node)?;
        self.unlink_name(source_parent, &source_name)?;
        if is_directory {
            self.node_mut(node).parent = target_parent;
        }
        Ok(())
    }

    /// Whether a folder is `node` or somewhere below it.
    pub(super) fn is_below(&self, folder: NodeId, node: NodeId) -> bool {
        let mut at = folder;
        while at != node {
            if at == NodeId::ROOT {
                return false;
            }
            at = self.node(at).parent;
        }
        true
    }

    /// What is known of a node.
    pub(crate) fn stat(&mut self, node: NodeId) -> Stat {
        self.record_read(node);
        let found: &Node = self.node(node);
        Stat {
            inode: u64::from(node.0).saturating_add(1),
            file_type: found.file_type(),
            links: u64::from(found.links),
            size: found.size(),
            accessed: found.accessed,
            modified: found.modified,
            changed: found.changed,
        }
    }

    /// Sets times of a node.
    pub(crate) fn set_times(&mut self, node: NodeId, times: NewTimes) -> Result<(), Errno> {
        self.record_read(node);
        let now = self.now;
        let changed = self.node_mut(node);
        if !changed.writable {
            return Err(Errno::Rofs);
        }
        changed.accessed = times.accessed.unwrap_or(changed.accessed);
        changed.modified = times.modified.unwrap_or(changed.modified);
        changed.changed = now;
        Ok(())
    }

    /// All bytes of the file at the absolute `path`, if it is one. For the host: nothing is
    /// noted as read.
    pub(crate) fn whole_file(&mut self, path: &str) -> Option<&[u8]> {
        let path = path.strip_prefix('/')?;
        let node = self.find(NodeId::ROOT, path)?;
        match &self.node(node).kind {
            NodeKind::File(content) => Some(content.bytes()),
            NodeKind::Directory(_) | NodeKind::Symlink(_) | NodeKind::Device(_) => None,
        }
    }

    /// Copies bytes of a file from `offset` into `into`; fewer at the end of the file.
    pub(crate) fn read_at(
        &mut self,
        node: NodeId,
        offset: u64,
        into: &mut [u8],
    ) -> Result<usize, Errno> {
        self.record_read(node);
        match &self.node(node).kind {
            NodeKind::File(content) => {
                let bytes = content.bytes();
                let start = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                let rest = bytes.get(start..).unwrap_or(&[]);
                let count = rest.len().min(into.len());
                if let (Some(to), Some(from)) = (into.get_mut(..count), rest.get(..count)) {
                    to.copy_from_slice(from);
                }
                Ok(count)
            }
            NodeKind::Directory(_) => Err(Errno::Isdir),
            NodeKind::Symlink(_) | NodeKind::Device(_) => Err(Errno::Inval),
        }
    }

    /// Writes bytes to a file at `offset`, filling a gap with zeros.
    pub(crate) fn write_at(
        &mut self,
        node: NodeId,
        offset: u64,
        bytes: &[u8],
    ) -> Result<usize, Errno> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let length = u64::try_from(bytes.len()).map_err(|_| Errno::Fbig)?;
        let end = offset.checked_add(length).ok_or(Errno::Fbig)?;
        let own = self.make_own(node, end)?;
        let start = usize::try_from(offset).map_err(|_| Errno::Fbig)?;
        let stop = usize::try_from(end).map_err(|_| Errno::Fbig)?;
        own.get_mut(start..stop)
            .ok_or(Errno::Io)?
            .copy_from_slice(bytes);
        self.touch(node);
        Ok(bytes.len())
    }

    /// Sets a file's size, filling with zeros.
    pub(crate) fn set_len(&mut self, node: NodeId, length: u64) -> Result<(), Errno> {
        match length.cmp(&self.node(node).size()) {
            Ordering::Less => self.shrink(node, length)?,
            Ordering::Equal => self.check_file(node)?,
            Ordering::Greater => self.make_own(node, length).map(|_| ())?,
        }
        self.touch(node);
        Ok(())
    }

    /// Makes sure that a file has room up to `offset` plus `length`.
    pub(crate) fn allocate(&mut self, node: NodeId, offset: u64, length: u64) -> Result<(), Errno> {
        if length == 0 {
            return Err(Errno::Inval);
        }
        let end = offset.checked_add(length).ok_or(Errno::Fbig)?;
        let size = self.node(node).size();
        // Within the file nothing but its times changes, as on Linux.
        self.set_len(node, end.max(size))
    }

    fn shrink(&mut self, node: NodeId, length: u64) -> Result<(), Errno> {
        self.check_file(node)?;
        let keep = usize::try_from(length).map_err(|_| Errno::Fbig)?;
        self.recharge(content_charge(self.node(node)), length)?;
        let NodeKind::File(content) = &mut self.node_mut(node).kind else {
            return Err(Errno::Inval);
        };
        if let Content::Owned(own) = content {
            own.truncate(keep);
            // Room that is mostly empty is given back; that copies less than was cut.
            if own.capacity() / 2 > keep {
                own.shrink_to_fit();
            }
        } else {
            let kept = content.bytes().get(..keep).ok_or(Errno::Io)?.to_vec();
            *content = Content::Owned(kept);
        }
        Ok(())
    }

    /// Whether the content of a node may be changed.
    fn check_file(&mut self, node: NodeId) -> Result<(), Errno> {
        if !self.node(node).writable {
            self.note_if_sealed(node, Attempted::Write);
            return Err(Errno::Rofs);
        }
        match self.node(node).kind {
            NodeKind::File(_) => Ok(()),
            NodeKind::Directory(_) => Err(Errno::Isdir),
            NodeKind::Symlink(_) | NodeKind::Device(_) => Err(Errno::Inval),
        }
    }

    /// Makes a file's content the guest's own and at least `length` bytes long.
    fn make_own(&mut self, node: NodeId, length: u64) -> Result<&mut Vec<u8>, Errno> {
        self.check_file(node)?;
        let found = self.node(node);
        let size = found.size().max(length);
        self.recharge(content_charge(found), size)?;
        let size = usize::try_from(size).map_err(|_| Errno::Fbig)?;
        let NodeKind::File(content) = &mut self.node_mut(node).kind else {
            return Err(Errno::Inval);
        };
        if !matches!(content, Content::Owned(_)) {
            *content = Content::Owned(content.bytes().to_vec());
        }
        let Content::Owned(own) = content else {
            return Err(Errno::Io);
        };
        if own.len() < size {
            own.resize(size, 0);
        }
        Ok(own)
    }

    /// Names and nodes of a folder, sorted, `.` and `..` first.
    pub(crate) fn list(&mut self, node: NodeId) -> Result<Vec<(Arc<str>, NodeId)>, Errno> {
        let parent = self.node(node).parent;
        let mut rows = vec![(Arc::from("."), node), (Arc::from(".."), parent)];
        let entries = &self.directory(node)?.entries;
        rows.extend(entries.iter().map(|(name, id)| (Arc::clone(name), *id)));
        if self.node(node).origin.is_some() || node == NodeId::ROOT {
            let path = self.origin_length(node);
            self.recorder.listed(node, path);
        }
        Ok(rows)
    }

    /// Notes that the guest learned something of a node, if it is a layer's.
    pub(super) fn record_read(&mut self, node: NodeId) {
        let found = self.node_mut(node);
        if found.origin.is_some() && !found.read {
            found.read = true;
            let path = self.origin_length(node);
            self.recorder.read(node, path);
        }
    }
}

fn content_charge(node: &Node) -> u64 {
    match &node.kind {
        NodeKind::File(content) => content.charged(),
        NodeKind::Directory(_) | NodeKind::Symlink(_) | NodeKind::Device(_) => 0,
    }
}

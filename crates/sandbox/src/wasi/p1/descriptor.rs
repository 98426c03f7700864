//! A guest's open descriptors.

use std::collections::{BTreeMap, BTreeSet};

use super::super::open_files::{Listing, OpenFiles};
use crate::fs::{Errno, Filesystem, NodeId};

/// Rights of WASI 0.1 that decide something here.
pub(super) mod rights {
    pub(in crate::wasi::p1) const FD_DATASYNC: u64 = 1 << 0;
    pub(in crate::wasi::p1) const FD_READ: u64 = 1 << 1;
    pub(in crate::wasi::p1) const FD_SEEK: u64 = 1 << 2;
    pub(in crate::wasi::p1) const FD_TELL: u64 = 1 << 5;
    pub(in crate::wasi::p1) const FD_WRITE: u64 = 1 << 6;
    pub(in crate::wasi::p1) const FD_ALLOCATE: u64 = 1 << 8;
    pub(in crate::wasi::p1) const FD_FILESTAT_SET_SIZE: u64 = 1 << 22;
    /// Every right that WASI 0.1 defines.
    pub(in crate::wasi::p1) const ALL: u64 = (1 << 30) - 1;
    const PATH_FILESTAT_SET_SIZE: u64 = 1 << 19;
    /// What can be done with a folder itself: no writing to it and no place in it. The
    /// right to set sizes by path is told by nobody, as no call but `path_open` could.
    pub(in crate::wasi::p1) const DIRECTORY: u64 = ALL
        & !(FD_DATASYNC | FD_SEEK | FD_TELL | FD_WRITE | FD_ALLOCATE | FD_FILESTAT_SET_SIZE)
        & !PATH_FILESTAT_SET_SIZE;
}

/// `fdflags` of WASI 0.1.
pub(super) const FLAG_APPEND: u16 = 1 << 0;
pub(super) const FLAGS_KNOWN: u16 = 0b1_1111;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Stdin,
    Stdout,
    Stderr,
    Node(NodeId),
}

#[derive(Debug, Clone)]
pub(super) struct Descriptor {
    pub(super) target: Target,
    pub(super) rights: u64,
    pub(super) inheriting: u64,
    pub(super) flags: u16,
    pub(super) offset: u64,
    pub(super) listing: Option<Listing>,
    /// The guest path of a granted folder.
    pub(super) preopen: Option<String>,
}

impl Descriptor {
    pub(super) const fn new(target: Target, rights: u64) -> Self {
        Self {
            target,
            rights,
            inheriting: rights::ALL,
            flags: 0,
            offset: 0,
            listing: None,
            preopen: None,
        }
    }

    pub(super) const fn node(&self) -> Result<NodeId, Errno> {
        match self.target {
            Target::Node(node) => Ok(node),
            Target::Stdin | Target::Stdout | Target::Stderr => Err(Errno::Notsup),
        }
    }

    pub(super) const fn may(&self, right: u64) -> Result<(), Errno> {
        if self.rights & right == right {
            Ok(())
        } else {
            Err(Errno::Badf)
        }
    }
}

/// Descriptors by number.
#[derive(Debug, Clone, Default)]
pub(in crate::wasi) struct Descriptors {
    open: BTreeMap<u32, Descriptor>,
    /// Numbers below `next` that are free.
    free: BTreeSet<u32>,
    /// One above the highest number that was ever opened.
    next: u32,
}

impl Descriptors {
    /// The standard streams and the granted folders.
    pub(in crate::wasi) fn standard(
        files: &mut OpenFiles,
        fs: &mut Filesystem,
        preopens: &[(NodeId, String)],
    ) -> Result<Self, Errno> {
        let mut all = Self::default();
        let stdio = rights::FD_SEEK | rights::FD_TELL;
        for (target, right) in [
            (Target::Stdin, rights::FD_READ),
            (Target::Stdout, rights::FD_WRITE),
            (Target::Stderr, rights::FD_WRITE),
        ] {
            all.insert(files, Descriptor::new(target, right | stdio))?;
        }
        for (node, path) in preopens {
            fs.hold(*node);
            let mut descriptor = Descriptor::new(Target::Node(*node), rights::DIRECTORY);
            descriptor.preopen = Some(path.clone());
            all.insert(files, descriptor)?;
        }
        Ok(all)
    }

    pub(super) fn get(&self, fd: u32) -> Result<&Descriptor, Errno> {
        self.open.get(&fd).ok_or(Errno::Badf)
    }

    pub(super) fn get_mut(&mut self, fd: u32) -> Result<&mut Descriptor, Errno> {
        self.open.get_mut(&fd).ok_or(Errno::Badf)
    }

    /// Opens the lowest free number.
    pub(super) fn insert(
        &mut self,
        files: &mut OpenFiles,
        descriptor: Descriptor,
    ) -> Result<u32, Errno> {
        files.opened()?;
        let number = self.free.pop_first().unwrap_or(self.next);
        self.next = self.next.max(number.saturating_add(1));
        self.open.insert(number, descriptor);
        Ok(number)
    }

    pub(super) fn remove(&mut self, files: &mut OpenFiles, fd: u32) -> Result<Descriptor, Errno> {
        let removed = self.open.remove(&fd).ok_or(Errno::Badf)?;
        self.free.insert(fd);
        files.closed();
        files.hold(removed.listing.as_ref(), None)?;
        Ok(removed)
    }

    /// Moves an open descriptor to a number that is free.
    pub(super) fn renumber(&mut self, from: u32, to: u32) -> Result<(), Errno> {
        let moved = self.open.remove(&from).ok_or(Errno::Badf)?;
        // Numbers that were never opened cannot be moved to, so both are below `next`.
        self.free.remove(&to);
        self.free.insert(from);
        self.open.insert(to, moved);
        Ok(())
    }

    /// Keeps a folder's names for the reader `fd`.
    pub(super) fn keep_listing(
        &mut self,
        files: &mut OpenFiles,
        fd: u32,
        listing: Listing,
    ) -> Result<(), Errno> {
        let reader = self.get_mut(fd)?;
        files.hold(reader.listing.as_ref(), Some(&listing))?;
        reader.listing = Some(listing);
        Ok(())
    }
}

//! A guest's open descriptors.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_core::budget::{Limit, LimitHit};

use crate::fs::{Errno, NodeId};

/// Rights of WASI 0.1 that decide something here.
pub(super) mod rights {
    pub(in crate::wasi) const FD_DATASYNC: u64 = 1 << 0;
    pub(in crate::wasi) const FD_READ: u64 = 1 << 1;
    pub(in crate::wasi) const FD_SEEK: u64 = 1 << 2;
    pub(in crate::wasi) const FD_TELL: u64 = 1 << 5;
    pub(in crate::wasi) const FD_WRITE: u64 = 1 << 6;
    pub(in crate::wasi) const FD_ALLOCATE: u64 = 1 << 8;
    pub(in crate::wasi) const FD_FILESTAT_SET_SIZE: u64 = 1 << 22;
    /// Every right that WASI 0.1 defines.
    pub(in crate::wasi) const ALL: u64 = (1 << 30) - 1;
    pub(in crate::wasi) const PATH_FILESTAT_SET_SIZE: u64 = 1 << 19;
    /// What can be done with a folder itself: no writing to it and no place in it. The
    /// right to set sizes by path is told by nobody, as no call but `path_open` could.
    pub(in crate::wasi) const DIRECTORY: u64 = ALL
        & !(FD_DATASYNC | FD_SEEK | FD_TELL | FD_WRITE | FD_ALLOCATE | FD_FILESTAT_SET_SIZE)
        & !PATH_FILESTAT_SET_SIZE;
}

/// `fdflags` of WASI 0.1.
pub(super) const FLAG_APPEND: u16 = 1 << 0;
pub(super) const FLAGS_KNOWN: u16 = 0b1_1111;

/// Names of one folder, as a reader of it goes through them.
pub(super) type Listing = Arc<[(Arc<str>, NodeId)]>;

/// Names held by all readers of folders together.
const MAX_LISTED: usize = 1 << 20;

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

#[derive(Debug)]
pub(super) struct Descriptors {
    open: BTreeMap<u32, Descriptor>,
    cap: u32,
    listed: usize,
    pub(super) hit: Option<LimitHit>,
}

impl Descriptors {
    pub(super) const fn new(cap: u32) -> Self {
        Self {
            open: BTreeMap::new(),
            cap,
            listed: 0,
            hit: None,
        }
    }

    pub(super) fn get(&self, fd: u32) -> Result<&Descriptor, Errno> {
        self.open.get(&fd).ok_or(Errno::Badf)
    }

    pub(super) fn get_mut(&mut self, fd: u32) -> Result<&mut Descriptor, Errno> {
        self.open.get_mut(&fd).ok_or(Errno::Badf)
    }

    /// Whether another descriptor may be opened; notes the limit if not.
    pub(super) fn check_room(&mut self) -> Result<(), Errno> {
        if self.open.len() < self.cap as usize {
            return Ok(());
        }
        self.hit = Some(LimitHit {
            limit: Limit::OpenFiles,
            cap: u64::from(self.cap),
            used: u64::from(self.cap).saturating_add(1),
        });
        Err(Errno::Mfile)
    }

    /// Opens the lowest free number.
    pub(super) fn insert(&mut self, descriptor: Descriptor) -> Result<u32, Errno> {
        self.check_room()?;
        let mut number = 0_u32;
        for used in self.open.keys() {
            if *used != number {
                break;
            }
            number = number.saturating_add(1);
        }
        self.open.insert(number, descriptor);
        Ok(number)
    }

    pub(super) fn put(&mut self, fd: u32, descriptor: Descriptor) {
        self.open.insert(fd, descriptor);
    }

    pub(super) fn remove(&mut self, fd: u32) -> Result<Descriptor, Errno> {
        let removed = self.open.remove(&fd).ok_or(Errno::Badf)?;
        self.listed = self.listed.saturating_sub(listed(removed.listing.as_ref()));
        Ok(removed)
    }

    /// Keeps a folder's names for the reader `fd`.
    pub(super) fn keep_listing(&mut self, fd: u32, listing: Listing) -> Result<(), Errno> {
        let before = listed(self.get(fd)?.listing.as_ref());
        let total = self
            .listed
            .saturating_sub(before)
            .saturating_add(listing.len());
        if total > MAX_LISTED {
            return Err(Errno::Nfile);
        }
        self.listed = total;
        self.get_mut(fd)?.listing = Some(listing);
        Ok(())
    }
}

fn listed(listing: Option<&Listing>) -> usize {
    listing.map_or(0, |rows| rows.len())
}

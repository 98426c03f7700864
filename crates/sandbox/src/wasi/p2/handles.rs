//! What a component holds by handle.
//!
//! A handle costs the host memory without the guest's own growing, so their number is
//! capped and meeting the cap ends the guest: few interfaces have an error for it.

use probity_core::budget::{Limit, LimitHit};
use wasmtime::component::{Resource, ResourceTable};

use super::super::host::Stop;
use super::super::nodes::Standard;
use super::super::open_files::Listing;
use crate::fs::{Errno, NodeId};

/// Handles for each file that may be open: itself, a stream each way, and what waits for it.
const PER_FILE: u32 = 4;
/// Handles beyond those of files.
const BEYOND_FILES: u32 = 4096;

/// An open file or folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Descriptor {
    pub(super) node: NodeId,
    pub(super) read: bool,
    pub(super) write: bool,
}

/// A reader of one folder.
#[derive(Debug)]
pub(super) struct DirectoryReader {
    pub(super) listing: Listing,
    pub(super) at: usize,
}

/// A stream to read from.
#[derive(Debug, Clone, Copy)]
pub(super) enum InputStream {
    Stdin,
    File { node: NodeId, at: u64 },
}

/// A stream to write to.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputStream {
    pub(super) sink: Sink,
    /// After a failure a stream takes nothing more.
    pub(super) closed: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Sink {
    Standard(Standard),
    /// At a place that moves on.
    File {
        node: NodeId,
        at: u64,
    },
    /// Always at the end.
    Append {
        node: NodeId,
    },
}

/// Something to wait for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pollable {
    Ready,
    /// A point on the monotonic clock, in nanoseconds.
    At(u64),
}

/// Why a stream failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct IoError(pub(super) Errno);

/// A terminal: there is none.
#[derive(Debug)]
pub(super) enum TerminalInput {}

/// A terminal: there is none.
#[derive(Debug)]
pub(super) enum TerminalOutput {}

/// Every handle of one component.
pub(in crate::wasi) struct Handles {
    table: ResourceTable,
    cap: usize,
}

impl Handles {
    /// A table for a guest that may open `open_files` files.
    pub(in crate::wasi) fn new(open_files: u32) -> Self {
        let cap = open_files
            .saturating_mul(PER_FILE)
            .saturating_add(BEYOND_FILES) as usize;
        let mut table = ResourceTable::new();
        table.set_max_capacity(cap);
        Self { table, cap }
    }

    /// Most handles at a time.
    pub(super) const fn cap(&self) -> usize {
        self.cap
    }

    pub(super) fn push<T: Send + 'static>(&mut self, value: T) -> Result<Resource<T>, Stop> {
        self.table.push(value).map_err(|_| {
            let cap = u64::try_from(self.cap).unwrap_or(u64::MAX);
            Stop::Limit(LimitHit {
                limit: Limit::Handles,
                cap,
                used: cap.saturating_add(1),
            })
        })
    }

    pub(super) fn get<T: Copy + 'static>(&self, handle: &Resource<T>) -> Result<T, Stop> {
        self.table.get(handle).copied().map_err(|_| UNKNOWN)
    }

    pub(super) fn get_mut<T: 'static>(&mut self, handle: &Resource<T>) -> Result<&mut T, Stop> {
        self.table.get_mut(handle).map_err(|_| UNKNOWN)
    }

    pub(super) fn delete<T: 'static>(&mut self, handle: Resource<T>) -> Result<T, Stop> {
        self.table.delete(handle).map_err(|_| UNKNOWN)
    }
}

/// The engine checks handles before they come here.
const UNKNOWN: Stop = Stop::Misuse("a handle leads nowhere");

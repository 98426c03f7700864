//! Reading and writing: files, devices and the standard streams, with what they cost.
//!
//! Both adapters come through here, so that a byte costs the same and a device behaves the
//! same whichever way it is reached. What a component writes costs once more, for the copy
//! of it that the engine makes before.

use super::host::{Host, Stop};
use super::open_files::Listing;
use crate::fs::{Content, Device, Errno, NewTimes, NodeId, NodeKind};
use probity_core::budget::{Limit, LimitHit};

/// Most bytes moved by one call; a longer request is a short transfer.
pub(super) const MAX_TRANSFER: u32 = 16 << 20;
/// Fuel for each name that is looked up for a folder's reader.
const LIST_CHARGE: usize = 8;
/// Fuel for each name that a folder's reader receives.
pub(super) const ENTRY_CHARGE: usize = 50;

/// Where a guest's output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standard {
    Output,
    Error,
}

impl Host {
    /// Takes bytes from standard input; 0 at its end.
    pub(super) fn read_stdin(&mut self, into: &mut [u8]) -> usize {
        let rest = self.stdin.get(self.stdin_at..).unwrap_or(&[]);
        let count = rest.len().min(into.len());
        if let (Some(to), Some(from)) = (into.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.stdin_at = self.stdin_at.saturating_add(count);
        self.charge(count);
        count
    }

    /// Bytes that standard input still holds.
    pub(super) const fn stdin_left(&self) -> usize {
        self.stdin.len().saturating_sub(self.stdin_at)
    }

    /// Takes what the guest prints; past the cap it is counted and dropped.
    pub(super) fn print(&mut self, to: Standard, bytes: &[u8]) {
        match to {
            Standard::Output => self.stdout.write(bytes),
            Standard::Error => self.stderr.write(bytes),
        }
        self.charge(bytes.len());
    }

    /// Reads a file or device from `at`; fewer bytes than asked for at its end.
    pub(super) fn read_node(
        &mut self,
        node: NodeId,
        at: u64,
        into: &mut [u8],
    ) -> Result<usize, Errno> {
        let device = match &self.fs.node(node).kind {
            NodeKind::Device(device) => Some(*device),
            NodeKind::Directory(_) => return Err(Errno::Isdir),
            NodeKind::File(_) | NodeKind::Symlink(_) => None,
        };
        let count = match device {
            None => self.fs.read_at(node, at, into)?,
            Some(Device::Null) => 0,
            Some(Device::Zero) => {
                into.fill(0);
                into.len()
            }
            Some(Device::Random) => {
                self.fill_random(into);
                into.len()
            }
            Some(Device::Results) => return Err(Errno::Badf),
        };
        self.charge(count);
        Ok(count)
    }

    /// Bytes that can be read from `at` at most: where a file ends is known before.
    pub(super) fn readable(&self, node: NodeId, at: u64) -> u64 {
        match &self.fs.node(node).kind {
            NodeKind::Device(Device::Zero | Device::Random) => u64::MAX,
            NodeKind::Device(Device::Null | Device::Results)
            | NodeKind::File(_)
            | NodeKind::Directory(_)
            | NodeKind::Symlink(_) => self.fs.node(node).size().saturating_sub(at),
        }
    }

    /// Writes bytes to a file or device at `at`, all of them or none. A write that is
    /// refused costs only the call.
    pub(super) fn write_node(&mut self, node: NodeId, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        let device = match &self.fs.node(node).kind {
            NodeKind::Device(device) => Some(*device),
            NodeKind::Directory(_) => return Err(Errno::Isdir),
            NodeKind::File(_) | NodeKind::Symlink(_) => None,
        };
        let copied = self.copied(node);
        match device {
            None => {
                let gap = at.saturating_sub(self.fs.node(node).size());
                self.fs.write_at(node, at, bytes)?;
                if !bytes.is_empty() {
                    self.charge(copied);
                    self.charge_long(gap);
                }
            }
            Some(Device::Null | Device::Zero | Device::Random) => {}
            Some(Device::Results) => self.write_results(bytes),
        }
        self.charge(bytes.len());
        Ok(())
    }

    /// Sets a file's size; what is added or cut is charged.
    pub(super) fn resize(&mut self, node: NodeId, size: u64) -> Result<(), Errno> {
        let (before, copied) = (self.fs.node(node).size(), self.copied(node));
        self.fs.set_len(node, size)?;
        self.charge_resized(before, size, copied);
        Ok(())
    }

    /// Makes room in a file for `length` bytes from `offset`.
    pub(super) fn allocate(&mut self, node: NodeId, offset: u64, length: u64) -> Result<(), Errno> {
        let (before, copied) = (self.fs.node(node).size(), self.copied(node));
        self.fs.allocate(node, offset, length)?;
        self.charge_resized(before, self.fs.node(node).size(), copied);
        Ok(())
    }

    fn charge_resized(&mut self, before: u64, after: u64, copied: usize) {
        if after != before {
            self.charge(copied);
        }
        self.charge_long(after.abs_diff(before));
    }

    /// What the first change of a layer's file costs: it is copied.
    fn copied(&self, node: NodeId) -> usize {
        match &self.fs.node(node).kind {
            NodeKind::File(content @ (Content::Shared(_) | Content::Mapped(_))) => {
                content.bytes().len()
            }
            NodeKind::File(Content::Owned(_))
            | NodeKind::Directory(_)
            | NodeKind::Symlink(_)
            | NodeKind::Device(_) => 0,
        }
    }

    /// The names in a folder, `.` and `..` first, the rest sorted.
    pub(super) fn list(&mut self, node: NodeId) -> Result<Listing, Errno> {
        let rows: Listing = self.fs.list(node)?.into();
        self.charge(rows.len().saturating_mul(LIST_CHARGE));
        Ok(rows)
    }

    /// Gives each time the value that a guest chose for it.
    pub(super) fn new_times(&self, accessed: NewTime, modified: NewTime) -> NewTimes {
        let pick = |time: NewTime| match time {
            NewTime::Keep => None,
            NewTime::Now => Some(self.clock.realtime()),
            NewTime::At(time) => Some(time),
        };
        NewTimes {
            accessed: pick(accessed),
            modified: pick(modified),
        }
    }

    /// Takes bytes for the results channel; past its cap the guest ends.
    fn write_results(&mut self, bytes: &[u8]) {
        // Nothing is no report: it renews no fuel.
        if bytes.is_empty() {
            return;
        }
        let cap = self.budget.results;
        let wanted = self.results.len().saturating_add(bytes.len());
        if wanted > cap.as_usize() {
            self.stop = Some(Stop::Limit(LimitHit {
                limit: Limit::Results,
                cap: cap.0,
                used: u64::try_from(wanted).unwrap_or(u64::MAX),
            }));
            return;
        }
        self.report(bytes);
        self.meter.renew();
    }

    fn charge_long(&mut self, amount: u64) {
        self.charge(usize::try_from(amount).unwrap_or(usize::MAX));
    }
}

/// A new value of one of a file's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewTime {
    Keep,
    Now,
    /// Nanoseconds since the Unix epoch.
    At(u64),
}

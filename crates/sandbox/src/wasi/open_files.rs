//! How many files a guest holds open, and how many names its readers of folders hold.

use std::sync::Arc;

use probity_core::budget::{Limit, LimitHit};

use crate::fs::{Errno, NodeId};

/// Names of one folder, as a reader of it goes through them.
pub(super) type Listing = Arc<[(Arc<str>, NodeId)]>;

/// Names held by all readers of folders together.
const MAX_LISTED: usize = 1 << 20;

/// The count of open files against its cap.
#[derive(Debug, Clone)]
pub(super) struct OpenFiles {
    open: u32,
    cap: u32,
    listed: usize,
    hit: Option<LimitHit>,
}

impl OpenFiles {
    pub(super) const fn new(cap: u32) -> Self {
        Self {
            open: 0,
            cap,
            listed: 0,
            hit: None,
        }
    }

    /// The cap, if something was refused because of it.
    pub(super) const fn hit(&self) -> Option<LimitHit> {
        self.hit
    }

    /// Whether another file may be opened; notes the limit if not.
    pub(super) fn check_room(&mut self) -> Result<(), Errno> {
        if self.open < self.cap {
            return Ok(());
        }
        self.hit = Some(LimitHit {
            limit: Limit::OpenFiles,
            cap: u64::from(self.cap),
            used: u64::from(self.cap).saturating_add(1),
        });
        Err(Errno::Mfile)
    }

    pub(super) fn opened(&mut self) -> Result<(), Errno> {
        self.check_room()?;
        self.open = self.open.saturating_add(1);
        Ok(())
    }

    pub(super) const fn closed(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    /// Makes room for the names of `listing` in place of those of `before`.
    pub(super) fn hold(
        &mut self,
        before: Option<&Listing>,
        listing: Option<&Listing>,
    ) -> Result<(), Errno> {
        let rows = |listing: Option<&Listing>| listing.map_or(0, |rows| rows.len());
        let total = self
            .listed
            .saturating_sub(rows(before))
            .saturating_add(rows(listing));
        if total > MAX_LISTED && listing.is_some() {
            return Err(Errno::Nfile);
        }
        self.listed = total;
        Ok(())
    }
}

//! What a guest may add to its filesystem.

use std::collections::BTreeMap;

use probity_core::budget::{Budget, Limit, LimitHit};

/// Bounds on what the guest adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Bytes in files that the guest wrote.
    pub bytes: u64,
    /// Files, folders and links that the guest made.
    pub inodes: u64,
    /// Nesting of folders.
    pub depth: u32,
}

impl From<&Budget> for Quota {
    fn from(budget: &Budget) -> Self {
        Self {
            bytes: budget.file_bytes.0,
            inodes: budget.inodes,
            depth: budget.path_depth,
        }
    }
}

/// What of a [`Quota`] is in use, and which bounds were met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuotaUse {
    /// Bytes in use.
    pub bytes: u64,
    /// Inodes in use.
    pub inodes: u64,
    hits: BTreeMap<Limit, LimitHit>,
}

impl QuotaUse {
    /// Forgets which bounds were met.
    pub(crate) fn forget_hits(&mut self) {
        self.hits.clear();
    }

    /// Records that a request for `used` went past `cap`; the largest request is kept.
    pub fn hit(&mut self, limit: Limit, cap: u64, used: u64) {
        let hit = self
            .hits
            .entry(limit)
            .or_insert(LimitHit { limit, cap, used });
        hit.used = hit.used.max(used);
    }

    /// The bounds that were met, by limit.
    pub fn hits(&self) -> impl Iterator<Item = LimitHit> + '_ {
        self.hits.values().copied()
    }
}

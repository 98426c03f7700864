//! The engine's own limits: memories, tables, instances.
//!
//! Growth past a limit is refused as WebAssembly allows (`memory.grow` yields −1), so a
//! program that can cope with little memory does; the refusal is noted, and if the guest
//! then traps, the limit is named as the cause.

use probity_core::budget::{Budget, Limit, LimitHit};

use crate::engine::Kind;
use crate::wasi::Stop;

/// Bounds on linear memories and tables, all of an instance's together.
#[derive(Debug, Clone)]
pub struct EngineLimits {
    memory: Pool,
    tables: Pool,
    /// Whether the growth under way was granted.
    granted: bool,
    counts: Counts,
}

/// How many of each a guest may have. Their contents share the pools, so that many small
/// ones get no more than one large one.
#[derive(Debug, Clone, Copy)]
struct Counts {
    instances: usize,
    memories: usize,
    tables: usize,
}

impl Counts {
    const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Core => Self {
                instances: 1,
                memories: 1,
                tables: 16,
            },
            // Tools make a component of a program, an adapter and shims between them; a
            // program that brings its parts as modules has some more.
            Kind::Component => Self {
                instances: 64,
                memories: 16,
                tables: 64,
            },
        }
    }
}

/// What all memories, or all tables, of an instance share.
#[derive(Debug, Clone)]
struct Pool {
    limit: Limit,
    cap: u64,
    used: u64,
    peak: u64,
    /// The largest use that was refused.
    refused: Option<u64>,
}

impl Pool {
    const fn new(limit: Limit, cap: u64) -> Self {
        Self {
            limit,
            cap,
            used: 0,
            peak: 0,
            refused: None,
        }
    }

    /// Whether one of the pool's members may grow from `current` to `desired`.
    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> bool {
        let as_u64 = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
        let total = self
            .used
            .saturating_sub(as_u64(current))
            .saturating_add(as_u64(desired));
        if total > self.cap {
            self.refused = self.refused.max(Some(total));
            return false;
        }
        // Past its own maximum no growth can succeed, so none is granted.
        if maximum.is_some_and(|maximum| desired > maximum) {
            return false;
        }
        self.used = total;
        self.peak = self.peak.max(total);
        true
    }

    fn hit(&self) -> Option<LimitHit> {
        Some(LimitHit {
            limit: self.limit,
            cap: self.cap,
            used: self.refused?,
        })
    }
}

impl EngineLimits {
    /// The bounds of `budget` for a guest of this kind.
    #[must_use]
    pub const fn new(budget: &Budget, kind: Kind) -> Self {
        Self {
            memory: Pool::new(Limit::Memory, budget.memory.0),
            tables: Pool::new(Limit::TableElements, budget.table_elements),
            granted: false,
            counts: Counts::of(kind),
        }
    }

    /// The bounds at which growth was refused.
    pub fn hits(&self) -> impl Iterator<Item = LimitHit> {
        [&self.memory, &self.tables]
            .into_iter()
            .filter_map(Pool::hit)
    }

    /// The most linear memory that was in use, in bytes.
    #[must_use]
    pub const fn memory_peak(&self) -> u64 {
        self.memory.peak
    }
}

impl wasmtime::ResourceLimiter for EngineLimits {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.granted = self.memory.grow(current, desired, maximum);
        Ok(self.granted)
    }

    /// Growth that was granted failed: the host has no memory. What a guest sees must not
    /// depend on that, so the run ends as a failure of the host.
    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        if std::mem::take(&mut self.granted) {
            return Err(Stop::HostMemory.into());
        }
        Ok(())
    }

    fn table_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        if std::mem::take(&mut self.granted) {
            return Err(Stop::HostMemory.into());
        }
        Ok(())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.granted = self.tables.grow(current, desired, maximum);
        Ok(self.granted)
    }

    fn instances(&self) -> usize {
        self.counts.instances
    }

    fn memories(&self) -> usize {
        self.counts.memories
    }

    fn tables(&self) -> usize {
        self.counts.tables
    }
}

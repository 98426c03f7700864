//! The engine's own limits: memories and tables.
//!
//! Growth past a limit is refused as WebAssembly allows (`memory.grow` yields −1), so a
//! program that can cope with little memory does; the refusal is noted, and if the guest
//! then traps, the limit is named as the cause.

use probity_core::budget::{Budget, Limit, LimitHit};

/// Bounds on linear memories and tables, all of an instance's together.
#[derive(Debug, Clone)]
pub struct EngineLimits {
    memory_cap: u64,
    memory_used: u64,
    table_cap: u64,
    table_used: u64,
    memory_hit: Option<u64>,
    table_hit: Option<u64>,
    memory_peak: u64,
}

impl EngineLimits {
    /// The bounds of `budget`.
    #[must_use]
    pub const fn new(budget: &Budget) -> Self {
        Self {
            memory_cap: budget.memory.0,
            memory_used: 0,
            table_cap: budget.table_elements,
            table_used: 0,
            memory_hit: None,
            table_hit: None,
            memory_peak: 0,
        }
    }

    /// The bounds at which growth was refused.
    pub fn hits(&self) -> impl Iterator<Item = LimitHit> {
        let memory = self.memory_hit.map(|used| LimitHit {
            limit: Limit::Memory,
            cap: self.memory_cap,
            used,
        });
        let tables = self.table_hit.map(|used| LimitHit {
            limit: Limit::TableElements,
            cap: self.table_cap,
            used,
        });
        [memory, tables].into_iter().flatten()
    }

    /// The most linear memory that was in use, in bytes.
    #[must_use]
    pub const fn memory_peak(&self) -> u64 {
        self.memory_peak
    }
}

fn as_u64(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

impl wasmtime::ResourceLimiter for EngineLimits {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self
            .memory_used
            .saturating_sub(as_u64(current))
            .saturating_add(as_u64(desired));
        if total > self.memory_cap {
            self.memory_hit = Some(self.memory_hit.unwrap_or(0).max(total));
            return Ok(false);
        }
        self.memory_used = total;
        self.memory_peak = self.memory_peak.max(total);
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self
            .table_used
            .saturating_sub(as_u64(current))
            .saturating_add(as_u64(desired));
        if total > self.table_cap {
            self.table_hit = Some(self.table_hit.unwrap_or(0).max(total));
            return Ok(false);
        }
        self.table_used = total;
        Ok(true)
    }

    fn instances(&self) -> usize {
        1
    }

    fn memories(&self) -> usize {
        4
    }

    fn tables(&self) -> usize {
        16
    }
}

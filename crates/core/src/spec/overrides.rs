//! `[budget]`: what a spec changes of the default bounds.
//!
//! Keys are the names of [`Limit`]. The stack is no key: the engine fixes it for all guests.

use serde::Serialize;

use super::error::Sink;
use super::fields::{Fields, Located};
use crate::budget::{Budget, Limit};
use crate::quantity::{ByteSize, Fuel, WallTime};

/// Bounds that replace the defaults; `None` leaves a default as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct BudgetOverrides {
    /// Metered work; 1 fuel to 1000 T.
    pub fuel: Option<Fuel>,
    /// Metered work of one test of a suite; 1 fuel to 1000 T.
    pub test_fuel: Option<Fuel>,
    /// Linear memory; 64 KiB to 4 GiB.
    pub memory: Option<ByteSize>,
    /// Table elements; 0 to 100,000,000.
    pub table_elements: Option<u64>,
    /// Real time; 1 ms to 24 h.
    pub wall_time: Option<WallTime>,
    /// Bytes kept of each output stream; 0 to 64 MiB.
    pub output: Option<ByteSize>,
    /// Bytes on the results channel; 0 to 1 GiB.
    pub results: Option<ByteSize>,
    /// Bytes in files written by the guest; 0 to 4 GiB.
    pub file_bytes: Option<ByteSize>,
    /// Files, folders and links made by the guest; 0 to 16,777,216.
    pub inodes: Option<u64>,
    /// Open descriptors; 3 to 65,536.
    pub open_files: Option<u32>,
    /// Folder nesting; 1 to 2,048.
    pub path_depth: Option<u32>,
    /// Module size; 8 bytes to 1 GiB.
    pub module_size: Option<ByteSize>,
    /// Processor time of compiling a module; 1 s to 1 h, rounded up to whole seconds.
    pub compile_time: Option<WallTime>,
    /// Memory of compiling a module; 256 MiB to 16 GiB.
    pub compile_memory: Option<ByteSize>,
}

impl BudgetOverrides {
    /// `base` with these bounds in place of its own.
    #[must_use]
    pub fn apply(&self, base: Budget) -> Budget {
        Budget {
            fuel: self.fuel.unwrap_or(base.fuel),
            test_fuel: self.test_fuel.unwrap_or(base.test_fuel),
            memory: self.memory.unwrap_or(base.memory),
            table_elements: self.table_elements.unwrap_or(base.table_elements),
            wall_time: self.wall_time.unwrap_or(base.wall_time),
            output: self.output.unwrap_or(base.output),
            results: self.results.unwrap_or(base.results),
            file_bytes: self.file_bytes.unwrap_or(base.file_bytes),
            inodes: self.inodes.unwrap_or(base.inodes),
            open_files: self.open_files.unwrap_or(base.open_files),
            path_depth: self.path_depth.unwrap_or(base.path_depth),
            module_size: self.module_size.unwrap_or(base.module_size),
            compile_time: self.compile_time.unwrap_or(base.compile_time),
            compile_memory: self.compile_memory.unwrap_or(base.compile_memory),
        }
    }

    /// Reads the table, whose every key is the name of a limit.
    pub(super) fn read(mut fields: Fields<'_>, sink: &mut Sink<'_>) -> Self {
        let (f, s) = (&mut fields, sink);
        let overrides = Self {
            fuel: quantity(f, s, Limit::Fuel, Fuel(1), Fuel(1_000_000_000_000_000)),
            test_fuel: quantity(f, s, Limit::TestFuel, Fuel(1), Fuel(1_000_000_000_000_000)),
            memory: quantity(f, s, Limit::Memory, ByteSize::kib(64), ByteSize::gib(4)),
            table_elements: count(f, s, Limit::TableElements, 0, 100_000_000),
            wall_time: quantity(
                f,
                s,
                Limit::WallTime,
                WallTime::millis(1),
                WallTime::secs(86_400),
            ),
            output: quantity(f, s, Limit::Output, ByteSize(0), ByteSize::mib(64)),
            results: quantity(f, s, Limit::Results, ByteSize(0), ByteSize::gib(1)),
            file_bytes: quantity(f, s, Limit::FileBytes, ByteSize(0), ByteSize::gib(4)),
            inodes: count(f, s, Limit::Inodes, 0, 1 << 24),
            open_files: narrow(count(f, s, Limit::OpenFiles, 3, 1 << 16)),
            path_depth: narrow(count(f, s, Limit::PathDepth, 1, 2_048)),
            module_size: quantity(f, s, Limit::ModuleSize, ByteSize(8), ByteSize::gib(1)),
            compile_time: quantity(
                f,
                s,
                Limit::CompileTime,
                WallTime::secs(1),
                WallTime::secs(3_600),
            ),
            compile_memory: quantity(
                f,
                s,
                Limit::CompileMemory,
                ByteSize::mib(256),
                ByteSize::gib(16),
            ),
        };
        fields.finish(s);
        overrides
    }
}

fn quantity<T>(
    fields: &mut Fields<'_>,
    sink: &mut Sink<'_>,
    limit: Limit,
    least: T,
    most: T,
) -> Option<T>
where
    T: std::str::FromStr<Err = crate::quantity::ParseQuantityError>
        + Copy
        + Ord
        + std::fmt::Display,
{
    let located = fields.quantity(sink, limit.name())?;
    within(located, sink, limit, least, most)
}

fn count(
    fields: &mut Fields<'_>,
    sink: &mut Sink<'_>,
    limit: Limit,
    least: u64,
    most: u64,
) -> Option<u64> {
    let located = fields.count(sink, limit.name())?;
    within(located, sink, limit, least, most)
}

fn narrow(count: Option<u64>) -> Option<u32> {
    count.map(|count| u32::try_from(count).unwrap_or(u32::MAX))
}

fn within<T: Copy + Ord + std::fmt::Display>(
    located: Located<T>,
    sink: &mut Sink<'_>,
    limit: Limit,
    least: T,
    most: T,
) -> Option<T> {
    if (least..=most).contains(&located.value) {
        return Some(located.value);
    }
    let message = format!(
        "`{limit}` must lie between {least} and {most}, not at {}",
        located.value
    );
    sink.report(located.at, located.path, message, None);
    None
}

//! What a guest may use: every bound, its default, and its name in reports.
//!
//! Fuel decides; wall time is only the outer fuse. Limits on output, files and
//! descriptors do not end a guest: the call that goes past them is refused inside the
//! guest (or the bytes are dropped and counted) and the report says so.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::quantity::{ByteSize, Fuel, WallTime};

/// A bound on a guest, as it is named in specs and reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Metered work; ends the guest.
    Fuel,
    /// Metered work of one test; ends the test, and the suite goes on with the next.
    TestFuel,
    /// Linear memory of the guest, all memories together; growth beyond it is refused.
    Memory,
    /// Elements in all tables together; growth beyond it is refused.
    TableElements,
    /// Real time from the first instruction; ends the guest.
    WallTime,
    /// The guest's call stack; ends the guest.
    Stack,
    /// Bytes kept of each output stream; what lies between head and tail is dropped.
    Output,
    /// Bytes on the results channel; ends the guest.
    Results,
    /// Bytes in files that the guest wrote; writes beyond it are refused.
    FileBytes,
    /// Files, folders and links that the guest made; further ones are refused.
    Inodes,
    /// Descriptors open at a time; further ones are refused.
    OpenFiles,
    /// Handles that a component holds at a time; ends the guest. Always four for each file
    /// that may be open, and 4,096.
    Handles,
    /// Nesting of folders; deeper ones are refused.
    PathDepth,
    /// Size of a module; a larger one is refused before it is compiled.
    ModuleSize,
    /// Processor time of compiling a module; beyond it the module is refused.
    CompileTime,
    /// Memory of compiling a module; beyond it the module is refused.
    CompileMemory,
}

impl Limit {
    /// Every limit.
    pub const ALL: [Self; 16] = [
        Self::Fuel,
        Self::TestFuel,
        Self::Memory,
        Self::TableElements,
        Self::WallTime,
        Self::Stack,
        Self::Output,
        Self::Results,
        Self::FileBytes,
        Self::Inodes,
        Self::OpenFiles,
        Self::Handles,
        Self::PathDepth,
        Self::ModuleSize,
        Self::CompileTime,
        Self::CompileMemory,
    ];

    /// The name used in specs and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fuel => "fuel",
            Self::TestFuel => "test-fuel",
            Self::Memory => "memory",
            Self::TableElements => "table-elements",
            Self::WallTime => "wall-time",
            Self::Stack => "stack",
            Self::Output => "output",
            Self::Results => "results",
            Self::FileBytes => "file-bytes",
            Self::Inodes => "inodes",
            Self::OpenFiles => "open-files",
            Self::Handles => "handles",
            Self::PathDepth => "path-depth",
            Self::ModuleSize => "module-size",
            Self::CompileTime => "compile-time",
            Self::CompileMemory => "compile-memory",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Every bound on one guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Budget {
    /// Metered work. Default 10 G for a check, 500 G for a suite.
    pub fuel: Fuel,
    /// Metered work of one test of a suite, its fixtures included. Default 100 G.
    pub test_fuel: Fuel,
    /// Linear memory. Default 512 MiB for a check, 1 GiB for a suite; at most 4 GiB.
    pub memory: ByteSize,
    /// Table elements. Default 1,000,000.
    pub table_elements: u64,
    /// Real time. Default 60 s for a check, 15 min for a suite.
    pub wall_time: WallTime,
    /// Bytes kept of each of stdout and stderr, half from the head and half from the tail.
    /// Default 256 KiB.
    pub output: ByteSize,
    /// Bytes on the results channel. Default 64 MiB.
    pub results: ByteSize,
    /// Bytes in files written by the guest. Default 256 MiB.
    pub file_bytes: ByteSize,
    /// Files, folders and links made by the guest. Default 65,536.
    pub inodes: u64,
    /// Open descriptors. Default 1,024.
    pub open_files: u32,
    /// Folder nesting. Default 128.
    pub path_depth: u32,
    /// Module size. Default 64 MiB for a check; a runtime's module is trusted data.
    pub module_size: ByteSize,
    /// Processor time of compiling a module, over all threads, in whole seconds. Default
    /// 60 s for a check. Bounded only where modules are compiled in a process of their own.
    pub compile_time: WallTime,
    /// Memory of compiling a module. Default 2 GiB. Bounded as the compile time is.
    pub compile_memory: ByteSize,
}

impl Budget {
    /// The default bounds of a check that is one small guest.
    #[must_use]
    pub const fn check() -> Self {
        Self {
            fuel: Fuel(10_000_000_000),
            test_fuel: Fuel(100_000_000_000),
            memory: ByteSize::mib(512),
            table_elements: 1_000_000,
            wall_time: WallTime::secs(60),
            output: ByteSize::kib(256),
            results: ByteSize::mib(64),
            file_bytes: ByteSize::mib(256),
            inodes: 65_536,
            open_files: 1_024,
            path_depth: 128,
            module_size: ByteSize::mib(64),
            compile_time: WallTime::secs(60),
            compile_memory: ByteSize::gib(2),
        }
    }

    /// The default bounds of a suite, which runs a whole language implementation.
    #[must_use]
    pub const fn suite() -> Self {
        Self {
            fuel: Fuel(500_000_000_000),
            memory: ByteSize::gib(1),
            wall_time: WallTime::secs(900),
            ..Self::check()
        }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::check()
    }
}

/// A limit that came into play: its name, its cap and what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitHit {
    /// The limit.
    pub limit: Limit,
    /// Its cap, in the limit's own unit (fuel, bytes, nanoseconds, count).
    pub cap: u64,
    /// The use that was reached or asked for, in the same unit.
    pub used: u64,
}

impl fmt::Display for LimitHit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: u64| match self.limit {
            Limit::Fuel | Limit::TestFuel => Fuel(value).to_string(),
            Limit::WallTime | Limit::CompileTime => WallTime(value).to_string(),
            Limit::Memory
            | Limit::Stack
            | Limit::Output
            | Limit::Results
            | Limit::FileBytes
            | Limit::ModuleSize
            | Limit::CompileMemory => ByteSize(value).to_string(),
            Limit::TableElements
            | Limit::Inodes
            | Limit::OpenFiles
            | Limit::Handles
            | Limit::PathDepth => value.to_string(),
        };
        write!(
            f,
            "{}: {} of {}",
            self.limit,
            show(self.used),
            show(self.cap)
        )
    }
}

//! The state of a guest at some moment: what its memory and its globals hold.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wasmtime::{AsContextMut, Extern, Instance, Memory, Val};

use super::bare::{MAX_GLOBALS, MEMORY, global_index, global_name};
use crate::fs::Mapping;

/// Bytes of a page of memory.
const PAGE: usize = 65_536;
/// Bytes of a page as the kernel copies it, at least.
const HOT_PAGE: usize = 4_096;

/// Where a guest begins. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(crate) memory: Arc<Mapping>,
    pub(crate) globals: Arc<[GlobalValue]>,
    /// Virtual time that had passed, in nanoseconds.
    pub(crate) passed: u64,
    /// Pages that guests are known to write to.
    hot: Arc<[Pages]>,
}

/// A run of pages of 4 KiB: the first one and how many.
pub(crate) type Pages = (u32, u32);

/// A snapshot as it was taken.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Taken {
    /// The contents of the memory, a whole number of pages of 64 KiB.
    #[serde(with = "serde_bytes")]
    pub memory: Vec<u8>,
    /// What else there is to know.
    pub rest: Rest,
}

/// A snapshot apart from its memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rest {
    globals: Vec<GlobalValue>,
    passed: u64,
    hot: Vec<Pages>,
}

/// The value of a mutable global.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GlobalValue {
    index: u32,
    value: Number,
}

/// A number as its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Number {
    I32(i32),
    I64(i64),
    F32(u32),
    F64(u64),
}

impl Snapshot {
    /// A snapshot whose memory is in a file that nobody changes.
    pub(crate) fn new(memory: Arc<Mapping>, rest: Rest) -> Self {
        Self {
            memory,
            globals: rest.globals.into(),
            passed: rest.passed,
            hot: rest.hot.into(),
        }
    }

    /// Keeps a snapshot for guests of this process and its workers.
    ///
    /// # Errors
    /// When the memory cannot be put into a file.
    pub fn keep(taken: &Taken) -> std::io::Result<Self> {
        Self::keep_in(unnamed_file()?, taken)
    }

    /// Keeps a snapshot in `file`, which holds nothing else afterwards and which nobody
    /// changes.
    ///
    /// # Errors
    /// When the memory cannot be put into the file.
    pub(crate) fn keep_in(mut file: File, taken: &Taken) -> std::io::Result<Self> {
        let size = u64::try_from(taken.memory.len()).unwrap_or(u64::MAX);
        file.write_all(&taken.memory)?;
        file.set_len(size)?;
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{SealFlags, fcntl_add_seals};
            let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
            fcntl_add_seals(&file, seals)?;
        }
        Ok(Self::new(Mapping::of(file)?, taken.rest.clone()))
    }

    /// Notes the pages that a guest which began here wrote to until its memory was `after`:
    /// guests to come get copies of them at once, which takes less time than one by one.
    pub(crate) fn heat(&mut self, after: &[u8]) {
        self.hot = changed(self.memory.bytes(), after).into();
    }

    /// Whether such pages are noted.
    pub(crate) fn is_hot(&self) -> bool {
        !self.hot.is_empty()
    }

    pub(crate) fn rest(&self) -> Rest {
        Rest {
            globals: self.globals.to_vec(),
            passed: self.passed,
            hot: self.hot.to_vec(),
        }
    }

    /// Puts a fresh instance of the bare module into this state.
    ///
    /// # Errors
    /// When the instance is not of a module that this is a snapshot of, its memory may not
    /// be as large, or the kernel refuses the mapping.
    pub(crate) fn lay_under(
        &self,
        mut store: impl AsContextMut,
        instance: &Instance,
    ) -> wasmtime::Result<()> {
        let other = || wasmtime::Error::msg("the snapshot is of another module");
        let memory = instance.get_memory(&mut store, MEMORY).ok_or_else(other)?;
        let length = self.memory.bytes().len();
        let missing = length.saturating_sub(memory.data_size(&store));
        if !length.is_multiple_of(PAGE) {
            return Err(other());
        }
        if missing > 0 {
            let pages = u64::try_from(missing.div_ceil(PAGE))?;
            memory.grow(&mut store, pages)?;
        }
        map_over(&mut store, memory, self)?;
        for global in self.globals.iter() {
            let value = match global.value {
                Number::I32(value) => Val::I32(value),
                Number::I64(value) => Val::I64(value),
                Number::F32(bits) => Val::F32(bits),
                Number::F64(bits) => Val::F64(bits),
            };
            instance
                .get_global(&mut store, &global_name(global.index))
                .ok_or_else(other)?
                .set(&mut store, value)?;
        }
        Ok(())
    }
}

/// A file that nobody else can open.
pub(crate) fn unnamed_file() -> std::io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{MemfdFlags, memfd_create};
        Ok(memfd_create(
            c"probity-snapshot",
            MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
        )?
        .into())
    }
    #[cfg(not(target_os = "linux"))]
    tempfile::tempfile()
}

impl Taken {
    /// Whether it holds no more than a guest with this budget can have.
    #[cfg(target_os = "linux")]
    pub(crate) fn fits(&self, budget: &probity_core::Budget) -> bool {
        self.memory.len() <= budget.memory.as_usize()
            && self.memory.len().is_multiple_of(PAGE)
            && self.rest.globals.len() <= MAX_GLOBALS
    }

    /// Takes a snapshot of an instance of a bare module.
    ///
    /// # Errors
    /// When the module is not bare.
    pub(crate) fn of(
        mut store: impl AsContextMut,
        instance: &Instance,
        passed: u64,
    ) -> wasmtime::Result<Self> {
        let memory = instance
            .get_memory(&mut store, MEMORY)
            .ok_or_else(|| wasmtime::Error::msg("no snapshots of this module"))?;
        let named: Vec<(u32, wasmtime::Global)> = instance
            .exports(&mut store)
            .filter_map(|export| {
                let index = global_index(export.name())?;
                match export.into_extern() {
                    Extern::Global(global) => Some((index, global)),
                    _ => None,
                }
            })
            .collect();
        let mut globals = Vec::with_capacity(named.len());
        for (index, global) in named {
            let value = match global.get(&mut store) {
                Val::I32(value) => Number::I32(value),
                Val::I64(value) => Number::I64(value),
                Val::F32(bits) => Number::F32(bits),
                Val::F64(bits) => Number::F64(bits),
                _ => return Err(wasmtime::Error::msg("a global is no number")),
            };
            globals.push(GlobalValue { index, value });
        }
        globals.sort_by_key(|global| global.index);
        Ok(Self {
            memory: memory.data(&store).to_vec(),
            rest: Rest {
                globals,
                passed,
                hot: Vec::new(),
            },
        })
    }
}

/// Maps the file over the beginning of the memory, copy-on-write.
#[cfg(unix)]
#[allow(
    unsafe_code,
    reason = "a mapping over a guest's memory, which only the guest looks at"
)]
fn map_over(mut store: impl AsContextMut, memory: Memory, from: &Snapshot) -> wasmtime::Result<()> {
    use rustix::mm::{MapFlags, ProtFlags, mmap};

    let length = from.memory.bytes().len();
    let place = memory.data_ptr(&store);
    if length > memory.data_size(&store) {
        return Err(wasmtime::Error::msg("the memory is too small"));
    }
    if length == 0 {
        return Ok(());
    }
    // SAFETY: the range lies in the memory of a guest that does not run, whose pages the
    // engine made readable and writable for this long and gives back as one range. Nothing
    // holds a reference into it. The file is as long as the range, and nobody changes or
    // cuts it off: it is sealed memory, or a file of our own cache, which are only ever
    // replaced by rename.
    let mapped = unsafe {
        mmap(
            place.cast(),
            length,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE | MapFlags::FIXED,
            from.memory.file(),
            0,
        )
    };
    match mapped {
        Ok(place) => {
            copy_ahead(place, length, &from.hot);
            Ok(())
        }
        // The memory does not begin at a page.
        Err(rustix::io::Errno::INVAL) => copy_over(&mut store, memory, &from.memory),
        Err(error) => Err(error.into()),
    }
}

/// Has the kernel copy pages of a mapping of `length` bytes now. Where it cannot, it does when
/// they are first written to.
#[cfg(target_os = "linux")]
#[allow(
    unsafe_code,
    reason = "advice on a mapping of ours, which changes no contents"
)]
fn copy_ahead(place: *mut core::ffi::c_void, length: usize, pages: &[Pages]) {
    for (first, count) in pages {
        let start = (*first as usize).saturating_mul(HOT_PAGE);
        let size = (*count as usize).saturating_mul(HOT_PAGE);
        if start.saturating_add(size) > length {
            return;
        }
        // SAFETY: the range lies within the mapping, whose pages stay what they are.
        let copied = unsafe {
            rustix::mm::madvise(
                place.wrapping_byte_add(start),
                size,
                rustix::mm::Advice::LinuxPopulateWrite,
            )
        };
        if copied.is_err() {
            return;
        }
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn copy_ahead(_place: *mut core::ffi::c_void, _length: usize, _pages: &[Pages]) {}

/// The runs of pages in which two memories differ, as far as the first one reaches. Runs that
/// lie close together are one.
fn changed(before: &[u8], after: &[u8]) -> Vec<Pages> {
    let mut runs: Vec<Pages> = Vec::new();
    let pages = before.chunks(HOT_PAGE).zip(after.chunks(HOT_PAGE));
    for (page, (before, after)) in (0_u32..).zip(pages) {
        if before == after {
            continue;
        }
        match runs.last_mut() {
            Some((first, count)) if page.saturating_sub(first.saturating_add(*count)) <= 1 => {
                *count = page.saturating_sub(*first).saturating_add(1);
            }
            Some(_) | None => runs.push((page, 1)),
        }
    }
    runs
}

#[cfg(not(unix))]
fn map_over(store: impl AsContextMut, memory: Memory, from: &Snapshot) -> wasmtime::Result<()> {
    copy_over(store, memory, &from.memory)
}

fn copy_over(mut store: impl AsContextMut, memory: Memory, from: &Mapping) -> wasmtime::Result<()> {
    memory
        .write(&mut store, 0, from.bytes())
        .map_err(wasmtime::Error::from)
}

//! Where guests are run, and what is measured around them.
//!
//! The same rows are run in this process and in a worker process, as modules and as
//! components.

use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use probity_core::budget::{Budget, LimitHit};
use probity_core::quantity::{ByteSize, Fuel, WallTime};
use probity_core::repo::{File, FileMode};
use probity_core::{Digest, Repo, RepoPath};
use probity_sandbox::engine::ModuleError;
use probity_sandbox::fs::{Access, Device, Devices, Mounts};
use probity_sandbox::{Invocation, Module, Run, Sandbox, Trust};

use crate::manifest::{Guest, Wasi};

/// How a guest ended, whoever ran it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    Exit(u32),
    Limit(&'static str),
    Trap(String),
    Refused(String),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Limit(name) => write!(f, "limit {name}"),
            Self::Trap(message) => write!(f, "trap {message:?}"),
            Self::Refused(message) => write!(f, "refused {message:?}"),
        }
    }
}

/// Everything that a row makes a claim about.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) ending: Ending,
    /// Limits that were met, named.
    pub(crate) limits: Vec<&'static str>,
    pub(crate) stdout: String,
    /// Real time from the bytes to the end.
    pub(crate) seconds: f64,
    /// The processor's time for it, of all threads.
    pub(crate) cpu_seconds: f64,
    /// By how much the process that ran it grew beyond the guest's own memory.
    pub(crate) host_mib: u64,
}

/// Small bounds, so that every attack meets them soon.
pub(crate) fn budget() -> Budget {
    Budget {
        fuel: Fuel(500_000_000),
        memory: ByteSize::mib(64),
        table_elements: 10_000,
        wall_time: WallTime::secs(60),
        output: ByteSize::kib(64),
        results: ByteSize::mib(1),
        file_bytes: ByteSize::mib(4),
        inodes: 500,
        open_files: 50,
        path_depth: 20,
        ..Budget::check()
    }
}

/// The files that every guest finds: a read-only repository, an empty folder, devices.
pub(crate) fn files() -> Mounts {
    let mut repo = Repo::new();
    let mut put = |name: &str, file: File| {
        let path: RepoPath = name.parse().unwrap();
        repo.insert(&path, file).unwrap();
    };
    put("a.txt", File::regular(*b"content\n"));
    put("src/b.txt", File::regular(*b"content\n"));
    put("link", File::new(*b"a.txt", FileMode::Symlink));
    put("out", File::new(*b"../tmp", FileMode::Symlink));
    for number in 0..300 {
        put(&format!("many/{number}"), File::regular(*b""));
    }
    let mut mounts = Mounts::new(Devices::Usual);
    mounts.folder("/repo", repo.root(), Access::ReadOnly);
    mounts.empty("/tmp", Access::Writable);
    mounts.device("/dev/results", Device::Results);
    mounts
}

/// A place where guests are run, as modules or as components.
pub(crate) struct Place {
    sandbox: Sandbox,
    wasi: Wasi,
    /// The process whose time and memory are measured.
    process: String,
    /// The module that many rows share; it is compiled outside the bounds.
    shared: OnceLock<(Digest, Module)>,
}

impl Place {
    /// Threads of this process.
    pub(crate) fn in_process(wasi: Wasi) -> Self {
        Self {
            sandbox: Sandbox::in_process(None).unwrap(),
            wasi,
            process: "self".to_owned(),
            shared: OnceLock::new(),
        }
    }

    /// One worker process.
    #[cfg(target_os = "linux")]
    pub(crate) fn in_a_worker(wasi: Wasi) -> Self {
        use probity_sandbox::worker::{PoolSettings, Process, WorkerCommand};
        let command = WorkerCommand::program(env!("CARGO_BIN_EXE_probity-worker"));
        let settings = PoolSettings {
            workers: 1,
            guests_per_worker: u32::MAX,
            ..PoolSettings::default()
        };
        let pool = Process::new(command, settings).unwrap();
        pool.lockdown().unwrap();
        let worker = pool.idle_workers()[0];
        Self {
            sandbox: Sandbox::new(pool, None).unwrap(),
            wasi,
            process: worker.to_string(),
            shared: OnceLock::new(),
        }
    }

    /// What it runs.
    pub(crate) fn wasi(&self) -> Wasi {
        self.wasi
    }

    /// Compiles a module that many rows share, so that no row pays for it.
    pub(crate) fn share(&self, bytes: &[u8]) {
        let module = self.compile(bytes).unwrap();
        assert!(self.shared.set((Digest::of(bytes), module)).is_ok());
    }

    /// Compiles a guest, as a component where it is not one and has to be.
    fn compile(&self, bytes: &[u8]) -> Result<Module, ModuleError> {
        let wrap = self.wasi == Wasi::Components && !super::is_component(bytes);
        let wrapped = wrap.then(|| super::adapter::componentize(bytes));
        let bytes = wrapped.as_deref().unwrap_or(bytes);
        self.sandbox
            .module(bytes, &budget(), Trust::Untrusted)
            .unwrap()
    }

    fn module(&self, bytes: &[u8]) -> Result<Module, ModuleError> {
        match self.shared.get() {
            Some((digest, module)) if *digest == Digest::of(bytes) => Ok(module.clone()),
            _ => self.compile(bytes),
        }
    }

    /// Runs the guest `bytes` as the row says.
    pub(crate) fn run(&self, guest: &Guest, bytes: &[u8]) -> Ended {
        let mut invocation = Invocation::command(guest.arguments(), files(), budget());
        invocation.env = vec![("HOSTILE".to_owned(), "1".to_owned())];
        invocation.preopens = guest.preopens();
        let process = self.process.as_str();
        let before = memory::start(process);
        let (started, cpu) = (Instant::now(), cpu_time(process));
        let run = self
            .module(bytes)
            .map(|module| self.sandbox.run(invocation, &module).unwrap());
        let took = (started.elapsed(), cpu_time(process).saturating_sub(cpu));
        let grown = memory::peak(process).saturating_sub(before);
        ended(run, took, grown)
    }
}

fn ended(run: Result<Run, ModuleError>, took: (Duration, Duration), grown: u64) -> Ended {
    let names = |hits: &[LimitHit]| hits.iter().map(|hit| hit.limit.name()).collect();
    let (ending, limits, stdout, own) = match run {
        Ok(run) => (
            match run.ending {
                probity_sandbox::Ending::Exited(code) => Ending::Exit(code),
                probity_sandbox::Ending::Limit(hit) => Ending::Limit(hit.limit.name()),
                probity_sandbox::Ending::Trapped(message) => Ending::Trap(message),
                probity_sandbox::Ending::Refused(message) => Ending::Refused(message),
            },
            names(&run.limits),
            String::from_utf8_lossy(&run.stdout.bytes).into_owned(),
            run.memory_peak.0,
        ),
        Err(ModuleError::Limit(hit)) => (
            Ending::Limit(hit.limit.name()),
            Vec::new(),
            String::new(),
            0,
        ),
        Err(error) => (
            Ending::Refused(error.to_string()),
            Vec::new(),
            String::new(),
            0,
        ),
    };
    Ended {
        ending,
        limits,
        stdout,
        seconds: took.0.as_secs_f64(),
        cpu_seconds: took.1.as_secs_f64(),
        host_mib: grown.saturating_sub(own) >> 20,
    }
}

/// The processor's time that a process has used, of all threads. Elsewhere than on Linux
/// nothing is measured.
fn cpu_time(process: &str) -> Duration {
    // After the name in brackets, fields 12 and 13 are the times in user and kernel mode,
    // in the hundredths of a second that Linux shows to programs.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks.saturating_mul(10))
}

/// The most memory that a process had, from a point on. Elsewhere than on Linux nothing
/// is measured.
mod memory {
    /// Forgets the peak; returns the bytes in use.
    pub(super) fn start(process: &str) -> u64 {
        // 5 resets the peak. A kernel that refuses leaves the bound weaker, not wrong:
        // a peak before the guest then counts as the guest's.
        let _ = std::fs::write(format!("/proc/{process}/clear_refs"), "5");
        field(process, "VmRSS:")
    }

    /// The most bytes in use since then.
    pub(super) fn peak(process: &str) -> u64 {
        field(process, "VmHWM:")
    }

    fn field(process: &str, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        status
            .lines()
            .find_map(|line| {
                line.strip_prefix(name)?
                    .trim()
                    .strip_suffix(" kB")?
                    .parse()
                    .ok()
            })
            .map_or(0, |kib: u64| kib << 10)
    }
}

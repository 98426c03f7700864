//! What holds on this very machine: every denial is tried, not assumed.
//!
//! Three kinds of attempts, from the inside out. Hostile guests run in a worker and attack
//! the walls that WebAssembly and our filesystem are. Workers are killed, stopped and
//! cancelled. And a process that is locked down as a worker is tries, natively, what machine
//! code that broke out of the engine would try.

use std::time::{Duration, Instant};

use probity_core::budget::{Budget, Limit};
use probity_core::quantity::{ByteSize, Fuel, WallTime};
use probity_core::repo::File;
use probity_core::{Repo, RepoPath};
use serde::Serialize;

use crate::engine::EngineError;
use crate::fs::{Access, Device, Devices, Mounts};
use crate::guest::{Ending, Invocation, Run, RunError};
use crate::sandbox::{Sandbox, Trust};
use crate::worker::lockdown::probe::{Outcome, Outside, Probe};
use crate::worker::lockdown::{self, Layer, Role, State};
use crate::worker::{PoolSettings, Process, WorkerCommand};

/// The guests that attack, the same that the tests run.
const HOSTILE: &[u8] = include_bytes!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../guest-checks/built/hostile.wasm"
));

/// Who denies something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wall {
    /// WebAssembly and the engine's meters.
    Wasm,
    /// The in-memory filesystem and the rest of WASI.
    Wasi,
    /// The worker process and its parent.
    Worker,
    /// The kernel.
    Kernel,
}

impl Wall {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wasm => "wasm",
            Self::Wasi => "wasi",
            Self::Worker => "worker",
            Self::Kernel => "kernel",
        }
    }
}

/// How an attempt went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Finding {
    /// It was denied.
    Denied {
        /// How.
        how: String,
    },
    /// It went through, though this kernel could have denied it, or no kernel is needed; or
    /// nobody knows how it went.
    Allowed {
        /// What happened.
        what: String,
    },
    /// It could not be tried here, or went through since this kernel offers nothing against it.
    NotOffered {
        /// What is missing.
        why: String,
    },
}

/// Something that must not be possible, and whether it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Denial {
    /// What was tried.
    pub attempt: String,
    /// Who denies it.
    pub wall: Wall,
    /// How it went.
    pub finding: Finding,
}

/// What became of a layer of the lockdown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LayerReport {
    /// Its name.
    pub layer: Layer,
    /// What it stops.
    pub stops: &'static str,
    /// What became of it.
    pub state: State,
}

/// What holds on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// Every attempt.
    pub denials: Vec<Denial>,
    /// Every layer of the lockdown of a worker that runs guests.
    pub layers: Vec<LayerReport>,
}

impl Diagnosis {
    /// Whether everything that can be denied on this machine is.
    #[must_use]
    pub fn holds(&self) -> bool {
        let allowed = |denial: &&Denial| matches!(denial.finding, Finding::Allowed { .. });
        let failed = |report: &&LayerReport| matches!(report.state, State::Failed { .. });
        self.denials.iter().find(allowed).is_none() && self.layers.iter().find(failed).is_none()
    }
}

/// The examination itself could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// The engine cannot be used.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No guest can be run.
    #[error("cannot run a guest")]
    Run(#[from] RunError),
    /// The targets of the attempts cannot be set up.
    #[error("cannot set up the attempts: {0}")]
    Setup(String),
}

/// Tries everything. `command` starts workers; `observe` is told what is tried next.
///
/// # Errors
/// When the attempts cannot be made.
pub fn examine(
    command: &WorkerCommand,
    observe: &mut dyn FnMut(&str),
) -> Result<Diagnosis, DoctorError> {
    let settings = PoolSettings {
        workers: 1,
        grace: Duration::from_millis(500),
        ..PoolSettings::default()
    };
    let pool = Process::new(command.clone(), settings)?;
    let lockdown = pool.lockdown()?;
    let sandbox = Sandbox::new(pool, None)?;
    let mut denials = guests(&sandbox, observe)?;
    denials.extend(workers(command, observe)?);
    denials.extend(natives(command, &lockdown, observe)?);
    let layers = lockdown
        .layers
        .into_iter()
        .map(|(layer, state)| LayerReport {
            layer,
            stops: layer.stops(),
            state,
        })
        .collect();
    Ok(Diagnosis { denials, layers })
}

/// How a guest that attacks must end.
#[derive(Clone, Copy)]
enum Expected {
    /// With the code that says that every attempt was refused.
    Walled,
    /// By this limit.
    EndedBy(Limit),
    /// By itself, after this limit refused it something.
    Met(Limit),
}

/// What the hostile guest does on request, see `guest-checks/hostile`.
const ATTACKS: &[(&str, &str, Wall, Expected)] = {
    use Expected::{EndedBy, Met, Walled};
    use Wall::{Wasi, Wasm};
    &[
        ("loop", "run for ever", Wasm, EndedBy(Limit::Fuel)),
        ("allocate", "take all memory", Wasm, EndedBy(Limit::Memory)),
        ("print", "print for ever", Wasi, EndedBy(Limit::Fuel)),
        ("passwd", "read a file of the host", Wasi, Walled),
        ("dotdot", "leave its folder by `..`", Wasi, Walled),
        ("write-repo", "change a read-only folder", Wasi, Walled),
        ("socket", "open a connection", Wasi, Walled),
        ("spawn", "start a process", Wasi, Walled),
        ("thread", "start a thread", Wasm, Walled),
        ("fill-tmp", "fill the disk", Wasi, Met(Limit::FileBytes)),
        (
            "many-files",
            "make files without end",
            Wasi,
            Met(Limit::Inodes),
        ),
        (
            "deep-dirs",
            "nest folders without end",
            Wasi,
            Met(Limit::PathDepth),
        ),
        (
            "open-many",
            "open files without end",
            Wasi,
            Met(Limit::OpenFiles),
        ),
    ]
};

/// The hostile guest's exit code for "every attempt was refused".
const REFUSED: u32 = 7;

fn guests(sandbox: &Sandbox, observe: &mut dyn FnMut(&str)) -> Result<Vec<Denial>, DoctorError> {
    let budget = Budget {
        fuel: Fuel(1_000_000_000),
        memory: ByteSize::mib(64),
        output: ByteSize::kib(64),
        file_bytes: ByteSize::mib(4),
        inodes: 500,
        open_files: 50,
        path_depth: 20,
        ..Budget::check()
    };
    let module = sandbox
        .module(HOSTILE, &budget, Trust::Untrusted)?
        .map_err(|error| DoctorError::Setup(error.to_string()))?;
    let mut repo = Repo::new();
    let path = RepoPath::new("a.txt").map_err(|error| DoctorError::Setup(error.to_string()))?;
    repo.insert(&path, File::regular(*b"content\n"))
        .map_err(|error| DoctorError::Setup(error.to_string()))?;
    let mut denials = Vec::new();
    for (name, attempt, wall, expected) in ATTACKS {
        observe(attempt);
        let mut mounts = Mounts::new(Devices::None);
        mounts.folder("/repo", repo.root(), Access::ReadOnly);
        mounts.empty("/tmp", Access::Writable);
        mounts.device("/dev/null", Device::Null);
        let args = ["hostile", name].map(str::to_owned).to_vec();
        let mut invocation = Invocation::command(args, mounts, budget);
        invocation.preopens = vec!["/repo".to_owned(), "/tmp".to_owned()];
        let run = sandbox.run(invocation, &module)?;
        denials.push(Denial {
            attempt: (*attempt).to_owned(),
            wall: *wall,
            finding: judge(&run, *expected),
        });
    }
    Ok(denials)
}

fn judge(run: &Run, expected: Expected) -> Finding {
    let met = |limit| run.limits.iter().find(|hit| hit.limit == limit);
    let denied = |how: String| Finding::Denied { how };
    match (expected, &run.ending) {
        (Expected::Walled, Ending::Exited(REFUSED)) => denied("refused".to_owned()),
        (Expected::EndedBy(limit), Ending::Limit(hit)) if hit.limit == limit => {
            denied(format!("ended, {hit}"))
        }
        (Expected::Met(limit), Ending::Exited(0)) if met(limit).is_some() => {
            denied(met(limit).map_or_else(String::new, |hit| format!("refused, {hit}")))
        }
        (Expected::Walled | Expected::EndedBy(_) | Expected::Met(_), ending) => Finding::Allowed {
            what: format!("the guest ended as {ending:?}"),
        },
    }
}

/// A guest that never ends by itself.
const ENDLESS: &[u8] = b"\0asm\x01\0\0\0\
    \x01\x04\x01\x60\0\0\
    \x03\x02\x01\0\
    \x05\x03\x01\0\x01\
    \x07\x13\x02\x06memory\x02\0\x06_start\0\0\
    \x0a\x09\x01\x07\0\x03\x40\x0c\0\x0b\x0b";

/// What is done to a worker while it runs a guest.
#[derive(Clone, Copy)]
enum Blow {
    Kill,
    Stop,
    Cancel,
}

fn workers(
    command: &WorkerCommand,
    observe: &mut dyn FnMut(&str),
) -> Result<Vec<Denial>, DoctorError> {
    let blows = [
        (Blow::Kill, "take the parent along by crashing"),
        (Blow::Stop, "keep the parent waiting"),
        (Blow::Cancel, "go on after it was cancelled"),
    ];
    let mut denials = Vec::new();
    for (blow, attempt) in blows {
        observe(attempt);
        // On a busy machine a blow may fall before the guest is there, and hit nobody.
        let mut finding = struck(command, blow)?;
        for _ in 0..3 {
            if matches!(finding, Finding::Denied { .. }) {
                break;
            }
            finding = struck(command, blow)?;
        }
        denials.push(Denial {
            attempt: attempt.to_owned(),
            wall: Wall::Worker,
            finding,
        });
    }
    Ok(denials)
}

/// Runs an endless guest, strikes its worker, and sees what comes of it.
fn struck(command: &WorkerCommand, blow: Blow) -> Result<Finding, DoctorError> {
    let pool = Process::new(
        command.clone(),
        PoolSettings {
            workers: 1,
            grace: Duration::from_millis(200),
            ..PoolSettings::default()
        },
    )?;
    pool.lockdown()?;
    let worker = pool
        .idle_workers()
        .first()
        .copied()
        .ok_or_else(|| DoctorError::Setup("no worker is idle".to_owned()))?;
    let sandbox = Sandbox::new(pool, None)?;
    let budget = Budget {
        fuel: Fuel(u64::MAX / 4),
        wall_time: WallTime::millis(300),
        ..Budget::check()
    };
    let module = sandbox
        .module(ENDLESS, &budget, Trust::Untrusted)?
        .map_err(|error| DoctorError::Setup(error.to_string()))?;
    let invocation = Invocation::command(vec!["endless".to_owned()], Mounts::default(), budget);
    let cancel = invocation.cancel.clone();
    let started = Instant::now();
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| sandbox.run(invocation, &module));
        std::thread::sleep(Duration::from_millis(100));
        let process = i32::try_from(worker)
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        match (blow, process) {
            (Blow::Cancel, _) | (_, None) => cancel.cancel(),
            (Blow::Kill, Some(process)) => {
                let _ = rustix::process::kill_process(process, rustix::process::Signal::ABORT);
            }
            (Blow::Stop, Some(process)) => {
                let _ = rustix::process::kill_process(process, rustix::process::Signal::STOP);
            }
        }
        run.join()
    });
    let took = started.elapsed();
    Ok(match run {
        Ok(Err(error @ (RunError::Worker(_) | RunError::Cancelled)))
            if took < Duration::from_secs(10) =>
        {
            Finding::Denied {
                how: error.to_string(),
            }
        }
        Ok(ended) => Finding::Allowed {
            what: format!("after {took:?}: {ended:?}"),
        },
        Err(_) => Finding::Allowed {
            what: "the parent panicked".to_owned(),
        },
    })
}

/// Tries natively what a guest that broke out would try, in a process that is locked down as
/// a worker is.
fn natives(
    command: &WorkerCommand,
    lockdown: &lockdown::Report,
    observe: &mut dyn FnMut(&str),
) -> Result<Vec<Denial>, DoctorError> {
    let outside = Outside::new().map_err(|error| DoctorError::Setup(error.to_string()))?;
    let settings = lockdown::Settings {
        parent: Some(std::process::id()),
        cpu_seconds: Some(1),
        ..lockdown::Settings::new(Role::Guest)
    };
    let mut denials = Vec::new();
    for probe in Probe::ALL {
        if !probe.must_be_refused(Role::Guest) {
            continue;
        }
        observe(probe.tries());
        let outcome = command
            .try_out(&settings, probe, &outside)
            .map_err(DoctorError::Setup)?;
        let finding = match outcome {
            Outcome::Refused { errno } => Finding::Denied {
                how: format!("refused, {}", std::io::Error::from_raw_os_error(errno)),
            },
            Outcome::Killed { signal } => Finding::Denied {
                how: format!("the process is ended by signal {signal}"),
            },
            Outcome::Inapplicable { why } => Finding::NotOffered { why },
            // What was not seen to be denied is not denied.
            Outcome::Unknown { why } => Finding::Allowed { what: why },
            Outcome::Succeeded => went_through(probe, settings.role, lockdown),
        };
        denials.push(Denial {
            attempt: probe.tries().to_owned(),
            wall: Wall::Kernel,
            finding,
        });
    }
    Ok(denials)
}

/// Whether this kernel could have stopped it: it could if it has system-call filters, which
/// stop everything that a probe tries.
fn went_through(probe: Probe, role: Role, lockdown: &lockdown::Report) -> Finding {
    match lockdown.state(Layer::Seccomp) {
        State::NotOffered { why } => Finding::NotOffered { why: why.clone() },
        State::Active { .. } | State::Failed { .. } | State::Off => Finding::Allowed {
            what: format!("{probe} succeeded under {role:?}"),
        },
    }
}

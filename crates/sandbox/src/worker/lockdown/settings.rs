//! What a worker is locked down to, and the one call that does it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::report::{Layer, Report, State};

/// What a worker is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Runs guests: compiled code is loaded and made executable.
    Guest,
    /// Compiles modules: nothing is ever made executable.
    Compiler,
}

/// What a worker is locked down to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// What the worker is for.
    pub role: Role,
    /// The process that started the worker, by its own count of processes. With `None`
    /// it is not checked whether the parent is still there. Default: `None`.
    pub parent: Option<u32>,
    /// Bytes of private writable memory, stacks of threads included, reserved addresses
    /// not. Default: 2 GiB.
    pub data_bytes: u64,
    /// Seconds of processor time, summed over all threads; one more second and the end is
    /// forced. Default: none for guests (their fuel and deadline are the parent's), 60 for
    /// a compiler.
    pub cpu_seconds: Option<u64>,
    /// Bytes of any one file that the worker writes to, memory-backed files included.
    /// Sockets and pipes do not count. Default: 256 MiB.
    pub file_bytes: u64,
    /// Descriptors, the three standard ones and those in flight to the worker included.
    /// More than that are dropped by the kernel on receipt. Default: 96.
    pub open_files: u64,
    /// The layers to apply. Default: all.
    pub layers: BTreeSet<Layer>,
}

impl Settings {
    /// The defaults of a role, with every layer.
    #[must_use]
    pub fn new(role: Role) -> Self {
        Self {
            role,
            parent: None,
            data_bytes: 2 << 30,
            cpu_seconds: match role {
                Role::Guest => None,
                Role::Compiler => Some(60),
            },
            file_bytes: 256 << 20,
            open_files: 96,
            layers: Layer::ALL.into(),
        }
    }

    /// The same with these layers only.
    #[must_use]
    pub fn with_layers(self, layers: impl IntoIterator<Item = Layer>) -> Self {
        Self {
            layers: layers.into_iter().collect(),
            ..self
        }
    }
}

/// Locks this process down for good and says what is in force.
///
/// To be called first thing in a worker: before a second thread exists (some layers bind
/// the calling thread and those it starts later only; they are reported as failed where
/// there are others), before anything of a guest is read, and while only descriptors 0, 1
/// and 2 are in use (all others are closed).
///
/// What this kernel does not offer is reported, not fatal: whether that is good enough is
/// the caller's to decide. A worker whose [`Layer::ParentDeath`] failed should end itself,
/// since its parent is gone.
#[must_use]
pub fn apply(settings: &Settings) -> Report {
    let others = other_threads();
    let layers = Layer::ALL.into_iter().map(|layer| {
        let state = if settings.layers.contains(&layer) {
            set_up(layer, settings)
        } else {
            State::Off
        };
        let state = match state {
            State::Active { .. } if others && layer.binds_one_thread() => State::Failed {
                why: "other threads were running already".to_owned(),
            },
            state => state,
        };
        (layer, state)
    });
    Report {
        layers: layers.collect(),
    }
}

/// Whether there are threads besides this one, as far as the kernel tells.
fn other_threads() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1)
}

fn set_up(layer: Layer, settings: &Settings) -> State {
    use super::{landlock, limits, process, seccomp};
    match layer {
        Layer::OwnSession => process::own_session(),
        Layer::ParentDeath => process::die_with_parent(settings.parent),
        Layer::OomFirst => process::first_to_go(),
        Layer::Descriptors => process::close_descriptors(),
        Layer::CoreSize
        | Layer::DataSize
        | Layer::OpenFiles
        | Layer::FileSize
        | Layer::CpuTime
        | Layer::LockedMemory
        | Layer::MessageQueues
        | Layer::Priority => limits::set(layer, settings),
        Layer::Undumpable => process::undumpable(),
        Layer::NoNewPrivileges => process::no_new_privileges(),
        Layer::NoNewCode => process::no_new_code(settings.role),
        Layer::LandlockFiles => landlock::files(),
        Layer::LandlockNetwork => landlock::network(),
        Layer::LandlockScope => landlock::scope(),
        Layer::Capabilities => process::drop_capabilities(),
        Layer::Seccomp => seccomp::install(settings.role),
    }
}

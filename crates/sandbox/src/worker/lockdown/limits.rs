//! Limits of resources: both the soft and the hard one, so that they stay.
//!
//! Deliberately absent: `RLIMIT_AS`, because an engine reserves gigabytes of addresses that
//! it never uses; `RLIMIT_NPROC`, because the kernel counts all processes of the user, not
//! those of the worker; `RLIMIT_STACK`, because the size of a thread's stack is derived
//! from it and wasm runs on stacks of its own.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::report::{Layer, State};
use super::settings::Settings;

/// Sets the limit or limits of a layer; `Off` for a layer that sets none.
pub(super) fn set(layer: Layer, settings: &Settings) -> State {
    match layer {
        Layer::CoreSize => bound(Resource::Core, 0, 0),
        Layer::DataSize => bound(Resource::Data, settings.data_bytes, settings.data_bytes),
        Layer::OpenFiles => bound(Resource::Nofile, settings.open_files, settings.open_files),
        Layer::FileSize => bound(Resource::Fsize, settings.file_bytes, settings.file_bytes),
        // At the soft limit comes SIGXCPU, which a parent can tell from every other end;
        // a worker that handles it still ends a second later.
        Layer::CpuTime => match settings.cpu_seconds {
            Some(seconds) => bound(Resource::Cpu, seconds, seconds.saturating_add(1)),
            None => State::Off,
        },
        Layer::LockedMemory => bound(Resource::Memlock, 0, 0),
        Layer::MessageQueues => bound(Resource::Msgqueue, 0, 0),
        Layer::Priority => match bound(Resource::Nice, 0, 0) {
            State::Active { .. } => bound(Resource::Rtprio, 0, 0),
            other => other,
        },
        Layer::OwnSession
        | Layer::ParentDeath
        | Layer::OomFirst
        | Layer::Descriptors
        | Layer::Undumpable
        | Layer::NoNewPrivileges
        | Layer::NoNewCode
        | Layer::LandlockFiles
        | Layer::LandlockNetwork
        | Layer::LandlockScope
        | Layer::Capabilities
        | Layer::Seccomp => State::Off,
    }
}

/// Lowers a limit; one that is lower already is kept.
fn bound(resource: Resource, soft: u64, hard: u64) -> State {
    let now = getrlimit(resource);
    let hard = now.maximum.map_or(hard, |ceiling| ceiling.min(hard));
    let soft = soft.min(hard);
    let limit = Rlimit {
        current: Some(soft),
        maximum: Some(hard),
    };
    match setrlimit(resource, limit) {
        Ok(()) => State::Active {
            detail: soft.to_string(),
        },
        Err(error) => State::Failed {
            why: error.to_string(),
        },
    }
}

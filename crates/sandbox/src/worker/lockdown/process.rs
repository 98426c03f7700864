//! What concerns the process as a whole: its session, parent, descriptors and rights.

use std::fs;
use std::io::Write as _;

use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Signal, getpid, getppid, getsid, set_dumpable_behavior,
    set_parent_process_death_signal, setsid,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use super::report::State;
use super::settings::Role;

/// The first descriptor that is not a standard stream.
const FIRST: u32 = 3;
/// Descriptors looked at where nothing tells which are open.
const SWEEP: u32 = 1 << 16;

fn active(detail: &str) -> State {
    State::Active {
        detail: detail.to_owned(),
    }
}

fn failed(error: impl std::fmt::Display) -> State {
    State::Failed {
        why: error.to_string(),
    }
}

/// A session of its own rather than an ignored SIGINT: that also takes away SIGQUIT,
/// SIGTSTP and SIGHUP of the terminal, and the terminal itself, whose input could
/// otherwise be written by the worker.
pub(super) fn own_session() -> State {
    match setsid() {
        Ok(_) => active("led by the worker"),
        Err(Errno::PERM) if getsid(None) == Ok(getpid()) => active("led by the worker"),
        Err(Errno::PERM) => State::Failed {
            why: "the worker was started as the leader of a process group".to_owned(),
        },
        Err(error) => failed(error),
    }
}

/// The signal comes when the *thread* that started the worker ends, so that thread must
/// live as long as the worker is wanted.
pub(super) fn die_with_parent(parent: Option<u32>) -> State {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return failed(error);
    }
    let Some(expected) = parent else {
        return active("SIGKILL, parent not checked");
    };
    // A parent that died before the call above left no signal behind.
    let now = getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    if now == Some(expected) {
        active("SIGKILL")
    } else {
        State::Failed {
            why: "the parent is gone".to_owned(),
        }
    }
}

pub(super) fn first_to_go() -> State {
    const SCORE: &str = "1000";
    let file = fs::File::options()
        .write(true)
        .open("/proc/self/oom_score_adj");
    match file.and_then(|mut file| file.write_all(SCORE.as_bytes())) {
        Ok(()) => active(SCORE),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => State::NotOffered {
            why: "there is no /proc".to_owned(),
        },
        // A file of /proc that is not the worker's own, or a read-only /proc.
        Err(error) => State::NotOffered {
            why: error.to_string(),
        },
    }
}

pub(super) fn close_descriptors() -> State {
    match close_from(FIRST) {
        Ok(()) => return active("all but 0, 1 and 2"),
        // Before Linux 5.9, or where an outer filter does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => {}
        Err(error) => return failed(error),
    }
    let Ok(folder) = fs::read_dir("/proc/self/fd") else {
        (FIRST..SWEEP).for_each(close);
        return active("3 to 65535");
    };
    let open: Vec<u32> = folder
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&number| number >= FIRST)
        .collect();
    open.into_iter().for_each(close);
    active("all but 0, 1 and 2")
}

#[allow(
    unsafe_code,
    reason = "closing descriptors that nobody in this process owns"
)]
fn close_from(first: u32) -> Result<(), Errno> {
    const CLOSE_RANGE: libc::c_long = 436;
    // SAFETY: the call takes three numbers. `apply` is documented to run while nothing
    // but the standard streams is in use.
    let result = unsafe { libc::syscall(CLOSE_RANGE, first, u32::MAX, 0_u32) };
    if result == 0 {
        Ok(())
    } else {
        Err(last_error())
    }
}

#[allow(
    unsafe_code,
    reason = "closing descriptors that nobody in this process owns"
)]
fn close(number: u32) {
    if let Ok(number) = i32::try_from(number) {
        // SAFETY: as in `close_from`; a number that is not open is an error without effect.
        unsafe { libc::close(number) };
    }
}

/// Nothing of ours is disturbed: a parent's `prlimit`, `kill` and `/proc/<pid>/{stat,statm,
/// status}` do not ask for it. `/proc/<pid>/{mem,fd,maps,smaps,oom_score_adj}` do, and are
/// root's from here on.
pub(super) fn undumpable() -> State {
    match set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        Ok(()) => active("set"),
        Err(error) => failed(error),
    }
}

pub(super) fn no_new_privileges() -> State {
    match set_no_new_privs(true) {
        Ok(()) => active("set"),
        Err(error) => failed(error),
    }
}

/// Only for a compiler: loading compiled code is writing it (to apply relocations), then
/// making it executable, which is the very thing that this refuses.
pub(super) fn no_new_code(role: Role) -> State {
    match role {
        Role::Guest => State::Off,
        Role::Compiler => match refuse_exec_gain() {
            Ok(()) => active("set"),
            Err(Errno::INVAL) => State::NotOffered {
                why: "it needs Linux 6.3".to_owned(),
            },
            Err(error) => failed(error),
        },
    }
}

#[allow(unsafe_code, reason = "a control of the process that rustix lacks")]
fn refuse_exec_gain() -> Result<(), Errno> {
    const SET_MDWE: libc::c_int = 65;
    const REFUSE_EXEC_GAIN: libc::c_ulong = 1;
    let nothing: libc::c_ulong = 0;
    // SAFETY: the call takes numbers only, and only ever takes rights away.
    let result = unsafe { libc::prctl(SET_MDWE, REFUSE_EXEC_GAIN, nothing, nothing, nothing) };
    if result == 0 {
        Ok(())
    } else {
        Err(last_error())
    }
}

pub(super) fn drop_capabilities() -> State {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    let had = match capabilities(None) {
        Ok(sets) => sets,
        Err(error) => return failed(error),
    };
    // The ambient and bounding sets matter at `execve` only; without the right to lower
    // the bounding set there is nothing in it that could be gained either.
    let _ = clear_ambient_capability_set();
    for capability in CapabilitySet::all().iter() {
        let _ = remove_capability_from_bounding_set(capability);
    }
    if had == none {
        return active("there were none");
    }
    match set_capabilities(None, none) {
        Ok(()) => active("dropped"),
        Err(error) => failed(error),
    }
}

fn last_error() -> Errno {
    std::io::Error::last_os_error()
        .raw_os_error()
        .map_or(Errno::IO, Errno::from_raw_os_error)
}

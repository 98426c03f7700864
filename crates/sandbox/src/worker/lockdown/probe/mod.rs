//! Forbidden things, tried for real.
//!
//! A probe is tried in a process of its own, because the attempt may end it: the parent
//! starts a worker that locks itself down, calls [`Probe::attempt`] and writes down the
//! answer; [`Probe::judge`] turns what came back into an [`Outcome`]. The probes call the
//! kernel directly: they stand for machine code that broke out of the engine.
//!
//! What a probe does where nothing stops it is harmless and undone: files are removed,
//! children are ended and waited for.

mod attempts;
mod outside;

pub use outside::Outside;

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use serde::{Deserialize, Serialize};

use super::settings::{Role, Settings};

/// A forbidden thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "each is described by `Probe::tries`")]
pub enum Probe {
    ReadFile,
    StatFile,
    CreateFile,
    ListRoot,
    OpenTerminal,
    ConnectTcp,
    BindTcp,
    SendUdp,
    ConnectAbstract,
    UnixSocket,
    Fork,
    ForkBomb,
    Execute,
    TraceParent,
    SignalParent,
    ReadParentMemory,
    CopyParentMemory,
    InheritedDescriptor,
    IoUring,
    Bpf,
    PerfEvents,
    Userfaultfd,
    Keyrings,
    Memfd,
    WriteExecutable,
    NewCode,
    ExceedData,
    ExceedFiles,
    ExceedFileSize,
    ExceedCpu,
    LockMemory,
    MessageQueue,
    RaiseLimit,
    RaisePriority,
    DumpCore,
    SetUser,
    UserNamespace,
    ChangeRoot,
    Mount,
}

impl Probe {
    /// All probes.
    pub const ALL: [Self; 39] = [
        Self::ReadFile,
        Self::StatFile,
        Self::CreateFile,
        Self::ListRoot,
        Self::OpenTerminal,
        Self::ConnectTcp,
        Self::BindTcp,
        Self::SendUdp,
        Self::ConnectAbstract,
        Self::UnixSocket,
        Self::Fork,
        Self::ForkBomb,
        Self::Execute,
        Self::TraceParent,
        Self::SignalParent,
        Self::ReadParentMemory,
        Self::CopyParentMemory,
        Self::InheritedDescriptor,
        Self::IoUring,
        Self::Bpf,
        Self::PerfEvents,
        Self::Userfaultfd,
        Self::Keyrings,
        Self::Memfd,
        Self::WriteExecutable,
        Self::NewCode,
        Self::ExceedData,
        Self::ExceedFiles,
        Self::ExceedFileSize,
        Self::ExceedCpu,
        Self::LockMemory,
        Self::MessageQueue,
        Self::RaiseLimit,
        Self::RaisePriority,
        Self::DumpCore,
        Self::SetUser,
        Self::UserNamespace,
        Self::ChangeRoot,
        Self::Mount,
    ];

    /// The name in reports, the same as in its serialized form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadFile => "read-file",
            Self::StatFile => "stat-file",
            Self::CreateFile => "create-file",
            Self::ListRoot => "list-root",
            Self::OpenTerminal => "open-terminal",
            Self::ConnectTcp => "connect-tcp",
            Self::BindTcp => "bind-tcp",
            Self::SendUdp => "send-udp",
            Self::ConnectAbstract => "connect-abstract",
            Self::UnixSocket => "unix-socket",
            Self::Fork => "fork",
            Self::ForkBomb => "fork-bomb",
            Self::Execute => "execute",
            Self::TraceParent => "trace-parent",
            Self::SignalParent => "signal-parent",
            Self::ReadParentMemory => "read-parent-memory",
            Self::CopyParentMemory => "copy-parent-memory",
            Self::InheritedDescriptor => "inherited-descriptor",
            Self::IoUring => "io-uring",
            Self::Bpf => "bpf",
            Self::PerfEvents => "perf-events",
            Self::Userfaultfd => "userfaultfd",
            Self::Keyrings => "keyrings",
            Self::Memfd => "memfd",
            Self::WriteExecutable => "write-executable",
            Self::NewCode => "new-code",
            Self::ExceedData => "exceed-data",
            Self::ExceedFiles => "exceed-files",
            Self::ExceedFileSize => "exceed-file-size",
            Self::ExceedCpu => "exceed-cpu",
            Self::LockMemory => "lock-memory",
            Self::MessageQueue => "message-queue",
            Self::RaiseLimit => "raise-limit",
            Self::RaisePriority => "raise-priority",
            Self::DumpCore => "dump-core",
            Self::SetUser => "set-user",
            Self::UserNamespace => "user-namespace",
            Self::ChangeRoot => "change-root",
            Self::Mount => "mount",
        }
    }

    /// What is tried.
    #[must_use]
    pub const fn tries(self) -> &'static str {
        match self {
            Self::ReadFile => "open /etc/passwd for reading",
            Self::StatFile => "ask for the size of /etc/passwd",
            Self::CreateFile => "create a file in /tmp",
            Self::ListRoot => "list the folder /",
            Self::OpenTerminal => "open the terminal /dev/tty",
            Self::ConnectTcp => "connect to a TCP port of this machine",
            Self::BindTcp => "listen on a TCP port",
            Self::SendUdp => "send a UDP packet to this machine",
            Self::ConnectAbstract => "connect to the parent's abstract unix socket",
            Self::UnixSocket => "make a unix socket",
            Self::Fork => "start a child process",
            Self::ForkBomb => "start 64 child processes at once",
            Self::Execute => "execute the program `true`",
            Self::TraceParent => "trace the parent",
            Self::SignalParent => "send a signal to the parent",
            Self::ReadParentMemory => "open the parent's memory under /proc",
            Self::CopyParentMemory => "copy from the parent's memory",
            Self::InheritedDescriptor => "use a descriptor that the parent left open",
            Self::IoUring => "set up an io_uring",
            Self::Bpf => "create a BPF map",
            Self::PerfEvents => "open a performance counter",
            Self::Userfaultfd => "handle page faults in user space",
            Self::Keyrings => "use the kernel's keyrings",
            Self::Memfd => "create a memory-backed file",
            Self::WriteExecutable => "map memory that is writable and executable",
            Self::NewCode => "write to memory and then make it executable",
            Self::ExceedData => "map more writable memory than the bound",
            Self::ExceedFiles => "open more descriptors than the bound",
            Self::ExceedFileSize => "write to a file beyond the bound",
            Self::ExceedCpu => "compute for longer than the bound",
            Self::LockMemory => "lock a page of memory",
            Self::MessageQueue => "create a message queue",
            Self::RaiseLimit => "raise a hard limit",
            Self::RaisePriority => "raise the priority",
            Self::DumpCore => "crash and leave a core file",
            Self::SetUser => "become another user",
            Self::UserNamespace => "make a user namespace",
            Self::ChangeRoot => "change the root folder",
            Self::Mount => "mount a file system",
        }
    }

    /// Whether a locked-down worker of this role must not be able to do it. The one thing
    /// that one must be able to do is what loading compiled code consists of.
    #[must_use]
    pub const fn must_be_refused(self, role: Role) -> bool {
        !matches!((self, role), (Self::NewCode, Role::Guest))
    }

    /// Tries it, in the process that is locked down according to `settings`.
    ///
    /// May end the process, by a signal of the kernel or, for [`Probe::Execute`], because
    /// another program takes its place. [`Probe::ExceedFileSize`] writes to descriptor 0,
    /// for which [`Outside::file`] is meant.
    #[must_use]
    pub fn attempt(self, settings: &Settings) -> Attempt {
        attempts::attempt(self, settings)
    }

    /// What is to be concluded from the answer of the process, if it gave one, and from how
    /// it ended.
    #[must_use]
    pub fn judge(self, answer: Option<Attempt>, status: ExitStatus) -> Outcome {
        match (answer, status.signal()) {
            (Some(Attempt::Refused { errno }), _) => Outcome::Refused { errno },
            (Some(Attempt::Succeeded), _) => Outcome::Succeeded,
            (Some(Attempt::Inapplicable { why }), _) => Outcome::Inapplicable { why },
            // The signal is what the probe asks for; the question is what it left.
            (None, Some(_)) if self == Self::DumpCore && status.core_dumped() => Outcome::Succeeded,
            (None, Some(signal)) => Outcome::Killed { signal },
            // The program that took the process's place reported for it.
            (None, None) if self == Self::Execute && status.success() => Outcome::Succeeded,
            (None, None) => Outcome::Unknown {
                why: format!("no answer, {status}"),
            },
        }
    }
}

impl std::fmt::Display for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// How an attempt went, as the process itself sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attempt {
    /// The kernel refused.
    Refused {
        /// The error number.
        errno: i32,
    },
    /// Nothing stopped it.
    Succeeded,
    /// It cannot be tried here.
    Inapplicable {
        /// What is missing.
        why: String,
    },
}

/// How an attempt went, as the parent sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The kernel refused.
    Refused {
        /// The error number.
        errno: i32,
    },
    /// The kernel ended the process.
    Killed {
        /// The signal.
        signal: i32,
    },
    /// Nothing stopped it.
    Succeeded,
    /// It could not be tried.
    Inapplicable {
        /// What is missing.
        why: String,
    },
    /// Nothing can be concluded.
    Unknown {
        /// Why.
        why: String,
    },
}

impl Outcome {
    /// Whether the thing was denied, one way or the other.
    #[must_use]
    pub const fn is_denied(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Killed { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_serialized_form() {
        for probe in Probe::ALL {
            let text = serde_json::to_string(&probe).unwrap();
            assert_eq!(text, format!("\"{}\"", probe.name()));
        }
        assert!(Probe::ALL.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn how_a_process_ended_is_judged() {
        let ended = |raw| ExitStatus::from_raw(raw);
        let killed = Outcome::Killed { signal: 31 };
        assert_eq!(Probe::Fork.judge(None, ended(31)), killed);
        assert!(killed.is_denied());
        assert_eq!(Probe::Execute.judge(None, ended(0)), Outcome::Succeeded);
        assert!(!Probe::Fork.judge(None, ended(0)).is_denied());
        let core = ended(6 | 0x80);
        assert_eq!(Probe::DumpCore.judge(None, core), Outcome::Succeeded);
        assert!(Probe::DumpCore.judge(None, ended(6)).is_denied());
        let refused = Some(Attempt::Refused { errno: 1 });
        assert!(Probe::Fork.judge(refused, ended(0)).is_denied());
    }
}

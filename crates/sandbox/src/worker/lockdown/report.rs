//! The layers of the lockdown, and what became of each.

use serde::{Deserialize, Serialize};

/// One thing that a worker gives up. They are applied in the order of [`Layer::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// A session of its own.
    OwnSession,
    /// Death with the parent.
    ParentDeath,
    /// First choice of the kernel when memory runs out.
    OomFirst,
    /// Inherited descriptors closed.
    Descriptors,
    /// No core files (`RLIMIT_CORE`).
    CoreSize,
    /// Bound on writable memory (`RLIMIT_DATA`).
    DataSize,
    /// Bound on open descriptors (`RLIMIT_NOFILE`).
    OpenFiles,
    /// Bound on the size of a file (`RLIMIT_FSIZE`).
    FileSize,
    /// Bound on processor time (`RLIMIT_CPU`).
    CpuTime,
    /// No locked memory (`RLIMIT_MEMLOCK`).
    LockedMemory,
    /// No message queues (`RLIMIT_MSGQUEUE`).
    MessageQueues,
    /// No better priority (`RLIMIT_NICE`, `RLIMIT_RTPRIO`).
    Priority,
    /// Not dumpable.
    Undumpable,
    /// No new privileges.
    NoNewPrivileges,
    /// No new machine code.
    NoNewCode,
    /// No right on any file (landlock).
    LandlockFiles,
    /// No right on any port (landlock).
    LandlockNetwork,
    /// No signals or abstract sockets to the outside (landlock).
    LandlockScope,
    /// No capabilities.
    Capabilities,
    /// A short list of system calls (seccomp).
    Seccomp,
}

impl Layer {
    /// All layers, in the order in which they are applied.
    pub const ALL: [Self; 20] = [
        Self::OwnSession,
        Self::ParentDeath,
        Self::OomFirst,
        Self::Descriptors,
        Self::CoreSize,
        Self::DataSize,
        Self::OpenFiles,
        Self::FileSize,
        Self::CpuTime,
        Self::LockedMemory,
        Self::MessageQueues,
        Self::Priority,
        Self::Undumpable,
        Self::NoNewPrivileges,
        Self::NoNewCode,
        Self::LandlockFiles,
        Self::LandlockNetwork,
        Self::LandlockScope,
        Self::Capabilities,
        Self::Seccomp,
    ];

    /// The name in reports, the same as in its serialized form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OwnSession => "own-session",
            Self::ParentDeath => "parent-death",
            Self::OomFirst => "oom-first",
            Self::Descriptors => "descriptors",
            Self::CoreSize => "core-size",
            Self::DataSize => "data-size",
            Self::OpenFiles => "open-files",
            Self::FileSize => "file-size",
            Self::CpuTime => "cpu-time",
            Self::LockedMemory => "locked-memory",
            Self::MessageQueues => "message-queues",
            Self::Priority => "priority",
            Self::Undumpable => "undumpable",
            Self::NoNewPrivileges => "no-new-privileges",
            Self::NoNewCode => "no-new-code",
            Self::LandlockFiles => "landlock-files",
            Self::LandlockNetwork => "landlock-network",
            Self::LandlockScope => "landlock-scope",
            Self::Capabilities => "capabilities",
            Self::Seccomp => "seccomp",
        }
    }

    /// Whether it holds for the calling thread and those that it starts, but not for
    /// threads that were there before.
    pub(super) const fn binds_one_thread(self) -> bool {
        matches!(
            self,
            Self::NoNewPrivileges
                | Self::LandlockFiles
                | Self::LandlockNetwork
                | Self::LandlockScope
                | Self::Capabilities
        )
    }

    /// What the layer stops, in one sentence.
    #[must_use]
    pub const fn stops(self) -> &'static str {
        match self {
            Self::OwnSession => {
                "The terminal's signals go to the parent alone, and the worker has no terminal."
            }
            Self::ParentDeath => "No worker outlives the process that started it.",
            Self::OomFirst => {
                "When the machine runs out of memory, the kernel ends a worker rather than its parent."
            }
            Self::Descriptors => {
                "No file or socket that the parent had open by accident can be used."
            }
            Self::CoreSize => "A crash leaves no image of the worker's memory on the disk.",
            Self::DataSize => "Private writable memory beyond the bound is refused.",
            Self::OpenFiles => "The kernel's table of open files cannot be filled.",
            Self::FileSize => {
                "No file, memory-backed or not, grows beyond the bound; the attempt ends the worker."
            }
            Self::CpuTime => "The kernel ends the worker when its processor time is used up.",
            Self::LockedMemory => "Memory cannot be pinned against swapping.",
            Self::MessageQueues => "No queue can be left behind in the kernel.",
            Self::Priority => "The worker cannot take the processor from others.",
            Self::Undumpable => {
                "Other processes of the same user, a sibling worker among them, cannot read or trace the worker."
            }
            Self::NoNewPrivileges => "No program gives more rights than the worker has.",
            Self::NoNewCode => {
                "Memory that was writable never becomes executable (only where no guest runs)."
            }
            Self::LandlockFiles => "No file can be opened, made, changed or executed by its path.",
            Self::LandlockNetwork => "No port can be bound or connected to.",
            Self::LandlockScope => {
                "No process outside can be signalled, and no abstract socket outside be reached."
            }
            Self::Capabilities => {
                "A worker that was started by root has none of root's capabilities."
            }
            Self::Seccomp => {
                "Only the calls that a worker makes are allowed; those that only an attack makes end it."
            }
        }
    }
}

impl std::fmt::Display for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What became of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// In force.
    Active {
        /// What exactly: the value of a limit, the version of an interface.
        detail: String,
    },
    /// This kernel or processor does not have it.
    NotOffered {
        /// What is missing.
        why: String,
    },
    /// It is there, but refused to be set up.
    Failed {
        /// What failed.
        why: String,
    },
    /// Not asked for by the settings, or not meant for this role.
    Off,
}

impl State {
    /// Whether the layer is in force.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        matches!(self, Self::Active { .. })
    }
}

/// What became of every layer, in the order of [`Layer::ALL`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// One entry per layer.
    pub layers: Vec<(Layer, State)>,
}

impl Report {
    /// The state of a layer; `Off` for one that the report does not name.
    #[must_use]
    pub fn state(&self, layer: Layer) -> &State {
        self.layers
            .iter()
            .find(|(each, _)| *each == layer)
            .map_or(&State::Off, |(_, state)| state)
    }

    /// The layers that were asked for and are not in force.
    pub fn missing(&self) -> impl Iterator<Item = (Layer, &State)> {
        self.layers
            .iter()
            .filter(|(_, state)| matches!(state, State::NotOffered { .. } | State::Failed { .. }))
            .map(|(layer, state)| (*layer, state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_serialized_form() {
        for layer in Layer::ALL {
            let text = serde_json::to_string(&layer).unwrap();
            assert_eq!(text, format!("\"{}\"", layer.name()));
        }
    }

    #[test]
    fn all_is_in_declaration_order_without_repeats() {
        assert!(Layer::ALL.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_report_survives_serialization() {
        let report = Report {
            layers: vec![
                (Layer::CoreSize, State::Active { detail: "0".into() }),
                (Layer::Seccomp, State::NotOffered { why: "old".into() }),
                (Layer::DataSize, State::Failed { why: "no".into() }),
                (Layer::CpuTime, State::Off),
            ],
        };
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
        assert_eq!(report.state(Layer::OwnSession), &State::Off);
        let missing: Vec<_> = report.missing().map(|(layer, _)| layer).collect();
        assert_eq!(missing, [Layer::Seccomp, Layer::DataSize]);
    }
}

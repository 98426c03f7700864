//! What parent and worker say to each other.

use probity_core::budget::Budget;
use serde::{Deserialize, Serialize};

use super::lockdown;
use crate::cancel::Cancel;
use crate::engine::Kind;
use crate::fs::{Access, Device, FileSeals};
use crate::guest::{Entry, Keep, Run, Turn};
use crate::snapshot::Rest;

/// Changes whenever the messages do: parent and worker are the same program.
pub(super) const PROTOCOL: u32 = 3;
/// Largest message to a worker, in bytes.
pub(super) const MAX_ORDER: u64 = 1 << 30;
/// Largest first message of a worker, in bytes.
pub(super) const MAX_HELLO: u64 = 1 << 16;

/// The first thing that a worker says, when its lockdown is in place.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) protocol: u32,
    pub(super) lockdown: lockdown::Report,
}

/// What a worker is asked to do.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Run a guest.
    Run(Box<Job>),
    /// Run a guest, and keep it for more turns if it returns by itself.
    Pause(Box<Job>),
    /// Let the guest that is kept go on from where it was paused.
    GoOn(Box<Going>),
    /// Compile a module. Beside it: the module, and the file to write the code to.
    Compile(Kind),
}

/// A guest to run. Modules, images and files are named by the parent's numbers; those that
/// the worker has not seen are beside the message, in the order of `given`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) given: Vec<Given>,
    /// Numbers that will not be named again.
    pub(super) forget: Vec<u64>,
    pub(super) module: u64,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    #[serde(with = "serde_bytes")]
    pub(super) stdin: Vec<u8>,
    pub(super) mounts: Vec<Mounted>,
    pub(super) preopens: Vec<String>,
    pub(super) entry: Entry,
    pub(super) from: Option<Beginning>,
    pub(super) keep: Keep,
    pub(super) seed: u64,
    pub(super) start_time: u64,
    pub(super) sliced: bool,
    pub(super) budget: Budget,
    /// Whether somebody wants to hear of its results while it runs.
    pub(super) listened: bool,
    /// Files that are wanted at its end.
    pub(super) wanted: Vec<String>,
}

/// What the guest that is kept goes on with.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Going {
    pub(super) text: String,
    pub(super) sliced: bool,
    pub(super) budget: Budget,
}

impl From<Going> for Turn {
    fn from(going: Going) -> Self {
        Self {
            text: going.text,
            sliced: going.sliced,
            budget: going.budget,
            cancel: Cancel::default(),
        }
    }
}

/// The state that a guest begins in. Its memory is a file that was given.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Beginning {
    pub(super) memory: u64,
    pub(super) rest: Rest,
}

/// Something that the worker keeps under a number.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Given {
    pub(super) id: u64,
    pub(super) what: What,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) enum What {
    Code(Kind),
    /// An image of a tree, or a file.
    Bytes,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Mounted {
    pub(super) path: String,
    pub(super) access: Access,
    pub(super) seals: Option<FileSeals>,
    pub(super) what: Place,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Place {
    Image(u64),
    Empty,
    File(u64),
    Bytes(#[serde(with = "serde_bytes")] Vec<u8>),
    Device(Device),
}

/// What a worker answers. The error of a run is the host's, in words.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// Before the answer itself, if it was asked for: a piece of the guest's results.
    Progress(#[serde(with = "serde_bytes")] Vec<u8>),
    Ran(Result<Box<Run>, String>),
    /// The same for a guest that was to be paused, and whether it is kept.
    Paused(Result<(Box<Run>, bool), String>),
    Compiled(Result<(), CompileFault>),
}

/// Why nothing was compiled.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum CompileFault {
    /// The engine does not accept the module.
    Invalid(String),
    /// The code could not be written.
    Host(String),
}

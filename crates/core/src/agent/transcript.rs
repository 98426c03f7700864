//! The record of a run: every verify, plan and apply, in order.

use serde::{Deserialize, Serialize};

use super::{PatchText, StopReason};
use crate::Digest;
use crate::patch::PatchError;
use crate::verify::Status;

/// Name and version of the record's form.
pub const SCHEMA: &str = "probity.transcript/1";

/// The record of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    /// [`SCHEMA`].
    pub schema: String,
    /// Digest of the spec, see [`Spec::digest`](crate::spec::Spec::digest).
    pub spec: Digest,
    /// How often the loop could plan.
    pub max_iterations: u32,
    /// What happened.
    pub events: Vec<TranscriptEvent>,
}

/// One thing that happened. As JSON: `{"event": "verify", …}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum TranscriptEvent {
    /// The tree was verified.
    Verify {
        /// How that ended.
        status: Status,
        /// Names of the checks that did not pass.
        failures: Vec<String>,
        /// Digest of the tree.
        tree: Digest,
    },
    /// The planner answered.
    Plan {
        /// The iteration, counted from 1.
        iteration: u32,
        /// The steps of the plan.
        steps: Vec<String>,
    },
    /// A patch was tried.
    Apply(ApplyEvent),
    /// The planner or the patcher gave up.
    GaveUp {
        /// The place of the plan's step, counted from 0; `None` if it was the planner.
        step: Option<usize>,
        /// What it said.
        message: String,
    },
    /// The loop is over.
    Stop {
        /// Why.
        reason: StopReason,
        /// How many iterations there were.
        iterations: u32,
    },
}

/// A patch was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyEvent {
    /// The place of the plan's step that it belongs to, counted from 0.
    pub step: usize,
    /// The patch as it came from the patcher.
    pub patch: PatchText,
    /// Whether it was applied. If not, the tree is as it was.
    pub ok: bool,
    /// Why it was not applied.
    pub error: Option<PatchError>,
    /// Digest of the tree before.
    pub before: Digest,
    /// Digest of the tree after.
    pub after: Digest,
}

impl Transcript {
    /// The record as indented JSON that ends in a line break.
    ///
    /// # Errors
    /// Never in practice: it holds no map.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

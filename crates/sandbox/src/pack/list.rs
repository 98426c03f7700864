//! Asking a pack for the checks that it holds.

use std::collections::BTreeMap;

use probity_core::Budget;
use serde::{Deserialize, Serialize};

use crate::engine::Module;
use crate::fs::Mounts;
use crate::guest::{Ending, Invocation, RunError};
use crate::sandbox::Sandbox;
use crate::text::clean;

/// A check that a pack holds, as the pack describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedCheck {
    /// Its name.
    pub check: String,
    /// What it asks for.
    pub summary: String,
    /// Its parameters by name.
    #[serde(default)]
    pub params: BTreeMap<String, Param>,
}

/// A parameter of a pack's check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    /// Whether it must be given.
    #[serde(default)]
    pub required: bool,
    /// What it means.
    #[serde(default)]
    pub about: String,
}

/// A pack does not describe its checks.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The host failed.
    #[error("cannot run the pack")]
    Run(#[from] RunError),
    /// The pack did not answer as agreed.
    #[error("the pack does not answer `list` as agreed: {0}")]
    Protocol(String),
}

/// The checks that the pack `module` holds.
///
/// # Errors
/// When the pack does not answer as agreed, or the host failed.
pub fn list(sandbox: &Sandbox, module: &Module) -> Result<Vec<PackedCheck>, ListError> {
    let budget = Budget::check();
    let args = vec!["pack".to_owned(), "list".to_owned()];
    let invocation = Invocation::command(args, Mounts::default(), budget);
    let run = sandbox.run(invocation, module)?;
    match run.ending {
        Ending::Exited(0) => {}
        other => return Err(ListError::Protocol(format!("it ended as {other:?}"))),
    }
    String::from_utf8_lossy(&run.stdout.bytes)
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            serde_json::from_str(line)
                .map_err(|error| ListError::Protocol(clean(&error.to_string())))
        })
        .collect()
}

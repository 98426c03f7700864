//! Why a command gave no answer, and the exit code that says so.
//!
//! Exit codes are an interface and never change meaning: 0 passed, 1 failed, 2 the request
//! is wrong, 3 the patch was refused, 4 nothing was checked, 5 we or the host failed,
//! 130 interrupted.

use std::process::ExitCode;

use probity_core::patch::PatchError;

/// The request is wrong.
const REQUEST: u8 = 2;
/// The patch was refused or did not apply.
const REFUSED: u8 = 3;
/// We or the host failed.
pub(crate) const HOST: u8 = 5;
/// Interrupted from the keyboard.
pub(crate) const INTERRUPTED: u8 = 130;

/// A command ended without a verdict.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The request is wrong: flags, files that it names, the spec.
    Request(anyhow::Error),
    /// The patch was refused; nothing was written. `json` is the answer for machines, if
    /// one was asked for.
    Refused {
        /// Why.
        error: Box<PatchError>,
        /// Whether the answer was already printed as JSON.
        printed: bool,
    },
    /// We or the host failed: try again.
    Host(anyhow::Error),
}

impl Failure {
    /// The request is wrong.
    pub(crate) fn request(error: impl Into<anyhow::Error>) -> Self {
        Self::Request(error.into())
    }

    /// We or the host failed.
    pub(crate) fn host(error: impl Into<anyhow::Error>) -> Self {
        Self::Host(error.into())
    }

    /// The exit code.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Request(_) => REQUEST,
            Self::Refused { .. } => REFUSED,
            Self::Host(_) => HOST,
        })
    }
}

//! The verdict of a run.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Cause, CheckReport, Outcome};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Every check that had something to ask passed, and at least one did.
    Passed,
    /// Some check did not pass.
    Failed,
    /// We or the host failed; says nothing about the candidate.
    Error,
    /// No check had anything to ask. Never counts as passed.
    NothingChecked,
}

impl Status {
    /// The name used in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::NothingChecked => "nothing-checked",
        }
    }

    /// The exit code that stands for it: 0, 1, 5 or 4.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::NothingChecked => 4,
            Self::Error => 5,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What came out, with the report of every check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    status: Status,
    failures: Vec<String>,
    checks: Vec<CheckReport>,
}

impl Verdict {
    /// Judges reports: `error` if the host failed in any, else `failed` if any did not pass,
    /// else `passed` if any passed, else `nothing-checked`.
    #[must_use]
    pub fn new(checks: Vec<CheckReport>) -> Self {
        let failures: Vec<String> = checks
            .iter()
            .filter(|report| match report.outcome {
                Outcome::Pass | Outcome::Skipped => false,
                Outcome::Fail | Outcome::Error => true,
            })
            .map(|report| report.name.clone())
            .collect();
        let host_failed = checks
            .iter()
            .any(|report| report.cause.as_ref().is_some_and(Cause::is_host));
        let any_passed = checks.iter().any(|report| report.outcome == Outcome::Pass);
        let status = if host_failed {
            Status::Error
        } else if !failures.is_empty() {
            Status::Failed
        } else if any_passed {
            Status::Passed
        } else {
            Status::NothingChecked
        };
        Self {
            status,
            failures,
            checks,
        }
    }

    /// How the run ended.
    #[must_use]
    pub const fn status(&self) -> Status {
        self.status
    }

    /// Whether it passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.status == Status::Passed
    }

    /// The names of the checks that did not pass, in the order of the spec.
    #[must_use]
    pub fn failures(&self) -> &[String] {
        &self.failures
    }

    /// Every report, in the order of the spec.
    #[must_use]
    pub fn checks(&self) -> &[CheckReport] {
        &self.checks
    }

    /// The exit code that stands for the status: 0, 1, 5 or 4.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        self.status.exit_code()
    }
}

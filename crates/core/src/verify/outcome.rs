//! How a check ended, and why.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Assurance;
use crate::budget::LimitHit;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// What the check asks for holds.
    Pass,
    /// It does not hold.
    Fail,
    /// The check came to no answer. Counts against the candidate, unless the cause is
    /// [`Cause::Host`].
    Error,
    /// There was nothing to ask; counts neither way. Only a `diff` check without a change
    /// ends so.
    Skipped,
}

impl Outcome {
    /// The name used in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a check did not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Cause {
    /// The check found something; the findings say what.
    Findings,
    /// Tests did not show what was expected; the suite's report says which.
    Tests,
    /// Something tried to forge the result; the findings say what. Whatever else came out
    /// counts for nothing.
    Tampered {
        /// What was seen.
        message: String,
    },
    /// It passed, but that cannot be trusted as far as the spec requires.
    Assurance {
        /// The level that is required.
        required: Assurance,
        /// The level of the result.
        reached: Assurance,
    },
    /// A limit ended the guest. For wall time `used` equals `cap`, since real time is no
    /// part of a reproducible result.
    Limit(LimitHit),
    /// The guest trapped.
    Trap {
        /// What the engine says, without addresses.
        message: String,
    },
    /// The guest ended before it was done.
    Exit {
        /// Its exit code.
        code: i32,
    },
    /// The guest's results are not of the agreed form.
    Protocol {
        /// What is wrong with them.
        message: String,
    },
    /// The guest was refused before it ran: not a module, too large, forbidden imports.
    Refused {
        /// Why.
        message: String,
    },
    /// The check itself gave up.
    Broke {
        /// What it said.
        message: String,
    },
    /// The check panicked.
    Panicked {
        /// What it said.
        message: String,
    },
    /// We or the host failed; says nothing about the candidate.
    Host {
        /// What happened.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

impl Cause {
    /// A failure of ours.
    pub fn host(message: impl Into<String>) -> Self {
        Self::Host {
            message: message.into(),
            hint: None,
        }
    }

    /// Whether the failure is ours, so that it says nothing about the candidate.
    #[must_use]
    pub const fn is_host(&self) -> bool {
        match self {
            Self::Host { .. } => true,
            Self::Findings
            | Self::Tests
            | Self::Tampered { .. }
            | Self::Assurance { .. }
            | Self::Limit(_)
            | Self::Trap { .. }
            | Self::Exit { .. }
            | Self::Protocol { .. }
            | Self::Refused { .. }
            | Self::Broke { .. }
            | Self::Panicked { .. } => false,
        }
    }

    /// The outcome that the cause stands for.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        match self {
            Self::Findings | Self::Tests | Self::Tampered { .. } | Self::Assurance { .. } => {
                Outcome::Fail
            }
            Self::Limit(_)
            | Self::Trap { .. }
            | Self::Exit { .. }
            | Self::Protocol { .. }
            | Self::Refused { .. }
            | Self::Broke { .. }
            | Self::Panicked { .. }
            | Self::Host { .. } => Outcome::Error,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Findings => f.write_str("the check found problems"),
            Self::Tests => f.write_str("tests did not pass"),
            Self::Tampered { message } => write!(f, "tampering: {message}"),
            Self::Assurance { required, reached } => {
                write!(f, "it passed, but only {reached}; {required} is required")
            }
            Self::Limit(hit) => write!(f, "limit reached: {hit}"),
            Self::Trap { message } => write!(f, "the guest trapped: {message}"),
            Self::Exit { code } => write!(f, "the guest ended with exit code {code}"),
            Self::Protocol { message } => write!(f, "the guest's results are malformed: {message}"),
            Self::Refused { message } => write!(f, "the guest was refused: {message}"),
            Self::Broke { message } => write!(f, "the check broke: {message}"),
            Self::Panicked { message } => write!(f, "the check panicked: {message}"),
            Self::Host { message, hint: _ } => write!(f, "the host failed: {message}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Limit;

    #[test]
    fn the_json_form_names_its_type() {
        let cause = Cause::Limit(LimitHit {
            limit: Limit::Fuel,
            cap: 10,
            used: 11,
        });
        let json = serde_json::to_string(&cause).unwrap();
        assert_eq!(
            json,
            r#"{"type":"limit","limit":"fuel","cap":10,"used":11}"#
        );
        assert_eq!(serde_json::from_str::<Cause>(&json).unwrap(), cause);
        assert_eq!(
            serde_json::to_string(&Cause::Findings).unwrap(),
            r#"{"type":"findings"}"#
        );
    }
}

//! What one check reports.
//!
//! Everything in a report but its wall time is a function of spec, tree and code, so the
//! wall time is not serialized with it: a verdict document lists it under `timings`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Assurance, Cause, Outcome, SuiteReport};
use crate::budget::LimitHit;
use crate::quantity::{ByteSize, Fuel, WallTime};
use crate::spec::{Check, KindName};

/// What one check reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The check's name.
    pub name: String,
    /// Its kind.
    pub kind: KindName,
    /// How it ended.
    pub outcome: Outcome,
    /// How far that can be trusted.
    pub assurance: Assurance,
    /// Why it did not pass; `None` exactly when it passed or was skipped.
    pub cause: Option<Cause>,
    /// One line for people.
    pub message: String,
    /// What it found, in its own order.
    pub findings: Vec<Finding>,
    /// Results test by test, if it is a suite that ran.
    pub tests: Option<SuiteReport>,
    /// Work that it took; 0 for checks that run no guest.
    pub fuel: Fuel,
    /// Limits that came into play, whether or not they ended it.
    pub limits: Vec<LimitHit>,
    /// What its guest wrote to standard output. Evidence, never a verdict.
    pub stdout: Option<Captured>,
    /// What its guest wrote to standard error. Evidence, never a verdict.
    pub stderr: Option<Captured>,
    /// Real time that it took.
    #[serde(skip)]
    pub wall_time: WallTime,
}

impl CheckReport {
    /// A report of `check` that passed.
    #[must_use]
    pub fn pass(check: &Check, assurance: Assurance, message: impl Into<String>) -> Self {
        Self {
            name: check.name.clone(),
            kind: check.kind.name(),
            outcome: Outcome::Pass,
            assurance,
            cause: None,
            message: message.into(),
            findings: Vec::new(),
            tests: None,
            fuel: Fuel(0),
            limits: Vec::new(),
            stdout: None,
            stderr: None,
            wall_time: WallTime(0),
        }
    }

    /// A report of `check` that did not pass because of `cause`, which decides whether it
    /// failed or broke.
    #[must_use]
    pub fn stopped(
        check: &Check,
        assurance: Assurance,
        cause: Cause,
        message: impl Into<String>,
    ) -> Self {
        Self {
            outcome: cause.outcome(),
            cause: Some(cause),
            ..Self::pass(check, assurance, message)
        }
    }

    /// A report of `check` that could not run because we or the host failed.
    #[must_use]
    pub fn host_failed(check: &Check, message: impl Into<String>, hint: Option<String>) -> Self {
        let message = message.into();
        let cause = Cause::Host {
            message: message.clone(),
            hint,
        };
        Self::stopped(check, Assurance::Isolated, cause, message)
    }

    /// A report of `check` that had nothing to ask.
    #[must_use]
    pub fn skipped(check: &Check, message: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Skipped,
            ..Self::pass(check, Assurance::Isolated, message)
        }
    }

    /// A report of `check` that passes if no finding is an error.
    #[must_use]
    pub fn of_findings(
        check: &Check,
        assurance: Assurance,
        message: impl Into<String>,
        findings: Vec<Finding>,
    ) -> Self {
        let failed = findings.iter().any(|finding| finding.level == Level::Error);
        let report = if failed {
            Self::stopped(check, assurance, Cause::Findings, message)
        } else {
            Self::pass(check, assurance, message)
        };
        Self { findings, ..report }
    }
}

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Makes the check fail.
    Error,
    /// Worth a look; decides nothing.
    Warning,
    /// Says what was seen; decides nothing.
    Note,
}

impl Level {
    /// The name used in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something that a check found. The form in which packs print it, one JSON object a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How much it weighs.
    pub level: Level,
    /// Path from the repository's root, as the check wrote it; may be untrusted text.
    #[serde(default)]
    pub path: Option<String>,
    /// Line, counted from 1.
    #[serde(default)]
    pub line: Option<u64>,
    /// What was found, for people; may quote untrusted text.
    pub message: String,
}

impl Finding {
    /// A finding that makes the check fail.
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            level: Level::Error,
            path: None,
            line: None,
            message: message.into(),
        }
    }

    /// A finding that decides nothing.
    pub fn warning(message: impl Into<String>) -> Self {
        Self {
            level: Level::Warning,
            ..Self::error(message)
        }
    }

    /// Names the file.
    #[must_use]
    pub fn at(mut self, path: impl fmt::Display) -> Self {
        self.path = Some(path.to_string());
        self
    }

    /// Names the line, counted from 1.
    #[must_use]
    pub const fn on_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }
}

/// What was kept of an output stream.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Captured {
    /// The kept bytes as text; what is not UTF-8 is replaced. Untrusted.
    pub text: String,
    /// How many bytes the guest wrote.
    pub bytes_total: u64,
    /// How many of them, between head and tail, were not kept.
    pub dropped: u64,
}

impl Captured {
    /// Keeps at most `cap` bytes of `bytes`, half from the head and half from the tail.
    /// Between them stands a line that counts what was dropped.
    #[must_use]
    pub fn keep(bytes: &[u8], cap: ByteSize) -> Self {
        let total = bytes.len();
        let bytes_total = u64::try_from(total).unwrap_or(u64::MAX);
        if total <= cap.as_usize() {
            return Self {
                text: String::from_utf8_lossy(bytes).into_owned(),
                bytes_total,
                dropped: 0,
            };
        }
        let half = cap.as_usize() / 2;
        let head = bytes.get(..half).unwrap_or_default();
        let tail = bytes.get(total.saturating_sub(half)..).unwrap_or_default();
        let kept = u64::try_from(head.len().saturating_add(tail.len())).unwrap_or(u64::MAX);
        let dropped = bytes_total.saturating_sub(kept);
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        Self {
            text: format!("{head}\n[… {dropped} bytes dropped …]\n{tail}"),
            bytes_total,
            dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_output_keeps_head_and_tail_and_counts_the_rest() {
        let kept = Captured::keep(b"0123456789", ByteSize(4));
        assert_eq!(kept.text, "01\n[… 6 bytes dropped …]\n89");
        assert_eq!((kept.bytes_total, kept.dropped), (10, 6));
        assert_eq!(Captured::keep(b"abc", ByteSize(3)).text, "abc");
        assert_eq!(Captured::keep(b"a\xffb", ByteSize(3)).text, "a\u{fffd}b");
    }

    #[test]
    fn a_finding_is_read_as_packs_print_it() {
        let line = r#"{"level":"warning","message":"m"}"#;
        let finding: Finding = serde_json::from_str(line).unwrap();
        assert_eq!(
            (finding.level, finding.path, finding.line),
            (Level::Warning, None, None)
        );
        assert!(serde_json::from_str::<Finding>(r#"{"level":"fatal","message":"m"}"#).is_err());
    }
}

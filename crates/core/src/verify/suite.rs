//! What a test suite reports: records of a runner, results of tests.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Assurance, Cause, CheckReport, Outcome};
use crate::Digest;
use crate::budget::LimitHit;
use crate::quantity::Fuel;
use crate::spec::Check;

/// Results of a suite, test by test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteReport {
    /// The language implementation with its version, such as `python 3.15.0`.
    pub runtime: String,
    /// The test framework with its version, such as `pytest 9.2.0`.
    pub runner: String,
    /// The digest of all that its guests began with beside the tree under test: the runtime,
    /// the installed packages, our own files, the state of the warmed-up interpreter.
    pub environment: Option<Digest>,
    /// The digest of the tree that it ran on: the tree under test, unless trusted tests were
    /// laid over it or something was put back.
    pub tree: Option<Digest>,
    /// How many tests were expected; 0 without a list.
    pub expected: u64,
    /// Every test that was expected or reported, sorted by id.
    pub tests: Vec<TestReport>,
    /// What could not be collected.
    pub collect_errors: Vec<CollectError>,
    /// What tests of ours among the real ones showed.
    pub canaries: CanaryReport,
}

/// Tests of ours that must fail or must pass, put among the real ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CanaryReport {
    /// How many ended as they must.
    pub fired: u64,
    /// How many there were to be; 0 if they are switched off or there was no place for them.
    pub expected: u64,
}

impl CanaryReport {
    /// Adds those of another part of the suite.
    pub const fn join(&mut self, other: Self) {
        self.fired = self.fired.saturating_add(other.fired);
        self.expected = self.expected.saturating_add(other.expected);
    }
}

/// The result of one test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestReport {
    /// Its id, as the runner names it.
    pub id: String,
    /// How it ended.
    pub outcome: TestOutcome,
    /// Whether it had to pass.
    pub expected: bool,
    /// Whether it could keep the suite from passing: with a list the tests on it, without
    /// one every test that is not excepted.
    pub decides: bool,
    /// Work from its start to its end, measured by the host; 0 if it did not run.
    pub fuel: Fuel,
    /// Virtual time from its start to its end, in nanoseconds, measured by the host; 0 if it
    /// did not run.
    pub duration_ns: u64,
    /// Why it did not pass, from the runner, whole. Untrusted, may have several lines.
    pub message: Option<String>,
    /// Why it was skipped or expected to fail, from the runner. Untrusted.
    pub reason: Option<String>,
    /// What it printed, from the runner. Untrusted.
    pub stdout: Option<String>,
    /// What it printed to standard error, from the runner. Untrusted.
    pub stderr: Option<String>,
    /// Stand-ins for what the sandbox lacks that the test used, from the runner. Untrusted.
    pub standins: Vec<String>,
}

impl TestReport {
    /// A test that ended so and of which nothing else is known; it is not expected and decides
    /// nothing.
    #[must_use]
    pub fn bare(id: &str, outcome: TestOutcome) -> Self {
        Self {
            id: id.to_owned(),
            outcome,
            expected: false,
            decides: false,
            fuel: Fuel(0),
            duration_ns: 0,
            message: None,
            reason: None,
            stdout: None,
            stderr: None,
            standins: Vec::new(),
        }
    }

    /// Whether it keeps the suite from passing.
    #[must_use]
    pub const fn is_failure(&self) -> bool {
        self.decides && fails(self.expected, self.outcome)
    }
}

/// Whether a test that decides something fails with `outcome`: one that is expected has to
/// pass, any other must only not fail.
pub(super) const fn fails(expected: bool, outcome: TestOutcome) -> bool {
    if expected {
        !matches!(outcome, TestOutcome::Passed)
    } else {
        !outcome.is_tolerable()
    }
}

/// How a test ended, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestOutcome {
    /// It passed.
    Passed,
    /// It passed, but was marked as expected to fail.
    XPassed,
    /// It failed, as it was marked to.
    XFailed,
    /// It did not run, on its own wish.
    Skipped,
    /// It is expected, but the runner never reported it.
    Missing,
    /// It started, but the runner never reported its end.
    Incomplete,
    /// It ended in one way in one run and in another in another.
    Flaky,
    /// It failed.
    Failed,
    /// It broke outside the test itself, such as in a fixture.
    Error,
}

impl TestOutcome {
    /// The name used in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::XPassed => "xpassed",
            Self::XFailed => "xfailed",
            Self::Skipped => "skipped",
            Self::Missing => "missing",
            Self::Incomplete => "incomplete",
            Self::Flaky => "flaky",
            Self::Failed => "failed",
            Self::Error => "error",
        }
    }

    /// Whether a suite that expects no particular test passes in spite of this one.
    #[must_use]
    pub const fn is_tolerable(self) -> bool {
        match self {
            Self::Passed | Self::XPassed | Self::XFailed | Self::Skipped => true,
            Self::Missing | Self::Incomplete | Self::Flaky | Self::Failed | Self::Error => false,
        }
    }
}

impl fmt::Display for TestOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A file or module whose tests could not be collected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectError {
    /// What could not be collected, as the runner names it.
    pub id: String,
    /// Why, from the runner. Untrusted, may have several lines.
    pub message: String,
}

/// One record of a runner or, [`Spent`](Self::Spent), of its host. As JSON: `{"event": "result", "id": …, "outcome": …}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum SuiteRecord {
    /// Something could not be collected.
    CollectError(CollectError),
    /// A test starts.
    Start {
        /// Its id.
        id: String,
    },
    /// A test ended.
    Result {
        /// Its id.
        id: String,
        /// How it ended.
        outcome: TestOutcome,
        /// Why it did not pass.
        #[serde(default)]
        message: Option<String>,
        /// Why it was skipped or expected to fail.
        #[serde(default)]
        reason: Option<String>,
        /// What it printed.
        #[serde(default)]
        stdout: Option<String>,
        /// What it printed to standard error.
        #[serde(default)]
        stderr: Option<String>,
        /// Stand-ins that it used.
        #[serde(default)]
        standins: Vec<String>,
    },
    /// What a test took, as the host measured it; several add up. It says nothing about how
    /// the test ended.
    Spent {
        /// Its id.
        id: String,
        /// Work.
        fuel: Fuel,
        /// Virtual time, in nanoseconds.
        duration_ns: u64,
    },
    /// The runner is done: it reported all that it ran.
    Finish,
}

/// How far a suite is, for people who watch. Nothing is ever concluded from it: it comes
/// from a guest while that still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuiteProgress<'a> {
    /// Tests that were collected; 0 until that is known.
    pub collected: u64,
    /// Tests that ended.
    pub done: u64,
    /// How many of those keep the suite from passing.
    pub failed: u64,
    /// The test that runs. Untrusted.
    pub running: Option<&'a str>,
    /// The test that has just failed, if that is what is new. Untrusted.
    pub failure: Option<(&'a str, TestOutcome)>,
}

/// How the guest that ran the suite ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SuiteEnd {
    /// It exited by itself.
    Exit(i32),
    /// It trapped.
    Trap(String),
    /// A limit ended it.
    Limit(LimitHit),
}

impl SuiteEnd {
    /// The cause that such an end stands for, if it came too early.
    #[must_use]
    pub fn cause(&self) -> Cause {
        match self {
            Self::Exit(code) => Cause::Exit { code: *code },
            Self::Trap(message) => Cause::Trap {
                message: message.clone(),
            },
            Self::Limit(hit) => Cause::Limit(*hit),
        }
    }
}

/// The judgement on a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteJudgement {
    /// Why it did not pass; `None` if it passed.
    pub cause: Option<Cause>,
    /// One line for people.
    pub message: String,
    /// How many tests were expected.
    pub expected: u64,
    /// Every test that was expected or reported, sorted by id.
    pub tests: Vec<TestReport>,
    /// What could not be collected, in the order of the records.
    pub collect_errors: Vec<CollectError>,
}

impl SuiteJudgement {
    /// How the check ended.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.cause.as_ref().map_or(Outcome::Pass, Cause::outcome)
    }

    /// The report of `check`, without fuel, limits, output and time.
    #[must_use]
    pub fn into_report(
        self,
        check: &Check,
        assurance: Assurance,
        runtime: impl Into<String>,
        runner: impl Into<String>,
    ) -> CheckReport {
        let report = match self.cause {
            None => CheckReport::pass(check, assurance, self.message),
            Some(cause) => CheckReport::stopped(check, assurance, cause, self.message),
        };
        CheckReport {
            tests: Some(SuiteReport {
                runtime: runtime.into(),
                runner: runner.into(),
                environment: None,
                tree: None,
                expected: self.expected,
                tests: self.tests,
                collect_errors: self.collect_errors,
                canaries: CanaryReport::default(),
            }),
            ..report
        }
    }
}

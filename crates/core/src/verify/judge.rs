//! Judges a test suite by the records of its tests.
//!
//! A runner in the guest reports each test as it starts and ends, and its own end. The
//! judgement is made here, from those records and the expectation, never from an exit code
//! alone or from printed text:
//!
//! - an expected test counts only if it is `passed`; `xfailed`, `skipped`, missing and
//!   unfinished ones do not;
//! - of several results for one test the worst counts;
//! - a suite whose runner did not report its own end is an error;
//! - a record after that end is an error too: something outlived the runner.

use std::collections::BTreeMap;

use super::suite::fails;
use super::{Cause, CollectError, SuiteEnd, SuiteJudgement, SuiteRecord, TestOutcome, TestReport};
use crate::quantity::Fuel;
use crate::spec::Expectation;

/// How many tests a message names.
const NAMED: usize = 3;

/// Judges the records of a suite whose guest ended with `end`.
#[must_use]
pub fn judge_suite(
    expectation: &Expectation,
    records: impl IntoIterator<Item = SuiteRecord>,
    end: &SuiteEnd,
) -> SuiteJudgement {
    let gathered = Gathered::from_records(records);
    let tests = gathered.tests(expectation);
    let decision = gathered
        .broken(end)
        .map(|(cause, what)| (Some(cause), what))
        .unwrap_or_else(|| match expectation {
            Expectation::Tests { .. } => judge_expected(&tests),
            Expectation::Any { .. } => judge_any(&tests, &gathered.collect_errors, end),
        });
    let (cause, message) = decision;
    SuiteJudgement {
        cause,
        message,
        expected: count(expectation.expected()),
        tests,
        collect_errors: gathered.collect_errors,
    }
}

/// Whether a test that ended with `outcome` keeps a suite of this expectation from passing.
#[must_use]
pub fn is_failure(expectation: &Expectation, id: &str, outcome: TestOutcome) -> bool {
    expectation.decides(id) && fails(expectation.expects(id), outcome)
}

/// What the records say about one test.
#[derive(Debug, Default)]
struct Seen {
    starts: u64,
    results: u64,
    fuel: Fuel,
    duration_ns: u64,
    worst: Option<(TestOutcome, Texts)>,
}

#[derive(Debug, Default, Clone)]
struct Texts {
    message: Option<String>,
    reason: Option<String>,
    stdout: Option<String>,
    stderr: Option<String>,
    standins: Vec<String>,
}

#[derive(Debug, Default)]
struct Gathered {
    seen: BTreeMap<String, Seen>,
    collect_errors: Vec<CollectError>,
    finished: bool,
    after_finish: u64,
}

impl Gathered {
    fn from_records(records: impl IntoIterator<Item = SuiteRecord>) -> Self {
        let mut gathered = Self::default();
        for record in records {
            // What the host measured is no record of the runner.
            if gathered.finished && !matches!(record, SuiteRecord::Spent { .. }) {
                gathered.after_finish = gathered.after_finish.saturating_add(1);
            }
            gathered.add(record);
        }
        gathered
    }

    fn add(&mut self, record: SuiteRecord) {
        match record {
            SuiteRecord::CollectError(error) => self.collect_errors.push(error),
            SuiteRecord::Start { id } => {
                let seen = self.seen.entry(id).or_default();
                seen.starts = seen.starts.saturating_add(1);
            }
            SuiteRecord::Result {
                id,
                outcome,
                message,
                reason,
                stdout,
                stderr,
                standins,
            } => {
                let seen = self.seen.entry(id).or_default();
                seen.results = seen.results.saturating_add(1);
                if seen
                    .worst
                    .as_ref()
                    .is_none_or(|(worst, _)| *worst < outcome)
                {
                    let texts = Texts {
                        message,
                        reason,
                        stdout,
                        stderr,
                        standins,
                    };
                    seen.worst = Some((outcome, texts));
                }
            }
            SuiteRecord::Spent {
                id,
                fuel,
                duration_ns,
            } => {
                let seen = self.seen.entry(id).or_default();
                seen.fuel = seen.fuel.saturating_add(fuel);
                seen.duration_ns = seen.duration_ns.saturating_add(duration_ns);
            }
            SuiteRecord::Finish => self.finished = true,
        }
    }

    /// Every test that was expected or reported.
    fn tests(&self, expectation: &Expectation) -> Vec<TestReport> {
        let mut tests: BTreeMap<&str, TestReport> = self
            .seen
            .iter()
            .map(|(id, seen)| (id.as_str(), seen.report(id, expectation)))
            .collect();
        for id in expectation.expected() {
            tests.entry(id).or_insert_with(|| TestReport {
                expected: true,
                decides: true,
                ..TestReport::bare(id, TestOutcome::Missing)
            });
        }
        tests.into_values().collect()
    }

    /// Why the records as a whole cannot be judged, if so.
    fn broken(&self, end: &SuiteEnd) -> Option<(Cause, String)> {
        if self.after_finish > 0 {
            let message = format!("{} records follow the runner's own end", self.after_finish);
            return Some((
                Cause::Protocol {
                    message: message.clone(),
                },
                message,
            ));
        }
        let cause = end.cause();
        if !self.finished {
            let running = self
                .seen
                .iter()
                .find(|(_, seen)| seen.starts > seen.results);
            let during = running.map_or_else(String::new, |(id, _)| format!(" during {id}"));
            let message = format!("the runner did not reach its end{during}: {cause}");
            return Some((cause, message));
        }
        match end {
            SuiteEnd::Exit(_) => None,
            SuiteEnd::Trap(_) | SuiteEnd::Limit(_) => {
                let message = format!("after the last test: {cause}");
                Some((cause, message))
            }
        }
    }
}

impl Seen {
    fn report(&self, id: &str, expectation: &Expectation) -> TestReport {
        let unfinished = self.starts > self.results;
        let (mut outcome, texts) = self
            .worst
            .clone()
            .unwrap_or((TestOutcome::Incomplete, Texts::default()));
        if unfinished {
            outcome = outcome.max(TestOutcome::Incomplete);
        }
        TestReport {
            id: id.to_owned(),
            outcome,
            expected: expectation.expects(id),
            decides: expectation.decides(id),
            fuel: self.fuel,
            duration_ns: self.duration_ns,
            message: texts.message,
            reason: texts.reason,
            stdout: texts.stdout,
            stderr: texts.stderr,
            standins: texts.standins,
        }
    }
}

pub(super) fn judge_expected(tests: &[TestReport]) -> (Option<Cause>, String) {
    let expected = count(tests.iter().filter(|test| test.expected));
    let bad: Vec<&TestReport> = tests.iter().filter(|test| test.is_failure()).collect();
    if expected == 0 {
        return (Some(Cause::Tests), "no test is expected".to_owned());
    }
    if bad.is_empty() {
        return (None, format!("all {expected} expected tests passed"));
    }
    let message = format!(
        "{} of {expected} expected tests did not pass: {}",
        bad.len(),
        name_some(&bad)
    );
    (Some(Cause::Tests), message)
}

pub(super) fn judge_any(
    tests: &[TestReport],
    collect_errors: &[CollectError],
    end: &SuiteEnd,
) -> (Option<Cause>, String) {
    let passed = count(
        tests
            .iter()
            .filter(|test| test.outcome == TestOutcome::Passed),
    );
    let (bad, tolerated): (Vec<&TestReport>, Vec<&TestReport>) = tests
        .iter()
        .filter(|test| !test.outcome.is_tolerable())
        .partition(|test| test.is_failure());
    if !bad.is_empty() {
        let message = format!(
            "{} of {} tests failed: {}",
            bad.len(),
            tests.len(),
            name_some(&bad)
        );
        return (Some(Cause::Tests), message);
    }
    if let Some(first) = collect_errors.first() {
        let message = format!("{} could not be collected", first.id);
        return (Some(Cause::Tests), message);
    }
    if passed == 0 {
        return (Some(Cause::Tests), "no test passed".to_owned());
    }
    match end {
        // Excepted tests that fail explain an exit code; otherwise the runner saw a problem
        // that no record tells.
        SuiteEnd::Exit(code) if *code != 0 && tolerated.is_empty() => {
            let message = format!("no test failed, but the runner ended with exit code {code}");
            (Some(Cause::Exit { code: *code }), message)
        }
        SuiteEnd::Exit(_) | SuiteEnd::Trap(_) | SuiteEnd::Limit(_) => {
            (None, format!("{passed} tests passed, none failed"))
        }
    }
}

fn name_some(tests: &[&TestReport]) -> String {
    let mut names: Vec<String> = tests
        .iter()
        .take(NAMED)
        .map(|test| format!("{} ({})", test.id.escape_debug(), test.outcome))
        .collect();
    if tests.len() > NAMED {
        names.push("…".to_owned());
    }
    names.join(", ")
}

pub(super) fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    u64::try_from(items.count()).unwrap_or(u64::MAX)
}

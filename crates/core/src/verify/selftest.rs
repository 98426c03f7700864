//! Whether a spec is fit to judge: what it says of the untouched tree and of a patch that is
//! known to be right.
//!
//! Made from verdicts that a host collects: one on the base with nothing changed, and several
//! on the base with the gold patch.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{CheckReport, Outcome, SpecSummary, Status, TestOutcome, VerdictDocument};
use crate::Digest;
use crate::spec::{CheckKind, Expectation, Spec, SuiteCheck};

/// Name and version of the form of a [`SelfTest`].
pub const SELFTEST_SCHEMA: &str = "probity.selftest/1";
/// Most tests that a trial names.
const NAMED: usize = 100;

/// Whether a spec is fit to judge, and what speaks against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfTest {
    /// [`SELFTEST_SCHEMA`].
    pub schema: String,
    /// Whether no trial is [`Fitness::Unfit`].
    pub fit: bool,
    /// The spec.
    pub spec: SpecSummary,
    /// Digest of the tree before the patch.
    pub base: Digest,
    /// Digest of the tree with the gold patch.
    pub gold: Digest,
    /// How often the gold patch was judged.
    pub runs: u64,
    /// Each trial, in order.
    pub trials: Vec<Trial>,
}

/// Something that was tried of a spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// What was tried, such as `empty-patch-fails`.
    pub name: String,
    /// How it came out.
    pub fitness: Fitness,
    /// The check that it is about; `None` for the whole spec.
    pub check: Option<String>,
    /// What was seen, in one line.
    pub message: String,
    /// Tests or cases that it is about, at most 100. Untrusted.
    pub tests: Vec<String>,
}

/// How a trial came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fitness {
    /// As it should.
    Holds,
    /// Worth knowing; the spec can judge all the same.
    Doubtful,
    /// The spec cannot judge.
    Unfit,
}

impl Fitness {
    /// The name used in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Doubtful => "doubtful",
            Self::Unfit => "unfit",
        }
    }
}

impl SelfTest {
    /// Examines `spec` by its verdict on the untouched base and those on the base with the
    /// gold patch. `None` without a verdict on the gold patch.
    #[must_use]
    pub fn examine(spec: &Spec, empty: &VerdictDocument, gold: &[VerdictDocument]) -> Option<Self> {
        let first = gold.first()?;
        let mut trials = vec![empty_fails(empty), gold_passes(gold), is_reproducible(gold)];
        for check in &spec.checks {
            let (Some(before), Some(after)) =
                (report(empty, &check.name), report(first, &check.name))
            else {
                continue;
            };
            if let CheckKind::Suite(suite) = &check.kind {
                trials.extend(of_suite(&check.name, suite, before, after));
            }
        }
        trials.push(something_decides(spec, empty));
        trials.push(assurance(first));
        Some(Self {
            schema: SELFTEST_SCHEMA.to_owned(),
            fit: trials.iter().all(|trial| trial.fitness != Fitness::Unfit),
            spec: first.spec.clone(),
            base: empty.base.tree,
            gold: first.patched.tree,
            runs: u64::try_from(gold.len()).unwrap_or(u64::MAX),
            trials,
        })
    }

    /// The document as indented JSON that ends in a line break.
    ///
    /// # Errors
    /// Never in practice: it has no maps.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

fn trial(name: &str, fitness: Fitness, message: String) -> Trial {
    Trial {
        name: name.to_owned(),
        fitness,
        check: None,
        message,
        tests: Vec::new(),
    }
}

fn report<'v>(verdict: &'v VerdictDocument, name: &str) -> Option<&'v CheckReport> {
    verdict.checks.iter().find(|report| report.name == name)
}

fn empty_fails(empty: &VerdictDocument) -> Trial {
    let name = "empty-patch-fails";
    match empty.status {
        Status::Failed => {
            let message = format!(
                "with nothing changed, {} of {} checks do not pass",
                empty.failures.len(),
                empty.checks.len()
            );
            trial(name, Fitness::Holds, message)
        }
        Status::Passed => {
            let message = "the untouched tree passes, so doing nothing would score".to_owned();
            trial(name, Fitness::Unfit, message)
        }
        Status::Error | Status::NothingChecked => {
            let message = format!("the verdict on the untouched tree is `{}`", empty.status);
            trial(name, Fitness::Unfit, message)
        }
    }
}

fn gold_passes(gold: &[VerdictDocument]) -> Trial {
    let name = "gold-patch-passes";
    let bad = gold
        .iter()
        .enumerate()
        .find(|(_, verdict)| verdict.status != Status::Passed);
    match bad {
        None => trial(
            name,
            Fitness::Holds,
            format!("the gold patch passes, {} times of {0}", gold.len()),
        ),
        Some((index, verdict)) => {
            let mut trial = trial(
                name,
                Fitness::Unfit,
                format!(
                    "run {} of the gold patch is `{}`: {}",
                    index.saturating_add(1),
                    verdict.status,
                    verdict.failures.join(", ")
                ),
            );
            trial.tests = failing_tests(verdict);
            trial
        }
    }
}

/// The tests and cases that keep a verdict from passing.
fn failing_tests(verdict: &VerdictDocument) -> Vec<String> {
    verdict
        .checks
        .iter()
        .filter_map(|report| report.tests.as_ref())
        .flat_map(|suite| &suite.tests)
        .filter(|test| test.is_failure())
        .map(|test| test.id.clone())
        .take(NAMED)
        .collect()
}

fn is_reproducible(gold: &[VerdictDocument]) -> Trial {
    let name = "gold-patch-is-reproducible";
    let digests: BTreeSet<Option<Digest>> = gold
        .iter()
        .map(|verdict| verdict.reproducible_digest().ok())
        .collect();
    if let ([Some(digest)], [_, _, ..]) = (digests.iter().collect::<Vec<_>>().as_slice(), gold) {
        let message = format!("{} runs gave one verdict, {digest}", gold.len());
        return trial(name, Fitness::Holds, message);
    }
    if gold.len() < 2 {
        let message = "one run says nothing about it".to_owned();
        return trial(name, Fitness::Doubtful, message);
    }
    let (first, rest) = match gold.split_first() {
        Some(parts) => parts,
        None => return trial(name, Fitness::Unfit, "there was no run".to_owned()),
    };
    let differing: BTreeSet<&str> = first
        .checks
        .iter()
        .filter(|check| {
            rest.iter()
                .any(|other| report(other, &check.name) != Some(check))
        })
        .map(|check| check.name.as_str())
        .collect();
    let names: Vec<&str> = differing.into_iter().collect();
    let message = format!(
        "{} runs gave {} different verdicts; what differs: {}",
        gold.len(),
        digests.len(),
        names.join(", ")
    );
    trial(name, Fitness::Unfit, message)
}

/// The trials of one suite.
fn of_suite(
    name: &str,
    suite: &SuiteCheck,
    before: &CheckReport,
    after: &CheckReport,
) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add = |what: &str, fitness, message: String, tests: Vec<String>| {
        trials.push(Trial {
            check: Some(name.to_owned()),
            tests,
            ..trial(what, fitness, message)
        });
    };
    if let Some(canaries) = after.tests.as_ref().map(|tests| tests.canaries) {
        let (fitness, message) = match (canaries.fired, canaries.expected) {
            (0, 0) => (None, String::new()),
            (0, expected) => (
                Some(Fitness::Unfit),
                format!("none of {expected} canaries fired, so a failure may go unnoticed"),
            ),
            (fired, expected) => (
                Some(Fitness::Holds),
                format!("{fired} of {expected} canaries fired"),
            ),
        };
        if let Some(fitness) = fitness {
            add("canaries-fire", fitness, message, Vec::new());
        }
    }
    match &suite.expectation {
        Expectation::Any { .. } => add(
            "tests-are-listed",
            Fitness::Doubtful,
            "it expects no particular test, so tests that are skipped or gone are not missed; \
             `probity suite record` makes a list"
                .to_owned(),
            Vec::new(),
        ),
        Expectation::Tests { .. } => {
            let listed = suite.expectation.expected().count();
            let skipped = tests_that(after, |id, outcome| {
                suite.expectation.expects(id)
                    && matches!(
                        outcome,
                        TestOutcome::Skipped | TestOutcome::XFailed | TestOutcome::Missing
                    )
            });
            if skipped.is_empty() {
                let message = format!("with the gold patch all {listed} expected tests run");
                add(
                    "no-expected-test-is-skipped",
                    Fitness::Holds,
                    message,
                    skipped,
                );
            } else {
                let message = format!(
                    "with the gold patch {} of {listed} expected tests do not run",
                    skipped.len()
                );
                add(
                    "no-expected-test-is-skipped",
                    Fitness::Unfit,
                    message,
                    skipped,
                );
            }
            if let Some((fitness, message, tests)) = fail_to_pass(suite, before) {
                add("fail-to-pass-fails", fitness, message, tests);
            }
        }
    }
    trials
}

/// Whether what should fail on the base does.
fn fail_to_pass(
    suite: &SuiteCheck,
    before: &CheckReport,
) -> Option<(Fitness, String, Vec<String>)> {
    let total = suite.fail_to_pass.len();
    if total == 0 {
        return None;
    }
    let passing = tests_that(before, |id, outcome| {
        suite.fail_to_pass.contains(id) && outcome == TestOutcome::Passed
    });
    Some(if passing.is_empty() {
        let message = format!("all {total} tests that should fail on the base do");
        (Fitness::Holds, message, passing)
    } else {
        let message = format!(
            "{} of {total} tests that should fail on the base pass there",
            passing.len()
        );
        (Fitness::Unfit, message, passing)
    })
}

/// Tests of a report that `are_meant`, the first 100.
fn tests_that(report: &CheckReport, are_meant: impl Fn(&str, TestOutcome) -> bool) -> Vec<String> {
    report
        .tests
        .iter()
        .flat_map(|suite| &suite.tests)
        .filter(|test| are_meant(&test.id, test.outcome))
        .map(|test| test.id.clone())
        .take(NAMED)
        .collect()
}

/// Which checks tell the base from the gold patch.
fn something_decides(spec: &Spec, empty: &VerdictDocument) -> Trial {
    let passing: Vec<&str> = empty
        .checks
        .iter()
        .filter(|report| matches!(report.outcome, Outcome::Pass | Outcome::Skipped))
        .map(|report| report.name.as_str())
        .collect();
    let message = if passing.is_empty() {
        "every check fails on the untouched tree".to_owned()
    } else {
        format!(
            "{} of {} checks pass on the untouched tree already, and only guard what works: {}",
            passing.len(),
            spec.checks.len(),
            passing.join(", ")
        )
    };
    trial("checks-decide", Fitness::Holds, message)
}

fn assurance(gold: &VerdictDocument) -> Trial {
    let summary = gold.assurance;
    let message = format!(
        "{} checks are isolated, {} in-guest",
        summary.isolated, summary.in_guest
    );
    let fitness = if summary.isolated == 0 {
        Fitness::Doubtful
    } else {
        Fitness::Holds
    };
    trial("assurance", fitness, message)
}

//! Runs every check of a spec, in order, and makes the verdict.
//!
//! A check that breaks is a failed check: panics of predicates and executors are caught
//! and reported. Every check runs, whatever the ones before it said.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::change::Change;
use super::{
    Assurance, Cause, CheckReport, Finding, Outcome, SuiteProgress, Verdict, change, files,
};
use crate::Repo;
use crate::spec::{Check, CheckKind, Predicate, Spec};

/// Runs what this crate does not: packs and suites.
pub trait Executor {
    /// Runs `check` on `input` and reports.
    ///
    /// Called for every kind that runs something. Whatever the guest does ends
    /// in a report; a failure of the host is [`Cause::Host`]. While a suite runs, `observe`
    /// is told how far it is, as often as the executor sees fit.
    fn execute(
        &mut self,
        check: &Check,
        input: VerifyInput<'_>,
        observe: Observer<'_>,
    ) -> CheckReport;
}

/// Who is told how far a suite is.
pub type Observer<'a> = &'a mut dyn FnMut(SuiteProgress<'_>);

/// An executor that runs nothing: each check it is asked for ends as [`Cause::Host`].
#[derive(Debug, Clone, Copy, Default)]
pub struct NoExecutor;

impl Executor for NoExecutor {
    fn execute(
        &mut self,
        check: &Check,
        _input: VerifyInput<'_>,
        _observe: Observer<'_>,
    ) -> CheckReport {
        CheckReport::host_failed(check, "there is no sandbox to run it in", None)
    }
}

/// What is judged.
#[derive(Debug, Clone, Copy)]
pub struct VerifyInput<'a> {
    /// The tree under test, patched.
    pub repo: &'a Repo,
    /// The tree before the change; `None` if there is no change to judge.
    pub base: Option<&'a Repo>,
}

/// Progress of a verification.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A check starts.
    CheckStarted {
        /// Its place, counted from 0.
        index: usize,
        /// How many checks there are.
        total: usize,
        /// The check.
        check: &'a Check,
    },
    /// A suite went on. For display only.
    SuiteProgressed {
        /// The check's place, counted from 0.
        index: usize,
        /// How many checks there are.
        total: usize,
        /// The check.
        check: &'a Check,
        /// How far it is.
        progress: SuiteProgress<'a>,
    },
    /// A check ended.
    CheckFinished {
        /// Its place, counted from 0.
        index: usize,
        /// How many checks there are.
        total: usize,
        /// What it reports.
        report: &'a CheckReport,
    },
}

/// Runs the checks of `spec` on `input`, tells `observe` as it goes, and makes the verdict.
pub fn verify(
    spec: &Spec,
    input: VerifyInput<'_>,
    executor: &mut dyn Executor,
    observe: &mut dyn FnMut(Event<'_>),
) -> Verdict {
    let total = spec.checks.len();
    let mut change = None;
    let mut reports = Vec::with_capacity(total);
    for (index, check) in spec.checks.iter().enumerate() {
        observe(Event::CheckStarted {
            index,
            total,
            check,
        });
        let report = run_check(check, input, executor, &mut change, &mut |progress| {
            observe(Event::SuiteProgressed {
                index,
                total,
                check,
                progress,
            });
        });
        observe(Event::CheckFinished {
            index,
            total,
            report: &report,
        });
        reports.push(report);
    }
    Verdict::new(reports)
}

fn run_check(
    check: &Check,
    input: VerifyInput<'_>,
    executor: &mut dyn Executor,
    change: &mut Option<Change>,
    observe: Observer<'_>,
) -> CheckReport {
    let run = || match &check.kind {
        CheckKind::FileExists(wanted) => files::exists(check, wanted, input.repo),
        CheckKind::FileContains(wanted) => files::contains(check, wanted, input.repo),
        CheckKind::Diff(wanted) => match input.base {
            None => CheckReport::skipped(check, "there is no change to judge"),
            Some(base) => {
                let change = change.get_or_insert_with(|| Change::between(base, input.repo));
                change::judge(check, wanted, change)
            }
        },
        CheckKind::Predicate(predicate) => ask(check, predicate, input.repo),
        CheckKind::Pack(_)
        | CheckKind::Suite(_)
        | CheckKind::Call(_)
        | CheckKind::Oracle(_)
        | CheckKind::Program(_) => executor.execute(check, input, observe),
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(report) => checked(check, report),
        Err(payload) => {
            let message = payload
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "without a message".to_owned());
            let cause = Cause::Panicked {
                message: message.clone(),
            };
            let message = format!("the check panicked: {message}");
            CheckReport::stopped(check, Assurance::Isolated, cause, message)
        }
    }
}

/// Holds an executor to its contract: the report is of this check, and only what did not
/// pass has a cause.
fn checked(check: &Check, report: CheckReport) -> CheckReport {
    let sound = report.name == check.name
        && report.kind == check.kind.name()
        && match (&report.cause, report.outcome) {
            (None, Outcome::Pass) => true,
            (None, Outcome::Skipped) => report.kind == crate::spec::KindName::Diff,
            (Some(cause), outcome) => cause.outcome() == outcome,
            (None, Outcome::Fail | Outcome::Error) => false,
        };
    if sound {
        return trusted_enough(check, report);
    }
    let hint = "this is a defect of the executor".to_owned();
    CheckReport::host_failed(
        check,
        "the executor's report contradicts itself",
        Some(hint),
    )
}

/// A pass below the level that is required of the check is none.
fn trusted_enough(check: &Check, report: CheckReport) -> CheckReport {
    if report.outcome != Outcome::Pass || report.assurance >= check.require {
        return report;
    }
    let cause = Cause::Assurance {
        required: check.require,
        reached: report.assurance,
    };
    CheckReport {
        outcome: cause.outcome(),
        message: cause.to_string(),
        cause: Some(cause),
        ..report
    }
}

fn ask(check: &Check, predicate: &Predicate, repo: &Repo) -> CheckReport {
    let assurance = Assurance::Isolated;
    match predicate.holds(repo) {
        Ok(true) => CheckReport::pass(check, assurance, "the predicate holds"),
        Ok(false) => {
            let message = "the predicate does not hold";
            CheckReport::of_findings(check, assurance, message, vec![Finding::error(message)])
        }
        Err(message) => {
            let cause = Cause::Broke {
                message: message.clone(),
            };
            CheckReport::stopped(check, assurance, cause, message)
        }
    }
}

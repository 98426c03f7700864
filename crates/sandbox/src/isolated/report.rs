//! What the kinds share: where they run, and a report with one row for each case.

use probity_core::Repo;
use probity_core::budget::{Budget, Limit, LimitHit};
use probity_core::quantity::{Fuel, WallTime};
use probity_core::spec::Check;
use probity_core::verify::{
    Assurance, CanaryReport, Cause, CheckReport, SuiteReport, TestOutcome, TestReport,
};

use crate::guest::Conditions;
use crate::pack::reproducible;
use crate::sandbox::Sandbox;
use crate::suite::Environment;

/// How many cases a message names.
const NAMED: usize = 3;

/// A check and what it runs on.
#[derive(Clone, Copy)]
pub(crate) struct Bench<'a> {
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) check: &'a Check,
    pub(crate) repo: &'a Repo,
    pub(crate) conditions: &'a Conditions,
}

impl Bench<'_> {
    /// The report of a failure of ours, or of the spec's.
    pub(super) fn host_failed(&self, message: impl Into<String>) -> Box<CheckReport> {
        Box::new(CheckReport::host_failed(self.check, message, None))
    }

    /// The report of a check that came to no answer.
    pub(super) fn stopped(&self, cause: Cause) -> CheckReport {
        let message = cause.to_string();
        CheckReport::stopped(self.check, Assurance::Isolated, cause, message)
    }
}

/// How a case came out.
pub(super) struct CaseReport {
    pub(super) name: String,
    pub(super) outcome: TestOutcome,
    /// Why it did not pass.
    pub(super) message: Option<String>,
    pub(super) fuel: Fuel,
    pub(super) duration_ns: u64,
}

/// What all cases used together.
#[derive(Debug, Clone, Default)]
pub(super) struct Spent {
    pub(super) fuel: Fuel,
    pub(super) limits: Vec<LimitHit>,
    pub(super) wall_time: WallTime,
}

/// The report of a check whose cases came out so. `what` names what was tried, such as
/// `call greeter:greet`; without an environment, `runtime` is all there is to say.
pub(super) fn of_cases(
    bench: Bench<'_>,
    what: &str,
    (runtime, environment): (String, Option<&Environment>),
    cases: Vec<CaseReport>,
    spent: Spent,
) -> CheckReport {
    let total = cases.len();
    let bad: Vec<&CaseReport> = cases
        .iter()
        .filter(|case| case.outcome != TestOutcome::Passed)
        .collect();
    let report = match bad.as_slice() {
        [] if total == 0 => bench.stopped(Cause::Broke {
            message: "there was no case".to_owned(),
        }),
        [] => {
            let message = format!("all {total} cases came out as expected");
            CheckReport::pass(bench.check, Assurance::Isolated, message)
        }
        bad => {
            let names: Vec<&str> = bad
                .iter()
                .take(NAMED)
                .map(|case| case.name.as_str())
                .collect();
            let more = if bad.len() > NAMED { ", …" } else { "" };
            let message = format!(
                "{} of {total} cases did not: {}{more}",
                bad.len(),
                names.join(", ")
            );
            CheckReport::stopped(bench.check, Assurance::Isolated, Cause::Tests, message)
        }
    };
    let tests = cases.into_iter().map(|case| TestReport {
        expected: true,
        decides: true,
        fuel: case.fuel,
        duration_ns: case.duration_ns,
        message: case.message,
        ..TestReport::bare(&case.name, case.outcome)
    });
    let mut limits = spent.limits;
    limits.sort_by_key(|hit| (hit.limit, std::cmp::Reverse(hit.used)));
    limits.dedup_by_key(|hit| hit.limit);
    CheckReport {
        tests: Some(SuiteReport {
            runtime,
            runner: what.to_owned(),
            environment: environment.map(|environment| environment.facts.digest),
            tree: None,
            expected: u64::try_from(total).unwrap_or(u64::MAX),
            tests: tests.collect(),
            canaries: CanaryReport::default(),
            collect_errors: Vec::new(),
        }),
        fuel: spent.fuel,
        limits,
        wall_time: spent.wall_time,
        ..report
    }
}

/// The hit of a limit that all cases share.
pub(super) const fn used_up(limit: Limit, budget: &Budget) -> LimitHit {
    let cap = match limit {
        Limit::Fuel => budget.fuel.0,
        _ => budget.wall_time.0,
    };
    reproducible(LimitHit {
        limit,
        cap,
        used: cap,
    })
}

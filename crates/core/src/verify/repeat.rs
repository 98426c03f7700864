//! Judges several runs of one suite, which differ in their seeds.
//!
//! A test that ended alike in all runs ended so. One that did not is flaky, which is no pass
//! and no excuse: it depends on chance, on the order of the tests, or on what it can see of
//! the run.

use std::collections::{BTreeMap, BTreeSet};

use super::judge::{count, judge_any, judge_expected};
use super::{CollectError, SuiteEnd, SuiteJudgement, SuiteReport, TestOutcome, TestReport};
use crate::quantity::Fuel;
use crate::spec::Expectation;

/// Judges the results of whole runs, in the order in which they were made.
#[must_use]
pub fn judge_repeated(expectation: &Expectation, runs: &[SuiteReport]) -> SuiteJudgement {
    let ids: BTreeSet<&str> = runs
        .iter()
        .flat_map(|run| run.tests.iter().map(|test| test.id.as_str()))
        .collect();
    let by_id: Vec<BTreeMap<&str, &TestReport>> = runs
        .iter()
        .map(|run| {
            run.tests
                .iter()
                .map(|test| (test.id.as_str(), test))
                .collect()
        })
        .collect();
    let tests: Vec<TestReport> = ids
        .into_iter()
        .map(|id| {
            let seen: Vec<Option<&TestReport>> =
                by_id.iter().map(|run| run.get(id).copied()).collect();
            agreed(id, expectation, &seen)
        })
        .collect();
    let mut known = BTreeSet::new();
    let collect_errors: Vec<CollectError> = runs
        .iter()
        .flat_map(|run| &run.collect_errors)
        .filter(|error| known.insert(error.id.as_str()))
        .cloned()
        .collect();
    let (cause, message) = match expectation {
        Expectation::Tests { .. } => judge_expected(&tests),
        Expectation::Any { .. } => judge_any(&tests, &collect_errors, &SuiteEnd::Exit(0)),
    };
    SuiteJudgement {
        cause,
        message: format!("{message} in {} runs", runs.len()),
        expected: count(expectation.expected()),
        tests,
        collect_errors,
    }
}

/// What one test came to over all runs: the report of the run that it ended worst in, with
/// the work of all.
fn agreed(id: &str, expectation: &Expectation, seen: &[Option<&TestReport>]) -> TestReport {
    let outcome_of = |test: &Option<&TestReport>| test.map_or(TestOutcome::Missing, |t| t.outcome);
    let mut runs: BTreeMap<TestOutcome, Vec<String>> = BTreeMap::new();
    for (index, test) in seen.iter().enumerate() {
        let number = index.saturating_add(1).to_string();
        runs.entry(outcome_of(test)).or_default().push(number);
    }
    let worst = seen.iter().flatten().max_by_key(|test| test.outcome);
    let mut report = worst.map_or_else(
        || TestReport::bare(id, TestOutcome::Missing),
        |worst| (*worst).clone(),
    );
    report.expected = expectation.expects(id);
    report.decides = expectation.decides(id);
    report.fuel = Fuel(0);
    report.duration_ns = 0;
    for test in seen.iter().flatten() {
        report.fuel = report.fuel.saturating_add(test.fuel);
        report.duration_ns = report.duration_ns.saturating_add(test.duration_ns);
    }
    if runs.len() > 1 {
        let said: Vec<String> = runs
            .iter()
            .map(|(outcome, numbers)| {
                let noun = if numbers.len() == 1 { "run" } else { "runs" };
                format!("{outcome} in {noun} {}", numbers.join(", "))
            })
            .collect();
        let said = said.join("; ");
        report.outcome = TestOutcome::Flaky;
        report.message = Some(match report.message {
            Some(message) => format!("{said}\n\n{message}"),
            None => said,
        });
    }
    report
}

#[cfg(test)]
mod tests {
    use super::super::CanaryReport;
    use super::*;
    use crate::verify::Cause;

    fn run(tests: &[(&str, TestOutcome)]) -> SuiteReport {
        SuiteReport {
            runtime: String::new(),
            runner: String::new(),
            environment: None,
            tree: None,
            expected: 0,
            tests: tests
                .iter()
                .map(|(id, outcome)| TestReport {
                    fuel: Fuel(2),
                    message: (*outcome == TestOutcome::Failed).then(|| "why".to_owned()),
                    ..TestReport::bare(id, *outcome)
                })
                .collect(),
            collect_errors: Vec::new(),
            canaries: CanaryReport::default(),
        }
    }

    #[test]
    fn a_test_that_ends_differently_is_flaky_and_says_where() {
        use TestOutcome::{Failed, Passed};
        let runs = [
            run(&[("a", Passed), ("b", Passed)]),
            run(&[("a", Passed), ("b", Failed)]),
            run(&[("a", Passed), ("b", Passed)]),
        ];
        let judged = judge_repeated(&Expectation::tests(["a"]), &runs);
        assert_eq!(judged.cause, None, "b decides nothing");
        assert_eq!(judged.message, "all 1 expected tests passed in 3 runs");
        let [a, b] = judged.tests.as_slice() else {
            panic!("{judged:?}")
        };
        assert_eq!((a.outcome, a.fuel, &a.message), (Passed, Fuel(6), &None));
        assert_eq!(b.outcome, TestOutcome::Flaky);
        assert_eq!(
            b.message.as_deref(),
            Some("passed in runs 1, 3; failed in run 2\n\nwhy")
        );
        for expectation in [Expectation::tests(["b"]), Expectation::any()] {
            assert_eq!(
                judge_repeated(&expectation, &runs).cause,
                Some(Cause::Tests)
            );
        }
        let excused = Expectation::Any {
            except: ["b".to_owned()].into(),
        };
        assert_eq!(judge_repeated(&excused, &runs).cause, None);
    }

    #[test]
    fn a_test_that_a_run_lacks_is_flaky() {
        let runs = [run(&[("a", TestOutcome::Passed)]), run(&[])];
        let judged = judge_repeated(&Expectation::tests(["a"]), &runs);
        assert_eq!(judged.cause, Some(Cause::Tests));
        assert_eq!(judged.tests.first().unwrap().outcome, TestOutcome::Flaky);
    }
}

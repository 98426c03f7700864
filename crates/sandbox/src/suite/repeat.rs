//! Running a suite several times with different seeds.
//!
//! Fuel and wall time of a check are for all its runs together; the results have their bound
//! in each. A run from which nothing can be concluded ends them.

use probity_core::Digest;
use probity_core::quantity::{Fuel, WallTime};
use probity_core::verify::{
    CanaryReport, Cause, CheckReport, Observer, SuiteReport, judge_repeated,
};

use super::run::SuiteRun;
use crate::guest::Conditions;

impl SuiteRun<'_> {
    /// Runs the suite as often as it asks for, and reports on all runs together.
    pub(super) fn report_repeated(&self, runs: u32, observe: Observer<'_>) -> CheckReport {
        let mut all = CheckReport::pass(self.check, self.assurance(), "");
        let mut suites: Vec<SuiteReport> = Vec::new();
        let mut check = self.check.clone();
        for run in 1..=runs {
            let conditions = Conditions {
                seed: seed_of(self.conditions.seed, run),
                ..self.conditions.clone()
            };
            check.budget.fuel = self.check.budget.fuel.saturating_sub(all.fuel);
            check.budget.wall_time =
                WallTime((self.check.budget.wall_time.0).saturating_sub(all.wall_time.0));
            let run_of = self.again(&check, &conditions);
            let mut report = run_of.report_once(&mut *observe);
            add(&mut all, &mut report);
            let concluded = matches!(report.cause, None | Some(Cause::Tests));
            match report.tests.take().filter(|_| concluded) {
                Some(suite) => suites.push(suite),
                None => {
                    return CheckReport {
                        message: format!("run {run} of {runs}: {}", report.message),
                        fuel: all.fuel,
                        wall_time: all.wall_time,
                        findings: all.findings,
                        limits: all.limits,
                        ..report
                    };
                }
            }
            (all.stdout, all.stderr) = (all.stdout.or(report.stdout), all.stderr.or(report.stderr));
        }
        let judgement = judge_repeated(&self.wanted.expectation, &suites);
        let Some(first) = suites.first() else {
            return all;
        };
        let (runtime, runner) = (first.runtime.clone(), first.runner.clone());
        let mut report = judgement.into_report(self.check, all.assurance, runtime, runner);
        if let Some(suite) = &mut report.tests {
            suite.environment = first.environment;
            suite.tree = first.tree;
            suite.canaries = suites.iter().fold(CanaryReport::default(), |mut sum, run| {
                sum.join(run.canaries);
                sum
            });
        }
        let kept = report.cause.is_some();
        CheckReport {
            fuel: all.fuel,
            wall_time: all.wall_time,
            findings: all.findings,
            limits: all.limits,
            stdout: all.stdout.filter(|_| kept),
            stderr: all.stderr.filter(|_| kept),
            ..report
        }
    }
}

/// Adds what a run used and found.
fn add(all: &mut CheckReport, report: &mut CheckReport) {
    all.assurance = report.assurance;
    all.fuel = Fuel(all.fuel.0.saturating_add(report.fuel.0));
    all.wall_time = WallTime(all.wall_time.0.saturating_add(report.wall_time.0));
    for finding in std::mem::take(&mut report.findings) {
        if !all.findings.contains(&finding) {
            all.findings.push(finding);
        }
    }
    all.limits.append(&mut report.limits);
    all.limits
        .sort_by_key(|hit| (hit.limit, std::cmp::Reverse(hit.used)));
    all.limits.dedup_by_key(|hit| hit.limit);
}

/// The seed of a run, counted from 1; the first has the seed of the request.
fn seed_of(seed: u64, run: u32) -> u64 {
    if run == 1 {
        return seed;
    }
    let parts: [&[u8]; 3] = [b"probity run", &seed.to_be_bytes(), &run.to_be_bytes()];
    let digest = Digest::of_parts(parts);
    let bytes = digest.as_bytes().first_chunk().copied().unwrap_or_default();
    // A number that every JSON parser takes as it is.
    u64::from_be_bytes(bytes) >> 11
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_has_its_seed() {
        assert_eq!(seed_of(7, 1), 7);
        let seeds: std::collections::BTreeSet<u64> = (1..=20).map(|run| seed_of(7, run)).collect();
        assert_eq!(seeds.len(), 20);
        assert_ne!(seed_of(7, 2), seed_of(8, 2));
        assert!(seeds.iter().all(|seed| *seed < 1 << 53));
    }
}

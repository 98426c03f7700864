//! `probity suite record`: which tests a trusted tree passes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, anyhow};
use probity_core::spec::{CheckKind, Expectation, Spec};
use probity_core::verify::{CheckReport, TestOutcome, VerdictDocument};

use super::case::{Asked, Case, Change};
use super::input;
use crate::args::{SuiteCommand, SuiteRecordArgs};
use crate::failure::Failure;
use crate::report::{escape, write_whole};
use crate::ui::Ui;

/// How many tests are named on the way.
const NAMED: usize = 10;

pub(crate) fn run(command: &SuiteCommand, ui: &Ui) -> Result<ExitCode, Failure> {
    match command {
        SuiteCommand::Record(args) => record(args, ui),
    }
}

fn record(args: &SuiteRecordArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let gold = args.patch.as_deref().map(input::patch).transpose()?;
    if gold.is_none() && args.fail_to_pass.is_some() {
        return Err(Failure::Request(anyhow!(
            "`--fail-to-pass` needs `--patch`: without one nothing fails before and passes after"
        )));
    }
    let asked = Asked {
        repo: &args.repo,
        spec: args.spec.as_deref(),
        tests_from: args.tests_from.as_deref(),
        running: &args.running,
    };
    let mut case = Case::open_with(
        asked,
        ui,
        // The lists that the spec names may be what is to be made.
        &|files| {
            Arc::new(move |path: &str| files(path).or_else(|problem| unrecorded(path, problem)))
        },
    )?;
    let name = only_suite(&mut case.spec, args.check.as_deref())?;
    let change = match &gold {
        None => None,
        Some(bytes) => Some(case.change(bytes, &args.reading, false, ui)?),
    };
    let seed = case.conditions.seed;
    let mut seen = Seen::default();
    for run in 0..args.runs {
        case.conditions.seed = seed.wrapping_add(run);
        seen.add(&report(
            &case.verdict(change.as_ref(), Instant::now(), ui),
            &name,
        )?)?;
    }
    case.conditions.seed = seed;
    let passing = seen.always(args.runs, TestOutcome::Passed);
    seen.tell_of_the_rest(&passing, ui);
    if passing.is_empty() {
        return Err(Failure::Request(anyhow!(
            "no test passed, so there is nothing to record; look at `probity verify`"
        )));
    }
    let before = match (&args.fail_to_pass, &change) {
        (Some(_), Some(_)) => {
            let nothing = Change::none(&case.base);
            let mut before = Seen::default();
            before.add(&report(
                &case.verdict(Some(&nothing), Instant::now(), ui),
                &name,
            )?)?;
            before.always(1, TestOutcome::Passed)
        }
        _ => BTreeSet::new(),
    };
    let (kept, fixed): (Vec<&String>, Vec<&String>) = match &args.fail_to_pass {
        None => (passing.iter().collect(), Vec::new()),
        Some(_) => passing.iter().partition(|id| before.contains(*id)),
    };
    write(args.out.as_deref(), &kept, ui)?;
    if let Some(path) = &args.fail_to_pass {
        write(Some(path), &fixed, ui)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Stands for a list that is not there yet.
fn unrecorded(path: &str, problem: String) -> Result<Vec<u8>, String> {
    let is_a_list = [".txt", ".json", ".ids"]
        .iter()
        .any(|end| path.ends_with(end));
    if is_a_list {
        Ok(b"not-recorded-yet\n".to_vec())
    } else {
        Err(problem)
    }
}

/// Leaves in the spec the one suite that is recorded, expecting nothing in particular; its
/// name.
fn only_suite(spec: &mut Spec, wanted: Option<&str>) -> Result<String, Failure> {
    let suites: Vec<&str> = spec
        .checks
        .iter()
        .filter(|check| matches!(check.kind, CheckKind::Suite(_)))
        .map(|check| check.name.as_str())
        .collect();
    let name = match (wanted, suites.as_slice()) {
        (Some(wanted), suites) if suites.contains(&wanted) => wanted.to_owned(),
        (Some(wanted), suites) => {
            return Err(Failure::Request(anyhow!(
                "there is no suite `{wanted}` in the spec; there are: {}",
                suites.join(", ")
            )));
        }
        (None, [only]) => (*only).to_owned(),
        (None, []) => return Err(Failure::Request(anyhow!("the spec has no suite"))),
        (None, several) => {
            return Err(Failure::Request(anyhow!(
                "the spec has several suites; say which by `--check`: {}",
                several.join(", ")
            )));
        }
    };
    spec.checks.retain(|check| check.name == name);
    for check in &mut spec.checks {
        if let CheckKind::Suite(suite) = &mut check.kind {
            suite.expectation = Expectation::any();
        }
    }
    Ok(name)
}

fn report(verdict: &VerdictDocument, name: &str) -> Result<CheckReport, Failure> {
    let report = verdict.checks.iter().find(|report| report.name == name);
    match report {
        Some(report) if report.tests.is_some() => Ok(report.clone()),
        Some(report) => Err(Failure::Host(anyhow!(
            "the suite `{name}` came to no results: {}",
            report.message
        ))),
        None => Err(Failure::Host(anyhow!("the suite `{name}` was not run"))),
    }
}

/// What tests came to, over all runs.
#[derive(Default)]
struct Seen {
    outcomes: BTreeMap<String, Vec<TestOutcome>>,
}

impl Seen {
    fn add(&mut self, report: &CheckReport) -> Result<(), Failure> {
        let suite = report
            .tests
            .as_ref()
            .ok_or_else(|| Failure::Host(anyhow!("there are no results")))?;
        for test in &suite.tests {
            let outcomes = self.outcomes.entry(test.id.clone()).or_default();
            outcomes.push(test.outcome);
        }
        Ok(())
    }

    /// Tests that came to `outcome` in each of `runs` runs.
    fn always(&self, runs: u64, outcome: TestOutcome) -> BTreeSet<String> {
        let runs = usize::try_from(runs).unwrap_or(usize::MAX);
        self.outcomes
            .iter()
            .filter(|(_, seen)| seen.len() == runs && seen.iter().all(|one| *one == outcome))
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// Says what is left out, and why.
    fn tell_of_the_rest(&self, passing: &BTreeSet<String>, ui: &Ui) {
        let rest: Vec<(&String, &Vec<TestOutcome>)> = self
            .outcomes
            .iter()
            .filter(|(id, _)| !passing.contains(*id))
            .collect();
        ui.note(&format!(
            "{} tests pass and are recorded, {} are not",
            passing.len(),
            rest.len()
        ));
        for (id, outcomes) in rest.iter().take(NAMED) {
            let mut outcomes: Vec<&str> = outcomes.iter().map(|one| one.as_str()).collect();
            outcomes.dedup();
            ui.note(&format!(
                "left out: {} ({})",
                escape::line(id),
                outcomes.join(", then ")
            ));
        }
        if rest.len() > NAMED {
            ui.note(&format!(
                "left out: {} more",
                rest.len().saturating_sub(NAMED)
            ));
        }
    }
}

/// Writes a list of ids, one a line, to a file or to standard output.
fn write(path: Option<&Path>, ids: &[&String], ui: &Ui) -> Result<(), Failure> {
    // An id that has line breaks goes into a list only as JSON.
    let text = if ids.iter().any(|id| id.contains(['\n', '\r'])) {
        let mut text =
            serde_json::to_string_pretty(ids).map_err(|error| Failure::Host(error.into()))?;
        text.push('\n');
        text
    } else {
        ids.iter().map(|id| format!("{id}\n")).collect()
    };
    match path {
        None => ui.out(&text),
        Some(path) => {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)
                    .with_context(|| format!("cannot make `{}`", folder.display()))
                    .map_err(Failure::Request)?;
            }
            write_whole(path, text.as_bytes())
                .with_context(|| format!("cannot write `{}`", path.display()))
                .map_err(Failure::Host)?;
            ui.note(&format!("{} ids written to {}", ids.len(), path.display()));
        }
    }
    Ok(())
}

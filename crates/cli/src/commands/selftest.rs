//! `probity selftest`: whether a spec is fit to judge.

use std::process::ExitCode;
use std::time::Instant;

use probity_core::verify::{Fitness, SelfTest, Status, VerdictDocument};

use super::case::{Asked, Case, Change};
use super::input;
use crate::args::SelftestArgs;
use crate::failure::Failure;
use crate::report::escape;
use crate::ui::{Look, Style, Ui};

/// How many tests are named below a trial.
const NAMED: usize = 10;
/// The exit code of a spec that is unfit.
const UNFIT: u8 = 1;

pub(crate) fn run(args: &SelftestArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let gold = input::patch(&args.gold)?;
    let asked = Asked {
        repo: &args.repo,
        spec: args.spec.as_deref(),
        tests_from: args.tests_from.as_deref(),
        running: &args.running,
    };
    let case = Case::open(asked, ui)?;
    let change = case.change(&gold, &args.reading, args.json, ui)?;
    let nothing = Change::none(&case.base);
    let judge = |change: &Change| {
        let verdict = case.verdict(Some(change), Instant::now(), ui);
        host_was_well(&verdict).map(|()| verdict)
    };
    let empty = judge(&nothing)?;
    let runs: Vec<VerdictDocument> = (0..args.runs)
        .map(|_| judge(&change))
        .collect::<Result<_, _>>()?;
    let Some(selftest) = SelfTest::examine(&case.spec, &empty, &runs) else {
        return Err(Failure::Request(anyhow::anyhow!(
            "`--runs` must be 1 at least"
        )));
    };
    if args.json {
        ui.out_json(&selftest)?;
    } else {
        ui.out(&text(&selftest, ui.look()));
    }
    Ok(ExitCode::from(if selftest.fit { 0 } else { UNFIT }))
}

/// Nothing is concluded where the host failed.
fn host_was_well(verdict: &VerdictDocument) -> Result<(), Failure> {
    if verdict.status != Status::Error {
        return Ok(());
    }
    let host = |report: &&probity_core::verify::CheckReport| {
        report.cause.as_ref().is_some_and(|cause| cause.is_host())
    };
    let what = verdict
        .checks
        .iter()
        .find(host)
        .map_or_else(String::new, |report| {
            format!("check `{}`: {}", report.name, report.message)
        });
    Err(Failure::Host(anyhow::anyhow!("{what}")))
}

fn text(selftest: &SelfTest, look: Look) -> String {
    let mut out = String::new();
    for trial in &selftest.trials {
        let (word, style) = match trial.fitness {
            Fitness::Holds => ("holds", Style::Good),
            Fitness::Doubtful => ("doubt", Style::Doubtful),
            Fitness::Unfit => ("UNFIT", Style::Bad),
        };
        let about = trial
            .check
            .as_ref()
            .map_or_else(String::new, |check| format!(" [{check}]"));
        out.push_str(&format!(
            "{}  {}{}\n       {}\n",
            look.paint(style, word),
            trial.name,
            escape::line(&about),
            escape::line(&trial.message)
        ));
        for test in trial.tests.iter().take(NAMED) {
            out.push_str(&format!("       - {}\n", escape::line(test)));
        }
        let more = trial.tests.len().saturating_sub(NAMED);
        if more > 0 {
            out.push_str(&format!("       … and {more} more\n"));
        }
    }
    let (word, style) = if selftest.fit {
        ("fit to judge", Style::Good)
    } else {
        ("unfit to judge", Style::Bad)
    };
    out.push_str(&format!(
        "\nthe spec is {}, by {} runs of the gold patch\n",
        look.paint(style, word),
        selftest.runs
    ));
    out
}

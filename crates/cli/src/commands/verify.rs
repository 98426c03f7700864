//! `probity verify`: a verdict on a repository, or on a patch to it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use probity_core::patch::{Format, PatchError, PatchErrorKind, apply};
use probity_core::quantity::{ByteSize, WallTime};
use probity_core::verify::{
    ConditionsSummary, Event, PatchSummary, VerdictDocument, VerifyInput, verify,
};
use probity_sandbox::SpecExecutor;

use super::input::{self, SpecInput};
use super::suggest;
use crate::args::VerifyArgs;
use crate::cache::Cache;
use crate::failure::Failure;
use crate::report::{escape, print_verdict, refusal_json};
use crate::ui::Ui;

/// Bytes of the judged diff kept in a verdict.
const DIFF_CAP: ByteSize = ByteSize::mib(1);

pub(crate) fn run(args: &VerifyArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let document = judge(args, ui)?;
    if args.json {
        ui.out(&document.to_json().map_err(Failure::host)?);
    } else {
        print_verdict(ui, &document);
    }
    Ok(ExitCode::from(document.exit_code))
}

/// Does the work of the command, without printing the verdict.
pub(crate) fn judge(args: &VerifyArgs, ui: &Ui) -> Result<VerdictDocument, Failure> {
    let started = Instant::now();
    let patch = args.patch.as_deref().map(input::patch).transpose()?;
    let base = input::repository(&args.repo, ui)?;
    let cache = Cache::find()?;
    let sandbox = cache.sandbox(args.running.isolation)?;
    let SpecInput {
        spec,
        source,
        files,
    } = match input::spec(args.spec.as_deref(), &args.repo.repo)? {
        Some(spec) => spec,
        None => {
            ui.note("note: there is no probity.toml; judging by the checks that `probity init` would write");
            suggest::spec_for(&base, &sandbox, &cache)?
        }
    };

    let mut repo = base.clone();
    let change = match &patch {
        None => None,
        Some(bytes) => {
            let (format, patch) = input::parsed(bytes, &args.reading, &spec.guard)?;
            let applied = patch.and_then(|patch| apply(&mut repo, &patch, &spec.guard));
            let plan = applied.map_err(|error| refuse(error, format, args.json, ui))?;
            format.map(|format| PatchSummary::new(bytes, format, &plan, DIFF_CAP))
        }
    };
    let conditions = args.running.conditions();
    let summary = ConditionsSummary {
        seed: conditions.seed,
        start_time: conditions.start_time,
    };
    let files = Arc::clone(&files);
    let mut executor = SpecExecutor::new(sandbox, cache.stores(), files, conditions);
    let spinner = ui.spinner("judging");
    let input = VerifyInput {
        repo: &repo,
        base: change.as_ref().map(|_| &base),
    };
    let verdict = verify(&spec, input, &mut executor, &mut |event| match event {
        Event::CheckStarted {
            index,
            total,
            check,
        } => spinner.set_message(format!(
            "[{}/{total}] {}",
            index.saturating_add(1),
            escape::line(&check.name)
        )),
        Event::SuiteProgressed { .. } | Event::CheckFinished { .. } => {}
    });
    spinner.finish_and_clear();
    Ok(VerdictDocument::new(
        &base,
        &repo,
        change,
        (&spec, source),
        summary,
        &verdict,
        WallTime::from(started.elapsed()),
    ))
}

/// The failure of a refused patch; with `json`, its answer is printed now.
pub(crate) fn refuse(error: PatchError, format: Option<Format>, json: bool, ui: &Ui) -> Failure {
    if error.kind == PatchErrorKind::Internal {
        return Failure::host(error);
    }
    if json {
        match refusal_json(&error, format) {
            Ok(text) => ui.out(&text),
            Err(problem) => return Failure::host(problem),
        }
    }
    Failure::Refused {
        error: Box::new(error),
        printed: json,
    }
}

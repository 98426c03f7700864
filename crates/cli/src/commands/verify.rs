//! `probity verify`: a verdict on a repository, or on a patch to it.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, anyhow};
use probity_core::patch::{self, PatchError, PatchErrorKind, apply};
use probity_core::quantity::{ByteSize, WallTime};
use probity_core::verify::{ConditionsSummary, PatchSummary, VerdictDocument, VerifyInput, verify};
use probity_sandbox::SpecExecutor;

use super::input::{self, SpecInput};
use super::suggest;
use crate::args::VerifyArgs;
use crate::cache::Cache;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::{Format, RefusalAnswer, render, write_whole};
use crate::ui::{Look, Ui};

/// Bytes of the judged diff kept in a verdict.
const DIFF_CAP: ByteSize = ByteSize::mib(1);

pub(crate) fn run(args: &VerifyArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let outputs = Outputs::wanted(args)?;
    let document = judge(args, ui)?;
    // What can be said is said, even if a file cannot be written.
    let mut written = Ok(());
    for (format, path) in outputs.files {
        let text = render(&document, format, Look::PLAIN).map_err(Failure::Host)?;
        let result = write_whole(path, text.as_bytes())
            .with_context(|| format!("cannot write the report `{}`", path.display()))
            .map_err(Failure::Host);
        written = written.and(result);
    }
    ui.out(&render(&document, outputs.printed, ui.look()).map_err(Failure::Host)?);
    written?;
    Ok(ExitCode::from(document.exit_code))
}

/// Where the verdict goes.
struct Outputs<'a> {
    /// The form that is printed.
    printed: Format,
    files: Vec<(Format, &'a Path)>,
}

impl<'a> Outputs<'a> {
    fn wanted(args: &'a VerifyArgs) -> Result<Self, Failure> {
        let mut printed: Vec<Format> = args.json.then_some(Format::Json).into_iter().collect();
        let mut files: Vec<(Format, &Path)> = Vec::new();
        for report in &args.reports {
            match report.file.as_deref() {
                None => printed.push(report.format),
                Some(path) if files.iter().any(|(_, other)| *other == path) => {
                    return Err(Failure::Request(anyhow!(
                        "two reports cannot go to one file, `{}`",
                        path.display()
                    )));
                }
                Some(path) => files.push((report.format, path)),
            }
        }
        let printed = match printed.as_slice() {
            [] => Format::Human,
            [format] => *format,
            [_, _, ..] => {
                return Err(Failure::Request(anyhow!(
                    "only one report can go to standard output; give the others a file, as in \
                     `--report junit=report.xml`"
                )));
            }
        };
        Ok(Self { printed, files })
    }
}

/// Does the work of the command, without printing the verdict.
pub(crate) fn judge(args: &VerifyArgs, ui: &Ui) -> Result<VerdictDocument, Failure> {
    let started = Instant::now();
    let patch = args.patch.as_deref().map(input::patch).transpose()?;
    let base = input::repository(&args.repo, ui)?;
    let cache = Cache::find()?;
    let sandbox = cache.sandbox(args.running.isolation)?;
    let SpecInput {
        mut spec,
        source,
        files,
    } = match input::spec(args.spec.as_deref(), &args.repo.repo)? {
        Some(spec) => spec,
        None => {
            ui.note("note: there is no probity.toml; judging by the checks that `probity init` would write");
            suggest::spec_for(&base, &sandbox, &cache)?
        }
    };

    args.suites.apply(&mut spec);
    let mut repo = base.clone();
    let change = match &patch {
        None => None,
        Some(bytes) => {
            let (format, patch) = input::parsed(bytes, &args.reading, &spec.guard)?;
            let applied = patch.and_then(|patch| apply(&mut repo, &patch, &spec.guard));
            let json = Outputs::wanted(args)?.printed == Format::Json;
            let plan = applied.map_err(|error| refuse(error, format, json, ui))?;
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
    let progress = Progress::new(ui);
    let input = VerifyInput {
        repo: &repo,
        base: change.as_ref().map(|_| &base),
    };
    let verdict = verify(&spec, input, &mut executor, &mut |event| {
        progress.show(event)
    });
    progress.finish();
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
pub(crate) fn refuse(
    error: PatchError,
    format: Option<patch::Format>,
    json: bool,
    ui: &Ui,
) -> Failure {
    if error.kind == PatchErrorKind::Internal {
        return Failure::host(error);
    }
    if json && let Err(problem) = ui.out_json(&RefusalAnswer::new(&error, format)) {
        return problem;
    }
    Failure::Refused {
        error: Box::new(error),
        printed: json,
    }
}

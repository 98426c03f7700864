//! `probity verify`: a verdict on a repository, or on a patch to it.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, anyhow};
use probity_core::verify::VerdictDocument;

use super::case::{Asked, Case};
use super::input;
use crate::args::VerifyArgs;
use crate::failure::Failure;
use crate::report::{Format, render, write_whole};
use crate::ui::{Look, Ui};

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
    let asked = Asked {
        repo: &args.repo,
        spec: args.spec.as_deref(),
        tests_from: args.tests_from.as_deref(),
        running: &args.running,
    };
    let mut case = Case::open(asked, ui)?;
    args.suites.apply(&mut case.spec);
    let change = match &patch {
        None => None,
        Some(bytes) => {
            let json = Outputs::wanted(args)?.printed == Format::Json;
            Some(case.change(bytes, &args.reading, json, ui)?)
        }
    };
    Ok(case.verdict(change.as_ref(), started, ui))
}

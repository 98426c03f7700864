//! `probity apply`: a patch to a repository on disk, all of it or nothing.

use std::process::ExitCode;

use probity_core::Digest;
use probity_core::guard::Guard;
use probity_core::patch::{Change, Format, Plan, apply, render_plan};
use serde::Serialize;

use super::input;
use super::verify::refuse;
use crate::args::ApplyArgs;
use crate::failure::Failure;
use crate::report::escape;
use crate::tree::write_plan;
use crate::ui::{Style, Ui};

/// The answer of `--json`.
#[derive(Serialize)]
struct Applied {
    schema: &'static str,
    ok: bool,
    dry_run: bool,
    format: String,
    tree: Digest,
    files: Vec<AppliedFile>,
    added: u64,
    removed: u64,
}

/// One changed file.
#[derive(Serialize)]
struct AppliedFile {
    path: String,
    change: &'static str,
}

pub(crate) fn run(args: &ApplyArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let format = input::format(&args.format)?;
    let bytes = input::patch(&args.patch)?;
    let loaded = input::repository(&args.repo, ui)?;
    let guard = match input::spec(args.spec.as_deref(), &args.repo.repo)? {
        Some(input) => input.spec.guard,
        None => Guard::default(),
    };
    let mut repo = loaded.repo;
    let (format, plan) = input::parsed(format, &bytes, &guard)
        .and_then(|(format, patch)| Ok((format, apply(&mut repo, &patch, &guard)?)))
        .map_err(|error| refuse(error, args.json, ui))?;
    if !args.dry_run {
        write_plan(&loaded.dir, &plan).map_err(Failure::Host)?;
    }
    if args.json {
        let answer = answer(&plan, args.dry_run, format, repo.digest());
        let mut text = serde_json::to_string_pretty(&answer).map_err(Failure::host)?;
        text.push('\n');
        ui.out(&text);
    } else {
        print(&plan, args.dry_run, ui);
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(plan: &Plan, dry_run: bool, format: Format, tree: Digest) -> Applied {
    let stat = plan.stat();
    Applied {
        schema: "probity.apply/1",
        ok: true,
        dry_run,
        format: format.to_string(),
        tree,
        files: plan
            .changes()
            .iter()
            .map(|change| AppliedFile {
                path: change.path.to_string(),
                change: kind(change),
            })
            .collect(),
        added: stat.lines_added,
        removed: stat.lines_removed,
    }
}

const fn kind(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "created",
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "deleted",
    }
}

fn print(plan: &Plan, dry_run: bool, ui: &Ui) {
    let stat = plan.stat();
    let mut text = String::new();
    for change in plan.changes() {
        let path = escape::line(change.path.as_str());
        text.push_str(&format!("{} {path}\n", kind(change)));
    }
    if dry_run {
        for line in String::from_utf8_lossy(&render_plan(plan)).lines() {
            let style = match line.as_bytes().first() {
                Some(b'+') => Style::Good,
                Some(b'-') => Style::Bad,
                _ => Style::Plain,
            };
            text.push_str(&ui.paint(style, &escape::line(line)));
            text.push('\n');
        }
    }
    let done = if dry_run {
        "would change (nothing was written)"
    } else {
        "changed"
    };
    text.push_str(&format!(
        "{} file{} {done}: +{} −{}\n",
        stat.files,
        if stat.files == 1 { "" } else { "s" },
        stat.lines_added,
        stat.lines_removed
    ));
    ui.out(&text);
}

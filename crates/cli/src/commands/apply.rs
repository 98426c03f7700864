//! `probity apply`: a patch to a repository on disk, all of it or nothing.
//!
//! Only what the patch names is read. If it is refused for something that is not there,
//! the rest is read as well, to say where it might be.

use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use probity_core::guard::Guard;
use probity_core::patch::{
    Change, Format, Patch, PatchError, PatchErrorKind, Plan, apply, look_elsewhere, render_plan,
};
use probity_worktree::{
    CommitError, Durability, LoadError, Lock, RecoverError, Recovery, Sparse, Worktree,
};
use serde::Serialize;

use super::case::refuse;
use super::input;
use crate::args::ApplyArgs;
use crate::failure::Failure;
use crate::report::escape;
use crate::ui::{Style, Ui, uninterrupted};

/// The answer of `--json`.
#[derive(Serialize)]
struct Applied<'a> {
    schema: &'static str,
    ok: bool,
    dry_run: bool,
    /// The format in which the patch was read.
    format: &'static str,
    files: Vec<AppliedFile<'a>>,
    /// Lines, over all files.
    added: u64,
    removed: u64,
    /// What changed, as a diff that `git apply` accepts; absent if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// The diff in base64, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff_b64: Option<String>,
}

/// One changed file. A moved file is one entry, under its new name.
#[derive(Serialize)]
struct AppliedFile<'a> {
    path: &'a str,
    status: &'static str,
    /// Where a moved or copied file comes from.
    from: Option<&'a str>,
    /// The git modes before and after.
    old_mode: Option<&'static str>,
    new_mode: Option<&'static str>,
    binary: bool,
    added: u64,
    removed: u64,
}

pub(crate) fn run(args: &ApplyArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let worktree = input::worktree(&args.repo)?;
    let Some(patch) = &args.patch else {
        return recover_only(&worktree, args, ui);
    };
    let bytes = input::patch(patch)?;
    let guard = match input::spec(args.spec.as_deref(), &args.repo.repo, &|files| files)? {
        Some(input) => input.spec.guard,
        None => Guard::default(),
    };
    let (format, patch) = input::parsed(&bytes, &args.reading, &guard)?;
    let refused = |error| refuse(error, format, args.json, ui);
    let patch = patch.map_err(refused)?;
    guard.check_request(&patch).map_err(refused)?;
    // A dry run leaves even an interrupted change alone.
    let lock = if args.dry_run {
        None
    } else {
        let lock = worktree.lock().map_err(locked)?;
        recover(&worktree, &lock, ui)?;
        Some(lock)
    };
    let Sparse { mut repo, stamps } = match worktree.load_for(&patch) {
        Ok(sparse) => sparse,
        Err(LoadError::Special { path }) => {
            let error = PatchError::new(
                PatchErrorKind::NotAFile,
                format!("`{path}` is a device, a pipe or a socket"),
            );
            return Err(refused(
                error.with_path(path).with_hint("name an ordinary file"),
            ));
        }
        Err(error) => return Err(input::unread(error, &args.repo)),
    };
    let plan = apply(&mut repo, &patch, &guard)
        .map_err(|error| refused(explained(error, &patch, &worktree, args)))?;
    if let Some(lock) = &lock {
        let durability = if args.sync {
            Durability::Power
        } else {
            Durability::Process
        };
        let committed = uninterrupted(|| worktree.commit(lock, &plan, &stamps, durability));
        committed.map_err(|error| uncommitted(error, refused))?;
    }
    report(&plan, format, args, ui)?;
    Ok(ExitCode::SUCCESS)
}

/// Adds what the whole tree says about something that is not there.
fn explained(
    error: PatchError,
    patch: &Patch,
    worktree: &Worktree,
    args: &ApplyArgs,
) -> PatchError {
    let helps = matches!(
        error.kind,
        PatchErrorKind::NotFound | PatchErrorKind::Missing
    );
    if !helps {
        return error;
    }
    match worktree.load(input::ignored(&args.repo)) {
        Ok(loaded) => look_elsewhere(error, patch, &loaded.repo),
        Err(_) => error,
    }
}

fn locked(error: CommitError) -> Failure {
    match error {
        CommitError::Locked => {
            Failure::Host(anyhow::anyhow!("{error}; try again when it has ended"))
        }
        error => Failure::host(error),
    }
}

/// Brings an interrupted change to an end, and says so.
fn recover(worktree: &Worktree, lock: &Lock, ui: &Ui) -> Result<Recovery, Failure> {
    let recovery = uninterrupted(|| worktree.recover(lock)).map_err(|error| match error {
        RecoverError::Left { .. } => Failure::Host(anyhow::anyhow!(
            "{error}; see to these files by hand. What was set aside is beside them; a journal that is still in `.git/probity` or `.probity-journal` can then be taken away"
        )),
        error => Failure::host(error),
    })?;
    match recovery {
        Recovery::Nothing => {}
        Recovery::Undone => ui.note("note: an interrupted change was undone"),
        Recovery::Completed => ui.note("note: an interrupted change was completed"),
    }
    Ok(recovery)
}

fn recover_only(worktree: &Worktree, args: &ApplyArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    #[derive(Serialize)]
    struct Recovered {
        schema: &'static str,
        ok: bool,
        recovery: &'static str,
    }
    let lock = worktree.lock().map_err(locked)?;
    let recovery = match recover(worktree, &lock, ui)? {
        Recovery::Nothing => "nothing",
        Recovery::Undone => "undone",
        Recovery::Completed => "completed",
    };
    if args.json {
        let answer = Recovered {
            schema: "probity.recovery/1",
            ok: true,
            recovery,
        };
        ui.out_json(&answer)?;
    } else if recovery == "nothing" {
        ui.out("no change was interrupted\n");
    }
    Ok(ExitCode::SUCCESS)
}

/// What somebody else changed under the plan is a refusal, all else a failure.
fn uncommitted(error: CommitError, refused: impl Fn(PatchError) -> Failure) -> Failure {
    let again = "read the files again and make the patch for their present content";
    let (kind, path, hint) = match &error {
        CommitError::Stale { path } => (PatchErrorKind::Stale, path, again),
        CommitError::Link { path } | CommitError::InTheWay { path, .. } => (
            PatchErrorKind::PathDenied,
            path,
            "something that is not a folder was put in the way; see that it is gone, and try again",
        ),
        CommitError::NotEmpty { path } => (
            PatchErrorKind::NotAFile,
            path,
            "take away what else is in the folder, or give the file another name",
        ),
        CommitError::Locked
        | CommitError::WrongLock
        | CommitError::Interrupted
        | CommitError::TooLarge { .. }
        | CommitError::Io { .. }
        | CommitError::NotUndone { .. } => return Failure::host(error),
    };
    refused(
        PatchError::new(kind, error.to_string())
            .with_path(path)
            .with_hint(hint),
    )
}

fn report(plan: &Plan, format: Option<Format>, args: &ApplyArgs, ui: &Ui) -> Result<(), Failure> {
    let format = format.map_or("unknown", Format::as_str);
    if args.diff {
        ui.out_bytes(&render_plan(plan));
    } else if args.json {
        let answer = answer(plan, args.dry_run, format);
        ui.out_json(&answer)?;
    } else {
        print(plan, format, args.dry_run, ui);
    }
    Ok(())
}

/// The changes to show: a file that moved away is shown where it went.
fn shown(plan: &Plan) -> impl Iterator<Item = &Change> {
    plan.changes()
        .iter()
        .filter(|change| !plan.is_moved_away(change))
}

fn answer<'a>(plan: &'a Plan, dry_run: bool, format: &'static str) -> Applied<'a> {
    let stat = plan.stat();
    let (diff, diff_b64) = match String::from_utf8(render_plan(plan)) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
    };
    let file = |change: &'a Change| {
        let source = change.source.as_ref().map(|source| source.file());
        let old = source.map(|(_, file)| file).or(change.before.as_ref());
        AppliedFile {
            path: change.path.as_str(),
            status: change.status().as_str(),
            from: source.map(|(path, _)| path.as_str()),
            old_mode: old.map(|file| file.mode().as_git()),
            new_mode: change.after.as_ref().map(|file| file.mode().as_git()),
            binary: change.is_binary(),
            added: change.lines_added,
            removed: change.lines_removed,
        }
    };
    Applied {
        schema: "probity.apply/1",
        ok: true,
        dry_run,
        format,
        files: shown(plan).map(file).collect(),
        added: stat.lines_added,
        removed: stat.lines_removed,
        diff,
        diff_b64,
    }
}

fn print(plan: &Plan, format: &str, dry_run: bool, ui: &Ui) {
    let stat = plan.stat();
    let mut text = String::new();
    let mut files = 0_u64;
    for change in shown(plan) {
        files = files.saturating_add(1);
        let path = escape::line(change.path.as_str());
        let from = match &change.source {
            Some(source) => format!("{} → ", escape::line(source.file().0.as_str())),
            None => String::new(),
        };
        let lines = if change.is_binary() {
            "binary".to_owned()
        } else {
            format!("+{} −{}", change.lines_added, change.lines_removed)
        };
        text.push_str(&format!(
            "{} {from}{path} ({lines})\n",
            change.status().as_str()
        ));
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
        "{files} file{} {done}: +{} −{}, read as {format}\n",
        if files == 1 { "" } else { "s" },
        stat.lines_added,
        stat.lines_removed
    ));
    ui.out(&text);
}

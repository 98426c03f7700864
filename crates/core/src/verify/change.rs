//! The kind `diff`: the change itself, as the difference of two trees.
//!
//! It judges what a patch did, not how it was written, so it means the same for one patch
//! and for many in a row.

use super::{Assurance, CheckReport, Finding};
use crate::patch::{DiffBudget, common_lines, split_lines};
use crate::repo::File;
use crate::spec::{Check, DiffCheck};
use crate::{Repo, RepoPath};

/// Most findings of one kind that are listed.
const LISTED: usize = 100;

/// The difference of two trees, file by file.
#[derive(Debug)]
pub(super) struct Change {
    files: Vec<FileChange>,
    added: u64,
    removed: u64,
}

#[derive(Debug)]
struct FileChange {
    path: RepoPath,
    /// Added lines with their numbers from 1, without their ends.
    added: Vec<(u64, Vec<u8>)>,
}

impl Change {
    /// What makes `repo` of `base`.
    pub(super) fn between(base: &Repo, repo: &Repo) -> Self {
        let mut change = Self {
            files: Vec::new(),
            added: 0,
            removed: 0,
        };
        let mut budget = DiffBudget::new();
        for path in base.changed_paths(repo) {
            let old = base.get(&path).map_or(&b""[..], File::bytes);
            let new = repo.get(&path).map_or(&b""[..], File::bytes);
            let (added, removed) = lines(old, new, &mut budget);
            change.added = change.added.saturating_add(count(added.len()));
            change.removed = change.removed.saturating_add(removed);
            change.files.push(FileChange { path, added });
        }
        change
    }
}

/// The added lines with their numbers, and how many are removed.
fn lines(old: &[u8], new: &[u8], budget: &mut DiffBudget) -> (Vec<(u64, Vec<u8>)>, u64) {
    let (old, new) = (split_lines(old), split_lines(new));
    let common = common_lines(&old, &new, budget);
    let kept: usize = common.iter().map(|run| run.len).sum();
    let removed = count(old.len().saturating_sub(kept));
    let mut added = Vec::with_capacity(new.len().saturating_sub(kept));
    let mut runs = common.iter().peekable();
    for (index, line) in new.iter().enumerate() {
        while runs
            .next_if(|run| run.new.saturating_add(run.len) <= index)
            .is_some()
        {}
        if runs.peek().is_some_and(|run| run.new <= index) {
            continue;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        added.push((count(index).saturating_add(1), text.to_vec()));
    }
    (added, removed)
}

/// Judges a change.
pub(super) fn judge(check: &Check, wanted: &DiffCheck, change: &Change) -> CheckReport {
    let mut findings = Vec::new();
    let files = count(change.files.len());
    let lines = change.added.saturating_add(change.removed);
    if let Some(most) = wanted.max_files
        && files > most
    {
        findings.push(Finding::error(format!(
            "{files} files are changed, allowed are {most}"
        )));
    }
    if let Some(most) = wanted.max_changed_lines
        && lines > most
    {
        findings.push(Finding::error(format!(
            "{lines} lines are changed, allowed are {most}"
        )));
    }
    for pattern in &wanted.forbid_added {
        let message = format!(
            "an added line matches the forbidden pattern `{}`",
            pattern.as_str()
        );
        collect(change, &message, &mut findings, |line| {
            pattern.is_match(line)
        });
    }
    if wanted.no_trailing_whitespace {
        let message = "an added line ends in white space";
        collect(change, message, &mut findings, ends_in_space);
    }
    let summary = format!(
        "{files} files changed, {} lines added, {} removed",
        change.added, change.removed
    );
    let message = match findings.as_slice() {
        [] => summary,
        [finding] => finding.message.clone(),
        [first, rest @ ..] => format!("{}; and {} more findings", first.message, rest.len()),
    };
    CheckReport::of_findings(check, Assurance::Isolated, message, findings)
}

/// Adds a finding for each added line that `is_bad`, up to [`LISTED`].
fn collect(
    change: &Change,
    message: &str,
    findings: &mut Vec<Finding>,
    is_bad: impl Fn(&[u8]) -> bool,
) {
    let bad = change
        .files
        .iter()
        .flat_map(|file| {
            file.added
                .iter()
                .map(move |(line, text)| (file, *line, text))
        })
        .filter(|(_, _, text)| is_bad(text))
        .map(|(file, line, _)| Finding::error(message).at(&file.path).on_line(line))
        .take(LISTED);
    findings.extend(bad);
}

/// Whether a line ends in a space or tab; its own end, LF or CRLF, is none.
fn ends_in_space(line: &[u8]) -> bool {
    let text = line.strip_suffix(b"\r").unwrap_or(line);
    text.ends_with(b" ") || text.ends_with(b"\t")
}

fn count(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}

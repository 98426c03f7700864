//! Placing a patch on a tree: one planner for every format, one commit.
//!
//! Every operation is placed on the original tree. A plan holds the whole result, file by
//! file; making it has changed nothing, and committing it changes all or nothing. Before a
//! plan is returned it is proved: bytes outside the placed spans are the original's,
//! every named file changes, no other file does.
//!
//! The order of checks: counts, unsupported modes, paths, overlaps, then per operation
//! existence, base digest, placement.
//!
//! A plan remembers where a moved or copied file comes from, as the patch states it, so
//! that it can be shown and counted as what it is. It plays no part in what is written.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::collision::FoldedTree;
use super::error::ordinal;
use super::line_diff::{DiffBudget, changed_lines, count_lines};
use super::place_operation::Placing;
use super::splice::unproved;
use super::{Action, Operation, Patch, PatchError, PatchErrorKind, claims, look_elsewhere};
use crate::repo::{File, FileMode, InsertError, Repo, RepoPath};

/// The most operations of one patch.
pub(crate) const MAX_OPERATIONS: usize = 10_000;
/// The most hunks of one patch.
pub(crate) const MAX_HUNKS: usize = 100_000;

/// One file that a plan changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: RepoPath,
    /// The file before; `None` if it is created.
    pub before: Option<File>,
    /// The file after; `None` if it is taken away.
    pub after: Option<File>,
    /// The file that a created one was made from, if the patch moves or copies one.
    pub source: Option<Source>,
    /// Lines of the result that the original lacks. As `git diff --numstat` counts them,
    /// binary files by their newlines; a moved file is compared with its source, a copy
    /// counts whole.
    pub lines_added: u64,
    /// Lines of the original that the result lacks.
    pub lines_removed: u64,
}

/// The file that a created one was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file that goes away.
    Renamed(RepoPath, File),
    /// A file that stays, changed or not.
    Copied(RepoPath, File),
}

impl Source {
    /// The path and the file.
    #[must_use]
    pub const fn file(&self) -> (&RepoPath, &File) {
        match self {
            Self::Renamed(path, file) | Self::Copied(path, file) => (path, file),
        }
    }
}

/// What happens to the file of a [`Change`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeStatus {
    /// It is new.
    Created,
    /// Its content changes, and its mode perhaps.
    Modified,
    /// Only its mode changes.
    ModeChanged,
    /// It is gone.
    Deleted,
    /// It was another file, which is gone.
    Renamed,
    /// It was made from another file, which stays.
    Copied,
}

impl ChangeStatus {
    /// The stable name, in kebab case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::ModeChanged => "mode-changed",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
            Self::Copied => "copied",
        }
    }
}

impl Change {
    /// A change without a source, its lines counted within `budget`.
    pub(super) fn new(
        path: RepoPath,
        before: Option<File>,
        after: Option<File>,
        source: Option<Source>,
        budget: &mut DiffBudget,
    ) -> Self {
        let old = match &source {
            Some(Source::Renamed(_, file)) => Some(file),
            Some(Source::Copied(..)) | None => before.as_ref(),
        };
        let (lines_added, lines_removed) = count(old, after.as_ref(), budget);
        Self {
            path,
            before,
            after,
            source,
            lines_added,
            lines_removed,
        }
    }

    /// What happens to the file.
    #[must_use]
    pub fn status(&self) -> ChangeStatus {
        match (&self.before, &self.after, &self.source) {
            (None, _, Some(Source::Renamed(..))) => ChangeStatus::Renamed,
            (None, _, Some(Source::Copied(..))) => ChangeStatus::Copied,
            (None, _, None) => ChangeStatus::Created,
            (Some(_), None, _) => ChangeStatus::Deleted,
            (Some(before), Some(after), _) if before.bytes() == after.bytes() => {
                ChangeStatus::ModeChanged
            }
            (Some(_), Some(_), _) => ChangeStatus::Modified,
        }
    }

    /// Whether either side holds a NUL byte, by which git takes a file for binary.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        let source = self.source.as_ref().map(|source| source.file().1);
        [self.before.as_ref(), self.after.as_ref(), source]
            .into_iter()
            .flatten()
            .any(|file| memchr::memchr(0, file.bytes()).is_some())
    }
}

/// How much a plan changes.
///
/// The sum over the plan's changes; a moved file counts as two files, but its lines are
/// compared with those of its source. For contrived files the counts are an upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiffStat {
    /// Files created, changed or taken away.
    pub files: u64,
    /// Lines of the results that the originals lack.
    pub lines_added: u64,
    /// Lines of the originals that the results lack.
    pub lines_removed: u64,
}

impl DiffStat {
    /// Lines added and removed together.
    #[must_use]
    pub const fn lines_changed(&self) -> u64 {
        self.lines_added.saturating_add(self.lines_removed)
    }
}

/// A patch placed on a tree: what every file becomes.
#[derive(Debug, Clone)]
pub struct Plan {
    changes: Vec<Change>,
    stat: DiffStat,
    /// The files that go away because they are moved.
    moved: BTreeSet<RepoPath>,
    /// The tree that the plan was made on, and what it becomes.
    proved: Option<(Repo, Repo)>,
}

/// Plans are equal that make the same of the same files, however they were stated and
/// whatever else is in their trees.
impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        let made = |plan: &'_ Self| -> Vec<(RepoPath, Option<File>, Option<File>)> {
            let made = |change: &Change| {
                let Change {
                    path,
                    before,
                    after,
                    ..
                } = change;
                (path.clone(), before.clone(), after.clone())
            };
            plan.changes.iter().map(made).collect()
        };
        made(self) == made(other)
    }
}

impl Eq for Plan {}

impl Plan {
    /// The changed files, sorted by path; never empty.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// How much the plan changes.
    #[must_use]
    pub const fn stat(&self) -> DiffStat {
        self.stat
    }

    /// Whether the file of `change` goes away because another change of the plan moves it.
    #[must_use]
    pub fn is_moved_away(&self, change: &Change) -> bool {
        change.after.is_none() && self.moved.contains(&change.path)
    }

    /// The tree that results from `repo`, which stays as it is.
    ///
    /// # Errors
    /// `stale` when a file of the plan is not as it was when the plan was made,
    /// `not_a_file` when one has become a folder or stands below a file.
    pub fn applied_to(&self, repo: &Repo) -> Result<Repo, PatchError> {
        match &self.proved {
            Some((base, result)) if base.is_same(repo) => return Ok(result.clone()),
            Some(_) | None => {}
        }
        for change in &self.changes {
            if repo.get(&change.path) != change.before.as_ref() {
                return Err(PatchError::new(
                    PatchErrorKind::Stale,
                    format!("`{}` has changed since the plan was made", change.path),
                )
                .with_path(&change.path)
                .with_hint("place the patch again"));
            }
        }
        let mut result = repo.clone();
        for change in self.changes.iter().filter(|change| change.after.is_none()) {
            result.remove(&change.path);
        }
        for change in &self.changes {
            if let Some(file) = &change.after {
                result
                    .insert(&change.path, file.clone())
                    .map_err(|error| not_a_file(&change.path, &error))?;
            }
        }
        let changed = repo.changed_paths(&result);
        if changed
            .iter()
            .ne(self.changes.iter().map(|change| &change.path))
        {
            return Err(unproved());
        }
        Ok(result)
    }

    /// Changes `repo` as planned, wholly or not at all.
    ///
    /// # Errors
    /// As [`Plan::applied_to`]; `repo` is then unchanged.
    pub fn commit(&self, repo: &mut Repo) -> Result<(), PatchError> {
        *repo = self.applied_to(repo)?;
        Ok(())
    }
}

/// Places `patch` on `repo`, which stays as it is.
///
/// # Errors
/// See [`PatchErrorKind`]; the first error in the order of checks is returned.
pub fn plan(repo: &Repo, patch: &Patch) -> Result<Plan, PatchError> {
    check_shape(patch)?;
    claims::check(repo, patch)?;
    let results = Placing::new(repo, patch)
        .place_all()
        .map_err(|error| look_elsewhere(error, patch, repo))?;
    let mut budget = DiffBudget::new();
    let mut changes: Vec<Change> = Vec::with_capacity(results.len());
    for (path, (operation, after)) in &results {
        let before = repo.get(path).cloned();
        if before == *after {
            return Err(PatchError::new(
                PatchErrorKind::NoChange,
                format!("`{path}` would be the same as before"),
            )
            .with_path(path)
            .with_operation(ordinal(*operation))
            .with_hint("leave the file out of the patch"));
        }
        let source = match before {
            None => source(repo, patch, *operation, &results),
            Some(_) => None,
        };
        changes.push(Change::new(
            path.clone(),
            before,
            after.clone(),
            source,
            &mut budget,
        ));
    }
    // The lines of a moved file are counted where it went.
    let moved: BTreeSet<RepoPath> = changes
        .iter()
        .filter_map(|change| match &change.source {
            Some(Source::Renamed(from, _)) => Some(from.clone()),
            Some(Source::Copied(..)) | None => None,
        })
        .collect();
    for change in &mut changes {
        if change.after.is_none() && moved.contains(&change.path) {
            change.lines_removed = 0;
        }
    }
    let mut plan = Plan {
        stat: sum(&changes),
        moved,
        changes,
        proved: None,
    };
    let result = plan.applied_to(repo)?;
    refuse_collisions(&plan, &result)?;
    plan.proved = Some((repo.clone(), result));
    Ok(plan)
}

/// What the file that an operation creates was made from. A name that is taken again, or a
/// copy of what goes away, is shown as two changes.
fn source(repo: &Repo, patch: &Patch, operation: usize, results: &Results) -> Option<Source> {
    let operation = patch.operations.get(operation)?;
    operation.written()?;
    let from = operation.read().filter(|from| **from != operation.path)?;
    let file = repo.get(from)?.clone();
    let stays = results.get(from).is_none_or(|(_, after)| after.is_some());
    match (operation.removed().is_some(), stays) {
        (true, false) => Some(Source::Renamed(from.clone(), file)),
        (false, true) => Some(Source::Copied(from.clone(), file)),
        (true, true) | (false, false) => None,
    }
}

fn check_shape(patch: &Patch) -> Result<(), PatchError> {
    if patch.operations.is_empty() {
        return Err(PatchError::syntax("the patch asks for nothing")
            .with_hint("a patch has to ask for at least one change"));
    }
    let total = patch
        .operations
        .iter()
        .map(Operation::places)
        .fold(0, usize::saturating_add);
    if patch.operations.len() > MAX_OPERATIONS || total > MAX_HUNKS {
        return Err(PatchError::new(
            PatchErrorKind::Budget,
            format!(
                "the patch has more than {MAX_OPERATIONS} operations or {MAX_HUNKS} places to find"
            ),
        )
        .with_hint("split the patch"));
    }
    for (index, operation) in patch.operations.iter().enumerate() {
        let stated = match &operation.action {
            Action::Create { mode, .. } => [Some(*mode), None],
            Action::Delete { mode, .. } => [*mode, None],
            Action::Diff(diff) => [diff.old_mode, diff.new_mode],
            Action::Replace { .. } | Action::Edit(_) | Action::Insert(_) | Action::Update(_) => {
                [None, None]
            }
        };
        if stated.contains(&Some(FileMode::Symlink)) {
            return Err(PatchError::new(
                PatchErrorKind::Unsupported,
                "symbolic links cannot be changed by a patch",
            )
            .with_path(&operation.path)
            .with_operation(ordinal(index))
            .with_hint("leave the link out of the patch"));
        }
    }
    Ok(())
}

pub(super) fn not_a_file(path: &RepoPath, error: &InsertError) -> PatchError {
    PatchError::new(PatchErrorKind::NotAFile, error.to_string())
        .with_path(path)
        .with_hint("choose a path whose parents are folders and which is none itself")
}

/// Lines that only the new file has, and lines that only the old one has.
fn count(old: Option<&File>, new: Option<&File>, budget: &mut DiffBudget) -> (u64, u64) {
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let lines = |file: Option<&File>| file.map_or(0, |file| number(count_lines(file.bytes())));
    match (old, new) {
        (Some(old), Some(new)) => {
            let (added, removed) = changed_lines(old.bytes(), new.bytes(), budget);
            (number(added), number(removed))
        }
        (old, new) => (lines(new), lines(old)),
    }
}

fn sum(changes: &[Change]) -> DiffStat {
    let mut stat = DiffStat::default();
    for change in changes {
        stat.files = stat.files.saturating_add(1);
        stat.lines_added = stat.lines_added.saturating_add(change.lines_added);
        stat.lines_removed = stat.lines_removed.saturating_add(change.lines_removed);
    }
    stat
}

fn refuse_collisions(plan: &Plan, result: &Repo) -> Result<(), PatchError> {
    let mut folded = FoldedTree::new(result.root());
    for change in &plan.changes {
        if change.before.is_none()
            && let Some(other) = folded.clash(&change.path)
        {
            return Err(PatchError::new(
                PatchErrorKind::PathDenied,
                format!(
                    "path `{}` is refused: `{other}` differs from it only in case or normalisation",
                    change.path
                ),
            )
            .with_path(&change.path)
            .with_hint(format!("edit `{other}`, or choose another name")));
        }
    }
    Ok(())
}

/// What each changed path becomes, with the index of the operation that says so.
pub(super) type Results = BTreeMap<RepoPath, (usize, Option<File>)>;

//! Placing a patch on a tree: one planner for every format, one commit.
//!
//! Every operation is placed on the original tree. A plan holds the whole result, file by
//! file; making it has changed nothing, and committing it changes all or nothing. Before a
//! plan is returned it is proved: bytes outside the placed spans are the original's,
//! every named file changes, no other file does.
//!
//! The order of checks: counts, unsupported modes, paths, overlaps, then per operation
//! existence, base digest, placement.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::collision::FoldedTree;
use super::error::ordinal;
use super::line_diff::{DiffBudget, common_lines, split_lines};
use super::place_operation::Placing;
use super::splice::unproved;
use super::{Action, Operation, Patch, PatchError, PatchErrorKind, claims};
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
}

/// How much a plan changes.
///
/// Lines are counted as `git diff --numstat` counts them, binary files by their newlines.
/// A moved file counts as taken away and created. For contrived files the counts are an
/// upper bound.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    changes: Vec<Change>,
    stat: DiffStat,
}

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

    /// The tree that results from `repo`, which stays as it is.
    ///
    /// # Errors
    /// `stale` when a file of the plan is not as it was when the plan was made,
    /// `not_a_file` when one has become a folder or stands below a file.
    pub fn applied_to(&self, repo: &Repo) -> Result<Repo, PatchError> {
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
    let results = Placing::new(repo, patch).place_all()?;
    let changes: Vec<Change> = results
        .into_iter()
        .map(|(path, (operation, after))| {
            let before = repo.get(&path).cloned();
            if before == after {
                return Err(PatchError::new(
                    PatchErrorKind::NoChange,
                    format!("`{path}` would be the same as before"),
                )
                .with_path(&path)
                .with_operation(ordinal(operation))
                .with_hint("leave the file out of the patch"));
            }
            Ok(Change {
                path,
                before,
                after,
            })
        })
        .collect::<Result<_, _>>()?;
    let plan = Plan {
        stat: count(&changes),
        changes,
    };
    let result = plan.applied_to(repo)?;
    refuse_collisions(&plan, &result)?;
    Ok(plan)
}

fn check_shape(patch: &Patch) -> Result<(), PatchError> {
    let hunks = |operation: &Operation| match &operation.action {
        Action::Diff(diff) => diff.hunks.len(),
        Action::Create { .. }
        | Action::Replace { .. }
        | Action::Delete { .. }
        | Action::Edit(_) => 0,
    };
    if patch.operations.is_empty() {
        return Err(PatchError::syntax("the patch asks for nothing")
            .with_hint("a patch has to ask for at least one change"));
    }
    let total = patch
        .operations
        .iter()
        .map(hunks)
        .fold(0, usize::saturating_add);
    if patch.operations.len() > MAX_OPERATIONS || total > MAX_HUNKS {
        return Err(PatchError::new(
            PatchErrorKind::Budget,
            format!("the patch has more than {MAX_OPERATIONS} operations or {MAX_HUNKS} hunks"),
        )
        .with_hint("split the patch"));
    }
    for (index, operation) in patch.operations.iter().enumerate() {
        let stated = match &operation.action {
            Action::Create { mode, .. } => [Some(*mode), None],
            Action::Delete { mode, .. } => [*mode, None],
            Action::Diff(diff) => [diff.old_mode, diff.new_mode],
            Action::Replace { .. } | Action::Edit(_) => [None, None],
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

fn count(changes: &[Change]) -> DiffStat {
    let mut budget = DiffBudget::new();
    let mut stat = DiffStat::default();
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    for change in changes {
        let lines = |file: &Option<File>| {
            file.as_ref()
                .map_or(0, |file| split_lines(file.bytes()).len())
        };
        let common: usize = match (&change.before, &change.after) {
            (Some(before), Some(after)) => common_lines(
                &split_lines(before.bytes()),
                &split_lines(after.bytes()),
                &mut budget,
            )
            .iter()
            .map(|run| run.len)
            .sum(),
            (None, _) | (_, None) => 0,
        };
        stat.files = stat.files.saturating_add(1);
        let removed = lines(&change.before).saturating_sub(common);
        let added = lines(&change.after).saturating_sub(common);
        stat.lines_removed = stat.lines_removed.saturating_add(number(removed));
        stat.lines_added = stat.lines_added.saturating_add(number(added));
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

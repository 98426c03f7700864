//! What the operations of a patch lay claim to, checked before any of them is placed.
//!
//! No named path leads through a symbolic link. A path is at most once a source and once a
//! target, except that several edits may share a file. A path that is a source only (a
//! rename's) may be a target as well, so files can swap names; a deleted one may not.

use std::collections::BTreeMap;

use super::error::ordinal;
use super::{
    Action, Content, FileDiff, Hunk, Operation, Origin, Patch, PatchError, PatchErrorKind,
};
use crate::repo::{Repo, RepoPath};

/// Refuses paths through links, then operations that claim the same thing.
pub(super) fn check(repo: &Repo, patch: &Patch) -> Result<(), PatchError> {
    for (index, operation) in patch.operations.iter().enumerate() {
        let named = [operation.removed(), operation.written(), operation.read()];
        for path in named.into_iter().flatten() {
            refuse_link(repo, path).map_err(|error| error.with_operation(ordinal(index)))?;
        }
    }
    for path in patch.bases.keys() {
        refuse_link(repo, path)?;
    }
    overlaps(&patch.operations)?;
    for (index, operation) in patch.operations.iter().enumerate() {
        if let Action::Diff(diff) = &operation.action
            && let Content::Hunks(hunks) = &diff.content
        {
            check_hunks(hunks).map_err(|error| {
                error
                    .with_path(&operation.path)
                    .with_operation(ordinal(index))
            })?;
        }
    }
    Ok(())
}

fn refuse_link(repo: &Repo, path: &RepoPath) -> Result<(), PatchError> {
    match repo.link_on_the_way(path) {
        None => Ok(()),
        Some(link) => Err(PatchError::new(
            PatchErrorKind::PathDenied,
            format!("path `{path}` is refused: `{link}` is a symbolic link"),
        )
        .with_path(path)
        .with_hint("name the real file by its own path")),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Claim {
    Edit,
    Whole,
    Deleted,
}

/// The path whose content the operation alone may use, and how.
fn source(operation: &Operation) -> Option<(&RepoPath, Claim)> {
    let path = &operation.path;
    match &operation.action {
        Action::Create { .. } => None,
        Action::Edit(_) | Action::Insert(_) => Some((path, Claim::Edit)),
        Action::Replace { .. } => Some((path, Claim::Whole)),
        Action::Delete { .. } => Some((path, Claim::Deleted)),
        Action::Diff(FileDiff { origin, .. }) => match origin {
            Origin::Same => Some((path, Claim::Whole)),
            Origin::RenamedFrom(from) => Some((from, Claim::Whole)),
            Origin::CopiedFrom(_) => None,
        },
        Action::Update(update) => match &update.moved_from {
            Some(from) => Some((from, Claim::Whole)),
            None => Some((path, Claim::Whole)),
        },
    }
}

fn overlaps(operations: &[Operation]) -> Result<(), PatchError> {
    let mut sources: BTreeMap<&RepoPath, (Claim, usize)> = BTreeMap::new();
    let mut targets: BTreeMap<&RepoPath, (Claim, usize)> = BTreeMap::new();
    for (index, operation) in operations.iter().enumerate() {
        let edit = match &operation.action {
            Action::Edit(_) | Action::Insert(_) => Claim::Edit,
            Action::Create { .. }
            | Action::Replace { .. }
            | Action::Diff(_)
            | Action::Update(_) => Claim::Whole,
            Action::Delete { .. } => Claim::Deleted,
        };
        let target = operation.written().map(|path| (path, edit));
        for (claims, claim) in [(&mut sources, source(operation)), (&mut targets, target)] {
            let Some((path, claim)) = claim else { continue };
            match claims.get(path) {
                None => {
                    claims.insert(path, (claim, index));
                }
                Some((Claim::Edit, _)) if claim == Claim::Edit => {}
                Some((_, first)) => return Err(overlap(path, *first, index)),
            }
        }
    }
    for (path, (claim, first)) in &sources {
        if let (Claim::Deleted, Some((_, second))) = (claim, targets.get(path)) {
            let (first, second) = (*first.min(second), *first.max(second));
            return Err(overlap(path, first, second));
        }
    }
    // A moved file of the apply-patch format shares neither of its names with any other
    // section: read in order, as other tools do, the sections would mean something else.
    for (index, operation) in operations.iter().enumerate() {
        let Action::Update(update) = &operation.action else {
            continue;
        };
        let Some(from) = &update.moved_from else {
            continue;
        };
        let other = sources
            .get(&operation.path)
            .map(|found| (&operation.path, found))
            .or_else(|| targets.get(from).map(|found| (from, found)));
        if let Some((path, (_, other))) = other {
            return Err(overlap(path, index.min(*other), index.max(*other)));
        }
    }
    // What lies below a path follows it in the order of paths.
    for ((path, (_, first)), (below, (_, second))) in targets.iter().zip(targets.iter().skip(1)) {
        if below.is_below(path) {
            return Err(PatchError::new(
                PatchErrorKind::Overlap,
                format!("`{path}` cannot be a file, since `{below}` needs it to be a folder"),
            )
            .with_path(below)
            .with_operation(ordinal(*first.max(second)))
            .with_hint("give one of the two another name"));
        }
    }
    Ok(())
}

fn overlap(path: &RepoPath, first: usize, second: usize) -> PatchError {
    PatchError::new(
        PatchErrorKind::Overlap,
        format!(
            "operations {} and {} both claim `{path}`",
            ordinal(first),
            ordinal(second)
        ),
    )
    .with_path(path)
    .with_operation(ordinal(second))
    .with_hint("say everything about a file in one operation")
}

/// Refuses hunks whose stated lines overlap or are out of order.
fn check_hunks(hunks: &[Hunk]) -> Result<(), PatchError> {
    let mut end = 0_u64;
    for (index, hunk) in hunks.iter().enumerate() {
        let newlines = memchr::memchr_iter(b'\n', &hunk.old).count();
        let open = !hunk.old.is_empty() && !hunk.old.ends_with(b"\n");
        let lines = newlines.saturating_add(usize::from(open));
        let lines = u64::try_from(lines).unwrap_or(u64::MAX);
        let start = u64::from(hunk.old_start);
        // With no old lines the stated line is the one before.
        let start = if lines == 0 {
            start.saturating_add(1)
        } else {
            start
        };
        if start < end {
            return Err(PatchError::new(
                PatchErrorKind::Overlap,
                "the hunk states lines that the hunk before it has too",
            )
            .with_hunk(ordinal(index))
            .with_lines(vec![hunk.old_start])
            .with_hint("join the two hunks"));
        }
        end = start.saturating_add(lines);
    }
    Ok(())
}

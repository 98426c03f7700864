//! Looking through the rest of the tree for what a refused patch meant.
//!
//! A file that does not exist may be spelled by its last part only; a text that was not
//! found may stand in another file. Both are named, never applied. The search is bounded
//! in bytes and ends at the first few finds, in the order of paths.

use std::borrow::Cow;

use super::near_miss::{Difference, Explanation};
use super::place_chunk::old_lines;
use super::text_view::{line_at, to_lf};
use super::{Action, Content, Expected, Operation, Patch, PatchError, PatchErrorKind};
use crate::repo::{Child, Directory, FileMode, Repo, RepoPath};

/// At most this many files are named.
const MAX_NAMED: usize = 3;
/// At most this many bytes of other files are searched: 64 MiB.
const MAX_SEARCHED: usize = 64 << 20;
/// A text with fewer visible bytes is in too many files to tell anything.
const MIN_VISIBLE: usize = 4;

/// Adds to a refusal of `patch` what the whole tree tells: files of the missing name, other
/// files that hold the text. The planner does so itself for the tree it was given; whoever
/// plans on a part of a tree calls this with all of it.
#[must_use]
pub fn look_elsewhere(error: PatchError, patch: &Patch, repo: &Repo) -> PatchError {
    match error.kind {
        PatchErrorKind::Missing => name_namesakes(error, repo),
        PatchErrorKind::NotFound => name_other_files(error, patch, repo),
        PatchErrorKind::Syntax
        | PatchErrorKind::Unsupported
        | PatchErrorKind::PathDenied
        | PatchErrorKind::Overlap
        | PatchErrorKind::Exists
        | PatchErrorKind::NotAFile
        | PatchErrorKind::Stale
        | PatchErrorKind::Ambiguous
        | PatchErrorKind::NoChange
        | PatchErrorKind::Budget
        | PatchErrorKind::Internal => error,
    }
}

fn name_namesakes(error: PatchError, repo: &Repo) -> PatchError {
    let name = match &error.path {
        Some(path) => path.rsplit('/').next().unwrap_or(path).to_owned(),
        None => return error,
    };
    let mut found = Vec::new();
    find_namesakes(repo.root(), "", &name, &mut found);
    if found.is_empty() {
        return error;
    }
    error.with_hint(format!("files of this name: `{}`", found.join("`, `")))
}

fn find_namesakes(folder: &Directory, prefix: &str, name: &str, found: &mut Vec<String>) {
    for (entry, child) in folder.entries() {
        if found.len() >= MAX_NAMED {
            return;
        }
        match child {
            Child::File(_) if **entry == *name => found.push(format!("{prefix}{entry}")),
            Child::File(_) => {}
            Child::Directory(inner) => {
                find_namesakes(inner, &format!("{prefix}{entry}/"), name, found);
            }
        }
    }
}

fn name_other_files(error: PatchError, patch: &Patch, repo: &Repo) -> PatchError {
    let nearer = match &error.near {
        Some(near) => near.difference != Difference::OneLine,
        None => !error.lines.is_empty(),
    };
    let operation = error
        .operation
        .and_then(|number| usize::try_from(number).ok())
        .and_then(|number| number.checked_sub(1))
        .and_then(|index| patch.operations.get(index));
    let (Some(operation), false) = (operation, nearer) else {
        return error;
    };
    let hunk = error
        .hunk
        .and_then(|number| usize::try_from(number).ok())
        .and_then(|number| number.checked_sub(1))
        .unwrap_or(0);
    let old = match wanted(operation, hunk) {
        Some(old) => to_lf(&old, |_| ()).into_owned(),
        None => return error,
    };
    let visible = old
        .iter()
        .filter(|byte| !byte.is_ascii_whitespace())
        .count();
    if visible < MIN_VISIBLE {
        return error;
    }
    let here = operation.read().and_then(|path| repo.get(path));
    let is_here =
        here.is_some_and(|file| memchr::memmem::find(&to_lf(file.bytes(), |_| ()), &old).is_some());
    if is_here {
        // It is not the place that is wrong.
        return error;
    }
    let found = find_text(repo, operation.read(), &old);
    let Some((first, line)) = found.first().cloned() else {
        return error;
    };
    let named: Vec<String> = found
        .iter()
        .map(|(path, line)| format!("`{path}` (line {line})"))
        .collect();
    let hint = format!(
        "the text is in {}: perhaps that file is meant",
        named.join(", ")
    );
    let mut explanation = Explanation::new(Difference::OtherFile, line, hint);
    explanation.near.path = Some(first.to_string());
    error.with_near(Some(explanation), "")
}

/// The text that an operation, or one hunk of it, finds in its file.
fn wanted(operation: &Operation, hunk: usize) -> Option<Cow<'_, [u8]>> {
    match &operation.action {
        Action::Edit(edit) => Some(Cow::Borrowed(&edit.old)),
        Action::Diff(diff) => match &diff.content {
            Content::Hunks(hunks) => hunks.get(hunk).map(|hunk| Cow::Borrowed(&*hunk.old)),
            Content::Binary(_) => None,
        },
        Action::Update(update) => update
            .chunks
            .get(hunk)
            .map(|chunk| Cow::Owned(old_lines(chunk))),
        Action::Delete {
            expected: Some(Expected::Bytes(bytes)),
            ..
        } => Some(Cow::Borrowed(bytes)),
        Action::Create { .. }
        | Action::Replace { .. }
        | Action::Delete { .. }
        | Action::Insert(_) => None,
    }
}

/// The first files that hold `text`, with the lines where it starts.
fn find_text(repo: &Repo, except: Option<&RepoPath>, text: &[u8]) -> Vec<(RepoPath, u32)> {
    let finder = memchr::memmem::Finder::new(text);
    let mut found = Vec::new();
    let mut room = MAX_SEARCHED;
    for (path, file) in repo.files() {
        if found.len() >= MAX_NAMED {
            break;
        }
        if Some(&path) == except || file.mode() == FileMode::Symlink {
            continue;
        }
        match room.checked_sub(file.bytes().len()) {
            Some(left) => room = left,
            None => continue,
        }
        let lines = to_lf(file.bytes(), |_| ());
        if let Some(at) = finder.find(&lines) {
            found.push((path, line_at(&lines, at)));
        }
    }
    found
}

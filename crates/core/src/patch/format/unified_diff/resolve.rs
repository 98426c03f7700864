//! From file sections to operations.
//!
//! All sections are read before any is judged, so that the order of checks (syntax,
//! unsupported, paths) holds across the whole patch.

use super::draft::{Change, Draft, RawPath, Source, draft};
use super::section::{self, Room};
use crate::patch::error::ordinal;
use crate::patch::format::base::BaseLines;
use crate::patch::format::lines::Cursor;
use crate::patch::plan::{MAX_HUNKS, MAX_OPERATIONS};
use crate::patch::splice::MAX_RESULT_BYTES;
use crate::patch::{Action, FileDiff, Operation, Origin, Patch, PatchError, PatchErrorKind};
use crate::repo::RepoPath;

/// Whether `text` has a file header of a diff.
pub(in crate::patch::format) fn looks_like(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text);
    loop {
        if cursor.at_file_header() {
            return true;
        }
        match cursor.next() {
            Some(line) if line.bytes.starts_with(b"diff --git ") => return true,
            Some(_) => {}
            None => return false,
        }
    }
}

pub(in crate::patch::format) fn parse(bytes: &[u8]) -> Result<Patch, PatchError> {
    let mut cursor = Cursor::new(bytes);
    let mut drafts = Vec::new();
    let mut bases = BaseLines::default();
    let mut room = Room {
        hunks: MAX_HUNKS,
        binary: MAX_RESULT_BYTES,
    };
    while let Some(section) = section::next(&mut cursor, &mut bases, &mut room)
        .map_err(|error| number(error, drafts.len()))?
    {
        drafts.push(draft(section).map_err(|error| number(error, drafts.len()))?);
        if drafts.len() > MAX_OPERATIONS {
            return Err(PatchError::new(
                PatchErrorKind::Budget,
                format!("the patch has more than {MAX_OPERATIONS} file sections"),
            )
            .with_hint("split the patch"));
        }
    }
    if drafts.is_empty() {
        return Err(
            PatchError::syntax("the text holds no file section of a diff").with_hint(
                "start each file with `--- a/<path>` and `+++ b/<path>`, or with `diff --git`",
            ),
        );
    }
    for (index, draft) in drafts.iter().enumerate() {
        if let Some(what) = draft.unsupported {
            let name = draft.path.name.as_slice();
            let name = name.strip_prefix(draft.path.prefix).unwrap_or(name);
            return Err(number(
                PatchError::new(PatchErrorKind::Unsupported, what)
                    .with_path(String::from_utf8_lossy(name))
                    .with_hint(
                        "make the diff with `git diff --binary`, send regular files whole with `content_b64`, or leave this file out",
                    ),
                index,
            ));
        }
    }
    let operations = drafts
        .into_iter()
        .enumerate()
        .map(|(index, draft)| draft.resolve().map_err(|error| number(error, index)))
        .collect::<Result<_, _>>()?;
    Ok(Patch {
        operations,
        bases: bases.resolve()?,
    })
}

fn number(error: PatchError, index: usize) -> PatchError {
    match error.operation {
        Some(_) => error,
        None => error.with_operation(ordinal(index)),
    }
}

impl Draft {
    fn resolve(self) -> Result<Operation, PatchError> {
        let path = resolve_path(&self.path)?;
        let action = match self.change {
            Change::Create { content, mode } => Action::Create { content, mode },
            Change::Delete { expected, mode } => Action::Delete {
                expected: Some(expected),
                mode,
            },
            Change::Diff {
                source,
                old_mode,
                new_mode,
                content,
            } => Action::Diff(FileDiff {
                origin: match source {
                    Source::Same => Origin::Same,
                    Source::Renamed(from) => Origin::RenamedFrom(resolve_path(&from)?),
                    Source::Copied(from) => Origin::CopiedFrom(resolve_path(&from)?),
                },
                old_mode,
                new_mode,
                content,
            }),
        };
        Ok(Operation { path, action })
    }
}

/// Takes the prefix off and validates what remains.
fn resolve_path(raw: &RawPath) -> Result<RepoPath, PatchError> {
    let shown = String::from_utf8_lossy(&raw.name);
    let refuse = |kind, message: String, hint: &str| {
        Err(PatchError::new(kind, message)
            .with_path(&shown)
            .with_hint(hint))
    };
    let hint = "name files by their path from the repository's root, such as `src/lib.rs`";
    if raw.name.starts_with(b"/") {
        let message = format!("path `{}` is refused: it is absolute", shown.escape_debug());
        return refuse(PatchErrorKind::PathDenied, message, hint);
    }
    let Some(name) = raw.name.strip_prefix(raw.prefix) else {
        let message = format!(
            "the file header names `{}` without the prefix `{}`, so it is open whether its first folder is one",
            shown.escape_debug(),
            String::from_utf8_lossy(raw.prefix)
        );
        return refuse(
            PatchErrorKind::Ambiguous,
            message,
            "write `--- a/<path>` and `+++ b/<path>`, as `git diff` does by default",
        );
    };
    let Ok(name) = std::str::from_utf8(name) else {
        let message = format!(
            "path `{}` is refused: it is not UTF-8",
            shown.escape_debug()
        );
        return refuse(PatchErrorKind::PathDenied, message, hint);
    };
    match RepoPath::new(name) {
        Ok(path) => Ok(path),
        Err(error) => refuse(PatchErrorKind::PathDenied, error.to_string(), hint),
    }
}

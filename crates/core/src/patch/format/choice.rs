//! Choosing a format and parsing in it.
//!
//! Detection never guesses: a text that could be in two formats, or in none, is refused
//! with the reason. Naming the format is always possible.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{search_replace, unified_diff, whole_file};
use crate::patch::{Patch, PatchError, PatchErrorKind};
use crate::quantity::ByteSize;

/// The largest patch that is parsed at all: 64 MiB. A guard's own limit is lower.
pub(crate) const MAX_PATCH_BYTES: usize = 64 << 20;

/// A format of patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// JSON: `{"edits": [{"path", "old", "new", "replace_all"?}], "base"?}`.
    SearchReplace,
    /// JSON: `{"files": [{"path", "op": "create"|"replace"|"delete", "content" or
    /// "content_b64"}], "base"?}`.
    WholeFile,
    /// A unified diff as `git diff` writes it, with `a/` and `b/` prefixes.
    UnifiedDiff,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::SearchReplace, Self::WholeFile, Self::UnifiedDiff];

    /// The name, as flags and files write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SearchReplace => "search-replace",
            Self::WholeFile => "whole-file",
            Self::UnifiedDiff => "unified-diff",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a patch format (search-replace, whole-file, unified-diff)", text.escape_debug())]
pub struct ParseFormatError {
    /// The text as given.
    pub text: String,
}

impl FromStr for Format {
    type Err = ParseFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|format| format.as_str() == text)
            .ok_or_else(|| ParseFormatError {
                text: text.to_owned(),
            })
    }
}

/// Parses `bytes` as a patch in `format`.
///
/// At most 64 MiB, 10,000 operations and 100,000 hunks; more is `budget`. JSON deeper than
/// the format needs is `syntax`.
///
/// # Errors
/// `syntax`, `unsupported`, `path_denied` (not a repository path), `ambiguous` (names
/// without prefixes in a diff) or `budget`, in this order of precedence.
pub fn parse(format: Format, bytes: &[u8]) -> Result<Patch, PatchError> {
    check_size(bytes)?;
    match format {
        Format::SearchReplace => search_replace::parse(bytes),
        Format::WholeFile => whole_file::parse(bytes),
        Format::UnifiedDiff => unified_diff::parse(bytes),
    }
}

fn check_size(bytes: &[u8]) -> Result<(), PatchError> {
    if bytes.len() <= MAX_PATCH_BYTES {
        return Ok(());
    }
    let limit = ByteSize::mib(64);
    Err(PatchError::new(
        PatchErrorKind::Budget,
        format!("the patch has {} bytes, more than {limit}", bytes.len()),
    )
    .with_hint("send smaller patches, or only the changed parts of large files"))
}

#[derive(Deserialize)]
struct Shape {
    edits: Option<IgnoredAny>,
    files: Option<IgnoredAny>,
}

/// Finds the format of `bytes`.
///
/// JSON is told by its key `edits` or `files`, a diff by `diff --git` or the pair of
/// `---` and `+++` lines.
///
/// # Errors
/// `syntax` when no format or more than one fits, `unsupported` when the text is in a
/// known format that is not offered.
pub fn detect(bytes: &[u8]) -> Result<Format, PatchError> {
    check_size(bytes)?;
    let text = bytes.trim_ascii_start();
    if text.starts_with(b"{") {
        return detect_json(text);
    }
    let diff = unified_diff::looks_like(bytes);
    let foreign = foreign_marker(bytes);
    match (diff, foreign) {
        (true, None) => Ok(Format::UnifiedDiff),
        (true, Some(name)) => Err(PatchError::syntax(format!(
            "the text looks like a unified diff and like {name}"
        ))
        .with_hint("name the format of the patch instead of leaving it to detection")),
        (false, Some(name)) => Err(PatchError::new(
            PatchErrorKind::Unsupported,
            format!("the text looks like {name}, which is not supported"),
        )
        .with_hint("send a unified diff, or JSON with `edits` or `files`")),
        (false, None) => Err(PatchError::syntax(
            "the text is in no known patch format: it is no JSON object and has no file header of a diff",
        )
        .with_hint(
            "send a unified diff with `--- a/…` and `+++ b/…` lines, or JSON with `edits` or `files`",
        )),
    }
}

fn detect_json(text: &[u8]) -> Result<Format, PatchError> {
    let shape: Shape = serde_json::from_slice(text)
        .map_err(|error| PatchError::syntax(format!("the patch is not valid JSON: {error}")))?;
    let hint = "an object with `edits` is search-replace, one with `files` is whole-file";
    match (shape.edits, shape.files) {
        (Some(_), None) => Ok(Format::SearchReplace),
        (None, Some(_)) => Ok(Format::WholeFile),
        (Some(_), Some(_)) => {
            Err(PatchError::syntax("the JSON patch has both `edits` and `files`").with_hint(hint))
        }
        (None, None) => Err(
            PatchError::syntax("the JSON patch has neither `edits` nor `files`").with_hint(hint),
        ),
    }
}

fn foreign_marker(bytes: &[u8]) -> Option<&'static str> {
    bytes.split(|byte| *byte == b'\n').find_map(|line| {
        let line = line.trim_ascii();
        if line == b"*** Begin Patch" {
            Some("an apply-patch envelope")
        } else if line == b"<<<<<<< SEARCH" {
            Some("edit blocks")
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(bytes: &[u8]) -> PatchErrorKind {
        detect(bytes).unwrap_err().kind
    }

    #[test]
    fn names_round_trip() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert!("patch".parse::<Format>().is_err());
    }

    #[test]
    fn clear_texts_are_detected() {
        assert_eq!(detect(br#" {"edits": []}"#), Ok(Format::SearchReplace));
        assert_eq!(
            detect(br#"{"base": {}, "files": [1]}"#),
            Ok(Format::WholeFile)
        );
        assert_eq!(
            detect(b"Here:\ndiff --git a/x b/x\nold mode 100644\n"),
            Ok(Format::UnifiedDiff)
        );
        assert_eq!(
            detect(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n"),
            Ok(Format::UnifiedDiff)
        );
    }

    #[test]
    fn doubt_is_refused() {
        assert_eq!(kind(b""), PatchErrorKind::Syntax);
        assert_eq!(kind(b"just prose"), PatchErrorKind::Syntax);
        assert_eq!(kind(b"{"), PatchErrorKind::Syntax);
        assert_eq!(kind(br#"{"a": 1}"#), PatchErrorKind::Syntax);
        assert_eq!(
            kind(br#"{"edits": [], "files": []}"#),
            PatchErrorKind::Syntax
        );
        assert_eq!(
            kind(b"*** Begin Patch\n--- a/x\n+++ b/x\n*** End Patch\n"),
            PatchErrorKind::Syntax
        );
        assert_eq!(
            kind(b"*** Begin Patch\n*** End Patch\n"),
            PatchErrorKind::Unsupported
        );
    }

    #[test]
    fn deep_json_is_refused_without_recursion() {
        let deep = format!("{{\"edits\": {}", "[".repeat(1_000_000));
        assert_eq!(kind(deep.as_bytes()), PatchErrorKind::Syntax);
        let error = parse(Format::SearchReplace, deep.as_bytes()).unwrap_err();
        assert_eq!(error.kind, PatchErrorKind::Syntax);
    }

    #[test]
    fn oversized_patches_are_not_parsed() {
        let large = vec![b' '; MAX_PATCH_BYTES + 1];
        assert_eq!(kind(&large), PatchErrorKind::Budget);
        let error = parse(Format::UnifiedDiff, &large).unwrap_err();
        assert_eq!(error.kind, PatchErrorKind::Budget);
    }
}

//! Choosing a format and parsing in it.
//!
//! Detection never guesses: a text that could be in two formats, or in none, is refused
//! with the reason. Naming the format is always possible.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::de::IgnoredAny;

use super::{apply_patch, edit_block, search_replace, unified_diff, whole_file};
use crate::patch::text_view::without_bom;
use crate::patch::{Patch, PatchError, PatchErrorKind};
use crate::quantity::ByteSize;

/// The largest patch that is parsed at all: 64 MiB. A guard's own limit is lower.
pub(crate) const MAX_PATCH_BYTES: usize = 64 << 20;

/// A format of patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// JSON: `{"edits": [{"path", "old", "new", "replace_all"?}], "base"?}`, one such edit
    /// alone, `{"path", "insert_line", "new"}`, or the arguments of common editor tools.
    SearchReplace,
    /// JSON: `{"files": [{"path", "op": "create"|"replace"|"delete", "content" or
    /// "content_b64"}], "base"?}`.
    WholeFile,
    /// SEARCH/REPLACE blocks between fences, each after its path.
    EditBlock,
    /// The `*** Begin Patch` envelope.
    ApplyPatch,
    /// A unified diff as `git diff` writes it, with `a/` and `b/` prefixes, git's extended
    /// headers and binary hunks.
    UnifiedDiff,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 5] = [
        Self::SearchReplace,
        Self::WholeFile,
        Self::EditBlock,
        Self::ApplyPatch,
        Self::UnifiedDiff,
    ];

    /// The name, as flags and files write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SearchReplace => "search-replace",
            Self::WholeFile => "whole-file",
            Self::EditBlock => "edit-block",
            Self::ApplyPatch => "apply-patch",
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
#[error("`{}` is not a patch format (search-replace, whole-file, edit-block, apply-patch, unified-diff)", text.escape_debug())]
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
    check_patch_size(bytes)?;
    let bytes = without_bom(bytes).unwrap_or(bytes);
    match format {
        Format::SearchReplace => search_replace::parse(bytes),
        Format::WholeFile => whole_file::parse(bytes),
        Format::EditBlock => edit_block::parse(bytes),
        Format::ApplyPatch => apply_patch::parse(bytes),
        Format::UnifiedDiff => unified_diff::parse(bytes),
    }
}

/// Refuses a patch that is too large to be looked at, whatever it is in.
///
/// # Errors
/// `budget` above 64 MiB.
pub fn check_patch_size(bytes: &[u8]) -> Result<(), PatchError> {
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

/// Finds the format of `bytes`.
///
/// An apply-patch envelope is told by its first line, JSON by its keys, edit blocks by a
/// `<<<<<<< SEARCH` line, a diff by `diff --git` or the pair of `---` and `+++` lines.
///
/// # Errors
/// `syntax` when no format or more than one fits.
pub fn detect(bytes: &[u8]) -> Result<Format, PatchError> {
    check_patch_size(bytes)?;
    let bytes = without_bom(bytes).unwrap_or(bytes);
    if bytes.trim_ascii_start().starts_with(b"{") {
        return detect_json(bytes);
    }
    if apply_patch::looks_like(bytes) {
        return Ok(Format::ApplyPatch);
    }
    let line = |wanted: &[u8]| {
        bytes
            .split(|byte| *byte == b'\n')
            .any(|line| line.strip_suffix(b"\r").unwrap_or(line) == wanted)
    };
    let found: Vec<Format> = [
        (Format::EditBlock, line(edit_block::SEARCH)),
        (Format::ApplyPatch, line(apply_patch::BEGIN)),
        (Format::UnifiedDiff, unified_diff::looks_like(bytes)),
    ]
    .into_iter()
    .filter_map(|(format, fits)| fits.then_some(format))
    .collect();
    match found.as_slice() {
        [only] => Ok(*only),
        [] => Err(PatchError::syntax(
            "the text is in no known patch format: no JSON object, no `*** Begin Patch`, no `<<<<<<< SEARCH`, no file header of a diff",
        )
        .with_hint(
            "send a unified diff with `--- a/…` and `+++ b/…` lines, edit blocks, or JSON with `edits` or `files`",
        )),
        [first, second, ..] => Err(PatchError::syntax(format!(
            "the text looks like {first} and like {second}"
        ))
        .with_hint("name the format of the patch instead of leaving it to detection")),
    }
}

fn detect_json(bytes: &[u8]) -> Result<Format, PatchError> {
    let keys: BTreeMap<String, IgnoredAny> = serde_json::from_slice(bytes).map_err(|error| {
        PatchError::syntax(format!("the patch is not valid JSON: {error}"))
            .with_hint("send one JSON object and nothing else")
    })?;
    let hint = "an object with `edits`, or with `path` and one edit, is search-replace, one with `files` is whole-file";
    let edits = search_replace::KEYS
        .iter()
        .find(|key| keys.contains_key(**key));
    match (edits, keys.contains_key("files")) {
        (Some(_), false) => Ok(Format::SearchReplace),
        (None, true) => Ok(Format::WholeFile),
        (Some(key), true) => Err(PatchError::syntax(format!(
            "the JSON patch has both `{key}` and `files`"
        ))
        .with_hint(hint)),
        (None, false) => Err(
            PatchError::syntax("the JSON patch has neither `edits` nor `files`").with_hint(hint),
        ),
    }
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
        assert_eq!(
            detect(br#"{"path": "a", "old_str": "x"}"#),
            Ok(Format::SearchReplace)
        );
        assert_eq!(detect(b"a\n```\n<<<<<<< SEARCH\r\n"), Ok(Format::EditBlock));
        for text in [
            &b"*** Begin Patch\n--- a/x\n+++ b/x\n"[..],
            b"\n <<'EOF'\n*** Begin Patch\n",
            b"Here:\n*** Begin Patch\n",
        ] {
            assert_eq!(detect(text), Ok(Format::ApplyPatch));
        }
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
            kind(b"--- a/x\n+++ b/x\n*** Begin Patch\n"),
            PatchErrorKind::Syntax
        );
        assert_eq!(
            kind(b"<<<<<<< SEARCH\n--- a/x\n+++ b/x\n"),
            PatchErrorKind::Syntax
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

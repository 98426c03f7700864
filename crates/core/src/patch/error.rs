//! Why a patch was refused: one error type for parsing, guarding, placing and committing.
//!
//! The kinds are an interface: their names are stable and appear in reports, transcripts
//! and exit messages. The hint is written for whoever made the patch, often a model: it
//! says what to do next. A refused patch has changed nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::NearMiss;

/// What kind of refusal this is. The text form of each kind never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchErrorKind {
    /// The patch is not well-formed in its format.
    Syntax,
    /// The patch asks for something that is well-formed but not offered.
    Unsupported,
    /// A path is refused: not a repository path, through a symbolic link, or guarded.
    PathDenied,
    /// Two parts of the patch claim the same file or the same bytes.
    Overlap,
    /// A file that has to exist does not.
    Missing,
    /// A file that must not exist does.
    Exists,
    /// A path is a folder, or one of its parents is a file.
    NotAFile,
    /// The file is not the one the patch was made for.
    Stale,
    /// The text that the patch names is not in the file.
    NotFound,
    /// The patch can be read in more than one way.
    Ambiguous,
    /// The patch, or a part of it, changes nothing.
    NoChange,
    /// A size limit was reached.
    Budget,
    /// The planner's own proof of its result failed; a defect of this program.
    Internal,
}

impl PatchErrorKind {
    /// Every kind.
    pub const ALL: [Self; 13] = [
        Self::Syntax,
        Self::Unsupported,
        Self::PathDenied,
        Self::Overlap,
        Self::Missing,
        Self::Exists,
        Self::NotAFile,
        Self::Stale,
        Self::NotFound,
        Self::Ambiguous,
        Self::NoChange,
        Self::Budget,
        Self::Internal,
    ];

    /// The stable name, in snake case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Unsupported => "unsupported",
            Self::PathDenied => "path_denied",
            Self::Overlap => "overlap",
            Self::Missing => "missing",
            Self::Exists => "exists",
            Self::NotAFile => "not_a_file",
            Self::Stale => "stale",
            Self::NotFound => "not_found",
            Self::Ambiguous => "ambiguous",
            Self::NoChange => "no_change",
            Self::Budget => "budget",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for PatchErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A patch was refused; nothing was changed.
///
/// `operation` counts the entries of the request from 1 (edits, files or file sections),
/// `hunk` the hunks of one file section from 1, `lines` are lines of the file from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct PatchError {
    /// The kind, for programs.
    pub kind: PatchErrorKind,
    /// The path as the patch names it.
    pub path: Option<String>,
    /// Which entry of the request.
    pub operation: Option<u32>,
    /// Which hunk of the entry.
    pub hunk: Option<u32>,
    /// The line of every candidate (at most 50), when there are several or the wrong ones.
    pub lines: Vec<u32>,
    /// Where the text that was not found nearly is, if it nearly is anywhere.
    pub near: Option<Box<NearMiss>>,
    /// What is wrong, for people.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

impl PatchError {
    /// An error without a place.
    #[must_use]
    pub fn new(kind: PatchErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            path: None,
            operation: None,
            hunk: None,
            lines: Vec::new(),
            near: None,
            message: message.into(),
            hint: None,
        }
    }

    /// Names the path.
    #[must_use]
    pub fn with_path(mut self, path: impl fmt::Display) -> Self {
        self.path = Some(path.to_string());
        self
    }

    /// Names the entry of the request, from 1.
    #[must_use]
    pub const fn with_operation(mut self, operation: u32) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Names the hunk of the entry, from 1.
    #[must_use]
    pub const fn with_hunk(mut self, hunk: u32) -> Self {
        self.hunk = Some(hunk);
        self
    }

    /// Lists lines of the file, from 1.
    #[must_use]
    pub fn with_lines(mut self, lines: Vec<u32>) -> Self {
        self.lines = lines;
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn syntax(message: impl Into<String>) -> Self {
        Self::new(PatchErrorKind::Syntax, message)
    }
}

/// The 1-based number of the entry at `index`, for errors.
pub(crate) fn ordinal(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_serialized_form() {
        for kind in PatchErrorKind::ALL {
            assert_eq!(
                serde_json::to_value(kind).unwrap(),
                serde_json::Value::from(kind.as_str())
            );
        }
    }

    #[test]
    fn the_json_shape_is_stable() {
        let error = PatchError::new(PatchErrorKind::Ambiguous, "two places")
            .with_path("a.txt")
            .with_operation(2)
            .with_lines(vec![1, 7]);
        assert_eq!(
            serde_json::to_string(&error).unwrap(),
            r#"{"kind":"ambiguous","path":"a.txt","operation":2,"hunk":null,"lines":[1,7],"near":null,"message":"two places","hint":null}"#
        );
    }
}

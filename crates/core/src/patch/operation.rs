//! What a patch asks for, once its format is parsed.
//!
//! Every format ends as a list of [`Operation`]s; every operation refers to the original
//! tree, never to the result of another, so their order carries no meaning. Paths are
//! valid [`RepoPath`]s; everything else is untrusted until the planner has placed it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::Digest;
use crate::repo::{FileMode, RepoPath};

/// An untrusted request to change a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    /// What to do. Numbered from 1 in errors.
    pub operations: Vec<Operation>,
    /// Files that have to be as the author of the patch saw them: the plain SHA-256 of
    /// their bytes. A file that differs or is gone makes the patch `stale`.
    pub bases: BTreeMap<RepoPath, Digest>,
}

/// One entry of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The file that the entry is about; for a rename or copy, the new name.
    pub path: RepoPath,
    /// What happens to it.
    pub action: Action,
}

/// What happens to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Makes a file that must not exist, with the folders it needs.
    Create {
        /// The bytes of the file.
        content: Arc<[u8]>,
        /// `Regular` or `Executable`; a link is `unsupported`.
        mode: FileMode,
    },
    /// Gives an existing file new bytes; its mode stays.
    Replace {
        /// The bytes of the file.
        content: Arc<[u8]>,
    },
    /// Takes an existing file away.
    Delete {
        /// The bytes that the file must hold, if the patch says so.
        expected: Option<Arc<[u8]>>,
        /// The mode that the file must have, if the patch says so.
        mode: Option<FileMode>,
    },
    /// Replaces text by text. Several edits of one file are placed on the same original.
    Edit(Edit),
    /// A file section of a unified diff that is neither a creation nor a deletion.
    Diff(FileDiff),
}

/// Replaces one text by another, found exactly.
///
/// CRLF counts as LF on both sides and a byte order mark at the start of the file is set
/// aside; the file keeps both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The text to find; empty is `syntax`.
    pub old: Vec<u8>,
    /// The text that takes its place.
    pub new: Vec<u8>,
    /// How often `old` may occur.
    pub occurrence: Occurrence,
}

/// How often the old text of an [`Edit`] may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Occurrence {
    /// Exactly once, counting occurrences that overlap each other.
    #[default]
    Once,
    /// Once or more, all replaced; occurrences that overlap each other are `ambiguous`.
    All,
}

/// Changes of one file by hunks, with a change of name or mode if the diff states one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// Where the content comes from.
    pub origin: Origin,
    /// The mode that the source must have, if stated.
    pub old_mode: Option<FileMode>,
    /// The mode that the result gets, if stated; else it keeps the source's.
    pub new_mode: Option<FileMode>,
    /// Changes of the content, in ascending order; may be empty.
    pub hunks: Vec<Hunk>,
}

/// Where the content of a changed file comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The file itself.
    Same,
    /// Another file, which goes away.
    RenamedFrom(RepoPath),
    /// Another file, which stays.
    CopiedFrom(RepoPath),
}

/// One hunk: a run of whole lines and what takes its place, byte-exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The stated line, from 1; with no old lines, the line after which to insert.
    pub old_start: u32,
    /// The old lines with their ends, context included.
    pub old: Vec<u8>,
    /// The new lines with their ends, context included.
    pub new: Vec<u8>,
    /// Whether the hunk has to end the file.
    pub tail: Tail,
}

/// What follows the lines of a [`Hunk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// The hunk ends in context; anything may follow.
    Open,
    /// The hunk has no trailing context, so it must end the file.
    EndOfFile,
}

impl Operation {
    /// The path whose file goes away, if any.
    #[must_use]
    pub fn removed(&self) -> Option<&RepoPath> {
        match &self.action {
            Action::Delete { .. } => Some(&self.path),
            Action::Diff(diff) => match &diff.origin {
                Origin::RenamedFrom(from) => Some(from),
                Origin::Same | Origin::CopiedFrom(_) => None,
            },
            Action::Create { .. } | Action::Replace { .. } | Action::Edit(_) => None,
        }
    }

    /// The path whose file is written, if any.
    #[must_use]
    pub const fn written(&self) -> Option<&RepoPath> {
        match &self.action {
            Action::Delete { .. } => None,
            Action::Create { .. } | Action::Replace { .. } | Action::Edit(_) | Action::Diff(_) => {
                Some(&self.path)
            }
        }
    }

    /// The path whose content is read, if any.
    #[must_use]
    pub const fn read(&self) -> Option<&RepoPath> {
        match &self.action {
            Action::Create { .. } => None,
            Action::Replace { .. } | Action::Delete { .. } | Action::Edit(_) => Some(&self.path),
            Action::Diff(diff) => match &diff.origin {
                Origin::Same => Some(&self.path),
                Origin::RenamedFrom(from) | Origin::CopiedFrom(from) => Some(from),
            },
        }
    }

    fn payload_bytes(&self) -> usize {
        match &self.action {
            Action::Create { content, .. } | Action::Replace { content } => content.len(),
            Action::Delete { expected, .. } => expected.as_ref().map_or(0, |bytes| bytes.len()),
            Action::Edit(edit) => edit.old.len().saturating_add(edit.new.len()),
            Action::Diff(diff) => diff
                .hunks
                .iter()
                .map(|hunk| hunk.old.len().saturating_add(hunk.new.len()))
                .fold(0, usize::saturating_add),
        }
    }
}

impl Patch {
    /// A patch without conditions on the files' bytes.
    #[must_use]
    pub const fn new(operations: Vec<Operation>) -> Self {
        Self {
            operations,
            bases: BTreeMap::new(),
        }
    }

    /// Every path that the patch would write or take away, sorted. A copy's source is not
    /// among them.
    #[must_use]
    pub fn touched(&self) -> BTreeSet<&RepoPath> {
        self.operations
            .iter()
            .flat_map(|operation| [operation.removed(), operation.written()])
            .flatten()
            .collect()
    }

    /// The bytes of all texts and contents that the patch carries.
    #[must_use]
    pub fn payload_bytes(&self) -> usize {
        self.operations
            .iter()
            .map(Operation::payload_bytes)
            .fold(0, usize::saturating_add)
    }
}

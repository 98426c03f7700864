//! What a patch asks for, once its format is parsed.
//!
//! Every format ends as a list of [`Operation`]s; every operation refers to the original
//! tree, never to the result of another, so their order carries no meaning. Paths are
//! valid [`RepoPath`]s; everything else is untrusted until the planner has placed it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::BlobId;
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
        /// What the file must hold, if the patch says so.
        expected: Option<Expected>,
        /// The mode that the file must have, if the patch says so.
        mode: Option<FileMode>,
    },
    /// Replaces text by text. Several edits and insertions of one file are placed on the
    /// same original.
    Edit(Edit),
    /// Puts whole lines between two lines.
    Insert(Insert),
    /// A file section of a unified diff that is neither a creation nor a deletion.
    Diff(FileDiff),
    /// An `*** Update File` section of the apply-patch format.
    Update(Update),
}

/// What a file to be deleted must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// Bytes that git names so.
    Blob(BlobId),
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
    /// What `old` and `new` are runs of.
    pub unit: Unit,
}

/// What the texts of an [`Edit`] are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// Characters: the old text may start and end anywhere in a line.
    #[default]
    Text,
    /// Whole lines, each ending in LF; the last line of a file matches without one.
    Lines,
}

/// Puts whole lines into a file. They take the line end of their neighbour; behind a last
/// line without a newline, the last of them has none either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insert {
    /// The line, from 1, behind which the text goes; 0 is the top of the file.
    pub after_line: u32,
    /// The lines, each ending in LF; not empty.
    pub text: Vec<u8>,
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
    /// Changes of the content.
    pub content: Content,
}

/// How a [`FileDiff`] changes the content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// By hunks, in ascending order; with none, the content stays.
    Hunks(Vec<Hunk>),
    /// By a binary hunk of git.
    Binary(BinaryDiff),
}

/// A binary hunk of git with the ids of its full index line (`git apply` asks for both).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinaryDiff {
    /// What the file must hold; otherwise the patch is `stale`.
    pub old: BlobId,
    /// What the result must hold.
    pub new: BlobId,
    /// How the result is made.
    pub data: BinaryData,
}

/// The data of a binary hunk, decompressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BinaryData {
    /// The whole result.
    Literal(Arc<[u8]>),
    /// Instructions that make the result from the old content, in the form of git's packs.
    Delta(Arc<[u8]>),
}

/// Changes of one file by chunks, each found by its own lines; no line numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// Where the content comes from, if the file is moved; that file goes away.
    pub moved_from: Option<RepoPath>,
    /// The changes, in the order in which they stand in the file; not empty.
    pub chunks: Vec<Chunk>,
}

/// One chunk of an [`Update`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Whole lines, without their ends, that come before the chunk, one after the other.
    /// Each has to be the only one of its kind below the one before.
    pub anchors: Vec<Vec<u8>>,
    /// The lines, each after a space (stays), `-` (goes) or `+` (comes), each ending in LF.
    pub body: Vec<u8>,
    /// Whether the chunk has to end the file.
    pub tail: Tail,
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

/// What follows the lines of a [`Hunk`] or [`Chunk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// Anything may follow.
    Open,
    /// Nothing: a hunk without trailing context, or a chunk that says so.
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
            Action::Update(update) => update.moved_from.as_ref(),
            Action::Create { .. }
            | Action::Replace { .. }
            | Action::Edit(_)
            | Action::Insert(_) => None,
        }
    }

    /// The path whose file is written, if any.
    #[must_use]
    pub const fn written(&self) -> Option<&RepoPath> {
        match &self.action {
            Action::Delete { .. } => None,
            Action::Create { .. }
            | Action::Replace { .. }
            | Action::Edit(_)
            | Action::Insert(_)
            | Action::Diff(_)
            | Action::Update(_) => Some(&self.path),
        }
    }

    /// The path whose content is read, if any.
    #[must_use]
    pub fn read(&self) -> Option<&RepoPath> {
        match &self.action {
            Action::Create { .. } => None,
            Action::Replace { .. }
            | Action::Delete { .. }
            | Action::Edit(_)
            | Action::Insert(_) => Some(&self.path),
            Action::Diff(diff) => match &diff.origin {
                Origin::Same => Some(&self.path),
                Origin::RenamedFrom(from) | Origin::CopiedFrom(from) => Some(from),
            },
            Action::Update(update) => Some(update.moved_from.as_ref().unwrap_or(&self.path)),
        }
    }

    fn payload_bytes(&self) -> usize {
        match &self.action {
            Action::Create { content, .. } | Action::Replace { content } => content.len(),
            Action::Delete { expected, .. } => match expected {
                Some(Expected::Bytes(bytes)) => bytes.len(),
                Some(Expected::Blob(_)) | None => 0,
            },
            Action::Edit(edit) => edit.old.len().saturating_add(edit.new.len()),
            Action::Insert(insert) => insert.text.len(),
            Action::Diff(diff) => match &diff.content {
                Content::Hunks(hunks) => sum(hunks
                    .iter()
                    .map(|hunk| hunk.old.len().saturating_add(hunk.new.len()))),
                Content::Binary(binary) => match &binary.data {
                    BinaryData::Literal(bytes) | BinaryData::Delta(bytes) => bytes.len(),
                },
            },
            Action::Update(update) => sum(update.chunks.iter().map(|chunk| {
                sum(chunk.anchors.iter().map(Vec::len)).saturating_add(chunk.body.len())
            })),
        }
    }

    /// How many hunks, chunks and anchors have to be found.
    pub(super) fn places(&self) -> usize {
        match &self.action {
            Action::Create { .. } | Action::Replace { .. } | Action::Delete { .. } => 0,
            Action::Edit(_) | Action::Insert(_) => 1,
            Action::Diff(diff) => match &diff.content {
                Content::Hunks(hunks) => hunks.len(),
                Content::Binary(_) => 0,
            },
            Action::Update(update) => sum(update
                .chunks
                .iter()
                .map(|chunk| chunk.anchors.len().saturating_add(1))),
        }
    }
}

fn sum(counts: impl Iterator<Item = usize>) -> usize {
    counts.fold(0, usize::saturating_add)
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
        sum(self.operations.iter().map(Operation::payload_bytes))
    }
}

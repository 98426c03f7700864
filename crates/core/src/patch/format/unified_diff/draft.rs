//! What a file section asks for, with names as they were written.
//!
//! Here the lines of one section are checked against each other: a creation has only new
//! lines, a rename is named the same everywhere, a section asks for something at all.

use std::sync::Arc;

use super::header::{GitNames, StatedMode};
use super::section::{Binary, Extended, Name, Section};
use crate::patch::delta::Delta;
use crate::patch::{BinaryData, BinaryDiff, BlobId, Content, Expected, Hunk, PatchError};
use crate::repo::FileMode;

/// A name as written, and the prefix it has to start with.
pub(super) struct RawPath {
    pub(super) name: Vec<u8>,
    pub(super) prefix: &'static [u8],
}

/// Where the content of a changed file comes from.
pub(super) enum Source {
    Same,
    Renamed(RawPath),
    Copied(RawPath),
}

/// What a section asks for.
pub(super) enum Change {
    Create {
        content: Arc<[u8]>,
        mode: FileMode,
    },
    Delete {
        expected: Expected,
        mode: Option<FileMode>,
    },
    Diff {
        source: Source,
        old_mode: Option<FileMode>,
        new_mode: Option<FileMode>,
        content: Content,
    },
}

/// An operation whose paths are not judged yet.
pub(super) struct Draft {
    pub(super) path: RawPath,
    pub(super) change: Change,
    /// Why the section is not offered, if it is not.
    pub(super) unsupported: Option<&'static str>,
}

const LINK: &str = "links, submodules and folders cannot be changed by a patch";
const NAMED: &str = "the diff only says that binary files differ, not how";
const SHORT_IDS: &str = "a binary hunk needs an `index` line with both ids in full";
const AGREE: &str = "the names in `diff --git`, `rename`, `---` and `+++` have to agree";

/// Reads a section as one request.
pub(super) fn draft(section: Section<'_>) -> Result<Draft, PatchError> {
    let line = section.line;
    let refuse = |what: &str| {
        PatchError::syntax(format!(
            "the file section at line {line} of the patch {what}"
        ))
        .with_hint("write the section as `git diff` does")
    };
    let unsupported = unsupported(&section.extended);
    refuse_lost_content(&section, &refuse)?;
    let extended = &section.extended;
    let moved = [&extended.rename, &extended.copy]
        .iter()
        .any(|(from, to)| from.is_some() || to.is_some());
    let (path, change) = match (extended.created, extended.deleted, moved) {
        (None, None, true) => moved_file(section, refuse)?,
        (None, None, false) => named_file(section, refuse)?,
        (Some(_), None, false) | (None, Some(_), false) => git_file(section, refuse)?,
        (Some(_), _, true) | (_, Some(_), true) | (Some(_), Some(_), false) => {
            return Err(refuse(
                "says two of: new file, deleted file, rename or copy",
            ));
        }
    };
    Ok(Draft {
        path,
        change,
        unsupported,
    })
}

/// Refuses a section whose header lines state other content, but which shows none: it was
/// cut off, or its hunks were lost.
fn refuse_lost_content(
    section: &Section<'_>,
    refuse: &impl Fn(&str) -> PatchError,
) -> Result<(), PatchError> {
    let extended = &section.extended;
    if !section.hunks.is_empty() || extended.binary.is_some() {
        return Ok(());
    }
    let other_ids = extended.stated_ids.as_ref().is_some_and(|(old, new)| {
        let (old, new) = (old.as_slice(), new.as_slice());
        if extended.created.is_some() {
            !names_nothing(new)
        } else if extended.deleted.is_some() {
            !names_nothing(old)
        } else {
            old != new
        }
    });
    if other_ids || extended.similarity.is_some_and(|percent| percent < 100) {
        return Err(
            refuse("states other content, but shows no change of it").with_hint(
                "the diff was cut off or lost its hunks: make it again with `git diff --binary`",
            ),
        );
    }
    Ok(())
}

/// Whether an id, perhaps abbreviated, can be that of empty content, by SHA-1 or SHA-256.
fn names_nothing(id: &[u8]) -> bool {
    [BlobId::sha1_of(b""), BlobId::sha256_of(b"")]
        .iter()
        .any(|empty| empty.to_string().as_bytes().starts_with(id))
}

fn unsupported(extended: &Extended) -> Option<&'static str> {
    let stated = [
        extended.old_mode,
        extended.new_mode,
        extended.created,
        extended.deleted,
        extended.index_mode,
    ];
    if stated.contains(&Some(StatedMode::Other)) {
        Some(LINK)
    } else {
        match (&extended.binary, &extended.ids) {
            (Some(Binary::Named), _) => Some(NAMED),
            (Some(Binary::Data(_)), None) => Some(SHORT_IDS),
            (Some(Binary::Data(_)), Some(_)) | (None, _) => None,
        }
    }
}

fn file_mode(stated: StatedMode) -> FileMode {
    match stated {
        StatedMode::Executable => FileMode::Executable,
        // `Other` has been marked as unsupported.
        StatedMode::Regular | StatedMode::Other => FileMode::Regular,
    }
}

/// A rename or copy, which `diff --git` starts.
fn moved_file(
    mut section: Section<'_>,
    refuse: impl Fn(&str) -> PatchError,
) -> Result<(RawPath, Change), PatchError> {
    let content = content(&mut section, &refuse)?;
    let Extended {
        rename,
        copy,
        old_mode,
        new_mode,
        ..
    } = section.extended;
    type Wrap = fn(RawPath) -> Source;
    let (from, to, wrap): (_, _, Wrap) = match (rename, copy) {
        ((Some(from), Some(to)), (None, None)) => (from, to, Source::Renamed),
        ((None, None), (Some(from), Some(to))) => (from, to, Source::Copied),
        ((_, _), (_, _)) => return Err(refuse("lacks one half of its rename or copy")),
    };
    let (old, new) = ([b"a/", &*from].concat(), [b"b/", &*to].concat());
    let header_agrees = section
        .git
        .is_some_and(|names| names.agree_with(&old, &new));
    let names_agree = section
        .names
        .is_none_or(|names| names == (Name::File(old), Name::File(new)));
    if !header_agrees || !names_agree || from == to {
        return Err(refuse("names different files in its header lines").with_hint(AGREE));
    }
    let bare = |name| RawPath { name, prefix: b"" };
    Ok((
        bare(to),
        Change::Diff {
            source: wrap(bare(from)),
            old_mode: old_mode.map(file_mode),
            new_mode: new_mode.map(file_mode),
            content,
        },
    ))
}

/// How the section changes content that stays, and that nothing contradicts it.
fn content(
    section: &mut Section<'_>,
    refuse: &impl Fn(&str) -> PatchError,
) -> Result<Content, PatchError> {
    let hunks = std::mem::take(&mut section.hunks);
    match (section.extended.binary.take(), section.extended.ids) {
        (Some(Binary::Data(data)), Some((old, new))) => {
            if old.is_null() || new.is_null() {
                return Err(refuse("creates or deletes a binary file without saying so")
                    .with_hint("state `new file mode 100644` or `deleted file mode 100644`"));
            }
            check_literal(&data, new, refuse)?;
            Ok(Content::Binary(BinaryDiff { old, new, data }))
        }
        // The rest has been marked as unsupported.
        (Some(_) | None, _) => Ok(Content::Hunks(hunks)),
    }
}

/// Whether a whole new content is the one that the `index` line names.
fn check_literal(
    data: &BinaryData,
    id: BlobId,
    refuse: &impl Fn(&str) -> PatchError,
) -> Result<(), PatchError> {
    match data {
        BinaryData::Literal(bytes) if !id.names(bytes) => Err(refuse(
            "has binary data that is not what its `index` line names",
        )
        .with_hint("make the diff again with `git diff --binary`, and keep it as it is")),
        BinaryData::Literal(_) | BinaryData::Delta(_) => Ok(()),
    }
}

/// A creation or deletion that git's extended headers state.
fn git_file(
    section: Section<'_>,
    refuse: impl Fn(&str) -> PatchError,
) -> Result<(RawPath, Change), PatchError> {
    if section.extended.old_mode.is_some() || section.extended.new_mode.is_some() {
        return Err(
            refuse("changes the mode of a file that it creates or deletes")
                .with_hint("a created file states its mode in `new file mode`"),
        );
    }
    let created = section.extended.created.is_some();
    let expected = "a new file has `--- /dev/null`, a deleted one `+++ /dev/null`";
    let name = match (&section.names, created) {
        (Some((Name::Nothing, Name::File(name))), true)
        | (Some((Name::File(name), Name::Nothing)), false) => Some(name.clone()),
        (None, _) => None,
        (Some(_), _) => return Err(refuse("names the wrong files").with_hint(expected)),
    };
    let path = match (name, &section.git) {
        (Some(name), Some(names)) => {
            check_header(names, &name, &refuse)?;
            RawPath {
                name,
                prefix: if created { b"b/" } else { b"a/" },
            }
        }
        (Some(_), None) => return Err(refuse("has no `diff --git` line")),
        (None, names) => header_path(names.as_ref(), &refuse)?,
    };
    let modes = (section.extended.created, section.extended.deleted);
    let hunks = section.hunks;
    let change = match (modes, section.extended.binary, section.extended.ids) {
        ((Some(mode), _), Some(Binary::Data(data)), Some((old, new))) => {
            binary_creation(&data, (old, new), file_mode(mode), &refuse)?
        }
        ((None, mode), Some(Binary::Data(data)), Some((old, new))) => {
            binary_deletion(&data, (old, new), mode.map(file_mode), &refuse)?
        }
        // Other binary sections have been marked as unsupported.
        ((Some(mode), _), _, _) => creation(hunks, file_mode(mode), &refuse)?,
        ((None, mode), _, _) => deletion(hunks, mode.map(file_mode), &refuse)?,
    };
    Ok((path, change))
}

fn binary_creation(
    data: &BinaryData,
    (old, new): (BlobId, BlobId),
    mode: FileMode,
    refuse: &impl Fn(&str) -> PatchError,
) -> Result<Change, PatchError> {
    check_literal(data, new, refuse)?;
    let content = match data {
        BinaryData::Literal(bytes) => Some(Arc::clone(bytes)),
        BinaryData::Delta(bytes) => Delta::parse(bytes)
            .and_then(|delta| delta.apply(b""))
            .filter(|bytes| new.names(bytes))
            .map(Arc::from),
    };
    match content {
        Some(content) if old.is_null() => Ok(Change::Create { content, mode }),
        Some(_) | None => Err(refuse("creates a binary file, but not from nothing")
            .with_hint("make the diff again with `git diff --binary`, and keep it as it is")),
    }
}

fn binary_deletion(
    data: &BinaryData,
    (old, new): (BlobId, BlobId),
    mode: Option<FileMode>,
    refuse: &impl Fn(&str) -> PatchError,
) -> Result<Change, PatchError> {
    let leaves_nothing = match data {
        BinaryData::Literal(bytes) => bytes.is_empty(),
        BinaryData::Delta(bytes) => Delta::parse(bytes).is_some_and(|delta| delta.result == 0),
    };
    if !leaves_nothing || !new.is_null() || old.is_null() {
        return Err(refuse("deletes a binary file, but leaves something of it")
            .with_hint("make the diff again with `git diff --binary`, and keep it as it is"));
    }
    Ok(Change::Delete {
        expected: Expected::Blob(old),
        mode,
    })
}

/// Whether the `diff --git` line agrees with the one name that `---` or `+++` gives. A
/// name without a prefix is left to be refused as such.
fn check_header(
    names: &GitNames<'_>,
    name: &[u8],
    refuse: &impl Fn(&str) -> PatchError,
) -> Result<(), PatchError> {
    let Some(bare) = name
        .strip_prefix(b"a/")
        .or_else(|| name.strip_prefix(b"b/"))
    else {
        return Ok(());
    };
    if names.agree_with(&[b"a/", bare].concat(), &[b"b/", bare].concat()) {
        return Ok(());
    }
    Err(refuse("names different files in its header lines").with_hint(AGREE))
}

/// The path when only the `diff --git` line names the file.
fn header_path(
    names: Option<&GitNames<'_>>,
    refuse: &impl Fn(&str) -> PatchError,
) -> Result<RawPath, PatchError> {
    let (old, new) = names
        .and_then(GitNames::of_one_file)
        .ok_or_else(|| refuse("does not say which file it is about").with_hint(AGREE))?;
    // A name without its prefix is refused when paths are judged.
    Ok(if old.starts_with(b"a/") {
        RawPath {
            name: new,
            prefix: b"b/",
        }
    } else {
        RawPath {
            name: old,
            prefix: b"a/",
        }
    })
}

/// A change in place, or a creation or deletion that only `/dev/null` states.
fn named_file(
    mut section: Section<'_>,
    refuse: impl Fn(&str) -> PatchError,
) -> Result<(RawPath, Change), PatchError> {
    let modes = (
        section.extended.old_mode.map(file_mode),
        section.extended.new_mode.map(file_mode),
    );
    let git = section.git.as_ref();
    let path = match (section.names.take(), git) {
        (Some((Name::Nothing, Name::File(name))), None) => {
            let path = RawPath {
                name,
                prefix: b"b/",
            };
            let change = creation(section.hunks, FileMode::Regular, &refuse)?;
            return Ok((path, change));
        }
        (Some((Name::File(name), Name::Nothing)), None) => {
            let path = RawPath {
                name,
                prefix: b"a/",
            };
            return Ok((path, deletion(section.hunks, None, &refuse)?));
        }
        (Some((Name::File(old), Name::File(new))), git) => changed_path(&old, new, git, &refuse)?,
        (None, git) => header_path(git, &refuse)?,
        (Some((_, _)), _) => {
            return Err(
                refuse("names `/dev/null` without saying what it does").with_hint(
                    "state `new file mode 100644` or `deleted file mode 100644` after `diff --git`",
                ),
            );
        }
    };
    let empty = section.hunks.is_empty() && modes == (None, None);
    if empty && section.extended.binary.is_none() {
        return Err(refuse("asks for no change")
            .with_hint("leave the section out, or add the hunks that belong to it"));
    }
    let (old_mode, new_mode) = modes;
    Ok((
        path,
        Change::Diff {
            source: Source::Same,
            old_mode,
            new_mode,
            content: content(&mut section, &refuse)?,
        },
    ))
}

/// The path of a file that `---` and `+++` both name.
fn changed_path(
    old: &[u8],
    new: Vec<u8>,
    git: Option<&GitNames<'_>>,
    refuse: &impl Fn(&str) -> PatchError,
) -> Result<RawPath, PatchError> {
    let bare = (old.strip_prefix(b"a/"), new.strip_prefix(b"b/"));
    if let (Some(from), Some(to)) = bare {
        if from != to {
            return Err(refuse("names two files").with_hint(
                "to rename a file, start with `diff --git` and state `rename from` and `rename to`",
            ));
        }
        if git.is_some_and(|names| !names.agree_with(old, &new)) {
            return Err(refuse("names different files in its header lines").with_hint(AGREE));
        }
        return Ok(RawPath {
            name: new,
            prefix: b"b/",
        });
    }
    // One of the two has no prefix: that one is refused when paths are judged.
    Ok(match bare.0 {
        None => RawPath {
            name: old.to_vec(),
            prefix: b"a/",
        },
        Some(_) => RawPath {
            name: new,
            prefix: b"b/",
        },
    })
}

fn creation(
    hunks: Vec<Hunk>,
    mode: FileMode,
    refuse: &impl Fn(&str) -> PatchError,
) -> Result<Change, PatchError> {
    let mut hunks = hunks.into_iter();
    let content = match (hunks.next(), hunks.next()) {
        (None, _) => Vec::new(),
        (Some(hunk), None) if hunk.old.is_empty() => hunk.new,
        (Some(_), _) => {
            return Err(refuse("creates a file, but not from one hunk of `+` lines")
                .with_hint("a new file has one hunk `@@ -0,0 +1,count @@`"));
        }
    };
    Ok(Change::Create {
        content: Arc::from(content),
        mode,
    })
}

fn deletion(
    hunks: Vec<Hunk>,
    mode: Option<FileMode>,
    refuse: &impl Fn(&str) -> PatchError,
) -> Result<Change, PatchError> {
    let mut hunks = hunks.into_iter();
    let expected = match (hunks.next(), hunks.next()) {
        (None, _) => Vec::new(),
        (Some(hunk), None) if hunk.new.is_empty() => hunk.old,
        (Some(_), _) => {
            return Err(refuse("deletes a file, but not by one hunk of `-` lines")
                .with_hint("a deleted file has one hunk `@@ -1,count +0,0 @@`"));
        }
    };
    Ok(Change::Delete {
        expected: Expected::Bytes(Arc::from(expected)),
        mode,
    })
}

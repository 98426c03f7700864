//! One file section of a diff, read and checked for shape, not yet for meaning.

use super::header::{GitNames, StatedMode, file_name, mode, whole_name};
use super::{binary, hunk};
use crate::patch::error::ordinal;
use crate::patch::format::base::BaseLines;
use crate::patch::format::lines::{Cursor, Line};
use crate::patch::plan::MAX_HUNKS;
use crate::patch::{BinaryData, BlobId, Hunk, PatchError, PatchErrorKind};

/// A name in a `---` or `+++` line.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Name {
    /// `/dev/null`.
    Nothing,
    /// A name with its prefix.
    File(Vec<u8>),
}

/// What git's extended headers state.
#[derive(Default)]
pub(super) struct Extended {
    pub(super) old_mode: Option<StatedMode>,
    pub(super) new_mode: Option<StatedMode>,
    pub(super) created: Option<StatedMode>,
    pub(super) deleted: Option<StatedMode>,
    pub(super) index_mode: Option<StatedMode>,
    /// The two ids of the `index` line, if both are given in full.
    pub(super) ids: Option<(BlobId, BlobId)>,
    /// The same as they are written, abbreviated or not.
    pub(super) stated_ids: Option<(Vec<u8>, Vec<u8>)>,
    /// How alike a moved file and its source are, in per cent.
    pub(super) similarity: Option<u32>,
    pub(super) rename: (Option<Vec<u8>>, Option<Vec<u8>>),
    pub(super) copy: (Option<Vec<u8>>, Option<Vec<u8>>),
    pub(super) binary: Option<Binary>,
}

/// What a section says of binary content.
pub(super) enum Binary {
    /// That it differs.
    Named,
    /// How it differs.
    Data(BinaryData),
}

/// A file section.
pub(super) struct Section<'a> {
    /// The line of the patch where it starts.
    pub(super) line: u32,
    /// Present if it starts with `diff --git`.
    pub(super) git: Option<GitNames<'a>>,
    pub(super) extended: Extended,
    /// The `---` and `+++` lines.
    pub(super) names: Option<(Name, Name)>,
    pub(super) hunks: Vec<Hunk>,
}

impl Section<'_> {
    /// The file as the header lines name it, without its prefix, for errors.
    fn shown_name(&self) -> Option<String> {
        let (old, new) = self.names.as_ref()?;
        let name = match (new, old) {
            (Name::File(name), _) | (Name::Nothing, Name::File(name)) => name,
            (Name::Nothing, Name::Nothing) => return None,
        };
        let bare = name
            .strip_prefix(b"a/")
            .or_else(|| name.strip_prefix(b"b/"))
            .unwrap_or(name);
        Some(String::from_utf8_lossy(bare).into_owned())
    }
}

/// What is left of the patch's limits.
pub(super) struct Room {
    pub(super) hunks: usize,
    /// How many bytes binary data may still decompress to.
    pub(super) binary: usize,
}

/// Reads the next file section. Prose before it is skipped, except for conditions.
pub(super) fn next<'a>(
    cursor: &mut Cursor<'a>,
    bases: &mut BaseLines,
    room: &mut Room,
) -> Result<Option<Section<'a>>, PatchError> {
    loop {
        let Some(line) = cursor.peek() else {
            return Ok(None);
        };
        if let Some(names) = line.bytes.strip_prefix(b"diff --git ") {
            cursor.next();
            return git_section(cursor, line, names, room).map(Some);
        }
        if cursor.at_file_header() {
            let mut section = Section {
                line: line.number,
                git: None,
                extended: Extended::default(),
                names: None,
                hunks: Vec::new(),
            };
            files_and_hunks(cursor, &mut section, room)?;
            return Ok(Some(section));
        }
        if line.bytes.starts_with(b"@@ ") {
            return Err(PatchError::syntax(format!(
                "the hunk at line {} of the patch belongs to no file",
                line.number
            ))
            .with_hint(
                "put `--- a/<path>` and `+++ b/<path>` before the first hunk of each file",
            ));
        }
        bases.prose(line.text(), line.number)?;
        refuse_stated_change(line)?;
        cursor.next();
    }
}

fn git_section<'a>(
    cursor: &mut Cursor<'a>,
    line: Line<'a>,
    names: &'a [u8],
    room: &mut Room,
) -> Result<Section<'a>, PatchError> {
    let names = GitNames::read(names)
        .ok_or_else(|| malformed(line, "a `diff --git` line with two names"))?;
    let mut section = Section {
        line: line.number,
        git: Some(names),
        extended: Extended::default(),
        names: None,
        hunks: Vec::new(),
    };
    while let Some(line) = cursor.peek() {
        if !extended_header(&mut section.extended, line)? {
            break;
        }
        if !line.terminated {
            return Err(cut_off(line));
        }
        cursor.next();
    }
    if cursor.at_file_header() {
        files_and_hunks(cursor, &mut section, room)?;
    } else if let Some(line) = cursor.peek()
        && line.bytes == binary::MARK
    {
        cursor.next();
        section.extended.binary = Some(Binary::Data(binary::read(cursor, line, &mut room.binary)?));
    } else if let Some(line) = cursor.peek()
        && line.bytes.starts_with(b"Binary files ")
    {
        cursor.next();
        section.extended.binary = Some(Binary::Named);
    } else if let Some(line) = cursor.peek()
        && line.bytes.starts_with(b"--- ")
    {
        return Err(PatchError::syntax(format!(
            "no `+++` line follows line {} of the patch",
            line.number
        ))
        .with_hint("the diff was cut off or lost lines: make it again"));
    } else if let Some(line) = cursor.peek()
        && !line.terminated
    {
        // It may be the beginning of a header line.
        return Err(cut_off(line));
    }
    Ok(section)
}

fn cut_off(line: Line<'_>) -> PatchError {
    PatchError::syntax(format!("the patch is cut off in line {}", line.number))
        .with_hint("end every line of the patch with a newline, the last one too")
}

/// Refuses a line of prose that states a change: what it is about would be left out.
fn refuse_stated_change(line: Line<'_>) -> Result<(), PatchError> {
    let text = line.text();
    let between = |start: &[u8], end: &[u8]| text.starts_with(start) && text.ends_with(end);
    let single_words = |text: &[u8]| {
        let mut halves = text.split(|byte| *byte == b':');
        let word = |half: Option<&[u8]>| {
            half.is_some_and(|half| {
                let half = half.trim_ascii();
                !half.is_empty() && !half.contains(&b' ')
            })
        };
        word(halves.next()) && word(halves.next()) && halves.next().is_none()
    };
    let only_in = text.strip_prefix(b"Only in ").is_some_and(single_words);
    let submodule = text.strip_prefix(b"Submodule ").is_some_and(|rest| {
        let range = rest.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        let range = range.strip_suffix(b":").unwrap_or(range);
        memchr::memmem::find(range, b"..").is_some()
    });
    let combined = text.starts_with(b"diff --cc ") || text.starts_with(b"diff --combined ");
    let differs = between(b"Binary files ", b" differ") || between(b"Files ", b" differ");
    if only_in || submodule || combined || differs {
        return Err(PatchError::new(
            PatchErrorKind::Unsupported,
            format!(
                "line {} of the patch says that something else changes, but not how",
                line.number
            ),
        )
        .with_hint("make the diff with `git diff --binary`, or leave the line out"));
    }
    let data = [&b"literal "[..], b"delta "].iter().any(|key| {
        text.strip_prefix(*key)
            .is_some_and(|size| !size.is_empty() && size.iter().all(u8::is_ascii_digit))
    });
    if data || text == binary::MARK {
        return Err(PatchError::syntax(format!(
            "the binary data at line {} of the patch belongs to no file",
            line.number
        ))
        .with_hint("binary data follows the `index` line of its file, and no text hunks do"));
    }
    Ok(())
}

fn malformed(line: Line<'_>, expected: &str) -> PatchError {
    PatchError::syntax(format!(
        "line {} of the patch is not {expected}",
        line.number
    ))
    .with_hint("copy the header lines as `git diff` writes them, with LF line ends")
}

/// Takes `line` in if it is an extended header.
fn extended_header(extended: &mut Extended, line: Line<'_>) -> Result<bool, PatchError> {
    fn once<T>(slot: &mut Option<T>, value: Option<T>, line: Line<'_>) -> Result<bool, PatchError> {
        if slot.is_some() {
            return Err(malformed(line, "stated once"));
        }
        *slot = Some(value.ok_or_else(|| malformed(line, "a header with a valid value"))?);
        Ok(true)
    }
    let bytes = line.bytes;
    let value = |key: &str| bytes.strip_prefix(key.as_bytes());
    if let Some(text) = value("old mode ") {
        once(&mut extended.old_mode, mode(text), line)
    } else if let Some(text) = value("new mode ") {
        once(&mut extended.new_mode, mode(text), line)
    } else if let Some(text) = value("new file mode ") {
        once(&mut extended.created, mode(text), line)
    } else if let Some(text) = value("deleted file mode ") {
        once(&mut extended.deleted, mode(text), line)
    } else if let Some(text) = value("rename from ") {
        once(&mut extended.rename.0, whole_name(text), line)
    } else if let Some(text) = value("rename to ") {
        once(&mut extended.rename.1, whole_name(text), line)
    } else if let Some(text) = value("copy from ") {
        once(&mut extended.copy.0, whole_name(text), line)
    } else if let Some(text) = value("copy to ") {
        once(&mut extended.copy.1, whole_name(text), line)
    } else if let Some(text) = value("index ") {
        let (ids, stated_mode) = match text.iter().rposition(|byte| *byte == b' ') {
            Some(at) => (text.get(..at), text.get(at.saturating_add(1)..)),
            None => (Some(text), None),
        };
        let pair = ids.and_then(id_pair);
        extended.ids = pair.and_then(|(old, new)| {
            let ids = (BlobId::parse(old)?, BlobId::parse(new)?);
            ids.0.is_like(&ids.1).then_some(ids)
        });
        let stated = pair.map(|(old, new)| (old.to_vec(), new.to_vec()));
        once(&mut extended.stated_ids, stated, line)?;
        match stated_mode {
            Some(text) => once(&mut extended.index_mode, mode(text), line),
            None => Ok(true),
        }
    } else if let Some(text) = value("similarity index ") {
        once(&mut extended.similarity, percentage(text), line)
    } else {
        Ok(value("dissimilarity index ").is_some())
    }
}

/// Reads `<old>..<new>`.
fn id_pair(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memmem::find(text, b"..")?;
    let (old, new) = text.split_at_checked(at)?;
    let new = new.get(2..)?;
    let is_id = |id: &[u8]| !id.is_empty() && id.iter().all(u8::is_ascii_hexdigit);
    (is_id(old) && is_id(new)).then_some((old, new))
}

/// Reads a share of at most 100 %.
fn percentage(text: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(text.strip_suffix(b"%")?).ok()?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let percent: u32 = plain.then(|| digits.parse().ok()).flatten()?;
    (percent <= 100).then_some(percent)
}

fn files_and_hunks(
    cursor: &mut Cursor<'_>,
    section: &mut Section<'_>,
    room: &mut Room,
) -> Result<(), PatchError> {
    let (Some(old), Some(new)) = (cursor.next(), cursor.next()) else {
        return Ok(());
    };
    section.names = Some((name(old, b"--- ")?, name(new, b"+++ ")?));
    while let Some(line) = cursor.peek() {
        if !line.bytes.starts_with(b"@@") {
            break;
        }
        cursor.next();
        let number = ordinal(section.hunks.len());
        let hunk = hunk::read(cursor, line).map_err(|error| {
            let error = error.with_hunk(number);
            match section.shown_name() {
                Some(name) => error.with_path(name),
                None => error,
            }
        })?;
        section.hunks.push(hunk);
        room.hunks = room.hunks.checked_sub(1).ok_or_else(|| {
            PatchError::new(
                PatchErrorKind::Budget,
                format!("the patch has more than {MAX_HUNKS} hunks"),
            )
            .with_hint("split the patch")
        })?;
    }
    if section.hunks.is_empty() {
        return Err(PatchError::syntax(format!(
            "no hunk follows the file header at line {} of the patch",
            old.number
        ))
        .with_hint("follow `+++` by `@@ -line,count +line,count @@`"));
    }
    let ascending = section
        .hunks
        .iter()
        .zip(section.hunks.iter().skip(1))
        .all(|(before, after)| before.old_start <= after.old_start);
    if !ascending {
        return Err(PatchError::syntax(format!(
            "the hunks of the file at line {} of the patch are out of order",
            old.number
        ))
        .with_hint("sort the hunks by the lines of the original file"));
    }
    Ok(())
}

fn name(line: Line<'_>, key: &[u8]) -> Result<Name, PatchError> {
    let text = line.bytes.strip_prefix(key).unwrap_or_default();
    let name = file_name(text).ok_or_else(|| malformed(line, "a file header with a valid name"))?;
    if name.is_empty() || name.ends_with(b"\r") {
        return Err(malformed(line, "a file header with a valid name"));
    }
    Ok(if name == b"/dev/null" {
        Name::Nothing
    } else {
        Name::File(name)
    })
}

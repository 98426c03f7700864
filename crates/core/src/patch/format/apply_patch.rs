//! The `*** Begin Patch` format.
//!
//! ```text
//! *** Begin Patch
//! *** Update File: src/oar.py
//! @@ class Boat:
//! @@     def row(self):
//! -        self.rate = 1
//! +        self.rate = 3
//! *** Delete File: old.txt
//! *** Add File: docs/new.md
//! +# Oars
//! *** End Patch
//! ```
//!
//! The grammar of `apply_patch` of Codex, read strictly: the two outer markers may be padded
//! and the whole may stand in one of three heredoc wrappers; every other marker stands at
//! the start of its line, and a line that is neither marker nor body is an error. What the
//! instructions of that tool promise and its parser refuses, stacked anchors, is read. CRLF
//! counts as LF. A line `*** Base: sha256:<hex> <path>` after the first states a condition.

use std::sync::Arc;

use super::base::{BaseLines, check_count, operation_path};
use super::lines::{Cursor, Line};
use crate::patch::error::ordinal;
use crate::patch::plan::MAX_HUNKS;
use crate::patch::{Action, Chunk, Operation, Patch, PatchError, PatchErrorKind, Tail, Update};
use crate::repo::FileMode;

/// What starts a patch.
pub(super) const BEGIN: &[u8] = b"*** Begin Patch";
const END: &[u8] = b"*** End Patch";
const ADD: &[u8] = b"*** Add File: ";
const DELETE: &[u8] = b"*** Delete File: ";
const UPDATE: &[u8] = b"*** Update File: ";
const MOVE: &[u8] = b"*** Move to: ";
const END_OF_FILE: &[u8] = b"*** End of File";
const ENVIRONMENT: &[u8] = b"*** Environment ID:";
const BASE: &[u8] = b"*** Base: ";
const WRAPPERS: [&[u8]; 3] = [b"<<EOF", b"<<'EOF'", b"<<\"EOF\""];

const SHAPE: &str = "after `*** Begin Patch` come sections `*** Add File: <path>`, `*** Delete File: <path>` or `*** Update File: <path>`, then `*** End Patch`";
const BODY: &str =
    "lines of a chunk start with a space, `-` or `+`; markers stand at the start of a line";

/// Whether `text` starts like a patch of this format.
pub(super) fn looks_like(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text.trim_ascii_start());
    let first = cursor.next().map(|line| line.text().trim_ascii());
    let first = match first {
        Some(line) if line.starts_with(b"<<") => cursor.next().map(|line| line.text().trim_ascii()),
        first => first,
    };
    first == Some(BEGIN)
}

pub(super) fn parse(bytes: &[u8]) -> Result<Patch, PatchError> {
    let mut reader = Reader::open(bytes)?;
    let environment = reader.environment()?;
    let bases = reader.bases()?;
    let mut sections = Vec::new();
    while reader.peek().is_some() {
        let number = ordinal(sections.len());
        let section = reader
            .section()
            .map_err(|error| error.with_operation(number))?;
        sections.push(section);
        check_count("sections", sections.len())?;
    }
    if sections.is_empty() {
        return Err(PatchError::syntax("the patch has no section").with_hint(SHAPE));
    }
    if environment {
        return Err(PatchError::new(
            PatchErrorKind::Unsupported,
            "the patch names an environment, and there is only one here",
        )
        .with_hint("leave the `*** Environment ID:` line out"));
    }
    let operations = sections
        .into_iter()
        .enumerate()
        .map(|(index, section)| section.resolve(index))
        .collect::<Result<_, _>>()?;
    Ok(Patch {
        operations,
        bases: bases.resolve()?,
    })
}

struct Section {
    path: String,
    moved_to: Option<String>,
    body: SectionBody,
}

enum SectionBody {
    Add(Vec<u8>),
    Delete,
    Update(Vec<Chunk>),
}

impl Section {
    fn resolve(self, index: usize) -> Result<Operation, PatchError> {
        let path = operation_path(&self.path, index)?;
        let (path, action) = match self.body {
            SectionBody::Add(content) => (
                path,
                Action::Create {
                    content: Arc::from(content),
                    mode: FileMode::Regular,
                },
            ),
            SectionBody::Delete => (
                path,
                Action::Delete {
                    expected: None,
                    mode: None,
                },
            ),
            SectionBody::Update(chunks) => {
                let (path, moved_from) = match self.moved_to {
                    Some(to) => (operation_path(&to, index)?, Some(path)),
                    None => (path, None),
                };
                (path, Action::Update(Update { moved_from, chunks }))
            }
        };
        Ok(Operation { path, action })
    }
}

/// The lines between the outer markers.
struct Reader<'a> {
    cursor: Cursor<'a>,
    /// The line of the closing marker.
    end: u32,
    chunks: usize,
}

impl<'a> Reader<'a> {
    /// Takes the wrapper and the outer markers off.
    fn open(bytes: &'a [u8]) -> Result<Self, PatchError> {
        let text = bytes.trim_ascii();
        let mut cursor = Cursor::new(bytes);
        while cursor
            .peek()
            .is_some_and(|line| line.bytes.trim_ascii().is_empty())
        {
            cursor.next();
        }
        let wrapped = cursor
            .peek()
            .is_some_and(|line| WRAPPERS.contains(&line.text().trim_ascii()));
        if wrapped {
            cursor.next();
        }
        let begin = cursor.next().map(|line| line.text().trim_ascii());
        if begin != Some(BEGIN) {
            return Err(
                PatchError::syntax("the first line of the patch is not `*** Begin Patch`")
                    .with_hint(SHAPE),
            );
        }
        let mut last_lines = text.rsplit(|byte| *byte == b'\n');
        let mut last = last_lines.next();
        if wrapped {
            if last.is_none_or(|line| line != b"EOF") {
                return Err(PatchError::syntax(
                    "the heredoc around the patch is not closed by a line `EOF`",
                )
                .with_hint("end with `*** End Patch` and then `EOF`, or leave the heredoc out"));
            }
            last = last_lines.next();
        }
        if last.is_none_or(|line| line.trim_ascii() != END) {
            return Err(
                PatchError::syntax("the patch does not end with `*** End Patch`")
                    .with_hint("end with `*** End Patch`; nothing may follow it"),
            );
        }
        let lines = memchr::memchr_iter(b'\n', bytes.trim_ascii_end()).count();
        let end = ordinal(lines.saturating_sub(usize::from(wrapped)));
        Ok(Self {
            cursor,
            end,
            chunks: 0,
        })
    }

    fn peek(&self) -> Option<Line<'a>> {
        self.cursor.peek().filter(|line| line.number < self.end)
    }

    fn next(&mut self) -> Option<Line<'a>> {
        let line = self.peek()?;
        self.cursor.next();
        Some(line)
    }

    /// Takes the next line if it starts with `key`, and gives what follows.
    fn take(&mut self, key: &[u8]) -> Option<(Line<'a>, &'a [u8])> {
        let line = self.peek()?;
        let rest = line.text().strip_prefix(key)?;
        self.cursor.next();
        Some((line, rest))
    }

    /// Whether an environment is named.
    fn environment(&mut self) -> Result<bool, PatchError> {
        let Some((line, id)) = self.take(ENVIRONMENT) else {
            return Ok(false);
        };
        if id.trim_ascii().is_empty() {
            return Err(PatchError::syntax(format!(
                "line {} of the patch names no environment",
                line.number
            ))
            .with_hint("leave the line out"));
        }
        Ok(true)
    }

    fn bases(&mut self) -> Result<BaseLines, PatchError> {
        let mut bases = BaseLines::default();
        while let Some((line, rest)) = self.take(BASE) {
            bases.push(rest, line.number)?;
        }
        Ok(bases)
    }

    fn section(&mut self) -> Result<Section, PatchError> {
        if let Some((line, path)) = self.take(ADD) {
            let path = path_text(path, line)?;
            let content = self.added(line).map_err(|error| error.with_path(&path))?;
            return Ok(Section {
                path,
                moved_to: None,
                body: SectionBody::Add(content),
            });
        }
        if let Some((line, path)) = self.take(DELETE) {
            return Ok(Section {
                path: path_text(path, line)?,
                moved_to: None,
                body: SectionBody::Delete,
            });
        }
        if let Some((line, path)) = self.take(UPDATE) {
            let path = path_text(path, line)?;
            return self
                .update(path.clone(), line)
                .map_err(|error| error.with_path(path));
        }
        let number = self.peek().map_or(self.end, |line| line.number);
        Err(
            PatchError::syntax(format!("line {number} of the patch starts no section"))
                .with_hint(SHAPE),
        )
    }

    /// The lines of a new file.
    fn added(&mut self, start: Line<'_>) -> Result<Vec<u8>, PatchError> {
        let mut content = Vec::new();
        while let Some((_, text)) = self.take(b"+") {
            content.extend_from_slice(text);
            content.push(b'\n');
        }
        if content.is_empty() {
            return Err(PatchError::syntax(format!(
                "no `+` line follows `*** Add File` at line {} of the patch",
                start.number
            ))
            .with_hint("give every line of the new file after a `+`; for an empty file use the whole-file format"));
        }
        Ok(content)
    }

    fn update(&mut self, path: String, start: Line<'_>) -> Result<Section, PatchError> {
        let moved_to = match self.take(MOVE) {
            Some((line, to)) => Some(path_text(to, line)?),
            None => None,
        };
        if moved_to.as_ref() == Some(&path) {
            return Err(PatchError::syntax(format!(
                "the section at line {} of the patch moves a file to itself",
                start.number
            ))
            .with_hint("leave `*** Move to` out"));
        }
        let mut chunks: Vec<Chunk> = Vec::new();
        while self.peek().is_some_and(|line| !is_section(line.text())) {
            if chunks
                .last()
                .is_some_and(|chunk| chunk.tail == Tail::EndOfFile)
            {
                let number = self.peek().map_or(self.end, |line| line.number);
                return Err(PatchError::syntax(format!(
                    "line {number} of the patch follows the chunk that ends the file"
                ))
                .with_hint("the chunk with `*** End of File` comes last in its section"));
            }
            let number = ordinal(chunks.len());
            let chunk = self
                .chunk(chunks.is_empty())
                .map_err(|error| error.with_hunk(number))?;
            self.chunks = self
                .chunks
                .saturating_add(chunk.anchors.len())
                .saturating_add(1);
            chunks.push(chunk);
            if self.chunks > MAX_HUNKS {
                return Err(PatchError::new(
                    PatchErrorKind::Budget,
                    format!("the patch has more than {MAX_HUNKS} chunks and anchors"),
                )
                .with_hint("split the patch"));
            }
        }
        if chunks.is_empty() {
            return Err(PatchError::syntax(format!(
                "the section at line {} of the patch changes nothing",
                start.number
            ))
            .with_hint("an update has at least one chunk: `@@`, then lines that start with a space, `-` or `+`"));
        }
        Ok(Section {
            path,
            moved_to,
            body: SectionBody::Update(chunks),
        })
    }

    fn chunk(&mut self, first: bool) -> Result<Chunk, PatchError> {
        let start = self.peek().map_or(self.end, |line| line.number);
        let mut anchors = Vec::new();
        let mut bare = false;
        while let Some((line, rest)) = self.take(b"@@") {
            let stacked = bare || !anchors.is_empty();
            match rest.strip_prefix(b" ") {
                None if rest.is_empty() && !stacked => bare = true,
                Some(anchor) if !anchor.trim_ascii().is_empty() && !bare => {
                    anchors.push(anchor.to_vec());
                }
                Some(_) | None => {
                    return Err(PatchError::syntax(format!(
                        "line {} of the patch is neither `@@` nor `@@` and one line of the file",
                        line.number
                    ))
                    .with_hint(
                        "write `@@` alone, or `@@ ` and a whole line of the file above the chunk",
                    ));
                }
            }
        }
        if !bare && anchors.is_empty() && !first {
            return Err(PatchError::syntax(format!(
                "line {start} of the patch belongs to no chunk"
            ))
            .with_hint("start every chunk but the first with `@@`"));
        }
        let body = self.body()?;
        if body.is_empty() {
            return Err(PatchError::syntax(format!(
                "the chunk at line {start} of the patch has no lines"
            ))
            .with_hint(BODY));
        }
        let tail = match self.take(END_OF_FILE) {
            Some((_, [])) => Tail::EndOfFile,
            None => Tail::Open,
            Some((line, _)) => return Err(stray(line)),
        };
        Ok(Chunk {
            anchors,
            body,
            tail,
        })
    }

    /// The lines of a chunk; a blank line is blank context.
    fn body(&mut self) -> Result<Vec<u8>, PatchError> {
        let mut body = Vec::new();
        while let Some(line) = self.peek() {
            let text = line.text();
            match text.first() {
                None => body.push(b' '),
                Some(b' ' | b'-' | b'+') => {}
                Some(_) if text.starts_with(b"@@") => break,
                Some(_) if is_section(text) || text.starts_with(END_OF_FILE) => break,
                Some(_) => return Err(stray(line)),
            }
            body.extend_from_slice(text);
            body.push(b'\n');
            self.next();
        }
        Ok(body)
    }
}

fn is_section(line: &[u8]) -> bool {
    [ADD, DELETE, UPDATE]
        .iter()
        .any(|key| line.starts_with(key))
}

fn stray(line: Line<'_>) -> PatchError {
    PatchError::syntax(format!(
        "line {} of the patch is neither a marker nor a line of a chunk",
        line.number
    ))
    .with_hint(BODY)
}

fn path_text(path: &[u8], line: Line<'_>) -> Result<String, PatchError> {
    match std::str::from_utf8(path) {
        Ok(text) if !text.trim().is_empty() => Ok(text.to_owned()),
        Ok(_) | Err(_) => Err(PatchError::syntax(format!(
            "line {} of the patch names no file",
            line.number
        ))
        .with_hint("name files by their path from the repository's root, such as `src/lib.rs`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "*** Begin Patch\n*** Update File: a.py\n@@ class P:\n@@     def f():\n-x\n+y\n*** End Patch\n";

    #[test]
    fn outer_markers_may_be_padded_and_wrapped() {
        let wanted = parse(GOOD.as_bytes()).unwrap();
        for text in [
            GOOD.replace('\n', "\r\n"),
            GOOD.trim_end().to_owned(),
            format!("\n \n{GOOD}\n\n"),
            GOOD.replace("*** Begin", "  *** Begin")
                .replace("End Patch", "End Patch "),
            format!("<<EOF\n{GOOD}EOF\n"),
            format!("<<'EOF'\n{GOOD}EOF"),
            format!("<<\"EOF\"\r\n{}EOF\r\n", GOOD.replace('\n', "\r\n")),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap(), wanted, "{text}");
            assert!(looks_like(text.as_bytes()));
        }
        let Action::Update(update) = &wanted.operations[0].action else {
            panic!("an update");
        };
        assert_eq!(update.chunks[0].anchors.len(), 2);
        assert_eq!(update.chunks[0].body, b"-x\n+y\n");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            String::new(),
            "*** Begin Patch".to_owned(),
            "*** Begin Patch\n*** End Patch".to_owned(),
            format!("Here it is:\n{GOOD}"),
            format!("{GOOD}done\n"),
            format!("{GOOD}EOF\n"),
            format!("<<EOF\n{GOOD}"),
            format!("<<EOT\n{GOOD}EOT\n"),
            format!("<<'EOF'\n{GOOD}EOF done\n"),
            format!("{GOOD}{GOOD}"),
            GOOD.replace("-x", "*** End Patch\n-x"),
            GOOD.replace("-x", "x"),
            GOOD.replace("-x", "*** End of File"),
            GOOD.replace("-x", "@@\n-x"),
            GOOD.replace("-x", "@@x\n-x"),
            GOOD.replace("-x", "@@ \n-x"),
            GOOD.replace("-x\n+y\n", ""),
            GOOD.replace("+y", "*** End of File\n+y"),
            GOOD.replace("+y", "+y\n*** End of File\n@@\n-b\n+c"),
            GOOD.replace("+y", "+y\n*** Add File: b"),
            GOOD.replace("+y", "+y\n*** Delete File: b\n"),
            GOOD.replace("+y", "+y\n*** Delete File:"),
            GOOD.replace("+y", "+y\n*** Unknown: b"),
            GOOD.replace("a.py", " "),
            GOOD.replace("@@ class", "*** Move to: a.py\n@@ class"),
            GOOD.replace("*** Update", "*** Environment ID: \n*** Update"),
            GOOD.replace(
                "*** Update",
                "*** Environment ID: a\n*** Environment ID: a\n*** Update",
            ),
            GOOD.replace("*** Update", "*** Base: sha256:0 a.py\n*** Update"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            // A blank line behind a deletion starts no section.
            assert_eq!(error.kind, PatchErrorKind::Syntax, "{text}");
            assert!(error.hint.is_some(), "{text}");
        }
    }

    #[test]
    fn a_base_stands_after_the_first_line() {
        let digest = "0".repeat(64);
        let text = GOOD.replace(
            "*** Update",
            &format!("*** Base: sha256:{digest} a.py\n*** Update"),
        );
        assert_eq!(parse(text.as_bytes()).unwrap().bases.len(), 1);
    }
}

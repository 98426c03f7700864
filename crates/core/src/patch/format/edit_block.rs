//! SEARCH/REPLACE edit blocks, as they are common in chats with models.
//!
//! ````text
//! src/oar.py
//! ```python
//! <<<<<<< SEARCH
//! row = 1
//! =======
//! row = 3
//! >>>>>>> REPLACE
//! ```
//! ````
//!
//! The line before the fence is the path and nothing else. Markers stand alone at the start
//! of a line; one of them inside a section is an error, since it is open where the section
//! ends. The sections are whole lines. An empty SEARCH section makes a new file. CRLF counts
//! as LF. Text between blocks is ignored, except for what looks like a part of a block.

use std::sync::Arc;

use super::base::{BaseLines, check_count, operation_path};
use super::lines::{Cursor, Line};
use crate::patch::error::ordinal;
use crate::patch::{Action, Edit, Occurrence, Operation, Patch, PatchError, Unit};
use crate::repo::FileMode;

/// What starts a block.
pub(super) const SEARCH: &[u8] = b"<<<<<<< SEARCH";
const DIVIDER: &[u8] = b"=======";
const REPLACE: &[u8] = b">>>>>>> REPLACE";

struct Block {
    path: String,
    search: Vec<u8>,
    replace: Vec<u8>,
}

pub(super) fn parse(bytes: &[u8]) -> Result<Patch, PatchError> {
    let mut cursor = Cursor::new(bytes);
    let mut bases = BaseLines::default();
    let mut blocks = Vec::new();
    // The last two lines, if they lie outside of blocks.
    let mut above: [Option<Line<'_>>; 2] = [None, None];
    while let Some(line) = cursor.next() {
        let text = line.text();
        if text == SEARCH {
            let number = ordinal(blocks.len());
            let block =
                block(&mut cursor, line, above).map_err(|error| error.with_operation(number))?;
            blocks.push(block);
            check_count("blocks", blocks.len())?;
            above = [None, None];
            continue;
        }
        if is_stray_marker(text) {
            return Err(PatchError::syntax(format!(
                "line {} of the patch looks like a marker of a block, but no block is open there",
                line.number
            ))
            .with_operation(ordinal(blocks.len()))
            .with_hint(SHAPE));
        }
        bases.prose(text, line.number)?;
        above = [above[1], Some(line)];
    }
    if blocks.is_empty() {
        return Err(PatchError::syntax("the text holds no edit block").with_hint(SHAPE));
    }
    let operations = blocks
        .into_iter()
        .enumerate()
        .map(|(index, block)| block.resolve(index))
        .collect::<Result<_, _>>()?;
    Ok(Patch {
        operations,
        bases: bases.resolve()?,
    })
}

const SHAPE: &str = "a block is: the path alone on a line, a fence ```, `<<<<<<< SEARCH`, the old lines, `=======`, the new lines, `>>>>>>> REPLACE`, the fence again; each marker alone at the start of a line";

/// Whether a line outside of blocks is, or nearly is, a marker that only a block has.
fn is_stray_marker(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let Some(sign) = line.first().filter(|sign| b"<>-+=".contains(sign)) else {
        return false;
    };
    let signs = line.iter().take_while(|byte| *byte == sign).count();
    let word = line.get(signs..).unwrap_or_default().trim_ascii_start();
    signs >= 5
        && [&b"search"[..], b"replace"].iter().any(|marker| {
            word.get(..marker.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(marker))
        })
}

/// The run of backticks or tildes that a fence starts with.
fn fence(line: &[u8]) -> Option<&[u8]> {
    let sign = *line.first().filter(|sign| matches!(sign, b'`' | b'~'))?;
    let len = line.iter().take_while(|byte| **byte == sign).count();
    let (run, rest) = line.split_at_checked(len)?;
    (len >= 3 && !rest.contains(&sign)).then_some(run)
}

/// Reads a block whose SEARCH marker has just been taken.
fn block(
    cursor: &mut Cursor<'_>,
    start: Line<'_>,
    above: [Option<Line<'_>>; 2],
) -> Result<Block, PatchError> {
    let refuse = |what: &str| {
        PatchError::syntax(format!(
            "the block at line {} of the patch {what}",
            start.number
        ))
        .with_hint(SHAPE)
    };
    let [path, opening] = above.map(|line| line.map(|line| line.text()));
    let fence_run = opening
        .and_then(fence)
        .ok_or_else(|| refuse("does not follow a fence"))?;
    let path = path
        .filter(|path| !path.trim_ascii().is_empty() && fence(path).is_none())
        .ok_or_else(|| refuse("has no path before its fence"))?;
    let path = std::str::from_utf8(path)
        .map_err(|_| refuse("has a path that is not UTF-8"))?
        .to_owned();
    let with_path = |error: PatchError| error.with_path(&path);
    let search = section(cursor, DIVIDER)
        .ok_or_else(|| with_path(refuse("has no `=======` before the next marker or the end")))?;
    let replace = section(cursor, REPLACE).ok_or_else(|| {
        with_path(refuse(
            "has a second marker, or the end of the patch, before its `>>>>>>> REPLACE`",
        ))
    })?;
    let closed = cursor.next().is_some_and(|line| line.text() == fence_run);
    if !closed {
        return Err(with_path(refuse("is not closed by its fence")));
    }
    let decorated =
        path.starts_with(['`', '*', '"', '\'', '#']) || path.ends_with(['`', '*', '"', '\'', ':']);
    if search.is_empty() && decorated {
        return Err(with_path(refuse(
            "makes a file, but the line before its fence is not a plain path",
        )));
    }
    Ok(Block {
        path,
        search,
        replace,
    })
}

/// The lines up to the marker `end`, each with LF. `None` if another marker or the end of
/// the text comes first.
fn section(cursor: &mut Cursor<'_>, end: &[u8]) -> Option<Vec<u8>> {
    let mut lines = Vec::new();
    loop {
        let text = cursor.next()?.text();
        if text == end {
            return Some(lines);
        }
        if [SEARCH, DIVIDER, REPLACE].contains(&text) {
            return None;
        }
        lines.extend_from_slice(text);
        lines.push(b'\n');
    }
}

impl Block {
    fn resolve(self, index: usize) -> Result<Operation, PatchError> {
        let path = operation_path(&self.path, index)?;
        let action = if self.search.is_empty() {
            Action::Create {
                content: Arc::from(self.replace),
                mode: FileMode::Regular,
            }
        } else {
            Action::Edit(Edit {
                old: self.search,
                new: self.replace,
                occurrence: Occurrence::Once,
                unit: Unit::Lines,
            })
        };
        Ok(Operation { path, action })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::PatchErrorKind;

    const GOOD: &str = "a.py\n```\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n";

    #[test]
    fn blocks_are_read_to_the_letter() {
        let wanted = parse(GOOD.as_bytes()).unwrap();
        for text in [
            GOOD.replace('\n', "\r\n"),
            GOOD.replace("```\n<", "```python\n<"),
            GOOD.replace("```", "~~~~"),
            format!("Some words.\n\n{GOOD}\nMore words.\n=======\n```\ncode\n```\n"),
            GOOD.trim_end().to_owned(),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_nearly_a_block_is_refused() {
        for text in [
            String::new(),
            "no block".to_owned(),
            GOOD.replace("```\n<", "<"),
            GOOD.replace("a.py\n", ""),
            GOOD.replace("a.py\n", "a.py\n\n"),
            GOOD.replace("a.py", "```"),
            GOOD.replace("=======\n", ""),
            GOOD.replace("=======", "======"),
            GOOD.replace("y\n", "y\n=======\nz\n"),
            GOOD.replace("x\n", "x\n<<<<<<< SEARCH\n"),
            GOOD.replace(">>>>>>> REPLACE", ">>>>>>> REPLACE "),
            GOOD.replace("E\n```\n", "E\n"),
            GOOD.replace("E\n```\n", "E\n````\n"),
            format!(
                "{GOOD}{}",
                GOOD.replace("<<<<<<< SEARCH", " <<<<<<< SEARCH")
            ),
            format!(
                "{GOOD}{}",
                GOOD.replace("<<<<<<<", "<<<<<").replace(">>>>>>>", ">>>>>")
            ),
            format!("{GOOD}>>>>>>> REPLACE\n"),
            GOOD.replace("a.py", "**a.py**").replace("\nx\n", "\n"),
            GOOD.replace("a.py", "Now a.py:").replace("\nx\n", "\n"),
            format!("{GOOD}<<<<<<< Search\nx\n=======\ny\n>>>>>>> Replace\n"),
            format!("{GOOD}------- SEARCH\nx\n=======\ny\n+++++++ REPLACE\n"),
            format!("Base: SHA256:00 a.py\n{GOOD}"),
            format!("base:  sha256:00 a.py\n{GOOD}"),
            format!("base: sha256:12 a.py\n{GOOD}"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.kind, PatchErrorKind::Syntax, "{text}");
            assert!(error.hint.is_some(), "{text}");
        }
    }

    #[test]
    fn a_base_may_be_stated_in_prose() {
        let digest = "0".repeat(64);
        let text = format!("base: sha256:{digest} a.py\n{GOOD}");
        assert_eq!(parse(text.as_bytes()).unwrap().bases.len(), 1);
        let text = format!("base: sha256:{digest} ../a.py\n{GOOD}");
        assert_eq!(
            parse(text.as_bytes()).unwrap_err().kind,
            PatchErrorKind::PathDenied
        );
    }
}

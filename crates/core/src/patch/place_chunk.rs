//! Placing the chunks of an update: whole lines, found by what they say.
//!
//! Chunks stand in the order of the file. The search for each starts below the one before
//! and below its anchors, and has to find one place. Only lines that go or come are placed;
//! context keeps its bytes.

use super::error::ordinal;
use super::line_ends::line_span;
use super::near_miss;
use super::place_edit::{Work, ambiguous, refuse_binary, refuse_nul};
use super::place_insert::left_of;
use super::search::{MAX_LISTED, lines_in_text};
use super::splice::Span;
use super::text_view::TextView;
use super::{Chunk, PatchError, PatchErrorKind, Tail};

/// Finds the spans of every chunk; they are sorted and disjoint. Errors carry the number of
/// the chunk, not the path.
pub(super) fn place_chunks(
    file: &[u8],
    chunks: &[Chunk],
    work: &mut Work<'_>,
) -> Result<Vec<Span>, PatchError> {
    refuse_binary(file)?;
    let view = TextView::new(file);
    let mut spans = Vec::new();
    let mut cursor = 0;
    for (index, chunk) in chunks.iter().enumerate() {
        cursor = place_chunk(&view, chunk, cursor, work, &mut spans)
            .map_err(|error| error.with_hunk(ordinal(index)))?;
    }
    close_up(file, &mut spans);
    Ok(spans)
}

/// Takes back the line end before an addition behind the last line, where a change before
/// it has taken that line away.
fn close_up(file: &[u8], spans: &mut [Span]) {
    let Some((last, before)) = spans.split_last_mut() else {
        return;
    };
    let appends = last.start == last.end && last.end == file.len();
    let touched = before.last().is_some_and(|span| span.end == last.start);
    if !appends || !touched || file.is_empty() || file.ends_with(b"\n") {
        return;
    }
    if left_of(file, before, last.start).is_none_or(|byte| byte == b'\n') {
        let rest = last
            .new
            .strip_prefix(b"\r\n")
            .or_else(|| last.new.strip_prefix(b"\n"))
            .map(<[u8]>::to_vec);
        last.new = rest.unwrap_or_else(|| std::mem::take(&mut last.new));
    }
}

/// Adds the spans of `chunk`, which lies at or below `cursor`, and returns where it ends.
fn place_chunk(
    view: &TextView<'_>,
    chunk: &Chunk,
    mut cursor: usize,
    work: &mut Work<'_>,
    spans: &mut Vec<Span>,
) -> Result<usize, PatchError> {
    let end = view.text().len();
    for anchor in &chunk.anchors {
        cursor = find_anchor(view, anchor, cursor, work)?;
    }
    let (old, new) = (old_lines(chunk), new_lines(chunk));
    if old == new {
        return Err(
            PatchError::new(PatchErrorKind::NoChange, "the chunk changes nothing")
                .with_hint("leave the chunk out, or add the `-` and `+` lines"),
        );
    }
    refuse_nul(&new)?;
    let at = if old.is_empty() {
        match chunk.tail {
            Tail::EndOfFile => end,
            Tail::Open => {
                return Err(PatchError::new(
                    PatchErrorKind::Ambiguous,
                    "the chunk only adds lines and shows none of the file, so their place is open",
                )
                .with_hint("add a line of the file as context, or `*** End of File` to append"));
            }
        }
    } else {
        find_lines(view, chunk, &old, &new, cursor, work)?
    };
    work.result.charge(new.len().saturating_mul(2))?;
    let mut position = at;
    let mut lines = chunk_lines(chunk).peekable();
    while let Some((sign, text)) = lines.next() {
        if sign == b' ' {
            position = position.saturating_add(text.len());
            continue;
        }
        let mut removed = 0_usize;
        let mut added = Vec::new();
        let mut next = Some((sign, text));
        while let Some((sign, text)) = next {
            if sign == b'-' {
                removed = removed.saturating_add(text.len());
            } else {
                added.extend_from_slice(text);
            }
            next = lines.next_if(|(sign, _)| *sign != b' ');
        }
        let stop = position.saturating_add(removed);
        spans.push(line_span(
            view,
            at,
            position.min(end)..stop.min(end),
            &added,
        ));
        position = stop;
    }
    Ok(position.min(end))
}

/// The signs and lines of a chunk, each line with its LF.
fn chunk_lines(chunk: &Chunk) -> impl Iterator<Item = (u8, &[u8])> {
    chunk
        .body
        .split_inclusive(|byte| *byte == b'\n')
        .filter_map(|line| line.split_first().map(|(sign, text)| (*sign, text)))
}

/// The lines that a chunk finds in the file.
pub(super) fn old_lines(chunk: &Chunk) -> Vec<u8> {
    side(chunk, b'+')
}

/// The lines that it leaves there.
pub(super) fn new_lines(chunk: &Chunk) -> Vec<u8> {
    side(chunk, b'-')
}

fn side(chunk: &Chunk, other: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(chunk.body.len());
    for (sign, text) in chunk_lines(chunk) {
        if sign != other {
            out.extend_from_slice(text);
        }
    }
    out
}

fn find_anchor(
    view: &TextView<'_>,
    anchor: &[u8],
    cursor: usize,
    work: &mut Work<'_>,
) -> Result<usize, PatchError> {
    let text = view.text();
    work.search.charge(text.get(cursor..).unwrap_or_default())?;
    let line = [anchor, b"\n"].concat();
    let shown = String::from_utf8_lossy(anchor);
    match lines_in_text(text, cursor, &line, MAX_LISTED).as_slice() {
        [only] => Ok(only.saturating_add(line.len()).min(text.len())),
        [] => {
            let error = PatchError::new(
                PatchErrorKind::NotFound,
                format!(
                    "the anchor `{}` is no line of the file below line {}",
                    shown.escape_debug(),
                    view.line(cursor).saturating_sub(1)
                ),
            );
            Err(error.with_near(
                near_miss::explain(text, anchor, b""),
                "an anchor is one whole line of the file, with its indentation, above the chunk",
            ))
        }
        found => Err(ambiguous(
            view,
            found,
            "put the anchor of what encloses it in front, one `@@` line above the other, or add context to the chunk",
        )),
    }
}

fn find_lines(
    view: &TextView<'_>,
    chunk: &Chunk,
    old: &[u8],
    new: &[u8],
    cursor: usize,
    work: &mut Work<'_>,
) -> Result<usize, PatchError> {
    let text = view.text();
    work.search.charge(text.get(cursor..).unwrap_or_default())?;
    let found = lines_in_text(text, cursor, old, MAX_LISTED);
    if chunk.tail == Tail::EndOfFile {
        // A file without a newline at its end lacks the last byte of the old lines.
        let tail = |len: usize| {
            let at = text.len().checked_sub(len)?;
            (at >= cursor && starts_line(text, at)).then_some(at)
        };
        let whole = tail(old.len()).filter(|at| found_at(text, *at, old));
        let open = tail(old.len().saturating_sub(1)).filter(|at| found_at(text, *at, old));
        return whole.or(open).ok_or_else(|| {
            let error = PatchError::new(
                PatchErrorKind::NotFound,
                "the chunk has to end the file, and the file ends otherwise",
            );
            match found.first() {
                Some(_) => error
                    .with_lines(found.iter().map(|at| view.line(*at)).collect())
                    .with_hint("leave `*** End of File` out, or show the last lines of the file"),
                None => error.with_near(
                    near_miss::explain(text, old, new),
                    "read the file again and quote its last lines exactly",
                ),
            }
        });
    }
    match found.as_slice() {
        [only] => Ok(*only),
        [] => {
            let above = lines_in_text(text, 0, old, MAX_LISTED);
            let error = PatchError::new(
                PatchErrorKind::NotFound,
                "the old lines of the chunk are not in the file",
            );
            if above.is_empty() {
                return Err(error.with_near(
                    near_miss::explain(text, old, new),
                    "read the file again and quote its present lines exactly",
                ));
            }
            Err(PatchError::new(
                PatchErrorKind::NotFound,
                format!(
                    "the old lines of the chunk are not in the file below line {}",
                    view.line(cursor).saturating_sub(1)
                ),
            )
            .with_lines(above.iter().map(|at| view.line(*at)).collect())
            .with_hint("put chunks in the order of the file, and their anchors above them"))
        }
        found => Err(ambiguous(
            view,
            found,
            "add lines of the file around the change, or an anchor `@@ <line above it>`",
        )),
    }
}

fn starts_line(text: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    before.is_none_or(|byte| *byte == b'\n')
}

/// Whether the lines `old` stand at `at`, which starts a line.
fn found_at(text: &[u8], at: usize, old: &[u8]) -> bool {
    lines_in_text(text, at, old, 1) == [at]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::search::SearchBudget;
    use crate::patch::splice::{ResultBudget, splice};

    fn chunk(anchors: &[&str], body: &str, tail: Tail) -> Chunk {
        Chunk {
            anchors: anchors
                .iter()
                .map(|anchor| anchor.as_bytes().to_vec())
                .collect(),
            body: body.into(),
            tail,
        }
    }

    fn apply(file: &str, chunks: &[Chunk]) -> Result<String, PatchErrorKind> {
        let mut work = Work {
            search: &mut SearchBudget::new(),
            result: &mut ResultBudget::new(),
        };
        let spans = place_chunks(file.as_bytes(), chunks, &mut work).map_err(|error| error.kind)?;
        Ok(String::from_utf8(splice(file.as_bytes(), &spans).unwrap()).unwrap())
    }

    fn one(file: &str, body: &str, tail: Tail) -> Result<String, PatchErrorKind> {
        apply(file, &[chunk(&[], body, tail)])
    }

    #[test]
    fn mixed_endings_and_open_ends_are_kept() {
        use Tail::{EndOfFile, Open};
        let ok = |text: &str| Ok(text.to_owned());
        let mixed = "a\r\nb\nc\r\nd";
        assert_eq!(
            one(mixed, " a\n-b\n+B\n+B2\n c\n", Open),
            ok("a\r\nB\nB2\nc\r\nd")
        );
        assert_eq!(one(mixed, " a\n+x\n b\n", Open), ok("a\r\nx\r\nb\nc\r\nd"));
        assert_eq!(one(mixed, "+x\n b\n", Open), ok("a\r\nx\nb\nc\r\nd"));
        assert_eq!(one(mixed, " d\n+x\n", Open), ok("a\r\nb\nc\r\nd\r\nx"));
        assert_eq!(one(mixed, "-d\n+D\n+E\n", Open), ok("a\r\nb\nc\r\nD\r\nE"));
        assert_eq!(one(mixed, "-d\n", Open), ok("a\r\nb\nc\r\n"));
        assert_eq!(one(mixed, " c\n-d\n", EndOfFile), ok("a\r\nb\nc\r\n"));
        assert_eq!(one(mixed, "+x\n", EndOfFile), ok("a\r\nb\nc\r\nd\r\nx"));
        assert_eq!(one("", "+x\n", EndOfFile), ok("x\n"));
        assert_eq!(one("a\n", "+x\n", EndOfFile), ok("a\nx\n"));
        assert_eq!(one("a\n", " a\n+\n", EndOfFile), ok("a\n\n"));
    }

    #[test]
    fn the_tail_is_whole_lines() {
        use Tail::EndOfFile;
        for file in ["foo bar\n", "foo bar", "foo\nfoo bar\n"] {
            assert_eq!(
                one(file, "-bar\n+baz\n", EndOfFile),
                Err(PatchErrorKind::NotFound)
            );
        }
        let chunks = [
            chunk(&[], " b\n-a\n", Tail::Open),
            chunk(&[], "+x\n", EndOfFile),
        ];
        assert_eq!(apply("b\na", &chunks), Ok("b\nx".to_owned()));
        assert_eq!(apply("b\na\n", &chunks), Ok("b\nx\n".to_owned()));
    }

    #[test]
    fn blank_lines_are_lines() {
        use Tail::Open;
        assert_eq!(
            one("a\n", " a\n \n-b\n", Open),
            Err(PatchErrorKind::NotFound)
        );
        assert_eq!(one("a\n", "-a\n-\n", Open), Err(PatchErrorKind::NotFound));
        assert_eq!(one("a\n\n", "-a\n-\n", Open), Ok(String::new()));
        assert_eq!(one("\n\n", "-\n", Open), Err(PatchErrorKind::Ambiguous));
    }

    #[test]
    fn the_search_goes_down() {
        let file = "f\nx\ng\nx\ng\ny\n";
        let at = |anchors: &[&str], body: &str| chunk(anchors, body, Tail::Open);
        assert_eq!(
            apply(file, &[at(&["f"], "-x\n+X\n")]),
            Err(PatchErrorKind::Ambiguous)
        );
        assert_eq!(
            apply(file, &[at(&["g"], "-y\n+Y\n")]),
            Err(PatchErrorKind::Ambiguous)
        );
        assert_eq!(
            apply(file, &[at(&[], "-f\n+F\n x\n"), at(&[], "-x\n+X\n")]),
            Ok("F\nx\ng\nX\ng\ny\n".to_owned())
        );
        assert_eq!(
            apply(file, &[at(&[], "-y\n+Y\n"), at(&[], "-f\n+F\n")]),
            Err(PatchErrorKind::NotFound)
        );
        assert_eq!(
            apply(file, &[at(&["x"], "-f\n")]),
            Err(PatchErrorKind::Ambiguous)
        );
        assert_eq!(
            apply(file, &[at(&["y"], "-f\n")]),
            Err(PatchErrorKind::NotFound)
        );
    }
}

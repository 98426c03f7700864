//! Line ends of text that a patch puts into a file.
//!
//! A line that takes the place of another keeps that one's end; further lines take the end
//! of the last replaced one, and where none is replaced, of a neighbour. Behind a last line
//! without a newline nothing gets one. So a file keeps its own ends, mixed ones too,
//! whatever the patch is written with.

use std::ops::Range;

use super::splice::Span;
use super::text_view::{Ending, TextView};

/// A text edit's `new` with line ends like those of the text that it replaces.
///
/// Lines that start or end both texts keep the ends they have. Between them the n-th
/// newline takes the end of the n-th replaced one, further ones that of the last. Without
/// any, the neighbour decides; in a file of one line, the request does.
pub(super) fn with_endings(
    view: &TextView<'_>,
    (start, end): (usize, usize),
    new: &[u8],
    as_written: &[u8],
) -> Vec<u8> {
    let text = view.text();
    let old = text.get(start..end).unwrap_or_default();
    let head = common_lines_at_start(old, new);
    let tail = common_lines_at_end(
        old.get(head..).unwrap_or_default(),
        new.get(head..).unwrap_or_default(),
    );
    let middle_start = start.saturating_add(head);
    let middle_end = end.saturating_sub(tail);
    let replaced: Vec<Ending> = view
        .newlines(middle_start..middle_end)
        .iter()
        .map(|at| view.ending(*at))
        .collect();
    let fallback = replaced
        .last()
        .copied()
        .or_else(|| neighbour(view, start, middle_start));
    let mut written = endings_as_written(as_written);
    let middle_of_new = head..new.len().saturating_sub(tail);
    let mut out = Vec::with_capacity(new.len());
    let mut index = 0_usize;
    for (at, byte) in new.iter().enumerate() {
        if *byte != b'\n' {
            out.push(*byte);
            continue;
        }
        let asked = written.next().unwrap_or(Ending::Lf);
        let ending = if at < middle_of_new.start {
            view.ending(start.saturating_add(at))
        } else if at >= middle_of_new.end {
            let from_end = new.len().saturating_sub(at);
            view.ending(end.saturating_sub(from_end))
        } else {
            let ending = replaced.get(index).copied().or(fallback).unwrap_or(asked);
            index = index.saturating_add(1);
            ending
        };
        out.extend_from_slice(ending.bytes());
    }
    out
}

/// The end of the line before the changed lines, if the edit reaches it; else of the next
/// line end that the edit reaches or stands before; else of the line before it.
fn neighbour(view: &TextView<'_>, start: usize, middle: usize) -> Option<Ending> {
    let at = view
        .newlines(start..middle)
        .last()
        .or_else(|| view.newlines(middle..usize::MAX).first())
        .or_else(|| view.newlines(0..start).last())?;
    Some(view.ending(*at))
}

fn endings_as_written(text: &[u8]) -> impl Iterator<Item = Ending> + '_ {
    memchr::memchr_iter(b'\n', text).map(|at| {
        match at.checked_sub(1).and_then(|before| text.get(before)) {
            Some(b'\r') => Ending::CrLf,
            Some(_) | None => Ending::Lf,
        }
    })
}

/// The length of the whole lines that both texts start with.
fn common_lines_at_start(a: &[u8], b: &[u8]) -> usize {
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    a.get(..same)
        .and_then(|part| memchr::memrchr(b'\n', part))
        .map_or(0, |at| at.saturating_add(1))
}

/// The length of the whole lines that both texts end with.
fn common_lines_at_end(a: &[u8], b: &[u8]) -> usize {
    let same = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(x, y)| x == y)
        .count();
    let starts_line = |text: &[u8]| {
        let before = text.len().saturating_sub(same).checked_sub(1);
        before.is_none_or(|at| text.get(at) == Some(&b'\n'))
    };
    if starts_line(a) && starts_line(b) {
        return same;
    }
    let tail = a.get(a.len().saturating_sub(same)..).unwrap_or_default();
    memchr::memchr(b'\n', tail).map_or(0, |at| same.saturating_sub(at).saturating_sub(1))
}

/// The change that puts `new`, whole lines that each end in LF, in the place of the whole
/// lines in `range` of the text. `reach` is where the text that the patch has seen starts.
pub(super) fn line_span(
    view: &TextView<'_>,
    reach: usize,
    range: Range<usize>,
    new: &[u8],
) -> Span {
    let text = view.text();
    let open = range.end == text.len() && !text.is_empty() && !text.ends_with(b"\n");
    let replaced: Vec<Ending> = view
        .newlines(range.clone())
        .iter()
        .map(|at| view.ending(*at))
        .collect();
    let fallback = replaced
        .last()
        .copied()
        .or_else(|| neighbour(view, reach, range.start))
        .unwrap_or(Ending::Lf);
    let mut out = Vec::with_capacity(new.len());
    let new = if open {
        if range.is_empty() && !new.is_empty() {
            out.extend_from_slice(fallback.bytes());
        }
        new.strip_suffix(b"\n").unwrap_or(new)
    } else {
        new
    };
    let mut endings = replaced.into_iter().chain(std::iter::repeat(fallback));
    for line in new.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(line) => {
                out.extend_from_slice(line);
                out.extend_from_slice(endings.next().unwrap_or(fallback).bytes());
            }
            None => out.extend_from_slice(line),
        }
    }
    Span {
        start: view.file_offset(range.start),
        end: view.file_offset(range.end),
        new: out,
    }
}

/// As [`line_span`] for a block that starts at `at` and whose old lines are `old`: lines
/// that start or end both texts keep the bytes that they have.
pub(super) fn block_span(
    view: &TextView<'_>,
    file: &[u8],
    at: usize,
    old: &[u8],
    new: &[u8],
) -> Span {
    let text_end = view.text().len();
    let head = common_lines_at_start(old, new);
    let (old_rest, new_rest) = (
        old.get(head..).unwrap_or_default(),
        new.get(head..).unwrap_or_default(),
    );
    let tail = common_lines_at_end(old_rest, new_rest);
    let middle = new_rest
        .get(..new_rest.len().saturating_sub(tail))
        .unwrap_or_default();
    let end = at.saturating_add(old.len());
    let start = at.saturating_add(head).min(text_end);
    let stop = end.saturating_sub(tail).min(text_end);
    let inner = line_span(view, at, start..stop, middle);
    let outer = view.file_offset(at)..view.file_offset(end.min(text_end));
    let kept = |range: Range<usize>| file.get(range).unwrap_or_default();
    Span {
        start: outer.start,
        end: outer.end,
        new: [
            kept(outer.start..inner.start),
            &inner.new,
            kept(inner.end..outer.end),
        ]
        .concat(),
    }
}

//! Placing exact edits: every edit of one file on the same original text.

use super::near_miss;
use super::search::{MAX_LISTED, SearchBudget, disjoint_occurrences, occurrences};
use super::splice::{ResultBudget, Span};
use super::text_view::{Ending, TextView, to_lf, without_bom};
use super::{Edit, Occurrence, PatchError, PatchErrorKind};

/// An edit with the number of its operation.
pub(super) type Numbered<'a> = (u32, &'a Edit);

/// The budgets of one plan.
pub(super) struct Work<'a> {
    pub(super) search: &'a mut SearchBudget,
    pub(super) result: &'a mut ResultBudget,
}

/// Finds the span of every edit; the spans are sorted and disjoint. Errors carry the
/// number of the edit, not the path.
pub(super) fn place_edits(
    file: &[u8],
    edits: &[Numbered<'_>],
    work: &mut Work<'_>,
) -> Result<Vec<Span>, PatchError> {
    if memchr::memchr(0, file).is_some() {
        let number = edits.first().map_or(1, |(number, _)| *number);
        return Err(PatchError::new(
            PatchErrorKind::Unsupported,
            "the file holds NUL bytes, so it is not text",
        )
        .with_operation(number)
        .with_hint("replace the file whole, with `content_b64`"));
    }
    let view = TextView::new(file);
    let mut placed: Vec<(u32, Span)> = Vec::new();
    for (number, edit) in edits {
        let spans = place_edit(&view, edit, work).map_err(|error| error.with_operation(*number))?;
        placed.extend(spans.into_iter().map(|span| (*number, span)));
    }
    placed.sort_by_key(|(number, span)| (span.start, span.end, *number));
    let pairs = placed.iter().zip(placed.iter().skip(1));
    for ((first, before), (second, after)) in pairs {
        if after.start < before.end {
            return Err(PatchError::new(
                PatchErrorKind::Overlap,
                format!("operations {first} and {second} replace some of the same text"),
            )
            .with_operation(*second)
            .with_hint("join the two into one edit, or shorten their old texts"));
        }
    }
    Ok(placed.into_iter().map(|(_, span)| span).collect())
}

fn place_edit(
    view: &TextView<'_>,
    edit: &Edit,
    work: &mut Work<'_>,
) -> Result<Vec<Span>, PatchError> {
    if edit.old.is_empty() {
        return Err(PatchError::syntax("the old text is empty")
            .with_hint("quote the text to replace; to make a new file, create it"));
    }
    if memchr::memchr(0, &edit.new).is_some() {
        return Err(PatchError::new(
            PatchErrorKind::Unsupported,
            "the new text holds NUL bytes, so it is not text",
        )
        .with_hint("replace the file whole, with `content_b64`"));
    }
    let echoed = view
        .has_bom()
        .then(|| without_bom(&edit.old))
        .flatten()
        .filter(|old| !old.is_empty());
    let (old, new) = match echoed {
        Some(old) => (old, without_bom(&edit.new).unwrap_or(&edit.new)),
        None => (edit.old.as_slice(), edit.new.as_slice()),
    };
    let old = to_lf(old, |_| ());
    work.search.charge(view.text())?;
    let found = match (edit.occurrence, echoed.is_some()) {
        // A byte order mark stands at the start of the file only.
        (_, true) => {
            let first = view.text().starts_with(&old).then_some(0);
            first.into_iter().collect()
        }
        (Occurrence::Once, false) => occurrences(view.text(), &old, MAX_LISTED),
        (Occurrence::All, false) => disjoint_occurrences(view.text(), &old).map_err(|(a, b)| {
            PatchError::new(
                PatchErrorKind::Ambiguous,
                "occurrences of the old text overlap each other, so `all` has no one meaning",
            )
            .with_lines(vec![view.line(a), view.line(b)])
            .with_hint("give a longer old text")
        })?,
    };
    if found.is_empty() {
        return Err(not_found(view, &old, new));
    }
    if edit.occurrence == Occurrence::Once && found.len() > 1 {
        return Err(ambiguous(view, &found));
    }
    let new_lf = to_lf(new, |_| ());
    if old == new_lf {
        return Err(
            PatchError::new(PatchErrorKind::NoChange, "the new text equals the old text")
                .with_lines(found.iter().take(1).map(|at| view.line(*at)).collect())
                .with_hint("leave the edit out, or write the text that should be there"),
        );
    }
    let longest = new_lf
        .len()
        .saturating_add(memchr::memchr_iter(b'\n', &new_lf).count());
    work.result.charge(longest.saturating_mul(found.len()))?;
    Ok(found
        .into_iter()
        .map(|start| {
            let end = start.saturating_add(old.len());
            Span {
                start: view.file_offset(start),
                end: view.file_offset(end),
                new: with_endings(view, (start, end), &new_lf, new),
            }
        })
        .collect())
}

fn ambiguous(view: &TextView<'_>, found: &[usize]) -> PatchError {
    let count = if found.len() < MAX_LISTED {
        found.len().to_string()
    } else {
        format!("{MAX_LISTED} or more")
    };
    let mut lines: Vec<u32> = found.iter().map(|at| view.line(*at)).collect();
    lines.dedup();
    PatchError::new(
        PatchErrorKind::Ambiguous,
        format!("the old text occurs {count} times"),
    )
    .with_lines(lines)
    .with_hint(
        "extend the old text until it occurs once, or ask for `replace_all` if every place is meant",
    )
}

fn not_found(view: &TextView<'_>, old: &[u8], new: &[u8]) -> PatchError {
    let error = PatchError::new(PatchErrorKind::NotFound, "the old text is not in the file");
    match near_miss::explain(view.text(), old, &to_lf(new, |_| ())) {
        Some((line, hint)) => error.with_lines(vec![line]).with_hint(hint),
        None => error.with_hint("read the file again and quote its present text exactly"),
    }
}

/// `new` with line ends like those of the text that it replaces.
///
/// Lines that start or end both texts keep the ends they have. Between them the n-th
/// newline takes the end of the n-th replaced one, further ones that of the last. Without
/// any, the neighbour decides; in a file of one line, the request does.
fn with_endings(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::splice::splice;

    fn apply(file: &[u8], old: &str, new: &str) -> Vec<u8> {
        let edit = Edit {
            old: old.into(),
            new: new.into(),
            occurrence: Occurrence::Once,
        };
        let mut work = Work {
            search: &mut SearchBudget::new(),
            result: &mut ResultBudget::new(),
        };
        let spans = place_edits(file, &[(1, &edit)], &mut work).unwrap();
        splice(file, &spans).unwrap()
    }

    #[test]
    fn mixed_endings_keep_their_lines() {
        let file = b"a\nb\r\nc\nd\r\n";
        assert_eq!(apply(file, "a\nb\nc", "a\nX\nc"), b"a\nX\r\nc\nd\r\n");
        assert_eq!(apply(file, "a\nb\nc", "a\nc"), b"a\nc\nd\r\n");
        assert_eq!(
            apply(file, "b\nc\n", "b\nnew\nc\n"),
            b"a\nb\r\nnew\r\nc\nd\r\n"
        );
        assert_eq!(apply(file, "c", "c\nc2"), b"a\nb\r\nc\nc2\nd\r\n");
        assert_eq!(apply(file, "d", "d\nd2"), b"a\nb\r\nc\nd\r\nd2\r\n");
    }

    #[test]
    fn the_last_line_without_newline_follows_its_neighbour() {
        assert_eq!(apply(b"a\r\nb", "b", "b\nc"), b"a\r\nb\r\nc");
        assert_eq!(apply(b"b", "b", "b\r\nc"), b"b\r\nc");
        assert_eq!(apply(b"b", "b", "b\nc"), b"b\nc");
    }

    #[test]
    fn a_quoted_byte_order_mark_is_the_files_own() {
        let file = b"\xef\xbb\xbfone\none\n";
        assert_eq!(
            apply(file, "\u{feff}one", "\u{feff}two"),
            b"\xef\xbb\xbftwo\none\n"
        );
        assert_eq!(apply(file, "\u{feff}one", "two"), b"\xef\xbb\xbftwo\none\n");
    }
}

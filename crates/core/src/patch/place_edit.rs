//! Placing exact edits: every edit of one file on the same original text.

use super::line_ends::{block_span, with_endings};
use super::near_miss;
use super::place_insert::{Placed, place_insert, refuse_clashes};
use super::search::{
    MAX_LISTED, MAX_PLACES, SearchBudget, disjoint_occurrences, lines_in_text, occurrences,
};
use super::splice::{ResultBudget, Span};
use super::text_view::{TextView, to_lf, without_bom};
use super::{Edit, Insert, Occurrence, PatchError, PatchErrorKind, Unit};

/// A request to change a part of a text.
#[derive(Clone, Copy)]
pub(super) enum Request<'a> {
    Edit(&'a Edit),
    Insert(&'a Insert),
}

/// A request with the number of its operation.
pub(super) type Numbered<'a> = (u32, Request<'a>);

/// The budgets of one plan.
pub(super) struct Work<'a> {
    pub(super) search: &'a mut SearchBudget,
    pub(super) result: &'a mut ResultBudget,
}

/// Finds the span of every edit and insertion; the spans are sorted and disjoint. Errors
/// carry the number of the edit, not the path.
pub(super) fn place_edits(
    file: &[u8],
    requests: &[Numbered<'_>],
    work: &mut Work<'_>,
) -> Result<Vec<Span>, PatchError> {
    let first = requests.first().map_or(1, |(number, _)| *number);
    refuse_binary(file).map_err(|error| error.with_operation(first))?;
    let view = TextView::new(file);
    let mut placed: Vec<(u32, Placed)> = Vec::new();
    for (number, request) in requests {
        let found = match request {
            Request::Edit(edit) => place_edit(file, &view, edit, work),
            Request::Insert(insert) => place_insert(&view, insert, work).map(|one| vec![one]),
        };
        let found = found.map_err(|error| error.with_operation(*number))?;
        placed.extend(found.into_iter().map(|placed| (*number, placed)));
    }
    placed.sort_by_key(|(number, placed)| (placed.span.start, placed.span.end, *number));
    refuse_clashes(file, &placed)?;
    Ok(placed.into_iter().map(|(_, placed)| placed.span).collect())
}

/// Text formats change text only.
pub(super) fn refuse_binary(file: &[u8]) -> Result<(), PatchError> {
    if memchr::memchr(0, file).is_none() {
        return Ok(());
    }
    Err(PatchError::new(
        PatchErrorKind::Unsupported,
        "the file holds NUL bytes, so it is not text",
    )
    .with_hint("replace the file whole, with `content_b64`"))
}

/// Refuses new text that would make a file binary.
pub(super) fn refuse_nul(new: &[u8]) -> Result<(), PatchError> {
    if memchr::memchr(0, new).is_none() {
        return Ok(());
    }
    Err(PatchError::new(
        PatchErrorKind::Unsupported,
        "the new text holds NUL bytes, so it is not text",
    )
    .with_hint("replace the file whole, with `content_b64`"))
}

fn place_edit(
    file: &[u8],
    view: &TextView<'_>,
    edit: &Edit,
    work: &mut Work<'_>,
) -> Result<Vec<Placed>, PatchError> {
    if edit.old.is_empty() {
        return Err(PatchError::syntax("the old text is empty")
            .with_hint("quote the text to replace; to make a new file, create it"));
    }
    refuse_nul(&edit.new)?;
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
    let mut found = match (edit.occurrence, edit.unit) {
        (Occurrence::Once, Unit::Text) => occurrences(view.text(), &old, MAX_LISTED),
        (Occurrence::All, Unit::Text) => {
            disjoint_occurrences(view.text(), &old).map_err(|(a, b)| overlapping(view, a, b))?
        }
        (Occurrence::Once, Unit::Lines) => lines_in_text(view.text(), 0, &old, MAX_LISTED),
        (Occurrence::All, Unit::Lines) => {
            let found = lines_in_text(view.text(), 0, &old, MAX_PLACES.saturating_add(1));
            let clash = found
                .iter()
                .zip(found.iter().skip(1))
                .find(|(a, b)| **b < a.saturating_add(old.len()));
            match clash {
                Some((a, b)) => return Err(overlapping(view, *a, *b)),
                None => found,
            }
        }
    };
    if echoed.is_some() {
        // A byte order mark stands at the start of the file only.
        found.retain(|at| *at == 0);
    }
    if found.len() > MAX_PLACES {
        return Err(PatchError::new(
            PatchErrorKind::Budget,
            format!("the old text occurs more than {MAX_PLACES} times"),
        )
        .with_hint("give a longer old text, or replace the file whole"));
    }
    if found.is_empty() {
        return Err(not_found(view, &old, new));
    }
    if edit.occurrence == Occurrence::Once && found.len() > 1 {
        return Err(ambiguous(
            view,
            &found,
            "extend the old text until it occurs once, or ask for `replace_all` if every place is meant",
        ));
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
            Placed::anywhere(match edit.unit {
                Unit::Text => Span {
                    start: view.file_offset(start),
                    end: view.file_offset(end),
                    new: with_endings(view, (start, end), &new_lf, new),
                },
                Unit::Lines => block_span(view, file, start, &old, &new_lf),
            })
        })
        .collect())
}

fn overlapping(view: &TextView<'_>, a: usize, b: usize) -> PatchError {
    PatchError::new(
        PatchErrorKind::Ambiguous,
        "occurrences of the old text overlap each other, so `all` has no one meaning",
    )
    .with_lines(vec![view.line(a), view.line(b)])
    .with_hint("give a longer old text")
}

/// Says where a text is that should be in one place only.
pub(super) fn ambiguous(view: &TextView<'_>, found: &[usize], hint: &str) -> PatchError {
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
    .with_hint(hint)
}

fn not_found(view: &TextView<'_>, old: &[u8], new: &[u8]) -> PatchError {
    let error = PatchError::new(PatchErrorKind::NotFound, "the old text is not in the file");
    error.with_near(
        near_miss::explain(view.text(), old, &to_lf(new, |_| ())),
        "read the file again and quote its present text exactly",
    )
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
            unit: Unit::Text,
        };
        let mut work = Work {
            search: &mut SearchBudget::new(),
            result: &mut ResultBudget::new(),
        };
        let spans = place_edits(file, &[(1, Request::Edit(&edit))], &mut work).unwrap();
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

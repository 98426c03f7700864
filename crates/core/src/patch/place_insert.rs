//! Placing insertions of whole lines, and refusing changes that touch each other.

use super::line_ends::line_span;
use super::place_edit::{Work, refuse_nul};
use super::splice::Span;
use super::text_view::TextView;
use super::{Insert, PatchError, PatchErrorKind};

/// A change with what has to come right before it in the result.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) span: Span,
    before: Before,
}

/// What has to come right before a change in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Anything,
    /// The start of the file or the end of a line.
    LineEnd,
    /// The text of a line that has no end.
    OpenLine,
}

impl Placed {
    pub(super) const fn anywhere(span: Span) -> Self {
        Self {
            span,
            before: Before::Anything,
        }
    }
}

pub(super) fn place_insert(
    view: &TextView<'_>,
    insert: &Insert,
    work: &mut Work<'_>,
) -> Result<Placed, PatchError> {
    if insert.text.is_empty() {
        return Err(
            PatchError::new(PatchErrorKind::NoChange, "the text to insert is empty")
                .with_hint("leave the insertion out; a blank line is a line end alone"),
        );
    }
    refuse_nul(&insert.text)?;
    let text = view.text();
    let newlines = view.newlines(0..text.len());
    let open = !text.is_empty() && !text.ends_with(b"\n");
    let lines = newlines.len().saturating_add(usize::from(open));
    let wanted = usize::try_from(insert.after_line).unwrap_or(usize::MAX);
    if wanted > lines {
        return Err(PatchError::new(
            PatchErrorKind::NotFound,
            format!("there is no line {wanted}: the file has {lines}"),
        )
        .with_hint(format!(
            "give the line, from 0 (top) to {lines} (end), behind which the text goes"
        )));
    }
    let at = match wanted.checked_sub(1) {
        None => 0,
        Some(index) => newlines
            .get(index)
            .map_or(text.len(), |newline| newline.saturating_add(1)),
    };
    work.result.charge(insert.text.len().saturating_mul(2))?;
    Ok(Placed {
        span: line_span(
            view,
            0,
            at..at,
            &super::text_view::to_lf(&insert.text, |_| ()),
        ),
        before: if open && at == text.len() {
            Before::OpenLine
        } else {
            Before::LineEnd
        },
    })
}

/// Refuses sorted changes of one file that share text, whose order at one place is open, or
/// that would join lines.
pub(super) fn refuse_clashes(file: &[u8], placed: &[(u32, Placed)]) -> Result<(), PatchError> {
    let spans: Vec<&Span> = placed.iter().map(|(_, placed)| &placed.span).collect();
    for (index, ((first, before), (second, after))) in
        placed.iter().zip(placed.iter().skip(1)).enumerate()
    {
        let (a, b) = (&before.span, &after.span);
        let shared = b.start < a.end || (a.start == b.start && a.end == b.end);
        let done = spans.get(..=index).unwrap_or_default();
        let left = left_of(file, done, b.start);
        let joins = a.end == b.start
            && match after.before {
                Before::Anything => false,
                Before::LineEnd => left.is_some_and(|byte| byte != b'\n'),
                Before::OpenLine => left.is_none_or(|byte| byte == b'\n'),
            };
        if shared || joins {
            return Err(PatchError::new(
                PatchErrorKind::Overlap,
                format!("operations {first} and {second} change some of the same text"),
            )
            .with_operation(*second)
            .with_hint("join the two into one edit, or shorten their old texts"));
        }
    }
    Ok(())
}

/// The byte of the result that comes right before `at` of the original, once `spans`, which
/// are sorted and end at or before it, are replaced.
pub(super) fn left_of<S: std::borrow::Borrow<Span>>(
    file: &[u8],
    spans: &[S],
    mut at: usize,
) -> Option<u8> {
    for span in spans.iter().rev() {
        let span = span.borrow();
        if span.end != at {
            break;
        }
        if let Some(last) = span.new.last() {
            return Some(*last);
        }
        at = span.start;
    }
    at.checked_sub(1)
        .and_then(|before| file.get(before))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::place_edit::{Request, place_edits};
    use crate::patch::search::SearchBudget;
    use crate::patch::splice::{ResultBudget, splice};
    use crate::patch::{Edit, Occurrence, Unit};

    fn place(file: &[u8], requests: &[(u32, Request<'_>)]) -> Result<Vec<u8>, PatchErrorKind> {
        let mut work = Work {
            search: &mut SearchBudget::new(),
            result: &mut ResultBudget::new(),
        };
        let spans = place_edits(file, requests, &mut work).map_err(|error| error.kind)?;
        Ok(splice(file, &spans).unwrap())
    }

    fn insert(file: &str, after_line: u32, text: &str) -> Result<String, PatchErrorKind> {
        let insert = Insert {
            after_line,
            text: text.into(),
        };
        place(file.as_bytes(), &[(1, Request::Insert(&insert))])
            .map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn lines_go_between_lines() {
        let ok = |text: &str| Ok(text.to_owned());
        assert_eq!(insert("a\nb\n", 0, "x\n"), ok("x\na\nb\n"));
        assert_eq!(insert("a\nb\n", 1, "x\ny\n"), ok("a\nx\ny\nb\n"));
        assert_eq!(insert("a\nb\n", 2, "x\n"), ok("a\nb\nx\n"));
        assert_eq!(insert("a\nb", 2, "x\n"), ok("a\nb\nx"));
        assert_eq!(insert("a\r\nb\n", 1, "x\n"), ok("a\r\nx\r\nb\n"));
        assert_eq!(insert("a\r\nb", 2, "x\ny\n"), ok("a\r\nb\r\nx\r\ny"));
        assert_eq!(insert("\u{feff}a\n", 0, "x\n"), ok("\u{feff}x\na\n"));
        assert_eq!(insert("", 0, "x\n"), ok("x\n"));
        assert_eq!(insert("a\nb\n", 3, "x\n"), Err(PatchErrorKind::NotFound));
        assert_eq!(insert("a", 1, ""), Err(PatchErrorKind::NoChange));
        assert_eq!(insert("a", 1, "\0\n"), Err(PatchErrorKind::Unsupported));
    }

    #[test]
    fn changes_that_touch_keep_their_lines_apart() {
        let edit = |old: &str, new: &str| Edit {
            old: old.into(),
            new: new.into(),
            occurrence: Occurrence::Once,
            unit: Unit::Text,
        };
        let at = |after_line| Insert {
            after_line,
            text: b"x\n".to_vec(),
        };
        let both = |file: &str, edit: &Edit, insert: &Insert| {
            place(
                file.as_bytes(),
                &[(1, Request::Edit(edit)), (2, Request::Insert(insert))],
            )
            .map(|bytes| String::from_utf8(bytes).unwrap())
        };
        let ok = |text: &str| Ok(text.to_owned());
        let clash = Err(PatchErrorKind::Overlap);
        assert_eq!(both("a\nb\n", &edit("a", "A"), &at(1)), ok("A\nx\nb\n"));
        assert_eq!(both("a\nb\n", &edit("a\n", "A\n"), &at(1)), ok("A\nx\nb\n"));
        assert_eq!(both("a\nb\n", &edit("a\n", ""), &at(1)), ok("x\nb\n"));
        assert_eq!(both("a\nb\n", &edit("a\n", "A"), &at(1)), clash);
        assert_eq!(both("a\nb\n", &edit("a\nb", "A\nB"), &at(1)), clash);
        assert_eq!(both("a\nb", &edit("b", "B"), &at(2)), ok("a\nB\nx"));
        assert_eq!(both("a\nb", &edit("b", "B\n"), &at(2)), clash);
        let cut = edit("q\n", "q");
        let gone = edit("a\n", "");
        let behind = at(2);
        let three = [
            (1, Request::Edit(&cut)),
            (2, Request::Edit(&gone)),
            (3, Request::Insert(&behind)),
        ];
        assert_eq!(place(b"q\na\nb\n", &three), Err(PatchErrorKind::Overlap));
        let (first, second) = (at(1), at(1));
        let twice = [(1, Request::Insert(&first)), (2, Request::Insert(&second))];
        assert_eq!(place(b"a\n", &twice), Err(PatchErrorKind::Overlap));
    }
}

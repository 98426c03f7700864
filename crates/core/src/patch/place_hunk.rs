//! Placing the hunks of a unified diff: byte-exact, whole lines, no fuzz.
//!
//! The stated line wins if it matches; otherwise one other place may. A hunk without
//! trailing context must end the file, as in `git apply`; where the stated line and that
//! rule point to different places, the hunk is `ambiguous` (git takes the end, silently).

use super::error::ordinal;
use super::near_miss;
use super::search::{MAX_LISTED, SearchBudget, at_line_starts};
use super::splice::Span;
use super::text_view::line_at;
use super::{Hunk, PatchError, PatchErrorKind, Tail};

/// Finds the span of every hunk; the spans are sorted and disjoint. Errors carry the
/// number of the hunk, not the path.
pub(super) fn place_hunks(
    file: &[u8],
    hunks: &[Hunk],
    search: &mut SearchBudget,
) -> Result<Vec<Span>, PatchError> {
    let mut lines = Lines::of(file);
    let mut spans: Vec<Span> = Vec::new();
    for (index, hunk) in hunks.iter().enumerate() {
        let number = |error: PatchError| error.with_hunk(ordinal(index));
        if hunk.old == hunk.new {
            return Err(number(
                PatchError::new(PatchErrorKind::NoChange, "the hunk changes nothing")
                    .with_hint("leave the hunk out"),
            ));
        }
        let start = place(&mut lines, hunk, search).map_err(number)?;
        let end = start.saturating_add(hunk.old.len());
        let is_last = index.saturating_add(1) == hunks.len();
        let open = !hunk.new.is_empty() && !hunk.new.ends_with(b"\n");
        let joins = open && (end < file.len() || !is_last);
        if joins {
            return Err(number(PatchError::syntax(
                "the last new line of the hunk has no newline, but it is not the last of the file",
            )
            .with_hint("leave `\\ No newline at end of file` out, or make the diff again")));
        }
        if spans.last().is_some_and(|before| start < before.end) {
            return Err(number(
                PatchError::new(
                    PatchErrorKind::Overlap,
                    format!(
                        "the hunk fits at line {}, which is not behind the hunk before it",
                        line_at(file, start)
                    ),
                )
                .with_lines(vec![line_at(file, start)])
                .with_hint("make the diff again from the present file"),
            ));
        }
        spans.push(Span {
            start,
            end,
            new: hunk.new.clone(),
        });
    }
    Ok(spans)
}

/// A file in which stated lines are looked up, in ascending order at best.
struct Lines<'a> {
    file: &'a [u8],
    /// A line, from 0, and where it starts.
    known: (usize, usize),
    /// A line, from 0, behind the end of the file.
    absent: usize,
}

impl<'a> Lines<'a> {
    const fn of(file: &'a [u8]) -> Self {
        Self {
            file,
            known: (0, 0),
            absent: usize::MAX,
        }
    }

    /// Where the line `index`, from 0, starts. Behind the last newline there is one more.
    fn start(&mut self, index: usize) -> Option<usize> {
        if index >= self.absent {
            return None;
        }
        if index < self.known.0 {
            self.known = (0, 0);
        }
        let (line, offset) = self.known;
        let Some(ahead) = index
            .checked_sub(line)
            .and_then(|ahead| ahead.checked_sub(1))
        else {
            return Some(offset);
        };
        let Some(newline) = memchr::memchr_iter(b'\n', self.file.get(offset..)?).nth(ahead) else {
            self.absent = index;
            return None;
        };
        let start = offset.saturating_add(newline).saturating_add(1);
        self.known = (index, start);
        Some(start)
    }

    /// Whether the lines `old` stand at `offset`, which starts a line. Lines end in a
    /// newline, except the last of the file.
    fn match_at(&self, offset: usize, old: &[u8]) -> bool {
        self.file.get(offset..).is_some_and(|rest| {
            rest.starts_with(old)
                && (old.ends_with(b"\n") || old.is_empty() || rest.len() == old.len())
        })
    }

    /// Where lines that end the file would start, if they start a line there.
    fn tail(&self, old: &[u8]) -> Option<usize> {
        let offset = self.file.len().checked_sub(old.len())?;
        let before = self.file.get(..offset)?;
        let starts_line = before.is_empty() || before.ends_with(b"\n");
        (starts_line && self.match_at(offset, old)).then_some(offset)
    }

    fn stated(&mut self, hunk: &Hunk) -> Option<usize> {
        let line = usize::try_from(hunk.old_start).ok()?;
        let index = if hunk.old.is_empty() {
            line
        } else {
            line.checked_sub(1)?
        };
        let offset = self.start(index)?;
        self.match_at(offset, &hunk.old).then_some(offset)
    }
}

fn place(
    lines: &mut Lines<'_>,
    hunk: &Hunk,
    search: &mut SearchBudget,
) -> Result<usize, PatchError> {
    let file = lines.file;
    let line = |offset: usize| line_at(file, offset);
    let stated = lines.stated(hunk);
    match (hunk.tail, stated) {
        (Tail::Open, Some(stated)) => Ok(stated),
        (Tail::Open, None) => elsewhere(lines, hunk, search),
        (Tail::EndOfFile, stated) => match (lines.tail(&hunk.old), stated) {
            (Some(tail), Some(stated)) if tail == stated => Ok(tail),
            (Some(tail), None) if !hunk.old.is_empty() => Ok(tail),
            (Some(tail), stated) => {
                let candidates = stated.into_iter().chain([tail]).map(line).collect();
                Err(PatchError::new(
                    PatchErrorKind::Ambiguous,
                    "the hunk has no trailing context, so it must end the file, but it states another line",
                )
                .with_lines(candidates)
                .with_hint("add the unchanged lines that follow the change, up to three"))
            }
            (None, Some(stated)) => Err(PatchError::new(
                PatchErrorKind::NotFound,
                "the hunk has no trailing context, so it must end the file, but it matches before the end only",
            )
            .with_lines(vec![line(stated)])
            .with_hint("add the unchanged lines that follow the change, up to three")),
            (None, None) => Err(not_found(lines.file, hunk)),
        },
    }
}

fn elsewhere(
    lines: &Lines<'_>,
    hunk: &Hunk,
    search: &mut SearchBudget,
) -> Result<usize, PatchError> {
    search.charge(lines.file)?;
    let found = if hunk.old.is_empty() || hunk.old.ends_with(b"\n") {
        at_line_starts(lines.file, &hunk.old, MAX_LISTED)
    } else {
        // Lines of which the last has no newline end the file or are not in it.
        lines.tail(&hunk.old).into_iter().collect()
    };
    match found.as_slice() {
        [] => Err(not_found(lines.file, hunk)),
        [only] => Ok(*only),
        [_, _, ..] => Err(PatchError::new(
            PatchErrorKind::Ambiguous,
            format!(
                "the hunk does not match at line {}, but at more than one other place",
                hunk.old_start
            ),
        )
        .with_lines(found.iter().map(|at| line_at(lines.file, *at)).collect())
        .with_hint("state the right line in the hunk header, or add context")),
    }
}

fn not_found(file: &[u8], hunk: &Hunk) -> PatchError {
    let error = PatchError::new(
        PatchErrorKind::NotFound,
        format!(
            "the old lines of the hunk are not in the file, neither at line {} nor elsewhere",
            hunk.old_start
        ),
    );
    error.with_near(
        near_miss::explain(file, &hunk.old, &hunk.new),
        "make the diff again from the present file",
    )
}

//! Finding every occurrence of a text, those that overlap each other included.
//!
//! The scan is linear up to [`MAX_LISTED`] hits. All searches of one plan share a budget
//! of [`MAX_SEARCH_BYTES`], so that many edits of a large file cannot buy unbounded work.

use memchr::memmem::Finder;

use super::{PatchError, PatchErrorKind};

/// How many candidates an error lists.
pub(super) const MAX_LISTED: usize = 50;

/// How many bytes the searches of one plan may look at: 8 GiB.
pub(super) const MAX_SEARCH_BYTES: u64 = 8 << 30;

/// What is left of [`MAX_SEARCH_BYTES`].
pub(super) struct SearchBudget(u64);

impl SearchBudget {
    pub(super) const fn new() -> Self {
        Self(MAX_SEARCH_BYTES)
    }

    /// Pays for one search of `text`.
    pub(super) fn charge(&mut self, text: &[u8]) -> Result<(), PatchError> {
        let cost = u64::try_from(text.len()).unwrap_or(u64::MAX);
        self.0 = self.0.checked_sub(cost).ok_or_else(|| {
            PatchError::new(
                PatchErrorKind::Budget,
                "the patch needs more searching than 8 GiB of text",
            )
            .with_hint("use fewer edits on large files, or replace such a file whole")
        })?;
        Ok(())
    }
}

/// The offsets of the first `limit` occurrences of `needle`, which is not empty.
pub(super) fn occurrences(text: &[u8], needle: &[u8], limit: usize) -> Vec<usize> {
    let finder = Finder::new(needle);
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() < limit
        && let Some(at) = text.get(from..).and_then(|rest| finder.find(rest))
    {
        let at = from.saturating_add(at);
        found.push(at);
        from = at.saturating_add(1);
    }
    found
}

/// The most places at which one edit may replace text: 1,000,000.
pub(super) const MAX_PLACES: usize = 1_000_000;

/// The offsets of all occurrences of `needle`, or of the first two that overlap. One more
/// than [`MAX_PLACES`] are not looked for.
pub(super) fn disjoint_occurrences(
    text: &[u8],
    needle: &[u8],
) -> Result<Vec<usize>, (usize, usize)> {
    let finder = Finder::new(needle);
    let mut found: Vec<usize> = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| finder.find(rest)) {
        let at = from.saturating_add(at);
        if let Some(last) = found.last()
            && at < last.saturating_add(needle.len())
        {
            return Err((*last, at));
        }
        found.push(at);
        if found.len() > MAX_PLACES {
            break;
        }
        from = at.saturating_add(1);
    }
    Ok(found)
}

/// The offsets of the first `limit` occurrences of `needle` that start a line.
pub(super) fn at_line_starts(text: &[u8], needle: &[u8], limit: usize) -> Vec<usize> {
    // With the newline before it, every hit starts a line: hits within lines cost nothing.
    let mut found = Vec::new();
    if text.starts_with(needle) {
        found.push(0);
    }
    let anchored = [b"\n", needle].concat();
    let rest = occurrences(text, &anchored, limit.saturating_sub(found.len()));
    found.extend(rest.into_iter().map(|at| at.saturating_add(1)));
    found
}

/// The offsets of the first `limit` places, from the line start `from` on, where the whole
/// lines `lines` stand: each ends in LF, but the last line of `text` may lack it.
pub(super) fn lines_in_text(text: &[u8], from: usize, lines: &[u8], limit: usize) -> Vec<usize> {
    let rest = text.get(from..).unwrap_or_default();
    let mut found: Vec<usize> = at_line_starts(rest, lines, limit)
        .into_iter()
        .map(|at| from.saturating_add(at))
        .collect();
    let open = lines.strip_suffix(b"\n").filter(|lines| !lines.is_empty());
    if let Some(open) = open
        && !rest.ends_with(b"\n")
        && found.len() < limit
        && let Some(before) = rest.strip_suffix(open)
        && (before.is_empty() || before.ends_with(b"\n"))
    {
        found.push(from.saturating_add(before.len()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_occurrences_count() {
        assert_eq!(occurrences(b"zaazaaz", b"zaaz", 9), [0, 3]);
        assert_eq!(occurrences(b"aaaa", b"a", 2), [0, 1]);
        assert_eq!(disjoint_occurrences(b"zaazaaz", b"zaaz"), Err((0, 3)));
        assert_eq!(disjoint_occurrences(b"abab", b"ab"), Ok(vec![0, 2]));
    }

    #[test]
    fn only_whole_lines_are_found() {
        assert_eq!(at_line_starts(b"a\nba\na\n", b"a\n", 9), [0, 5]);
        assert_eq!(at_line_starts(b"a\na\na\n", b"a\na\n", 9), [0, 2]);
    }

    #[test]
    fn the_last_line_may_be_open() {
        assert_eq!(lines_in_text(b"a\nb\na", 0, b"a\n", 9), [0, 4]);
        assert_eq!(lines_in_text(b"a\nb\na", 2, b"a\n", 9), [4]);
        assert_eq!(lines_in_text(b"a\nba", 0, b"a\n", 9), [0]);
        assert_eq!(lines_in_text(b"a\n", 0, b"a\n\n", 9), [0_usize; 0]);
        assert_eq!(lines_in_text(b"a\n", 2, b"\n", 9), [0_usize; 0]);
        assert_eq!(lines_in_text(b"a\nb", 0, b"a\nb\n", 9), [0]);
    }

    #[test]
    fn the_budget_is_shared() {
        let mut budget = SearchBudget(10);
        assert!(budget.charge(b"123456").is_ok());
        let error = budget.charge(b"123456").unwrap_err();
        assert_eq!(error.kind, PatchErrorKind::Budget);
    }
}

//! Which lines two texts have in common.
//!
//! Common lines at both ends are set aside; lines that occur once on either side become
//! anchors (Bram Cohen's patience diff); between anchors Myers' algorithm runs as long as
//! its worst case fits in a budget, and past that the lines count as replaced. So the
//! result is exact for ordinary files, coarser for hostile ones, and the same every time:
//! no clock decides.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// A run of equal lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) old: usize,
    pub(crate) new: usize,
    pub(crate) len: usize,
}

/// The most lines of both texts together, ends that they share set aside, among which
/// common ones are sought: 4,000,000.
const MAX_LINES: usize = 4_000_000;

/// Steps of Myers' algorithm that one plan or rendering may take in the worst case.
const MAX_STEPS: usize = 1 << 28;

/// What is left of the steps.
pub(crate) struct DiffBudget(usize);

impl DiffBudget {
    pub(crate) const fn new() -> Self {
        Self(MAX_STEPS)
    }

    fn take(&mut self, steps: usize) -> bool {
        match self.0.checked_sub(steps) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}

/// The lines of `text`, each with its newline.
pub(crate) fn split_lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// How many lines only `new` has, and how many only `old` has. Equal bytes at both ends are
/// set aside before anything is split into lines, so that a small change of a large file
/// stays cheap.
pub(crate) fn changed_lines(old: &[u8], new: &[u8], budget: &mut DiffBudget) -> (usize, usize) {
    let head = whole_lines(old, common_prefix(old, new));
    let (old, new) = (
        old.get(head..).unwrap_or_default(),
        new.get(head..).unwrap_or_default(),
    );
    let same = common_suffix(old, new);
    let common_end = old
        .get(old.len().saturating_sub(same)..)
        .unwrap_or_default();
    // The first line of the common end may start before it.
    let tail = match memchr::memchr(b'\n', common_end) {
        Some(at) => same.saturating_sub(at).saturating_sub(1),
        None => 0,
    };
    let middle = |text: &'_ [u8]| text.len().saturating_sub(tail);
    let old = old.get(..middle(old)).unwrap_or_default();
    let new = new.get(..middle(new)).unwrap_or_default();
    let (old_lines, new_lines) = (count_lines(old), count_lines(new));
    if old_lines.saturating_add(new_lines) > MAX_LINES {
        return (new_lines, old_lines);
    }
    let (old, new) = (split_lines(old), split_lines(new));
    let common: usize = common_lines(&old, &new, budget)
        .iter()
        .map(|run| run.len)
        .sum();
    (
        new.len().saturating_sub(common),
        old.len().saturating_sub(common),
    )
}

/// How many lines `text` has; the last one need not end in a newline.
pub(crate) fn count_lines(text: &[u8]) -> usize {
    let open = !text.is_empty() && !text.ends_with(b"\n");
    memchr::memchr_iter(b'\n', text)
        .count()
        .saturating_add(usize::from(open))
}

/// Bytes that are compared at once.
const BLOCK: usize = 4096;

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let blocks = a
        .chunks_exact(BLOCK)
        .zip(b.chunks_exact(BLOCK))
        .take_while(|(a, b)| a == b)
        .count()
        .saturating_mul(BLOCK);
    let (a, b) = (
        a.get(blocks..).unwrap_or_default(),
        b.get(blocks..).unwrap_or_default(),
    );
    blocks.saturating_add(a.iter().zip(b).take_while(|(a, b)| a == b).count())
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let blocks = a
        .rchunks_exact(BLOCK)
        .zip(b.rchunks_exact(BLOCK))
        .take_while(|(a, b)| a == b)
        .count()
        .saturating_mul(BLOCK);
    let cut = |text: &'_ [u8]| text.len().saturating_sub(blocks);
    let (a, b) = (
        a.get(..cut(a)).unwrap_or_default(),
        b.get(..cut(b)).unwrap_or_default(),
    );
    blocks.saturating_add(
        a.iter()
            .rev()
            .zip(b.iter().rev())
            .take_while(|(a, b)| a == b)
            .count(),
    )
}

/// The length of the whole lines in the first `len` bytes of `text`.
fn whole_lines(text: &[u8], len: usize) -> usize {
    text.get(..len)
        .and_then(|part| memchr::memrchr(b'\n', part))
        .map_or(0, |at| at.saturating_add(1))
}

/// Runs of equal lines, ascending on both sides.
pub(crate) fn common_lines<'a>(
    old: &[&'a [u8]],
    new: &[&'a [u8]],
    budget: &mut DiffBudget,
) -> Vec<Match> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = |lines: &[&[u8]]| lines.len().saturating_sub(head);
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(rest(old).min(rest(new)))
        .take_while(|(a, b)| a == b)
        .count();
    let between_ends = rest(old)
        .saturating_add(rest(new))
        .saturating_sub(tail.saturating_mul(2));
    if between_ends > MAX_LINES {
        return join(vec![
            (0, 0, head),
            (
                old.len().saturating_sub(tail),
                new.len().saturating_sub(tail),
                tail,
            ),
        ]);
    }
    let mut names: BTreeMap<&'a [u8], usize> = BTreeMap::new();
    let mut name = |lines: &[&'a [u8]]| -> Vec<usize> {
        let changed = lines.get(head..lines.len().saturating_sub(tail));
        changed
            .unwrap_or_default()
            .iter()
            .map(|line| {
                let next = names.len();
                *names.entry(*line).or_insert(next)
            })
            .collect()
    };
    let (a, b) = (name(old), name(new));
    let mut found = vec![(0, 0, head)];
    found.extend(
        between(&a, &b, budget)
            .into_iter()
            .map(|(x, y)| (x + head, y + head, 1)),
    );
    found.push((old.len() - tail, new.len() - tail, tail));
    join(found)
}

/// Joins runs that continue each other and drops empty ones.
fn join(found: Vec<(usize, usize, usize)>) -> Vec<Match> {
    let mut out: Vec<Match> = Vec::new();
    for (old, new, len) in found {
        if len == 0 {
            continue;
        }
        match out.last_mut() {
            Some(last) if last.old + last.len == old && last.new + last.len == new => {
                last.len += len;
            }
            Some(_) | None => out.push(Match { old, new, len }),
        }
    }
    out
}

/// Pairs of equal lines, ascending.
fn between(old: &[usize], new: &[usize], budget: &mut DiffBudget) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut from = (0, 0);
    for anchor in anchors(old, new) {
        myers(
            old,
            new,
            from.0..anchor.0,
            from.1..anchor.1,
            budget,
            &mut pairs,
        );
        pairs.push(anchor);
        from = (anchor.0 + 1, anchor.1 + 1);
    }
    myers(
        old,
        new,
        from.0..old.len(),
        from.1..new.len(),
        budget,
        &mut pairs,
    );
    pairs
}

/// The longest ascending series of lines that occur exactly once on both sides.
fn anchors(old: &[usize], new: &[usize]) -> Vec<(usize, usize)> {
    let once = |lines: &[usize]| -> BTreeMap<usize, usize> {
        let mut at = BTreeMap::new();
        let mut repeated = BTreeSet::new();
        for (index, line) in lines.iter().enumerate() {
            if at.insert(*line, index).is_some() {
                repeated.insert(*line);
            }
        }
        at.retain(|line, _| !repeated.contains(line));
        at
    };
    let in_new = once(new);
    let mut pairs: Vec<(usize, usize)> = once(old)
        .into_iter()
        .filter_map(|(line, at)| Some((at, *in_new.get(&line)?)))
        .collect();
    pairs.sort_unstable();
    // Patience sorting: `piles` holds, per length, the pair that ends the best series.
    let mut piles: Vec<(usize, usize)> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, (_, new)) in pairs.iter().enumerate() {
        let pile = piles.partition_point(|(end, _)| end < new);
        before.push(
            pile.checked_sub(1)
                .and_then(|at| piles.get(at))
                .map(|(_, at)| *at),
        );
        match piles.get_mut(pile) {
            Some(top) => *top = (*new, index),
            None => piles.push((*new, index)),
        }
    }
    let mut series = Vec::with_capacity(piles.len());
    let mut next = piles.last().map(|(_, index)| *index);
    while let Some(index) = next {
        series.extend(pairs.get(index));
        next = before.get(index).copied().flatten();
    }
    series.reverse();
    series
}

/// Runs Myers' algorithm on a gap; lines that only one side has are left out first, since
/// they cannot be part of a match.
fn myers(
    old: &[usize],
    new: &[usize],
    old_range: Range<usize>,
    new_range: Range<usize>,
    budget: &mut DiffBudget,
    pairs: &mut Vec<(usize, usize)>,
) {
    let lines = |all: &[usize], range: &Range<usize>| -> BTreeSet<usize> {
        all.get(range.clone())
            .unwrap_or_default()
            .iter()
            .copied()
            .collect()
    };
    let (in_old, in_new) = (lines(old, &old_range), lines(new, &new_range));
    let keep =
        |all: &[usize], range: Range<usize>, other: &BTreeSet<usize>| -> (Vec<usize>, Vec<usize>) {
            range
                .filter_map(|at| Some((at, *all.get(at)?)))
                .filter(|(_, line)| other.contains(line))
                .unzip()
        };
    let (old_at, old_lines) = keep(old, old_range, &in_new);
    let (new_at, new_lines) = keep(new, new_range, &in_old);
    let size = old_lines.len().saturating_add(new_lines.len());
    if old_lines.is_empty() || new_lines.is_empty() || !budget.take(size.saturating_mul(size)) {
        return;
    }
    for op in capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines) {
        match op {
            DiffOp::Equal {
                old_index,
                new_index,
                len,
            } => {
                let part = |at: &[usize], from: usize| -> Vec<usize> {
                    at.iter().skip(from).take(len).copied().collect()
                };
                pairs.extend(
                    part(&old_at, old_index)
                        .into_iter()
                        .zip(part(&new_at, new_index)),
                );
            }
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(old: &str, new: &str) -> Vec<(usize, usize, usize)> {
        let (old, new) = (split_lines(old.as_bytes()), split_lines(new.as_bytes()));
        common_lines(&old, &new, &mut DiffBudget::new())
            .into_iter()
            .map(|run| (run.old, run.new, run.len))
            .collect()
    }

    #[test]
    fn ordinary_changes_are_minimal() {
        assert_eq!(matches("a\nb\nc\n", "a\nX\nc\n"), [(0, 0, 1), (2, 2, 1)]);
        assert_eq!(matches("a\na\na\n", "a\na\n"), [(0, 0, 2)]);
        assert_eq!(matches("", "a\n"), []);
        assert_eq!(matches("x\ny\nx\n", "y\nx\ny\n"), [(0, 1, 2)]);
    }

    #[test]
    fn hostile_input_stays_cheap() {
        let old: String = (0..200_000).map(|n| format!("{}\n", n % 7)).collect();
        let new: String = (0..200_000).map(|n| format!("{}\n", n % 5)).collect();
        let found = matches(&old, &new);
        assert_eq!(found.first(), Some(&(0, 0, 5)));
    }

    proptest! {
        #[test]
        fn counting_finds_the_lines_that_matching_finds(
            old in "([ab]\n){0,12}b?",
            new in "([abc]\n){0,12}b?",
        ) {
            let (a, b) = (split_lines(old.as_bytes()), split_lines(new.as_bytes()));
            let matched: usize = common_lines(&a, &b, &mut DiffBudget::new())
                .iter()
                .map(|run| run.len)
                .sum();
            let changed = changed_lines(old.as_bytes(), new.as_bytes(), &mut DiffBudget::new());
            prop_assert_eq!(changed, (b.len() - matched, a.len() - matched));
        }

        #[test]
        fn matches_are_equal_lines_in_order(old in "([ab]\n){0,12}", new in "([abc]\n){0,12}") {
            let (a, b) = (split_lines(old.as_bytes()), split_lines(new.as_bytes()));
            let mut from = (0, 0);
            for run in common_lines(&a, &b, &mut DiffBudget::new()) {
                prop_assert!(run.old >= from.0 && run.new >= from.1 && run.len > 0);
                prop_assert_eq!(&a[run.old..run.old + run.len], &b[run.new..run.new + run.len]);
                from = (run.old + run.len, run.new + run.len);
            }
        }
    }
}

//! The table, and what it comes to.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::compare::Comparison;
use super::difference::{Cause, Kind};

/// Least share of equal outcomes, in tenths of a percent, of those outcomes that count.
const CLAIM: usize = 995;

/// One line.
pub(super) struct Row {
    pub(super) subject: String,
    pub(super) comparison: Comparison,
    pub(super) native_seconds: f64,
    pub(super) guest_seconds: f64,
}

/// All lines.
#[derive(Default)]
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
}

impl Table {
    fn sum(&self, of: impl Fn(&Comparison) -> usize) -> usize {
        self.rows.iter().map(|row| of(&row.comparison)).sum()
    }

    /// Equal outcomes and outcomes that count.
    fn share(&self) -> (usize, usize) {
        let equal = self.sum(Comparison::equal);
        let counted = equal
            + self.sum(Comparison::unexplained)
            + self.sum(|comparison| comparison.of_kind(Kind::Counted));
        (equal, counted)
    }

    /// Whether enough tests are equal and none passes in the sandbox only.
    pub(super) fn holds(&self) -> bool {
        let (equal, counted) = self.share();
        counted > 0
            && equal.saturating_mul(1000) >= counted.saturating_mul(CLAIM)
            && self.sum(|comparison| comparison.only_in_guest().1) == 0
    }

    /// The table in Markdown, the causes below it, then the totals in a sentence.
    pub(super) fn markdown(&self) -> String {
        let mut text = String::from(
            "| suite | tests | equal | WASI lacks | version | other causes | unexplained | guest only | native s | guest s |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        );
        for row in &self.rows {
            let of = &row.comparison;
            push(
                &mut text,
                &row.subject,
                [
                    of.tests,
                    of.equal(),
                    of.of_kind(Kind::Lacks),
                    of.of_kind(Kind::Version),
                    of.of_kind(Kind::Counted),
                    of.unexplained(),
                    of.only_in_guest().0,
                ],
                row.native_seconds,
                row.guest_seconds,
            );
        }
        push(
            &mut text,
            "all",
            [
                self.sum(|of| of.tests),
                self.sum(Comparison::equal),
                self.sum(|of| of.of_kind(Kind::Lacks)),
                self.sum(|of| of.of_kind(Kind::Version)),
                self.sum(|of| of.of_kind(Kind::Counted)),
                self.sum(Comparison::unexplained),
                self.sum(|of| of.only_in_guest().0),
            ],
            self.rows.iter().map(|row| row.native_seconds).sum(),
            self.rows.iter().map(|row| row.guest_seconds).sum(),
        );
        text.push_str("\n| why tests differ | tests | suites |\n|---|--:|--:|\n");
        for (name, (tests, suites)) in self.causes() {
            line(&mut text, format_args!("| {name} | {tests} | {suites} |"));
        }
        text.push('\n');
        text.push_str(&self.summary());
        text
    }

    /// Tests and suites by cause, in the order of the causes, unknown ones last.
    fn causes(&self) -> Vec<(&'static str, (usize, usize))> {
        let mut found: BTreeMap<Option<Cause>, (usize, usize)> = BTreeMap::new();
        for row in &self.rows {
            let mut here: BTreeMap<Option<Cause>, usize> = BTreeMap::new();
            for test in &row.comparison.unequal {
                *here.entry(test.cause).or_default() += 1;
            }
            for (cause, tests) in here {
                let entry = found.entry(cause).or_default();
                entry.0 += tests;
                entry.1 += 1;
            }
        }
        let known = Cause::ALL.into_iter().map(Some);
        known
            .chain([None])
            .filter_map(|cause| {
                let counts = found.get(&cause)?;
                Some((cause.map_or("unexplained", Cause::name), *counts))
            })
            .collect()
    }

    fn summary(&self) -> String {
        let (equal, counted) = self.share();
        let percent = if counted == 0 {
            0.0
        } else {
            100.0 * equal as f64 / counted as f64
        };
        let (only, unknown) = (
            self.sum(|of| of.only_in_guest().0),
            self.sum(|of| of.only_in_guest().1),
        );
        format!(
            "{} suites, {} tests: {equal} of {counted} counted outcomes are equal ({percent:.2} %); {} tests are left out because WASI lacks what they need, {} because of the version of CPython. Passed in the sandbox and failed natively: {only}, of these neither by the version nor by chance: {unknown}.\n",
            self.rows.len(),
            self.sum(|of| of.tests),
            self.sum(|of| of.of_kind(Kind::Lacks)),
            self.sum(|of| of.of_kind(Kind::Version)),
        )
    }
}

fn push(text: &mut String, name: &str, counts: [usize; 7], native: f64, guest: f64) {
    let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
    let counts = counts.join(" | ");
    line(
        text,
        format_args!("| {name} | {counts} | {native:.1} | {guest:.1} |"),
    );
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{arguments}");
}

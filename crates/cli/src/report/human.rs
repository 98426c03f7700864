//! The verdict for people: every check in a line, evidence below the ones that did not
//! pass, and the change that was judged.

use std::fmt::Write as _;

use probity_core::verify::{
    Captured, CheckReport, Finding, Level, Outcome, Status, SuiteReport, TestOutcome, TestReport,
    VerdictDocument,
};

use super::escape;
use crate::ui::{Style, Ui};

/// Most findings, tests and lines of evidence shown; JSON has all.
const MAX_FINDINGS: usize = 10;
const MAX_TESTS: usize = 10;
const MAX_EVIDENCE: usize = 12;
const MAX_DIFF: usize = 60;

/// Prints a whole verdict.
pub(crate) fn print_verdict(ui: &Ui, document: &VerdictDocument) {
    let mut text = String::new();
    for report in &document.checks {
        check(&mut text, ui, report);
    }
    if let Some(patch) = &document.patch {
        let _ = writeln!(
            text,
            "\njudged: {} file{} changed, +{} −{}  ({})",
            patch.files,
            plural(patch.files),
            patch.added,
            patch.removed,
            patch.format,
        );
        diff(&mut text, ui, &patch.diff);
    }
    let (style, word) = match document.status {
        Status::Passed => (Style::Good, "passed"),
        Status::Failed => (Style::Bad, "failed"),
        Status::Error => (Style::Doubtful, "error"),
        Status::NothingChecked => (Style::Doubtful, "nothing checked"),
    };
    let passed = document
        .checks
        .iter()
        .filter(|report| report.outcome == Outcome::Pass)
        .count();
    let _ = writeln!(
        text,
        "\nverdict: {}  {passed} of {} checks passed in {}",
        ui.paint(style, word),
        document.checks.len(),
        document.timings.total_ns,
    );
    if !document.failures.is_empty() {
        let names: Vec<String> = document
            .failures
            .iter()
            .map(|name| escape::line(name))
            .collect();
        let _ = writeln!(text, "not passed: {}", names.join(", "));
    }
    let _ = writeln!(
        text,
        "{}",
        ui.paint(Style::Faint, &format!("tree {}", document.patched.tree))
    );
    ui.out(&text);
}

/// Prints one check.
pub(crate) fn print_check(ui: &Ui, report: &CheckReport) {
    let mut text = String::new();
    check(&mut text, ui, report);
    ui.out(&text);
}

fn check(text: &mut String, ui: &Ui, report: &CheckReport) {
    let (style, word) = match report.outcome {
        Outcome::Pass => (Style::Good, "pass "),
        Outcome::Fail => (Style::Bad, "FAIL "),
        Outcome::Error => (Style::Doubtful, "ERROR"),
        Outcome::Skipped => (Style::Faint, "skip "),
    };
    let cost = if report.fuel.0 > 0 {
        format!(
            "{}, {}, {}",
            report.wall_time, report.fuel, report.assurance
        )
    } else {
        report.wall_time.to_string()
    };
    let _ = writeln!(
        text,
        "{} {}  {}",
        ui.paint(style, word),
        ui.paint(Style::Strong, &escape::line(&report.name)),
        ui.paint(Style::Faint, &cost),
    );
    let passed = report.outcome == Outcome::Pass;
    if !passed || report.tests.is_some() {
        let _ = writeln!(text, "      {}", escape::line(&report.message));
    }
    if let Some(probity_core::verify::Cause::Host {
        hint: Some(hint), ..
    }) = &report.cause
    {
        let _ = writeln!(text, "      hint: {}", escape::line(hint));
    }
    let findings: Vec<&Finding> = report
        .findings
        .iter()
        .filter(|finding| !passed || finding.level != Level::Note)
        .collect();
    for finding in findings.iter().take(MAX_FINDINGS) {
        let place = match (&finding.path, finding.line) {
            (Some(path), Some(line)) => format!("{}:{line}: ", escape::line(path)),
            (Some(path), None) => format!("{}: ", escape::line(path)),
            (None, _) => String::new(),
        };
        let _ = writeln!(
            text,
            "      {}: {place}{}",
            finding.level,
            escape::line(&finding.message)
        );
    }
    more(text, findings.len(), MAX_FINDINGS, "findings");
    for hit in &report.limits {
        let _ = writeln!(text, "      limit {hit}");
    }
    if let Some(suite) = &report.tests {
        tests(text, suite);
    }
    if !passed && report.findings.is_empty() && report.tests.is_none() {
        evidence(text, "stdout", report.stdout.as_ref());
    }
    if !passed {
        evidence(text, "stderr", report.stderr.as_ref());
    }
}

fn tests(text: &mut String, suite: &SuiteReport) {
    let counts = [
        TestOutcome::Passed,
        TestOutcome::Failed,
        TestOutcome::Error,
        TestOutcome::Missing,
        TestOutcome::Incomplete,
        TestOutcome::Skipped,
        TestOutcome::XFailed,
        TestOutcome::XPassed,
    ]
    .map(|outcome| {
        let count = suite
            .tests
            .iter()
            .filter(|test| test.outcome == outcome)
            .count();
        (count > 0).then(|| format!("{count} {outcome}"))
    });
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let _ = writeln!(
        text,
        "      {} on {}: {}",
        escape::line(&suite.runner),
        escape::line(&suite.runtime),
        if counts.is_empty() {
            "no tests".to_owned()
        } else {
            counts.join(", ")
        }
    );
    for error in suite.collect_errors.iter().take(MAX_TESTS) {
        let _ = writeln!(text, "      not collected: {}", escape::line(&error.id));
        excerpt(text, &error.message);
    }
    more(
        text,
        suite.collect_errors.len(),
        MAX_TESTS,
        "collection errors",
    );
    let bad: Vec<&TestReport> = suite
        .tests
        .iter()
        .filter(|test| {
            if test.expected {
                test.outcome != TestOutcome::Passed
            } else {
                !test.outcome.is_tolerable()
            }
        })
        .collect();
    for test in bad.iter().take(MAX_TESTS) {
        let expected = if test.expected || suite.expected == 0 {
            ""
        } else {
            "  (not expected, decides nothing)"
        };
        let _ = writeln!(
            text,
            "      {}: {}{expected}",
            test.outcome,
            escape::line(&test.id)
        );
        if let Some(message) = &test.message
            && (test.expected || suite.expected == 0)
        {
            excerpt(text, message);
        }
    }
    more(text, bad.len(), MAX_TESTS, "tests that did not pass");
}

/// The end of a longer text, which is where tracebacks say what happened.
fn excerpt(text: &mut String, message: &str) {
    let lines: Vec<&str> = message.trim_end().lines().collect();
    let start = lines.len().saturating_sub(MAX_EVIDENCE);
    for line in lines.iter().skip(start) {
        let _ = writeln!(text, "        | {}", escape::line(line));
    }
}

fn evidence(text: &mut String, name: &str, captured: Option<&Captured>) {
    if let Some(captured) = captured {
        let _ = writeln!(text, "      {name} ({} bytes):", captured.bytes_total);
        excerpt(text, &captured.text);
    }
}

fn diff(text: &mut String, ui: &Ui, diff: &Captured) {
    let lines: Vec<&str> = diff.text.lines().collect();
    for line in lines.iter().take(MAX_DIFF) {
        let style = match line.as_bytes().first() {
            Some(b'+') => Style::Good,
            Some(b'-') => Style::Bad,
            Some(b'@') => Style::Faint,
            _ => Style::Plain,
        };
        let _ = writeln!(text, "  {}", ui.paint(style, &escape::line(line)));
    }
    more(text, lines.len(), MAX_DIFF, "lines of the diff");
}

fn more(text: &mut String, count: usize, shown: usize, what: &str) {
    let rest = count.saturating_sub(shown);
    if rest > 0 {
        let _ = writeln!(text, "      … {rest} more {what} (--json has them)");
    }
}

const fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

//! The verdict for people: what did not pass comes first, with evidence; then the slowest
//! tests, a line for each check that passed, the change that was judged, and the verdict.

use probity_core::verify::{
    Captured, Cause, CheckReport, Level, Outcome, Status, SuiteReport, TestOutcome, TestReport,
    VerdictDocument,
};

use super::page::Page;
use super::standing::first_failing;
use super::{assurance, finding_line};
use crate::ui::{Look, Style};

/// Most findings, tests, lines of evidence and lines of a diff shown; JSON has all.
const MAX_FINDINGS: usize = 10;
const MAX_TESTS: usize = 10;
const MAX_EVIDENCE: usize = 12;
const MAX_DIFF: usize = 60;
/// Most lines shown of what failed first, where it stands far above the end.
const MAX_TOLD: usize = 3;
/// How many of the slowest tests are shown, if so many ran that it is worth it.
const SLOWEST: usize = 5;
const MANY_TESTS: usize = 10;

/// Below the name of a check.
const INDENT: &str = "      ";

/// A whole verdict.
pub(crate) fn verdict_text(look: Look, document: &VerdictDocument) -> String {
    let mut page = Page::new(look);
    let (good, bad): (Vec<&CheckReport>, Vec<&CheckReport>) = document
        .checks
        .iter()
        .partition(|check| matches!(check.outcome, Outcome::Pass | Outcome::Skipped));
    for report in bad {
        check(&mut page, report);
        page.gap();
    }
    slowest(&mut page, document);
    for report in good {
        check(&mut page, report);
    }
    if let Some(patch) = &document.patch {
        page.gap();
        page.own(&format!(
            "judged: {} file{} changed, +{} −{}  ({})",
            patch.files,
            plural(patch.files),
            patch.added,
            patch.removed,
            patch.format,
        ));
        diff(&mut page, &patch.diff);
    }
    page.gap();
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
    page.own(&format!(
        "verdict: {}  {passed} of {} checks passed in {}",
        page.paint(style, word),
        document.checks.len(),
        document.timings.total_ns,
    ));
    if !document.failures.is_empty() {
        page.prose("not passed: ", &document.failures.join(", "));
    }
    page.own(&format!("assurance: {}", assurance(&document.assurance)));
    page.own(&page.paint(Style::Faint, &format!("tree {}", document.patched.tree)));
    page.finish()
}

/// One check.
pub(crate) fn check_text(look: Look, report: &CheckReport) -> String {
    let mut page = Page::new(look);
    check(&mut page, report);
    page.finish()
}

fn check(page: &mut Page, report: &CheckReport) {
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
    let passed = report.outcome == Outcome::Pass;
    let counts = match &report.tests {
        Some(suite) if passed => format!("  {}", counts(suite)),
        Some(_) | None => String::new(),
    };
    page.own(&format!(
        "{} {}  {}{counts}",
        page.paint(style, word),
        page.paint(Style::Strong, &super::escape::line(&report.name)),
        page.paint(Style::Faint, &cost),
    ));
    if !passed {
        // The tests that a message names come below, each with its reason.
        let message = match (&report.cause, report.message.split_once(": ")) {
            (Some(Cause::Tests), Some((message, _))) => message,
            (_, _) => &report.message,
        };
        page.prose(INDENT, message);
    }
    if let Some(Cause::Host {
        hint: Some(hint), ..
    }) = &report.cause
    {
        page.prose(&format!("{INDENT}hint: "), hint);
    }
    let findings: Vec<String> = report
        .findings
        .iter()
        .filter(|finding| !passed || finding.level != Level::Note)
        .map(finding_line)
        .collect();
    for finding in findings.iter().take(MAX_FINDINGS) {
        page.prose(INDENT, finding);
    }
    more(page, findings.len(), MAX_FINDINGS, "findings");
    for hit in &report.limits {
        page.own(&format!("{INDENT}limit {hit}"));
    }
    if let Some(suite) = &report.tests
        && !passed
    {
        tests(page, suite);
    }
    if !passed && report.findings.is_empty() && report.tests.is_none() {
        output(page, "stdout", report.stdout.as_ref());
    }
    if !passed {
        output(page, "stderr", report.stderr.as_ref());
    }
}

/// How many tests ended in which way.
fn counts(suite: &SuiteReport) -> String {
    let counts = [
        TestOutcome::Passed,
        TestOutcome::Failed,
        TestOutcome::Flaky,
        TestOutcome::Error,
        TestOutcome::Missing,
        TestOutcome::Incomplete,
        TestOutcome::Skipped,
        TestOutcome::XFailed,
        TestOutcome::XPassed,
    ]
    .map(|outcome| {
        let with = suite.tests.iter().filter(|test| test.outcome == outcome);
        let count = with.count();
        (count > 0).then(|| format!("{count} {outcome}"))
    });
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    if counts.is_empty() {
        "no tests".to_owned()
    } else {
        counts.join(", ")
    }
}

fn tests(page: &mut Page, suite: &SuiteReport) {
    let (runner, runtime) = (&suite.runner, &suite.runtime);
    page.prose(INDENT, &format!("{runner} on {runtime}: {}", counts(suite)));
    let bad: Vec<&TestReport> = suite
        .tests
        .iter()
        .filter(|test| test.is_failure())
        .collect();
    for test in bad.iter().take(MAX_TESTS) {
        let outcome = page.paint(Style::Bad, test.outcome.as_str());
        page.prose(&format!("{INDENT}{outcome}: "), &test.id);
        if let Some(message) = &test.message {
            traceback(page, message);
        }
        if let Some(reason) = &test.reason {
            page.prose(&format!("{INDENT}  because: "), reason);
        }
    }
    more(page, bad.len(), MAX_TESTS, "tests that did not pass");
    let errors = &suite.collect_errors;
    for error in errors.iter().take(MAX_TESTS) {
        page.prose(&format!("{INDENT}not collected: "), &error.id);
        traceback(page, &error.message);
    }
    more(page, errors.len(), MAX_TESTS, "collection errors");
    let weightless = suite.tests.iter().filter(|test| !test.decides);
    let weightless = weightless.filter(|test| !test.outcome.is_tolerable());
    match weightless.count() {
        0 => {}
        count => page.own(&format!(
            "{INDENT}{count} more did not pass, which decides nothing"
        )),
    }
}

/// The end of a traceback, which says what happened, and the first line that failed, if it
/// stands further up.
fn traceback(page: &mut Page, message: &str) {
    let lines: Vec<&str> = message.trim_end().lines().collect();
    let start = lines.len().saturating_sub(MAX_EVIDENCE);
    let bar = format!("{INDENT}  | ");
    if let Some((at, _)) = first_failing(message).filter(|(at, _)| *at < start) {
        let told = lines
            .iter()
            .skip(at)
            .take_while(|line| line.starts_with('E'));
        let told = told.filter(|line| line.trim() != "E");
        for line in told.take(MAX_TOLD) {
            page.evidence(&bar, Style::Strong, line);
        }
    }
    if start > 0 {
        let above = format!("… {start} lines above (--report json has them)");
        page.evidence(&bar, Style::Faint, &above);
    }
    for line in lines.iter().skip(start) {
        let style = if line.starts_with("E  ") {
            Style::Strong
        } else {
            Style::Plain
        };
        page.evidence(&bar, style, line);
    }
}

fn output(page: &mut Page, name: &str, captured: Option<&Captured>) {
    let Some(captured) = captured else { return };
    page.own(&format!("{INDENT}{name} ({} bytes):", captured.bytes_total));
    let lines: Vec<&str> = captured.text.trim_end().lines().collect();
    let start = lines.len().saturating_sub(MAX_EVIDENCE);
    for line in lines.iter().skip(start) {
        page.evidence(&format!("{INDENT}  | "), Style::Plain, line);
    }
}

/// The tests that took the most work, over all suites.
fn slowest(page: &mut Page, document: &VerdictDocument) {
    let suites = document
        .checks
        .iter()
        .filter_map(|check| check.tests.as_ref());
    let mut ran: Vec<&TestReport> = suites
        .flat_map(|suite| &suite.tests)
        .filter(|test| test.fuel.0 > 0)
        .collect();
    if ran.len() < MANY_TESTS {
        return;
    }
    // Ties, which are no chance, go by name.
    ran.sort_by(|a, b| b.fuel.cmp(&a.fuel).then_with(|| a.id.cmp(&b.id)));
    page.own(&format!("slowest of {} tests, by fuel:", ran.len()));
    for test in ran.iter().take(SLOWEST) {
        page.name(&format!("{:>16}  ", test.fuel.to_string()), &test.id);
    }
    page.gap();
}

fn diff(page: &mut Page, diff: &Captured) {
    let lines: Vec<&str> = diff.text.lines().collect();
    for line in lines.iter().take(MAX_DIFF) {
        let style = match line.as_bytes().first() {
            Some(b'+') => Style::Good,
            Some(b'-') => Style::Bad,
            Some(b'@') => Style::Faint,
            _ => Style::Plain,
        };
        page.evidence("  ", style, line);
    }
    more(page, lines.len(), MAX_DIFF, "lines of the diff");
}

fn more(page: &mut Page, count: usize, shown: usize, what: &str) {
    let rest = count.saturating_sub(shown);
    if rest > 0 {
        page.own(&format!(
            "{INDENT}… {rest} more {what} (--report json has them)"
        ));
    }
}

const fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

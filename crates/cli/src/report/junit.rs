//! The verdict as JUnit XML, for GitHub, GitLab, Jenkins and what else reads it.
//!
//! There is no standard. What readers agree on: each suite is a `testsuite`; the other checks
//! are the cases of a suite called `checks`. GitLab takes two cases of one class and name for
//! one, so names are made unique. `failure` is a test that said no, `error` one that could
//! not say; a test is red exactly if it keeps its suite from passing. Times are virtual
//! seconds. The file is the same each time.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

use probity_core::quantity::Fuel;
use probity_core::verify::{
    Captured, Cause, CheckReport, CollectError, Outcome, SuiteReport, TestOutcome, TestReport,
    VerdictDocument,
};
use quick_junit::{
    NonSuccessKind, Property, Report, SerializeError, TestCase, TestCaseStatus, TestSuite,
};

use super::escape;
use super::standing::{Standing, headline, standing};
use super::trim::{Room, trimmed};

/// Most bytes of a traceback.
const MAX_DESCRIPTION: usize = 256 << 10;
/// Most bytes of the output of a test that did not pass, of one that did, and of a name.
const MAX_OUTPUT: usize = 64 << 10;
const MAX_QUIET_OUTPUT: usize = 4 << 10;
const MAX_NAME: usize = 500;

/// The document as JUnit XML.
///
/// # Errors
/// Never in practice: it is written to memory.
pub(super) fn junit(document: &VerdictDocument) -> Result<String, SerializeError> {
    let mut room = Room::new();
    let mut report = Report::new("probity");
    let mut checks = TestSuite::new("checks");
    describe(&mut checks, document);
    for check in &document.checks {
        match &check.tests {
            Some(suite) => {
                report.add_test_suite(of_suite(document, check, suite, &mut room));
            }
            None => {
                checks.add_test_case(of_check(check, &mut room));
            }
        }
    }
    if !checks.test_cases.is_empty() {
        let total = checks.test_cases.iter().filter_map(|case| case.time).sum();
        checks.set_time(total);
        report.add_test_suite(checks);
    }
    Ok(harmless(&report.to_string()?))
}

/// The same document with references for what could harm a log or mislead its reader. Such
/// characters stand in texts and values only, where a reference means the same.
fn harmless(xml: &str) -> String {
    let mut out = String::with_capacity(xml.len());
    for c in xml.chars() {
        if escape::misleads(c) || (c.is_control() && !matches!(c, '\n' | '\t')) {
            let _ = write!(out, "&#{};", u32::from(c));
        } else {
            out.push(c);
        }
    }
    escape::disarmed(&out, "&#58;", "&#35;")
}

/// What is the same for each suite of a verdict.
fn describe(suite: &mut TestSuite, document: &VerdictDocument) {
    suite.add_property(Property::new("tree", document.patched.tree.to_string()));
    suite.add_property(Property::new("verdict", document.status.as_str()));
    let assurance = super::assurance(&document.assurance);
    suite.add_property(Property::new("verdict-assurance", assurance));
}

fn of_suite(
    document: &VerdictDocument,
    check: &CheckReport,
    suite: &SuiteReport,
    room: &mut Room,
) -> TestSuite {
    let mut out = TestSuite::new(escape::line(&check.name));
    describe(&mut out, document);
    for (name, value) in [
        ("assurance", check.assurance.to_string()),
        ("runtime", escape::line(&suite.runtime)),
        ("runner", escape::line(&suite.runner)),
        ("fuel", check.fuel.0.to_string()),
        ("message", escape::line(&trimmed(&check.message, MAX_NAME))),
    ] {
        out.add_property(Property::new(name, value));
    }
    let mut names = Names::default();
    for test in &suite.tests {
        out.add_test_case(of_test(test, &check.name, &mut names, room));
    }
    for error in &suite.collect_errors {
        out.add_test_case(of_collection(check, error, &mut names, room));
    }
    let red = out.failures.saturating_add(out.errors) > 0;
    if check.cause.is_some() && !red {
        // Something keeps the suite from passing that no test tells.
        let place = Place {
            class: escape::line(&check.name),
            name: "(the suite itself)".to_owned(),
            file: None,
        };
        let mut case = names.case(place, status_of(check, room));
        outputs(&mut case, check, room);
        out.add_test_case(case);
    }
    out.set_time(suite.tests.iter().map(duration).sum());
    out
}

fn of_test(test: &TestReport, check: &str, names: &mut Names, room: &mut Room) -> TestCase {
    let stands = standing(test);
    let mut status = match stands {
        Standing::Passed => TestCaseStatus::success(),
        Standing::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Standing::Broke => TestCaseStatus::non_success(NonSuccessKind::Error),
        Standing::Skipped | Standing::Excused => TestCaseStatus::skipped(),
    };
    if stands != Standing::Passed {
        let weightless = stands == Standing::Excused && test.outcome != TestOutcome::XFailed;
        let decides_nothing = if weightless { "decides nothing: " } else { "" };
        // The type says already that it was skipped, or failed as expected.
        let told = match (stands, test.outcome, &test.reason) {
            (Standing::Skipped, _, Some(reason))
            | (Standing::Excused, TestOutcome::XFailed, Some(reason)) => reason.clone(),
            (_, _, _) => headline(test),
        };
        let line = escape::line(&trimmed(&told, MAX_NAME));
        status
            .set_type(test.outcome.as_str())
            .set_message(format!("{decides_nothing}{line}"));
        if let Some(message) = &test.message {
            status.set_description(room.take(&xml_text(message), MAX_DESCRIPTION));
        }
    }
    let mut case = names.case(Place::of(&test.id, check), status);
    case.set_time(duration(test));
    case.add_property(Property::new("fuel", test.fuel.0.to_string()));
    if test.outcome == TestOutcome::XPassed {
        let reason = test.reason.as_deref().unwrap_or("passed");
        let reason = escape::line(&trimmed(reason, MAX_NAME));
        case.add_property(Property::new("expected-to-fail", reason));
    }
    if !test.standins.is_empty() {
        let standins = escape::line(&trimmed(&test.standins.join(" "), MAX_NAME));
        case.add_property(Property::new("stand-ins", standins));
    }
    let cap = match stands {
        Standing::Passed | Standing::Skipped => MAX_QUIET_OUTPUT,
        Standing::Failed | Standing::Broke | Standing::Excused => MAX_OUTPUT,
    };
    if let Some(text) = &test.stdout {
        case.set_system_out(room.take(&xml_text(text), cap));
    }
    if let Some(text) = &test.stderr {
        case.set_system_err(room.take(&xml_text(text), cap));
    }
    case
}

fn of_collection(
    check: &CheckReport,
    error: &CollectError,
    names: &mut Names,
    room: &mut Room,
) -> TestCase {
    let mut status = if check.cause.is_some() {
        TestCaseStatus::non_success(NonSuccessKind::Error)
    } else {
        TestCaseStatus::skipped()
    };
    status
        .set_type("not-collected")
        .set_message("could not be collected")
        .set_description(room.take(&xml_text(&error.message), MAX_DESCRIPTION));
    let place = Place {
        name: "(collection)".to_owned(),
        ..Place::of(&format!("{}::", error.id), &check.name)
    };
    names.case(place, status)
}

fn of_check(check: &CheckReport, room: &mut Room) -> TestCase {
    let mut case = TestCase::new(escape::line(&check.name), status_of(check, room));
    case.set_classname(format!("checks.{}", check.kind));
    case.set_time(virtual_time(check.fuel));
    case.add_property(Property::new("assurance", check.assurance.as_str()));
    case.add_property(Property::new("fuel", check.fuel.0.to_string()));
    outputs(&mut case, check, room);
    case
}

/// How a check as a whole ended.
fn status_of(check: &CheckReport, room: &mut Room) -> TestCaseStatus {
    let mut status = match check.outcome {
        Outcome::Pass => return TestCaseStatus::success(),
        Outcome::Skipped => TestCaseStatus::skipped(),
        Outcome::Fail => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Outcome::Error => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    status.set_message(escape::line(&trimmed(&check.message, MAX_NAME)));
    if let Some(cause) = &check.cause {
        status.set_type(cause_name(cause));
    }
    let findings: Vec<String> = check.findings.iter().map(super::finding_line).collect();
    if !findings.is_empty() {
        status.set_description(room.take(&findings.join("\n"), MAX_DESCRIPTION));
    }
    status
}

fn outputs(case: &mut TestCase, check: &CheckReport, room: &mut Room) {
    let mut text = |captured: &Option<Captured>| {
        let captured = captured.as_ref()?;
        Some(room.take(&xml_text(&captured.text), MAX_OUTPUT))
    };
    if let Some(text) = text(&check.stdout) {
        case.set_system_out(text);
    }
    if let Some(text) = text(&check.stderr) {
        case.set_system_err(text);
    }
}

/// The name of a cause, as the JSON report has it.
pub(super) const fn cause_name(cause: &Cause) -> &'static str {
    match cause {
        Cause::Findings => "findings",
        Cause::Tests => "tests",
        Cause::Tampered { .. } => "tampered",
        Cause::Assurance { .. } => "assurance",
        Cause::Limit(_) => "limit",
        Cause::Trap { .. } => "trap",
        Cause::Exit { .. } => "exit",
        Cause::Protocol { .. } => "protocol",
        Cause::Refused { .. } => "refused",
        Cause::Broke { .. } => "broke",
        Cause::Panicked { .. } => "panicked",
        Cause::Host { .. } => "host",
    }
}

fn duration(test: &TestReport) -> Duration {
    Duration::from_nanos(test.duration_ns)
}

/// One unit of fuel lasts a virtual nanosecond.
const fn virtual_time(fuel: Fuel) -> Duration {
    Duration::from_nanos(fuel.0)
}

/// The text without the two characters that XML cannot have and the writer lets pass.
fn xml_text(text: &str) -> String {
    text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// Where a test stands in the tree of classes that readers show.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    class: String,
    name: String,
    file: Option<String>,
}

impl Place {
    /// The place of a test by pytest's id, `path::Class::function[parameters]`; of any other
    /// id the check's name is the class.
    fn of(id: &str, check: &str) -> Self {
        // Parameters may hold anything.
        let (path, rest) = match id.split_once("::") {
            Some((path, rest)) if !path.is_empty() => (path, rest),
            Some(_) | None => {
                return Self {
                    class: escape::line(check),
                    name: named(id),
                    file: None,
                };
            }
        };
        let named_part = rest.find('[').unwrap_or(rest.len());
        let (plain, parameters) = rest.split_at_checked(named_part).unwrap_or((rest, ""));
        let (classes, function) = match plain.rsplit_once("::") {
            Some((classes, function)) => (Some(classes), function),
            None => (None, plain),
        };
        let module = path.strip_suffix(".py").unwrap_or(path).replace('/', ".");
        let class = match classes {
            Some(classes) => format!("{module}.{}", classes.replace("::", ".")),
            None => module,
        };
        Self {
            class: named(&class),
            name: named(&format!("{function}{parameters}")),
            file: Some(named(path)),
        }
    }
}

/// A name of bounded length with nothing in it that does not show.
fn named(text: &str) -> String {
    let shown = escape::line(&text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"));
    match shown.char_indices().nth(MAX_NAME) {
        None => shown,
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
    }
}

/// Class and name of each case so far: readers take two of the same for one.
#[derive(Debug, Default)]
struct Names(HashSet<(String, String)>);

impl Names {
    fn case(&mut self, place: Place, status: TestCaseStatus) -> TestCase {
        let mut name = place.name.clone();
        let mut number = 1_u64;
        while !self.0.insert((place.class.clone(), name.clone())) {
            number = number.saturating_add(1);
            name = format!("{} ({number})", place.name);
        }
        let mut case = TestCase::new(name, status);
        case.set_classname(place.class);
        if let Some(file) = place.file {
            case.extra.insert("file".into(), file.into());
        }
        case
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_pytest_is_taken_apart() {
        let place = |id| {
            let Place { class, name, file } = Place::of(id, "tests");
            (class, name, file.unwrap_or_default())
        };
        for (id, class, name, file) in [
            (
                "tests/test_a.py::test_x",
                "tests.test_a",
                "test_x",
                "tests/test_a.py",
            ),
            (
                "a.py::TestB::TestC::test_x[1::2[3]]",
                "a.TestB.TestC",
                "test_x[1::2[3]]",
                "a.py",
            ),
            (
                "README.md::README.md",
                "README.md",
                "README.md",
                "README.md",
            ),
            ("anything", "tests", "anything", ""),
            ("::x", "tests", "\\u{3a}:x", ""),
        ] {
            assert_eq!(
                place(id),
                (class.to_owned(), name.to_owned(), file.to_owned()),
                "{id}"
            );
        }
    }

    #[test]
    fn names_are_unique_bounded_and_visible() {
        let mut names = Names::default();
        let mut name = |id: &str| {
            let case = names.case(Place::of(id, "c"), TestCaseStatus::success());
            case.name.as_str().to_owned()
        };
        assert_eq!(name("a.py::t"), "t");
        assert_eq!(name("a.py::t"), "t (2)");
        assert_eq!(name("a.py::t"), "t (3)");
        assert_eq!(name("a.py::t[\u{1b}[31m\0]"), "t[\\u{1b}[31m\\u{0}]");
        assert_eq!(
            name(&format!("a.py::{}", "x".repeat(10_000)))
                .chars()
                .count(),
            MAX_NAME + 1
        );
    }
}

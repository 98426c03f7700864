//! The verdict as TAP, version 14: a test point for each check, a subtest for each suite.
//!
//! A test that may fail is `# TODO`, one that was skipped `# SKIP`, so that a subtest is
//! `ok` exactly if its suite is. Diagnostics are YAML with every string in double quotes:
//! untrusted text can then be neither a line of TAP nor a command to a CI service.

use std::fmt::Write as _;

use probity_core::verify::{
    CheckReport, Outcome, SuiteReport, TestOutcome, TestReport, VerdictDocument,
};

use super::escape;
use super::junit::cause_name;
use super::standing::{Standing, headline, standing};
use super::trim::{Room, trimmed};

/// Most bytes of a text in diagnostics, and of a description or a reason.
const MAX_TEXT: usize = 64 << 10;
const MAX_LINE: usize = 500;

/// The document as TAP.
pub(super) fn tap(document: &VerdictDocument) -> String {
    let mut room = Room::new();
    let mut out = format!(
        "TAP version 14\n1..{}\n# assurance: {}\n",
        document.checks.len(),
        super::assurance(&document.assurance)
    );
    for (index, check) in document.checks.iter().enumerate() {
        if let Some(suite) = &check.tests {
            subtest(&mut out, check, suite, &mut room);
        }
        let directive = match check.outcome {
            Outcome::Skipped => Some(("SKIP", check.message.as_str())),
            Outcome::Pass | Outcome::Fail | Outcome::Error => None,
        };
        let point = Point {
            indent: "",
            ok: matches!(check.outcome, Outcome::Pass | Outcome::Skipped),
            number: index.saturating_add(1),
            description: &check.name,
            directive,
        };
        point.write(&mut out);
        let mut yaml = Yaml::new(&mut out, "", &mut room);
        yaml.text("kind", check.kind.as_str());
        yaml.text("assurance", check.assurance.as_str());
        yaml.number("fuel", check.fuel.0);
        if let Some(cause) = &check.cause {
            yaml.text("cause", cause_name(cause));
            yaml.text("message", &check.message);
        }
        let findings: Vec<String> = check.findings.iter().map(super::finding_line).collect();
        yaml.list("findings", &findings);
        if check.tests.is_none() {
            yaml.optional(
                "stdout",
                check.stdout.as_ref().map(|kept| kept.text.as_str()),
            );
        }
        yaml.optional(
            "stderr",
            check.stderr.as_ref().map(|kept| kept.text.as_str()),
        );
        yaml.end();
    }
    out
}

fn subtest(out: &mut String, check: &CheckReport, suite: &SuiteReport, room: &mut Room) {
    let count = suite.tests.len().saturating_add(suite.collect_errors.len());
    if count == 0 {
        return;
    }
    let indent = "    ";
    let _ = writeln!(out, "# Subtest: {}", escaped(&check.name));
    let _ = writeln!(out, "{indent}1..{count}");
    let mut number = 0_usize;
    for test in &suite.tests {
        number = number.saturating_add(1);
        point_of(test, indent, number).write(out);
        diagnose(out, test, indent, room);
    }
    for error in &suite.collect_errors {
        number = number.saturating_add(1);
        let excused = check.cause.is_none();
        let point = Point {
            indent,
            ok: false,
            number,
            description: &format!("collection of {}", error.id),
            directive: excused.then_some(("TODO", "decides nothing")),
        };
        point.write(out);
        let mut yaml = Yaml::new(out, indent, room);
        yaml.text("message", &error.message);
        yaml.end();
    }
}

fn point_of<'a>(test: &'a TestReport, indent: &'a str, number: usize) -> Point<'a> {
    let reason = test.reason.as_deref().unwrap_or_default();
    let stands = standing(test);
    let directive = match stands {
        Standing::Passed if test.outcome == TestOutcome::XPassed => Some(("TODO", reason)),
        Standing::Passed | Standing::Failed | Standing::Broke => None,
        Standing::Skipped => Some(("SKIP", reason)),
        Standing::Excused if test.outcome == TestOutcome::XFailed => Some(("TODO", reason)),
        Standing::Excused => Some(("TODO", "decides nothing")),
    };
    Point {
        indent,
        ok: matches!(stands, Standing::Passed | Standing::Skipped),
        number,
        description: &test.id,
        directive,
    }
}

fn diagnose(out: &mut String, test: &TestReport, indent: &str, room: &mut Room) {
    let mut yaml = Yaml::new(out, indent, room);
    yaml.text("outcome", test.outcome.as_str());
    yaml.number("fuel", test.fuel.0);
    yaml.number("duration_ns", test.duration_ns);
    match standing(test) {
        Standing::Passed | Standing::Skipped => {}
        Standing::Failed | Standing::Broke | Standing::Excused => {
            yaml.text("summary", &headline(test));
            yaml.optional("message", test.message.as_deref());
            yaml.optional("stdout", test.stdout.as_deref());
            yaml.optional("stderr", test.stderr.as_deref());
        }
    }
    yaml.list("standins", &test.standins);
    yaml.end();
}

/// One test point.
struct Point<'a> {
    indent: &'a str,
    ok: bool,
    number: usize,
    description: &'a str,
    directive: Option<(&'static str, &'a str)>,
}

impl Point<'_> {
    fn write(&self, out: &mut String) {
        let ok = if self.ok { "ok" } else { "not ok" };
        let description = escaped(self.description);
        let _ = write!(out, "{}{ok} {} - {description}", self.indent, self.number);
        if let Some((directive, reason)) = self.directive {
            let _ = write!(out, " # {directive}");
            if !reason.trim().is_empty() {
                let _ = write!(out, " {}", escaped(reason));
            }
        }
        out.push('\n');
    }
}

/// A description or reason on one line. A backslash before anything but a hash or another
/// one would be read as itself, but is doubled nevertheless.
///
/// Readers older than version 14 do not know the escape: a hash that would begin a directive
/// for them is shown by its code point.
fn escaped(text: &str) -> String {
    let line = escape::line(&trimmed(text.trim(), MAX_LINE));
    let mut out = String::with_capacity(line.len());
    for (at, c) in line.char_indices() {
        match c {
            '\\' => out.push_str("\\\\"),
            '#' if begins_directive(line.get(at..).unwrap_or_default()) => {
                out.push_str("\\\\u{23}");
            }
            '#' => out.push_str("\\#"),
            c => out.push(c),
        }
    }
    out
}

/// Whether a text that starts with a hash would be a directive.
fn begins_directive(text: &str) -> bool {
    let word = text.trim_start_matches('#').trim_start();
    ["skip", "todo"].iter().any(|directive| {
        word.get(..directive.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(directive))
    })
}

/// A block of diagnostics.
struct Yaml<'a> {
    out: &'a mut String,
    indent: &'a str,
    room: &'a mut Room,
}

impl<'a> Yaml<'a> {
    fn new(out: &'a mut String, indent: &'a str, room: &'a mut Room) -> Self {
        let _ = writeln!(out, "{indent}  ---");
        Self { out, indent, room }
    }

    fn number(&mut self, key: &str, value: u64) {
        let _ = writeln!(self.out, "{}  {key}: {value}", self.indent);
    }

    fn text(&mut self, key: &str, value: &str) {
        let value = quoted(&self.room.take(value, MAX_TEXT));
        let _ = writeln!(self.out, "{}  {key}: {value}", self.indent);
    }

    fn optional(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(key, value);
        }
    }

    fn list(&mut self, key: &str, values: &[String]) {
        if values.is_empty() {
            return;
        }
        let _ = writeln!(self.out, "{}  {key}:", self.indent);
        for value in values {
            let value = quoted(&self.room.take(value, MAX_TEXT));
            let _ = writeln!(self.out, "{}    - {value}", self.indent);
        }
    }

    fn end(self) {
        let _ = writeln!(self.out, "{}  ...", self.indent);
    }
}

/// A double-quoted YAML string, on one line, of printable characters only.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(2));
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() || escape::misleads(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    // The quote keeps colons from the start of the line.
    escape::disarmed(&out, ":", "\\x23")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_cannot_turn_into_directives() {
        assert_eq!(escaped("a # b\\c"), "a \\# b\\\\c");
        assert_eq!(escaped("a # SKIP b"), "a \\\\u{23} SKIP b");
        assert_eq!(escaped("a\\#todo"), "a\\\\\\\\u{23}todo");
        assert_eq!(escaped("two\nlines"), "two\\\\nlines");
        assert_eq!(escaped("\u{1b}[31m"), "\\\\u{1b}[31m");
    }

    #[test]
    fn yaml_strings_stay_on_their_line_and_are_printable() {
        assert_eq!(quoted("a\n::b \"c\" \\"), "\"a\\n::b \\\"c\\\" \\\\\"");
        assert_eq!(
            quoted("\0\u{1b}\u{85}\u{fffe}"),
            "\"\\u0000\\u001b\\u0085\\ufffe\""
        );
        assert_eq!(quoted("##[error]"), "\"#\\x23[error]\"");
    }
}

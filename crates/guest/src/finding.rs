//! Findings and the report that collects them.
//!
//! **Invariants.** The outcome depends on every finding made, not only on those kept.
//! At most [`Report::KEPT`] findings are kept and each text is cut to a fixed length, so
//! a hostile tree cannot make a check print without bound. An error is never dropped in
//! favour of a warning or a note.

use std::io::{self, Write};

use serde::Serialize;

/// Longest message that is kept, in bytes; the rest is replaced by `…`.
const MAX_MESSAGE: usize = 1000;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Makes the check fail.
    Error,
    /// Worth a look; does not change the outcome.
    Warning,
    /// Says what was seen; does not change the outcome.
    Note,
}

/// Where in the repository a finding belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The repository as a whole.
    Whole,
    /// One file, by its path from the repository's root.
    File(String),
    /// One line of a file, counted from 1.
    Line(String, u64),
}

impl Place {
    /// A file, by its path from the repository's root.
    pub fn file(path: impl Into<String>) -> Self {
        Self::File(path.into())
    }

    /// One line of a file, counted from 1.
    pub fn line(path: impl Into<String>, line: u64) -> Self {
        Self::Line(path.into(), line)
    }

    /// One line of a file if the line is known, else the file.
    pub fn at(path: impl Into<String>, line: Option<u64>) -> Self {
        match line {
            Some(line) => Self::line(path, line),
            None => Self::file(path),
        }
    }
}

/// One line of a check's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it weighs.
    pub level: Level,
    /// Path from the repository's root, with `/` between its parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What was found, for people. May quote untrusted text.
    pub message: String,
}

/// What a check found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No finding of level `error`.
    Pass,
    /// At least one finding of level `error`.
    Fail,
}

/// Collects the findings of one check.
#[derive(Clone, Debug, Default)]
pub struct Report {
    kept: Vec<Finding>,
    errors: u64,
    dropped: u64,
}

impl Report {
    /// How many findings are kept and printed; a last note says how many more there were.
    pub const KEPT: usize = 200;

    /// Makes an empty report, whose outcome is pass.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a finding that makes the check fail.
    pub fn error(&mut self, place: Place, message: impl Into<String>) {
        self.errors = self.errors.saturating_add(1);
        self.add(Level::Error, place, message.into());
    }

    /// Adds a finding that is worth a look but does not change the outcome.
    pub fn warning(&mut self, place: Place, message: impl Into<String>) {
        self.add(Level::Warning, place, message.into());
    }

    /// Adds a remark about what was seen.
    pub fn note(&mut self, place: Place, message: impl Into<String>) {
        self.add(Level::Note, place, message.into());
    }

    /// Fails exactly when an error was added, whether it was kept or not.
    pub fn outcome(&self) -> Outcome {
        if self.errors == 0 {
            Outcome::Pass
        } else {
            Outcome::Fail
        }
    }

    /// The findings that were kept, in the order in which they were made.
    pub fn findings(&self) -> &[Finding] {
        &self.kept
    }

    /// How many findings were made but not kept.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Writes the findings as JSON lines, and a last note if some were not kept.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let rest = (self.dropped > 0).then(|| Finding {
            level: Level::Note,
            path: None,
            line: None,
            message: format!("{} more findings are not shown", self.dropped),
        });
        for finding in self.kept.iter().chain(rest.as_ref()) {
            serde_json::to_writer(&mut *out, finding)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }

    fn add(&mut self, level: Level, place: Place, message: String) {
        if self.kept.len() >= Self::KEPT {
            self.dropped = self.dropped.saturating_add(1);
            let lesser = self
                .kept
                .iter()
                .rposition(|kept| kept.level != Level::Error);
            match (level, lesser) {
                (Level::Error, Some(position)) => drop(self.kept.remove(position)),
                (Level::Error | Level::Warning | Level::Note, _) => return,
            }
        }
        let (path, line) = match place {
            Place::Whole => (None, None),
            Place::File(path) => (Some(path), None),
            Place::Line(path, line) => (Some(path), Some(line)),
        };
        self.kept.push(Finding {
            level,
            path,
            line,
            message: cut(message),
        });
    }
}

fn cut(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        message.push('…');
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(report: &Report) -> String {
        let mut out = Vec::new();
        report.write(&mut out).expect("a vector takes every byte");
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    #[test]
    fn findings_are_json_lines() {
        let mut report = Report::new();
        report.warning(Place::Whole, "w");
        report.note(Place::file("a b.txt"), "n\n\u{1b}[31m");
        assert_eq!(report.outcome(), Outcome::Pass);
        report.error(Place::line("x.py", 3), "e");
        assert_eq!(report.outcome(), Outcome::Fail);
        assert_eq!(
            printed(&report),
            concat!(
                r#"{"level":"warning","message":"w"}"#,
                "\n",
                r#"{"level":"note","path":"a b.txt","message":"n\n\u001b[31m"}"#,
                "\n",
                r#"{"level":"error","path":"x.py","line":3,"message":"e"}"#,
                "\n",
            )
        );
    }

    #[test]
    fn an_error_after_the_cap_still_fails_and_takes_the_place_of_a_lesser_finding() {
        let mut report = Report::new();
        for number in 0..Report::KEPT + 5 {
            report.warning(Place::Whole, number.to_string());
        }
        report.error(Place::Whole, "late");
        assert_eq!(report.outcome(), Outcome::Fail);
        assert_eq!(report.findings().len(), Report::KEPT);
        assert_eq!(
            report.findings().last().map(|last| last.message.as_str()),
            Some("late")
        );
        assert!(printed(&report).ends_with("\"message\":\"6 more findings are not shown\"}\n"));
    }

    #[test]
    fn errors_past_the_cap_are_counted_not_kept() {
        let mut report = Report::new();
        for _ in 0..Report::KEPT * 2 {
            report.error(Place::Whole, "e");
        }
        assert_eq!(report.findings().len(), Report::KEPT);
        assert_eq!(report.dropped(), 200);
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let mut report = Report::new();
        report.note(Place::Whole, "ä".repeat(MAX_MESSAGE));
        let message = report
            .findings()
            .first()
            .map(|kept| kept.message.clone())
            .unwrap_or_default();
        assert_eq!(message, format!("{}…", "ä".repeat(MAX_MESSAGE / 2)));
    }
}

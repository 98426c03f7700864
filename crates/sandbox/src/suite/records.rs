//! What the runner in the guest wrote to the results channel.
//!
//! The bytes come from a guest in which untrusted code ran: every line is parsed strictly,
//! and whatever is not of the agreed form breaks the suite instead of being passed over.

use std::collections::BTreeSet;

use probity_core::verify::{CollectError, SuiteRecord, TestOutcome};
use serde::Deserialize;

use crate::text::clean;

/// The records, and what they say about the session as a whole.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// Records for the judge, in order.
    pub(super) records: Vec<SuiteRecord>,
    /// The language implementation's version.
    pub(super) version: Option<String>,
    /// The runner's name and version.
    pub(super) runner: Option<String>,
    /// Why the session is not to be trusted, if so.
    pub(super) broken: Option<String>,
    /// What could not be collected, by id.
    not_collected: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Line {
    Session {
        python: String,
        runner: String,
        runner_version: String,
    },
    CollectError {
        path: String,
        message: String,
    },
    CollectSkip {},
    Collected {},
    Start {
        id: String,
    },
    Result {
        id: String,
        outcome: TestOutcome,
        #[serde(default)]
        message: Option<String>,
        #[serde(default)]
        reason: Option<String>,
        #[serde(default)]
        stdout: Option<String>,
        #[serde(default)]
        stderr: Option<String>,
    },
    InternalError {
        message: String,
    },
    Interrupted {
        message: String,
    },
    RunnerError {
        message: String,
    },
    Finish {},
}

impl Records {
    /// Adds what one guest wrote. Returns the test that started and never ended, if any.
    ///
    /// # Errors
    /// Names the first line that is not a record. A cut last line is one, unless `complete`
    /// is false because a limit or a trap ended the guest.
    pub(super) fn add(&mut self, bytes: &[u8], complete: bool) -> Result<Option<String>, String> {
        let mut open = None;
        let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
        while let Some((index, line)) = lines.next() {
            let last = lines.peek().is_none();
            if line.is_empty() || (last && !complete) {
                continue;
            }
            let record: Line = serde_json::from_slice(line).map_err(|error| {
                format!(
                    "line {} of the results: {}",
                    index.saturating_add(1),
                    clean(&error.to_string())
                )
            })?;
            match &record {
                Line::Start { id } => open = Some(id.clone()),
                Line::Result { id, .. } if open.as_ref() == Some(id) => open = None,
                _ => {}
            }
            self.take(record);
        }
        Ok(open)
    }

    fn take(&mut self, record: Line) {
        match record {
            Line::Session {
                python,
                runner,
                runner_version,
            } => {
                self.version = Some(clean(&python));
                self.runner = Some(clean(&format!("{runner} {runner_version}")));
            }
            Line::CollectError { path, message } => {
                // Each guest of a suite collects anew and meets the same errors.
                if self.not_collected.insert(path.clone()) {
                    self.records.push(SuiteRecord::CollectError(CollectError {
                        id: path,
                        message,
                    }));
                }
            }
            Line::CollectSkip {} | Line::Collected {} => {}
            Line::Start { id } => self.records.push(SuiteRecord::Start { id }),
            Line::Result {
                id,
                outcome,
                message,
                reason,
                stdout,
                stderr,
            } => self.records.push(SuiteRecord::Result {
                id,
                outcome,
                message: message.or(reason),
                stdout,
                stderr,
            }),
            Line::InternalError { message }
            | Line::Interrupted { message }
            | Line::RunnerError { message } => {
                self.broken.get_or_insert(message);
            }
            Line::Finish {} => self.records.push(SuiteRecord::Finish),
        }
    }

    /// The tests that were begun, whether or not they ended.
    pub(super) fn begun(&self) -> Vec<String> {
        let ids: BTreeSet<&String> = self
            .records
            .iter()
            .filter_map(|record| match record {
                SuiteRecord::Start { id } | SuiteRecord::Result { id, .. } => Some(id),
                SuiteRecord::CollectError(_) | SuiteRecord::Finish => None,
            })
            .collect();
        ids.into_iter().cloned().collect()
    }

    /// Notes that the guest ended during a test, and why.
    pub(super) fn note_lost(&mut self, id: &str, why: &str) {
        self.records.push(SuiteRecord::Result {
            id: id.to_owned(),
            outcome: TestOutcome::Incomplete,
            message: Some(why.to_owned()),
            stdout: None,
            stderr: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], complete: bool) -> Result<(Records, Option<String>), String> {
        let mut records = Records::default();
        let open = records.add(bytes, complete)?;
        Ok((records, open))
    }

    #[test]
    fn records_are_read_and_the_session_is_named() {
        let bytes = br#"{"event":"session","python":"3.15.0","runner":"pytest","runner_version":"9.2.0","shadowed":[]}
{"event":"collected","ids":["a"]}
{"event":"start","id":"a"}
{"event":"result","id":"a","outcome":"passed"}
{"event":"finish","exit":0,"tests":1}
"#;
        let (records, open) = read(bytes, true).unwrap();
        assert_eq!(records.runner.as_deref(), Some("pytest 9.2.0"));
        assert_eq!(records.records.len(), 3);
        assert_eq!(records.begun(), ["a"]);
        assert!(records.broken.is_none() && open.is_none());
    }

    #[test]
    fn a_malformed_line_is_named() {
        let error = read(b"{\"event\":\"start\",\"id\":\"a\"}\nPASSED a\n", true).unwrap_err();
        assert!(error.starts_with("line 2"), "{error}");
    }

    #[test]
    fn a_line_cut_by_a_limit_is_passed_over_and_its_test_is_open() {
        let bytes = b"{\"event\":\"start\",\"id\":\"a\"}\n{\"event\":\"res";
        let (records, open) = read(bytes, false).unwrap();
        assert_eq!(records.records.len(), 1);
        assert_eq!(open.as_deref(), Some("a"));
        assert!(read(bytes, true).is_err());
    }
}

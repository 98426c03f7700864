//! Reads what a guest answered to calls.
//!
//! The guest is the candidate's: each line is an answer or a fault of the candidate. Lines
//! are bounded by the results channel, nesting by the parser.

use std::collections::BTreeMap;

use probity_core::quantity::Fuel;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::results::Mark;
use crate::text::clean;

/// Longest list of class names that is looked at.
const MAX_TYPES: usize = 200;

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// It returned this.
    Value(Json),
    /// It raised this.
    Raised {
        /// Names of the class and its bases, nearest first.
        types: Vec<String>,
        /// Its text. Untrusted.
        message: String,
    },
    /// It returned something that has no JSON form. Untrusted.
    Formless(String),
}

/// An answer and what it took.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answered {
    pub(super) answer: Answer,
    pub(super) fuel: Fuel,
    pub(super) duration_ns: u64,
}

/// What a guest said.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// By the number of the call.
    pub(super) answers: BTreeMap<usize, Answered>,
    /// The call that began last and got no answer.
    pub(super) open: Option<usize>,
    /// Why the function cannot be called, if so.
    pub(super) unfit: Option<String>,
    /// The version of the interpreter.
    pub(super) version: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Line {
    Session {
        python: String,
    },
    Ready {},
    Unfit {
        message: String,
    },
    Start {
        id: usize,
    },
    Answer {
        id: usize,
        value: Json,
    },
    Raised {
        id: usize,
        types: Vec<String>,
        message: String,
    },
    Formless {
        id: usize,
        message: String,
    },
    RunnerError {
        message: String,
    },
    Finish {},
}

/// How far the guest was.
#[derive(Default, Clone, Copy)]
struct Point {
    fuel: Fuel,
    time_ns: u64,
}

impl Answers {
    /// Reads what a guest wrote to the results channel. A last line that is cut off is passed
    /// over if the guest was ended.
    ///
    /// # Errors
    /// Says what is not of the agreed form: a line, a second answer to a call, an answer to a
    /// call that had not begun.
    pub(super) fn read(bytes: &[u8], marks: &[Mark], complete: bool) -> Result<Self, String> {
        let mut answers = Self::default();
        let mut marks = marks.iter().peekable();
        let mut at = 0_u64;
        let mut begun = Point::default();
        let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
        while let Some((index, line)) = lines.next() {
            let last = lines.peek().is_none();
            at = at.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX));
            at = at.saturating_add(1);
            if line.is_empty() || (last && !complete) {
                continue;
            }
            let number = index.saturating_add(1);
            let line: Line = serde_json::from_slice(line)
                .map_err(|error| format!("line {number}: {}", clean(&error.to_string())))?;
            let mut point = begun;
            while let Some(mark) = marks.peek() {
                point = Point {
                    fuel: mark.fuel,
                    time_ns: mark.time_ns,
                };
                if mark.end >= at {
                    break;
                }
                marks.next();
            }
            match line {
                Line::Session { python } => answers.version = Some(clean(&python)),
                Line::Ready {} | Line::Finish {} => {}
                Line::Unfit { message } | Line::RunnerError { message } => {
                    answers.unfit = Some(message);
                }
                Line::Start { id } => {
                    answers.open = Some(id);
                    begun = point;
                }
                Line::Answer { id, value } => {
                    answers.add(id, Answer::Value(value), begun, point)?;
                }
                Line::Raised {
                    id,
                    mut types,
                    message,
                } => {
                    types.truncate(MAX_TYPES);
                    answers.add(id, Answer::Raised { types, message }, begun, point)?;
                }
                Line::Formless { id, message } => {
                    answers.add(id, Answer::Formless(message), begun, point)?;
                }
            }
        }
        Ok(answers)
    }

    fn add(&mut self, id: usize, answer: Answer, begun: Point, now: Point) -> Result<(), String> {
        if self.open != Some(id) {
            return Err(format!("an answer to call {id}, which was not being made"));
        }
        self.open = None;
        let answered = Answered {
            answer,
            fuel: now.fuel.saturating_sub(begun.fuel),
            duration_ns: now.time_ns.saturating_sub(begun.time_ns),
        };
        match self.answers.insert(id, answered) {
            None => Ok(()),
            Some(_) => Err(format!("a second answer to call {id}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Result<Answers, String> {
        Answers::read(lines.join("\n").as_bytes(), &[], true)
    }

    #[test]
    fn answers_are_read_with_their_calls() {
        let answers = read(&[
            r#"{"event":"session","python":"3.15.0","runner":"call","runner_version":"","shadowed":[]}"#,
            r#"{"event":"ready"}"#,
            r#"{"event":"start","id":0}"#,
            r#"{"event":"answer","id":0,"value":[1]}"#,
            r#"{"event":"start","id":1}"#,
            r#"{"event":"raised","id":1,"types":["E"],"message":"m"}"#,
            r#"{"event":"start","id":2}"#,
        ])
        .unwrap();
        assert_eq!(answers.answers.len(), 2);
        assert_eq!(
            answers.answers[&0].answer,
            Answer::Value(serde_json::json!([1]))
        );
        assert_eq!(answers.open, Some(2));
    }

    #[test]
    fn what_is_not_agreed_on_is_an_error() {
        let start = r#"{"event":"start","id":0}"#;
        let answer = r#"{"event":"answer","id":0,"value":1}"#;
        for (lines, wanted) in [
            (&[start, answer, answer][..], "not being made"),
            (&[start, answer, start, answer], "second answer"),
            (&[start, r#"{"event":"answer","id":7,"value":1}"#], "call 7"),
            (&["PASSED"], "line 1"),
            (
                &[r#"{"event":"result","id":"a","outcome":"passed"}"#],
                "line 1",
            ),
        ] {
            let error = read(lines).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
        assert!(Answers::read(b"{\"event\":\"sta", &[], false).is_ok());
        assert!(Answers::read(b"{\"event\":\"sta", &[], true).is_err());
    }

    #[test]
    fn what_a_call_took_lies_between_its_marks() {
        let lines = [
            r#"{"event":"start","id":0}"#,
            r#"{"event":"answer","id":0,"value":1}"#,
            r#"{"event":"start","id":1}"#,
            r#"{"event":"answer","id":1,"value":1}"#,
        ];
        let (mut bytes, mut marks) = (Vec::new(), Vec::new());
        for (line, fuel) in lines.iter().zip([100, 150, 160, 200]) {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
            marks.push(Mark {
                end: u64::try_from(bytes.len()).unwrap(),
                fuel: Fuel(fuel),
                time_ns: fuel * 2,
            });
        }
        let answers = Answers::read(&bytes, &marks, true).unwrap().answers;
        assert_eq!((answers[&0].fuel, answers[&0].duration_ns), (Fuel(50), 100));
        assert_eq!((answers[&1].fuel, answers[&1].duration_ns), (Fuel(40), 80));
    }
}

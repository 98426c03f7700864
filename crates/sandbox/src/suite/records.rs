//! What the runner in the guest wrote to the results channel.
//!
//! The bytes come from a guest in which untrusted code ran: every line is parsed strictly,
//! and whatever is not of the agreed form breaks the suite instead of being passed over.

use std::collections::{BTreeMap, BTreeSet};

use probity_core::verify::{CanaryReport, CollectError, SuiteRecord, TestOutcome};
use serde::Deserialize;

use super::seal::Seal;
use crate::results::Mark;
use crate::text::clean;

/// Most tests that are followed at a time, each begun during the one before it. There is one,
/// but for ids that several tests share.
const MAX_OPEN: usize = 64;
/// Most attempts to tamper that are told of a suite.
const MAX_TAMPERING: usize = 20;
/// Most tests of ours in one guest.
const MAX_CANARIES: u64 = 100;

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
    /// The ids that were collected, in the runner's order.
    pub(super) collected: Vec<String>,
    /// Why files and classes were skipped as a whole, by id.
    pub(super) not_begun: BTreeMap<String, String>,
    /// What was seen of attempts to tamper with the suite, at most [`MAX_TAMPERING`].
    pub(super) tampering: Vec<String>,
    /// What tests of ours showed.
    pub(super) canaries: CanaryReport,
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
    CollectSkip {
        path: String,
        reason: String,
    },
    Collected {
        ids: Vec<String>,
    },
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
        #[serde(default)]
        standins: Vec<String>,
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
    Canaries {
        expected: u64,
    },
    Canary {
        fails: bool,
        outcome: TestOutcome,
        rewritten: bool,
    },
    Tampering {
        message: String,
    },
    Finish {},
}

impl Records {
    /// Adds what one guest wrote, and by its marks what each test took. Returns the test that
    /// started and never ended, if any. A line that the runner did not sign is tampering, and
    /// nothing that follows it counts.
    ///
    /// # Errors
    /// Names the first line that is not a record. A cut last line is one, unless `complete`
    /// is false because a limit or a trap ended the guest.
    pub(super) fn add(
        &mut self,
        bytes: &[u8],
        marks: &[Mark],
        complete: bool,
        mut seal: Seal,
    ) -> Result<Option<String>, String> {
        let mut course = Course::new(marks);
        let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
        while let Some((index, line)) = lines.next() {
            let last = lines.peek().is_none();
            course.pass(line.len().saturating_add(1));
            if last && (line.is_empty() || !complete) {
                continue;
            }
            let Some(record) = seal.open(line) else {
                self.note_tampering("a record did not come from the runner");
                break;
            };
            let record: Line = serde_json::from_slice(record).map_err(|error| {
                format!(
                    "line {} of the results: {}",
                    index.saturating_add(1),
                    clean(&error.to_string())
                )
            })?;
            match &record {
                Line::Start { id } => self.records.extend(course.started(id)),
                Line::Result { id, .. } => self.records.extend(course.ended(id)),
                Line::Session { .. }
                | Line::CollectError { .. }
                | Line::CollectSkip { .. }
                | Line::Collected { .. }
                | Line::InternalError { .. }
                | Line::Interrupted { .. }
                | Line::RunnerError { .. }
                | Line::Canaries { .. }
                | Line::Canary { .. }
                | Line::Tampering { .. }
                | Line::Finish {} => {}
            }
            self.take(record);
        }
        self.records.extend(course.finished());
        Ok(course.open.pop())
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
            Line::CollectSkip { path, reason } => {
                self.not_begun.insert(path, reason);
            }
            Line::Collected { ids } => self.collected.extend(ids),
            Line::Start { id } => self.records.push(SuiteRecord::Start { id }),
            Line::Result {
                id,
                outcome,
                message,
                reason,
                stdout,
                stderr,
                standins,
            } => self.records.push(SuiteRecord::Result {
                id,
                outcome,
                message,
                reason,
                stdout,
                stderr,
                standins,
            }),
            Line::InternalError { message }
            | Line::Interrupted { message }
            | Line::RunnerError { message } => {
                self.broken.get_or_insert(message);
            }
            Line::Canaries { expected } => self.canaries.join(CanaryReport {
                fired: 0,
                expected: expected.min(MAX_CANARIES),
            }),
            Line::Canary {
                fails,
                outcome,
                rewritten,
            } => self.take_canary(fails, outcome, rewritten),
            Line::Tampering { message } => self.note_tampering(&clean(&message)),
            Line::Finish {} => self.records.push(SuiteRecord::Finish),
        }
    }

    /// Judges a test of ours. One that was skipped, or that must pass and did not, says
    /// nothing: fixtures of the suite may have kept it from running.
    fn take_canary(&mut self, fails: bool, outcome: TestOutcome, rewritten: bool) {
        let ended_well = match outcome {
            TestOutcome::Passed => !fails,
            TestOutcome::Failed | TestOutcome::Error => fails,
            TestOutcome::XPassed
            | TestOutcome::XFailed
            | TestOutcome::Skipped
            | TestOutcome::Missing
            | TestOutcome::Incomplete
            | TestOutcome::Flaky => false,
        };
        if fails && matches!(outcome, TestOutcome::Passed | TestOutcome::XPassed) {
            self.note_tampering("a test that must fail was reported as passed");
        } else if rewritten {
            self.note_tampering("a test that raised an error was reported as passed");
        } else if ended_well {
            self.canaries.fired = self.canaries.fired.saturating_add(1);
        }
    }

    /// Notes an attempt to tamper with the suite.
    pub(super) fn note_tampering(&mut self, message: &str) {
        if self.tampering.len() < MAX_TAMPERING && !self.tampering.iter().any(|m| m == message) {
            self.tampering.push(message.to_owned());
        }
    }

    /// The tests that were begun, whether or not they ended.
    pub(super) fn begun(&self) -> Vec<String> {
        let ids: BTreeSet<&String> = self
            .records
            .iter()
            .filter_map(|record| match record {
                SuiteRecord::Start { id } | SuiteRecord::Result { id, .. } => Some(id),
                SuiteRecord::CollectError(_) | SuiteRecord::Spent { .. } | SuiteRecord::Finish => {
                    None
                }
            })
            .collect();
        ids.into_iter().cloned().collect()
    }

    /// Whether the runner reported its own end.
    pub(super) fn finished(&self) -> bool {
        self.records.contains(&SuiteRecord::Finish)
    }

    /// Takes away the runner's own end, if that is the last of what it reported.
    pub(super) fn take_finish(&mut self) -> bool {
        let is_last = self.records.last() == Some(&SuiteRecord::Finish);
        if is_last {
            self.records.pop();
        }
        is_last
    }

    /// Notes the end of the suite.
    pub(super) fn finish(&mut self) {
        self.records.push(SuiteRecord::Finish);
    }

    /// A test that counts as good and is none of `ids`, if there is one.
    pub(super) fn passed_beside(&self, ids: &BTreeSet<&str>) -> Option<&str> {
        self.records.iter().find_map(|record| match record {
            SuiteRecord::Result { id, outcome, .. }
                // A fixture that skips itself at the end is no test, and helps none.
                if outcome.is_tolerable()
                    && *outcome != TestOutcome::Skipped
                    && !ids.contains(id.as_str()) =>
            {
                Some(id.as_str())
            }
            _ => None,
        })
    }

    /// Notes of each of `ids` without a result that it has none.
    pub(super) fn note_silent(&mut self, ids: &[String]) {
        let told: BTreeSet<String> = self
            .records
            .iter()
            .filter_map(|record| match record {
                SuiteRecord::Result { id, .. } => Some(id.clone()),
                _ => None,
            })
            .collect();
        for id in ids.iter().filter(|id| !told.contains(*id)) {
            self.note_lost(id, "the runner ended without it");
        }
    }

    /// Whether a test did not end as a suite may hold it.
    pub(super) fn any_failed(&self) -> bool {
        self.records.iter().any(
            |record| matches!(record, SuiteRecord::Result { outcome, .. } if !outcome.is_tolerable()),
        )
    }

    /// Adds what another guest of the suite reported.
    pub(super) fn append(&mut self, other: Self) {
        let not_collected = &mut self.not_collected;
        // Guests that collect anew meet the same errors.
        self.records
            .extend(other.records.into_iter().filter(|record| match record {
                SuiteRecord::CollectError(error) => not_collected.insert(error.id.clone()),
                _ => true,
            }));
        if self.broken.is_none() {
            self.broken = other.broken;
        }
        for message in &other.tampering {
            self.note_tampering(message);
        }
        self.canaries.join(other.canaries);
    }

    /// Notes that the guest ended during a test, and why.
    pub(super) fn note_lost(&mut self, id: &str, why: &str) {
        self.note(id, TestOutcome::Incomplete, Some(why), None);
    }

    /// Notes how a test ended that did not report it itself.
    pub(super) fn note(
        &mut self,
        id: &str,
        outcome: TestOutcome,
        message: Option<&str>,
        reason: Option<&str>,
    ) {
        self.records.push(SuiteRecord::Result {
            id: id.to_owned(),
            outcome,
            message: message.map(str::to_owned),
            reason: reason.map(str::to_owned),
            stdout: None,
            stderr: None,
            standins: Vec::new(),
        });
    }
}

/// A walk along the results of one guest with an eye on its marks. What lies between two
/// records belongs to the test that was begun last and has not ended, so that no work is
/// counted twice; what lies before, between and after tests belongs to none.
struct Course<'a> {
    marks: std::iter::Peekable<std::slice::Iter<'a, Mark>>,
    /// Bytes behind us.
    at: u64,
    /// Up to where work was dealt out.
    dealt: Mark,
    /// Tests that were begun and have not ended, the latest last.
    open: Vec<String>,
}

impl<'a> Course<'a> {
    fn new(marks: &'a [Mark]) -> Self {
        Self {
            marks: marks.iter().peekable(),
            at: 0,
            dealt: Mark::default(),
            open: Vec::new(),
        }
    }

    fn pass(&mut self, bytes: usize) {
        self.at = self
            .at
            .saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    fn started(&mut self, id: &str) -> Option<SuiteRecord> {
        let at = self.at;
        let spent = self.deal(|mark| mark.end >= at);
        if self.open.len() >= MAX_OPEN {
            self.open.remove(0);
        }
        self.open.push(id.to_owned());
        spent
    }

    fn ended(&mut self, id: &str) -> Option<SuiteRecord> {
        let at = self.at;
        let spent = self.deal(|mark| mark.end >= at);
        if let Some(place) = self.open.iter().rposition(|open| open == id) {
            self.open.remove(place);
        }
        spent
    }

    /// The guest's end has the last mark.
    fn finished(&mut self) -> Option<SuiteRecord> {
        self.deal(|_| false)
    }

    /// Goes on to the mark that is `wanted`, or to the last, and gives the way there to the
    /// test that runs.
    fn deal(&mut self, wanted: impl Fn(&Mark) -> bool) -> Option<SuiteRecord> {
        let mut to = self.dealt;
        while let Some(mark) = self.marks.peek() {
            to = **mark;
            if wanted(mark) {
                break;
            }
            self.marks.next();
        }
        let from = std::mem::replace(&mut self.dealt, to);
        let id = self.open.last()?.clone();
        Some(SuiteRecord::Spent {
            id,
            fuel: to.fuel.saturating_sub(from.fuel),
            duration_ns: to.time_ns.saturating_sub(from.time_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use probity_core::quantity::Fuel;

    use super::super::seal::{TEST_KEY, signed};
    use super::*;

    /// Adds what a guest wrote, signed as it would have, so far as lines are whole.
    fn add(
        records: &mut Records,
        bytes: &[u8],
        marks: &[Mark],
        complete: bool,
    ) -> Result<Option<String>, String> {
        let signed = signed(TEST_KEY, 0, bytes);
        // Each line has grown by as much.
        let grown = |end: u64| {
            let head = &bytes[..usize::try_from(end).unwrap()];
            let begun = head.split_inclusive(|byte| *byte == b'\n').count();
            end + u64::try_from(begun * 33).unwrap()
        };
        let marks: Vec<Mark> = marks
            .iter()
            .map(|mark| Mark {
                end: grown(mark.end),
                ..*mark
            })
            .collect();
        records.add(&signed, &marks, complete, Seal::new(Some(TEST_KEY), 0))
    }

    fn read(bytes: &[u8], complete: bool) -> Result<(Records, Option<String>), String> {
        let mut records = Records::default();
        let open = add(&mut records, bytes, &[], complete)?;
        Ok((records, open))
    }

    /// What the records say that each test took, in order.
    fn spent(records: &Records) -> Vec<(&str, u64, u64)> {
        let spent = |record| match record {
            &SuiteRecord::Spent {
                ref id,
                fuel,
                duration_ns,
            } => Some((id.as_str(), fuel.0, duration_ns)),
            _ => None,
        };
        records.records.iter().filter_map(spent).collect()
    }

    /// Records, one a write, at the given fuel; the last number is the guest's end.
    fn course(lines: &[(&str, u64)], end: u64) -> (Vec<u8>, Vec<Mark>) {
        let (mut bytes, mut marks) = (Vec::new(), Vec::new());
        let mark = |bytes: &Vec<u8>, fuel: u64| Mark {
            end: u64::try_from(bytes.len()).unwrap(),
            fuel: Fuel(fuel),
            time_ns: fuel * 2,
        };
        for (line, fuel) in lines {
            let (kind, id) = line.split_at(1);
            let line = match kind {
                "+" => format!(r#"{{"event":"start","id":"{id}"}}"#),
                "-" => format!(r#"{{"event":"result","id":"{id}","outcome":"passed"}}"#),
                _ => r#"{"event":"finish"}"#.to_owned(),
            };
            // A write may come in two halves; only the one that completes a record counts.
            let (first, second) = line.split_at(5);
            bytes.extend_from_slice(first.as_bytes());
            marks.push(mark(&bytes, fuel - 1));
            bytes.extend_from_slice(second.as_bytes());
            bytes.push(b'\n');
            marks.push(mark(&bytes, *fuel));
        }
        marks.push(mark(&bytes, end));
        (bytes, marks)
    }

    #[test]
    fn what_a_test_took_lies_between_its_marks() {
        let (bytes, marks) = course(
            &[
                ("+a", 100),
                ("-a", 150),
                ("+b", 160),
                ("-b", 200),
                (".", 250),
            ],
            300,
        );
        let mut records = Records::default();
        add(&mut records, &bytes, &marks, true).unwrap();
        assert_eq!(spent(&records), [("a", 50, 100), ("b", 40, 80)]);
    }

    #[test]
    fn a_test_that_ended_its_guest_took_all_to_the_end_and_the_next_guest_starts_anew() {
        let mut records = Records::default();
        let (bytes, marks) = course(&[("+a", 100), ("-a", 150), ("+b", 160)], 1000);
        assert_eq!(
            add(&mut records, &bytes, &marks, false).unwrap().as_deref(),
            Some("b")
        );
        records.note_lost("b", "it never ended");
        let (bytes, marks) = course(&[("+c", 90), ("-c", 95), (".", 99)], 100);
        add(&mut records, &bytes, &marks, true).unwrap();
        assert_eq!(
            spent(&records),
            [("a", 50, 100), ("b", 840, 1680), ("c", 5, 10)]
        );
    }

    #[test]
    fn work_is_never_counted_twice() {
        // Two tests share the id `a`; the first result of it comes after the second test.
        let (bytes, marks) = course(&[("+a", 10), ("+b", 30), ("-b", 60), ("-a", 100)], 120);
        let mut records = Records::default();
        assert_eq!(add(&mut records, &bytes, &marks, false).unwrap(), None);
        assert_eq!(
            spent(&records),
            [("a", 20, 40), ("b", 30, 60), ("a", 40, 80)]
        );
    }

    #[test]
    fn results_without_marks_are_records_all_the_same() {
        let (bytes, _) = course(&[("+a", 10), ("-a", 30)], 40);
        let (records, _) = read(&bytes, true).unwrap();
        assert_eq!(spent(&records), [("a", 0, 0)]);
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
        assert_eq!(records.records.len(), 4);
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
        assert_eq!(records.begun(), ["a"]);
        assert_eq!(open.as_deref(), Some("a"));
        assert!(read(bytes, true).is_err());
    }

    #[test]
    fn what_the_runner_did_not_sign_is_tampering_and_ends_the_reading() {
        let genuine = signed(TEST_KEY, 0, b"{\"event\":\"start\",\"id\":\"a\"}\n");
        let forged = b"{\"event\":\"result\",\"id\":\"a\",\"outcome\":\"passed\"}\n";
        let finish = signed(TEST_KEY, 1, b"{\"event\":\"finish\"}\n");
        for between in [&forged[..], b"\n", b"x", &genuine] {
            let mut records = Records::default();
            let bytes = [&genuine, between, &finish].concat();
            let open = records.add(&bytes, &[], true, Seal::new(Some(TEST_KEY), 0));
            assert_eq!(open.unwrap().as_deref(), Some("a"));
            assert_eq!(records.tampering, ["a record did not come from the runner"]);
            assert!(!records.finished());
        }
        let mut records = Records::default();
        let bytes = [genuine, finish].concat();
        let open = records.add(&bytes, &[], true, Seal::new(Some(TEST_KEY), 0));
        assert_eq!(open.unwrap().as_deref(), Some("a"));
        assert!(records.tampering.is_empty() && records.finished());
    }

    #[test]
    fn tests_of_ours_must_end_as_they_must() {
        use TestOutcome::{Error, Failed, Passed, Skipped, XFailed, XPassed};
        for (fails, outcome, rewritten, fired, tampered) in [
            (true, Failed, false, 1, false),
            (true, Error, false, 1, false),
            (true, Failed, true, 0, true),
            (true, Passed, false, 0, true),
            (true, XPassed, false, 0, true),
            (true, Skipped, false, 0, false),
            (true, XFailed, false, 0, false),
            (false, Passed, false, 1, false),
            (false, Failed, false, 0, false),
            (false, Skipped, false, 0, false),
        ] {
            let mut records = Records::default();
            records.take(Line::Canaries { expected: 1 });
            records.take(Line::Canary {
                fails,
                outcome,
                rewritten,
            });
            let counts = (records.canaries.fired, records.canaries.expected);
            assert_eq!(counts, (fired, 1), "{fails} {outcome} {rewritten}");
            assert_eq!(!records.tampering.is_empty(), tampered);
        }
    }
}

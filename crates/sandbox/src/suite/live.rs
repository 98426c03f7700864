//! How far a suite is, told while its guests run.
//!
//! What a guest reports is looked at as it comes, only to be shown: lines that are no records
//! are passed over here and judged later, where the verdict is made from all of them.

use std::borrow::Cow;

use probity_core::spec::Expectation;
use probity_core::verify::{Observer, SuiteProgress, SuiteRecord, TestOutcome, is_failure};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::seal::unchecked;

/// Longest record that is looked at, in bytes.
const MAX_LINE: usize = 32 << 20;

/// The fields of records that matter here.
#[derive(Debug, Deserialize)]
struct Heard<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    outcome: Option<TestOutcome>,
    #[serde(default)]
    ids: Vec<IgnoredAny>,
}

/// Follows one suite.
pub(super) struct Live<'a> {
    expectation: &'a Expectation,
    observe: Observer<'a>,
    /// The record that is not complete yet.
    line: Vec<u8>,
    /// Whether that record is too long to be looked at.
    skips: bool,
    collected: u64,
    done: u64,
    failed: u64,
    running: Option<String>,
}

impl<'a> Live<'a> {
    pub(super) fn new(expectation: &'a Expectation, observe: Observer<'a>) -> Self {
        Self {
            expectation,
            observe,
            line: Vec::new(),
            skips: false,
            collected: 0,
            done: 0,
            failed: 0,
            running: None,
        }
    }

    /// Another guest begins. It collects again, but only what no guest has begun yet.
    pub(super) fn guest_begins(&mut self) {
        self.line.clear();
        self.skips = false;
        self.collected = self.done;
    }

    /// Takes what the guest reported, in any pieces.
    pub(super) fn hear(&mut self, piece: &[u8]) {
        let mut lines = piece.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = lines.next() {
            let complete = lines.peek().is_some();
            if self.line.len().saturating_add(part.len()) > MAX_LINE {
                self.skips = true;
                self.line.clear();
            }
            if !self.skips {
                self.line.extend_from_slice(part);
            }
            if complete {
                let line = std::mem::take(&mut self.line);
                if !std::mem::take(&mut self.skips)
                    && let Ok(heard) = serde_json::from_slice(unchecked(&line))
                {
                    self.take(heard);
                }
            }
        }
        self.tell(None);
    }

    fn take(&mut self, heard: Heard<'_>) {
        match (&*heard.event, heard.id, heard.outcome) {
            ("collected", _, _) => {
                let more = u64::try_from(heard.ids.len()).unwrap_or(u64::MAX);
                self.collected = self.collected.saturating_add(more);
            }
            ("start", Some(id), _) => self.running = Some(id),
            ("result", Some(id), Some(outcome)) => self.ended(&id, outcome),
            _ => {}
        }
    }

    /// Takes what a unit of the suite came to.
    pub(super) fn unit(&mut self, records: &[SuiteRecord]) {
        for record in records {
            if let SuiteRecord::Result { id, outcome, .. } = record {
                self.ended(id, *outcome);
            }
        }
        self.tell(None);
    }

    /// The guest was ended during this test.
    pub(super) fn lost(&mut self, id: &str) {
        self.ended(id, TestOutcome::Incomplete);
        self.tell(None);
    }

    fn ended(&mut self, id: &str, outcome: TestOutcome) {
        self.running = None;
        self.done = self.done.saturating_add(1);
        if is_failure(self.expectation, id, outcome) {
            self.failed = self.failed.saturating_add(1);
            self.tell(Some((id, outcome)));
        }
    }

    fn tell(&mut self, failure: Option<(&str, TestOutcome)>) {
        (self.observe)(SuiteProgress {
            collected: self.collected,
            done: self.done,
            failed: self.failed,
            running: self.running.as_deref(),
            failure,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(act: impl FnOnce(&mut Live<'_>)) -> Vec<String> {
        let mut seen = Vec::new();
        let mut observe = |progress: SuiteProgress<'_>| {
            seen.push(format!(
                "{}/{} {} {:?} {:?}",
                progress.done,
                progress.collected,
                progress.failed,
                progress.running,
                progress
                    .failure
                    .map(|(id, outcome)| format!("{id} {outcome}")),
            ));
        };
        act(&mut Live::new(&Expectation::any(), &mut observe));
        seen
    }

    #[test]
    fn records_are_followed_in_any_pieces() {
        let text = br#"{"event":"session","python":"3"}
{"event":"collected","ids":["a","b","c"]}
{"event":"start","id":"a"}
{"event":"result","id":"a","outcome":"passed"}
not a record
{"event":"start","id":"b"}
{"event":"result","id":"b","outcome":"failed","message":"no"}
{"event":"start","id":"c"}
"#;
        for size in [1, 7, 1000] {
            let seen = followed(|live| text.chunks(size).for_each(|piece| live.hear(piece)));
            assert_eq!(seen.last().unwrap(), "2/3 1 Some(\"c\") None", "{size}");
            let failures = seen.iter().filter(|line| line.contains("b failed"));
            assert_eq!(failures.count(), 1, "{size}");
        }
    }

    #[test]
    fn another_guest_goes_on_counting() {
        let seen = followed(|live| {
            live.guest_begins();
            live.hear(b"{\"event\":\"collected\",\"ids\":[\"a\",\"b\"]}\n{\"event\":\"start\",\"id\":\"a\"}\n{\"cut");
            live.lost("a");
            live.guest_begins();
            live.hear(b"{\"event\":\"collected\",\"ids\":[\"b\"]}\n");
        });
        assert_eq!(seen.last().unwrap(), "1/2 1 None None");
    }
}

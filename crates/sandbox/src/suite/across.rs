//! Suites whose tests and code under test live in different guests.
//!
//! The tests' guest cannot wait for an answer. Where it lacks one it reports the message and
//! ends; the other guest does all messages so far, from where it was paused, and the test
//! begins anew with one answer more. Both are deterministic, so what was said once is said
//! again, and only the last message and the last answer are new.
//!
//! Invariants: nothing of the tests is mounted in the other guest, and nothing of the code
//! under test in the tests'. Its answers are bytes to us: they are bounded, compared with what
//! was answered before, and handed on. What it does instead of answering fails the test that
//! asked.

use probity_core::budget::Budget;
use probity_core::quantity::{ByteSize, Fuel};
use probity_core::verify::{
    Cause, CheckReport, Finding, Level, Observer, SuiteEnd, SuiteRecord, TestOutcome,
};
use serde::Deserialize;

use super::environment::{answer, proceed_with};
use super::records::Records;
use super::run::{Heard, Session, Stage, SuiteRun, Used, costs_one_test};
use super::units::{Came, Outcome, Plan, Source};
use crate::cancel::Cancel;
use crate::guest::{Run, RunError, Turn};
use crate::isolation::{Paused, PausedGuest};
use crate::text::clean;

/// Most messages of one test, and of collection.
const MAX_MESSAGES: usize = 500;
/// Most bytes of one answer.
const MAX_ANSWER: usize = 4 << 20;
/// Most bytes of all answers to one test.
const MAX_ANSWERS: usize = 16 << 20;
/// Most bytes of an answer that are shown to people.
const SHOWN: usize = 120;
/// Most findings about files that cannot be isolated.
const LISTED: usize = 20;
/// How the reason of a test that is skipped for it begins.
const NOT_ISOLATED: &str = "cannot be isolated: ";

/// The paused guests of both sides.
pub(super) struct Pair {
    tests: Box<dyn PausedGuest>,
    candidate: Box<dyn PausedGuest>,
}

/// What both sides said so far.
#[derive(Default)]
struct Talk {
    messages: Vec<String>,
    answers: Vec<String>,
}

/// How the tests' guest ended early. Only trusted code writes to its results.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Word {
    /// It wants the answer to a message.
    Ask { message: String },
    /// The test does what cannot be taken across.
    Refuse { reason: String },
    /// An answer is not of the agreed form.
    Broken { reason: String },
}

/// Why there is no answer: the fault of the code under test.
struct NoAnswer(String);

impl Talk {
    /// Takes the message that is new, if there may be one more.
    fn ask(&mut self, message: String) -> Result<(), NoAnswer> {
        if self.messages.len() >= MAX_MESSAGES {
            return Err(NoAnswer(format!(
                "{NOT_ISOLATED}it uses the code under test more than {MAX_MESSAGES} times"
            )));
        }
        self.messages.push(message);
        Ok(())
    }

    /// Takes the answer to the last message from what the other side wrote.
    fn hear(&mut self, run: &Run) -> Result<(), NoAnswer> {
        let mut lines = run.results.split(|byte| *byte == b'\n').peekable();
        for before in &self.answers {
            let again = lines.next().unwrap_or_default();
            if lines.peek().is_none() {
                break; // it ended before it was done again
            }
            if !without_addresses(again).eq(without_addresses(before.as_bytes())) {
                return Err(NoAnswer(format!(
                    "the code under test answers differently when asked the same again: {}",
                    difference(before.as_bytes(), again)
                )));
            }
        }
        let last = lines.next().filter(|_| {
            // A line is whole if something follows, and nothing but its end may.
            lines.next() == Some(&[]) && lines.next().is_none()
        });
        let Some(last) = last else {
            return Err(NoAnswer(match &run.ending {
                crate::guest::Ending::Exited(code) => format!(
                    "the code under test ended its interpreter with exit code {code} instead of an answer"
                ),
                crate::guest::Ending::Limit(hit) => {
                    format!("the code under test was ended by the limit `{}`", hit.limit)
                }
                crate::guest::Ending::Trapped(message) | crate::guest::Ending::Refused(message) => {
                    format!("the code under test ended its guest: {}", clean(message))
                }
            }));
        };
        let size: usize = self.answers.iter().map(String::len).sum();
        if last.len() > MAX_ANSWER || size.saturating_add(last.len()) > MAX_ANSWERS {
            return Err(NoAnswer("the answers are too large".to_owned()));
        }
        match std::str::from_utf8(last) {
            Ok(text) if text.is_ascii() => self.answers.push(text.to_owned()),
            Ok(_) | Err(_) => {
                return Err(NoAnswer("an answer is not ASCII".to_owned()));
            }
        }
        Ok(())
    }
}

/// The bytes without the digits of addresses, which a longer conversation moves.
fn without_addresses(answer: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let mut before = [0; 2];
    let mut inside = false;
    answer.iter().copied().filter(move |byte| {
        inside = (inside || before == *b"0x") && byte.is_ascii_hexdigit();
        before = [before[1], *byte];
        !inside
    })
}

/// Where two answers part, for people.
fn difference(before: &[u8], again: &[u8]) -> String {
    let same = before
        .iter()
        .zip(again)
        .take_while(|(one, other)| one == other)
        .count();
    let part = |answer: &[u8]| {
        let start = same.saturating_sub(SHOWN / 2);
        let shown = answer
            .iter()
            .skip(start)
            .take(SHOWN)
            .copied()
            .collect::<Vec<_>>();
        clean(&String::from_utf8_lossy(&shown))
    };
    format!("`{}` was `{}`", part(again), part(before))
}

/// The last record, if the guest ended early by it, and the records before it.
fn last_word(results: &[u8]) -> Option<(Word, &[u8])> {
    let lines = results.strip_suffix(b"\n")?;
    let start = lines
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |place| place.saturating_add(1));
    let word = serde_json::from_slice(lines.get(start..)?).ok()?;
    Some((word, results.get(..start)?))
}

/// What a round used that is done anew.
fn used(run: &Run) -> Used {
    Used {
        fuel: run.fuel,
        wall_time: run.wall_time,
        results: ByteSize(0),
    }
}

fn note(message: String) -> Finding {
    Finding {
        level: Level::Note,
        ..Finding::error(message)
    }
}

/// What is said of tests that cannot be run across a border, and of files and classes whose
/// tests cannot be collected.
pub(super) fn refused(records: &Records) -> Vec<Finding> {
    let is_refusal = |reason: &str| reason.starts_with(NOT_ISOLATED);
    let mut findings: Vec<Finding> = records
        .not_begun
        .iter()
        .filter(|(_, reason)| is_refusal(reason))
        .take(LISTED)
        .map(|(id, reason)| note(format!("{}: {}", clean(id), clean(reason))))
        .collect();
    let tests = records
        .records
        .iter()
        .filter(|record| {
            matches!(record, SuiteRecord::Result { reason: Some(reason), .. } if is_refusal(reason))
        })
        .count();
    if tests > 0 {
        findings.push(note(format!(
            "tests that cannot be isolated: {tests}; the reason is with each of them"
        )));
    }
    findings
}

impl SuiteRun<'_> {
    /// Runs the suite with its two sides apart. The error is the report.
    pub(super) fn session_across(
        &self,
        observe: Observer<'_>,
    ) -> Result<Session, Box<CheckReport>> {
        if !self.environment.is_warm() {
            let name = &self.environment.runtime().manifest.name;
            return Err(self.host_failed(&format!(
                "`across` needs a runtime whose guests can be paused, and those of `{name}` cannot"
            )));
        }
        self.session_in_units(observe)
    }

    /// Runs the tests' guest up to the end of collection, in as many rounds as it takes, and
    /// lets the other side come as far.
    pub(super) fn collect_across(
        &self,
        budget: Budget,
        cancel: &Cancel,
    ) -> Result<(Run, Option<Source>), Box<CheckReport>> {
        let mut talk = Talk::default();
        let mut gone = Used::default();
        let mut candidate = self.begin_candidate(&mut talk, &mut gone, budget, cancel)?;
        loop {
            let Paused { mut run, guest } = self.begin(
                Stage::CollectWith(&talk.answers),
                gone.left_of(budget),
                cancel,
            )?;
            let Some((word, _)) = last_word(&run.results) else {
                gone.join(used(&run));
                run.fuel = gone.fuel;
                run.wall_time = gone.wall_time;
                let pair = guest
                    .zip(candidate)
                    .map(|(tests, candidate)| Pair { tests, candidate });
                return Ok((run, pair.map(Source::Across)));
            };
            gone.join(used(&run));
            match word {
                Word::Ask { message } => talk.ask(message).map_err(|why| self.broke(why.0))?,
                Word::Refuse { reason } | Word::Broken { reason } => return Err(self.broke(reason)),
            }
            candidate = self.begin_candidate(&mut talk, &mut gone, budget, cancel)?;
        }
    }

    /// Lets the other side answer what collection asks for; the guest rests afterwards.
    fn begin_candidate(
        &self,
        talk: &mut Talk,
        gone: &mut Used,
        budget: Budget,
        cancel: &Cancel,
    ) -> Result<Option<Box<dyn PausedGuest>>, Box<CheckReport>> {
        let budget = gone.left_of(budget);
        let Paused { run, guest } = self.begin(Stage::Answer(&talk.messages), budget, cancel)?;
        gone.join(used(&run));
        if !talk.messages.is_empty() {
            talk.hear(&run).map_err(|NoAnswer(why)| {
                self.broke(format!("while tests were collected, {why}"))
            })?;
        }
        Ok(guest)
    }

    fn begin(
        &self,
        stage: Stage<'_>,
        budget: Budget,
        cancel: &Cancel,
    ) -> Result<Paused, Box<CheckReport>> {
        let mut invocation = self.invocation(stage, budget)?;
        invocation.cancel = cancel.clone();
        self.sandbox
            .pause(invocation, &self.environment.runtime().module)
            .map_err(|error| self.host_failed(&error.to_string()))
    }

    /// The report of a suite that came to nothing for this reason.
    fn broke(&self, message: String) -> Box<CheckReport> {
        Box::new(self.stopped(Cause::Broke {
            message: clean(&message),
        }))
    }

    /// Runs one test, in as many rounds as it takes.
    pub(super) fn unit_across(&self, plan: &Plan, pair: &mut Pair, ids: &[String]) -> Came {
        let mut talk = Talk::default();
        let mut gone = Used::default();
        loop {
            let run = self.turn(
                plan,
                gone,
                pair.tests.as_mut(),
                proceed_with(ids, &talk.answers),
            )?;
            let came = match last_word(&run.results) {
                None => self.completed(run, ids)?,
                Some((Word::Ask { message }, _)) => {
                    gone.join(used(&run));
                    let answered = match talk.ask(message) {
                        Ok(()) => {
                            let text = answer(&talk.messages);
                            let there = self.turn(plan, gone, pair.candidate.as_mut(), text)?;
                            gone.join(used(&there));
                            talk.hear(&there)
                        }
                        no => no,
                    };
                    match answered {
                        Ok(()) => continue,
                        Err(NoAnswer(why)) => self.lost(&run, ids, &why, TestOutcome::Failed)?,
                    }
                }
                Some((Word::Refuse { reason }, _)) => {
                    let reason = format!("{NOT_ISOLATED}{reason}");
                    self.lost(&run, ids, &reason, TestOutcome::Skipped)?
                }
                Some((Word::Broken { reason }, _)) => {
                    let why = format!("an answer of the code under test is malformed: {reason}");
                    self.lost(&run, ids, &why, TestOutcome::Failed)?
                }
            };
            let mut came = came;
            came.heard.used.join(gone);
            return Ok(came);
        }
    }

    /// Lets one side go on from where it was paused. What one test may take bounds each round.
    fn turn(
        &self,
        plan: &Plan,
        gone: Used,
        guest: &mut dyn PausedGuest,
        text: String,
    ) -> Result<Run, Box<CheckReport>> {
        let mut budget = gone.left_of(plan.budget);
        budget.fuel = Fuel(budget.fuel.0.min(budget.test_fuel.0));
        budget.wall_time = plan.budget_now().wall_time;
        guest
            .go_on(Turn {
                text,
                sliced: true,
                budget,
                cancel: self.conditions.cancel.clone(),
            })
            .map_err(|error: RunError| self.host_failed(&error.to_string()))
    }

    /// The outcome of a test whose guest came to its own end.
    fn completed(&self, run: Run, ids: &[String]) -> Came {
        let mut heard = Heard::default();
        let (end, open) = self.hear(&run, &mut heard, 0)?;
        let ended = matches!(end, SuiteEnd::Exit(_)) && !heard.records.finished();
        let (end, finished) = match open.filter(|_| ended || costs_one_test(&end)) {
            None => {
                let finished = heard.records.take_finish();
                if finished {
                    heard.records.note_silent(ids);
                }
                (end, finished)
            }
            Some(id) => {
                heard.lose(&id, &end);
                (SuiteEnd::Exit(1), true)
            }
        };
        Ok(Outcome {
            heard,
            end,
            finished,
            stdout: run.stdout,
            stderr: run.stderr,
        })
    }

    /// The outcome of a test that was ended early.
    fn lost(&self, run: &Run, ids: &[String], why: &str, outcome: TestOutcome) -> Came {
        let mut heard = Heard::default();
        heard.used.join(used(run));
        let (message, reason) = match outcome {
            TestOutcome::Skipped => (None, Some(why)),
            _ => (Some(why), None),
        };
        let _ = self;
        for id in ids {
            heard.records.note(id, outcome, message, reason);
        }
        Ok(Outcome {
            heard,
            end: SuiteEnd::Exit(0),
            finished: true,
            stdout: run.stdout.clone(),
            stderr: run.stderr.clone(),
        })
    }
}

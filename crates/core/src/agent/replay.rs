//! Replays a recorded run without planner, patcher or verifier.
//!
//! The record drives the same [`Loop`]: an event that the loop would not have come to is
//! refused, every patch is tried again, and every digest must come out as recorded. What
//! is *not* proved is that a verdict was right; verify the tree that comes out for that.

use super::driver::try_patch;
use super::engine::{Loop, OutOfStep, Step, StopReason};
use super::transcript::{ApplyEvent, SCHEMA, Transcript, TranscriptEvent};
use crate::guard::Guard;
use crate::{Digest, Repo};

/// A record does not tell what happened to this tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The record is of another form.
    #[error("the transcript has schema `{}`, not `{SCHEMA}`", schema.escape_debug())]
    Schema {
        /// The schema that it names.
        schema: String,
    },
    /// The record ends before the loop does.
    #[error("the transcript ends where the loop goes on")]
    Truncated,
    /// The loop would not have come to this event.
    #[error("event {index}: {source}")]
    OutOfStep {
        /// The event, counted from 0.
        index: usize,
        /// What the loop asked for.
        source: OutOfStep,
    },
    /// A number or reason in the event is not that of the loop.
    #[error("event {index} does not say what happened: {what}")]
    Differs {
        /// The event, counted from 0.
        index: usize,
        /// What differs.
        what: &'static str,
    },
    /// The tree is another than recorded.
    #[error("event {index}: the tree is {found}, recorded is {recorded}")]
    Tree {
        /// The event, counted from 0.
        index: usize,
        /// The digest in the record.
        recorded: Digest,
        /// The digest of the tree.
        found: Digest,
    },
    /// A patch fared otherwise than recorded.
    #[error("event {index}: the patch was recorded as {recorded}, now it was {found}")]
    Patch {
        /// The event, counted from 0.
        index: usize,
        /// How it fared: `applied`, or the kind of error.
        recorded: String,
        /// How it fares now.
        found: String,
    },
}

/// Replays `transcript` on `base` under `guard` and gives the tree at its end.
///
/// # Errors
/// Names the first event that does not hold.
pub fn replay(transcript: &Transcript, base: &Repo, guard: &Guard) -> Result<Repo, ReplayError> {
    if transcript.schema != SCHEMA {
        return Err(ReplayError::Schema {
            schema: transcript.schema.clone(),
        });
    }
    let mut replayer = Replayer {
        engine: Loop::new(transcript.max_iterations),
        repo: base.clone(),
        guard,
    };
    let mut events = transcript.events.iter().enumerate().peekable();
    while let Some((index, event)) = events.next() {
        let ended = match event {
            TranscriptEvent::Apply(first) => {
                // The patcher's answer to one step is the run of applies that name it.
                let mut answer = vec![(index, first)];
                while let Some((index, TranscriptEvent::Apply(next))) = events
                    .next_if(|(_, next)| {
                        matches!(next, TranscriptEvent::Apply(next) if next.step == first.step)
                    })
                {
                    answer.push((index, next));
                }
                replayer.applies(&answer)?;
                false
            }
            other => replayer.event(index, other)?,
        };
        if ended {
            return match events.next() {
                None => Ok(replayer.repo),
                Some((index, _)) => Err(ReplayError::Differs {
                    index,
                    what: "the loop was over",
                }),
            };
        }
    }
    Err(ReplayError::Truncated)
}

struct Replayer<'g> {
    engine: Loop,
    repo: Repo,
    guard: &'g Guard,
}

impl Replayer<'_> {
    /// Replays an event that is no apply; says whether it ended the loop.
    fn event(&mut self, index: usize, event: &TranscriptEvent) -> Result<bool, ReplayError> {
        let step = |result: Result<(), OutOfStep>| {
            result.map_err(|source| ReplayError::OutOfStep { index, source })
        };
        match event {
            TranscriptEvent::Verify {
                status,
                failures,
                tree,
            } => {
                self.skip_to(None, index)?;
                self.same_tree(index, *tree)?;
                let failed = *status == crate::verify::Status::Failed;
                same(
                    index,
                    "failures",
                    failed || failures.is_empty() || is_error(*status),
                )?;
                same(index, "failures", !failed || !failures.is_empty())?;
                step(self.engine.verified(*status))?;
            }
            TranscriptEvent::Plan { iteration, steps } => {
                same(index, "iteration", *iteration == self.engine.iterations())?;
                step(self.engine.planned(steps.clone()))?;
            }
            TranscriptEvent::GaveUp { step: at, .. } => {
                self.skip_to(*at, index)?;
                let asked = match self.engine.next() {
                    Step::Patch { index, .. } => Some(*index),
                    Step::Verify | Step::Plan | Step::Apply { .. } | Step::Stop { .. } => None,
                };
                same(index, "step", asked == *at)?;
                step(self.engine.gave_up())?;
            }
            TranscriptEvent::Stop { reason, iterations } => {
                let reached: Option<StopReason> = match self.engine.next() {
                    Step::Stop { reason } => Some(*reason),
                    Step::Verify | Step::Plan | Step::Patch { .. } | Step::Apply { .. } => None,
                };
                same(index, "reason", reached == Some(*reason))?;
                same(index, "iterations", *iterations == self.engine.iterations())?;
                return Ok(true);
            }
            TranscriptEvent::Apply(event) => self.applies(&[(index, event)])?,
        }
        Ok(false)
    }

    /// Replays all patches of one step.
    fn applies(&mut self, answer: &[(usize, &ApplyEvent)]) -> Result<(), ReplayError> {
        let Some((first, event)) = answer.first() else {
            return Ok(());
        };
        self.skip_to(Some(event.step), *first)?;
        let step = |index: usize, result: Result<(), OutOfStep>| {
            result.map_err(|source| ReplayError::OutOfStep { index, source })
        };
        let patches = answer
            .iter()
            .map(|(_, event)| event.patch.clone())
            .collect();
        step(*first, self.engine.patched(patches))?;
        for (index, recorded) in answer {
            self.same_tree(*index, recorded.before)?;
            let patch = recorded.patch.clone();
            let found = try_patch(&mut self.repo, recorded.step, patch, self.guard);
            if fate(&found) != fate(recorded) {
                return Err(ReplayError::Patch {
                    index: *index,
                    recorded: fate(recorded),
                    found: fate(&found),
                });
            }
            self.same_tree(*index, recorded.after)?;
            step(*index, self.engine.applied())?;
        }
        Ok(())
    }

    /// Passes over steps that the patcher answered with no patch, which leave no event:
    /// up to the step at `wanted`, or past all of them.
    fn skip_to(&mut self, wanted: Option<usize>, index: usize) -> Result<(), ReplayError> {
        while let Step::Patch { index: at, .. } = self.engine.next() {
            if Some(*at) == wanted {
                break;
            }
            self.engine
                .patched(Vec::new())
                .map_err(|source| ReplayError::OutOfStep { index, source })?;
        }
        Ok(())
    }

    fn same_tree(&self, index: usize, recorded: Digest) -> Result<(), ReplayError> {
        let found = self.repo.digest();
        if found == recorded {
            return Ok(());
        }
        Err(ReplayError::Tree {
            index,
            recorded,
            found,
        })
    }
}

/// How a patch fared.
fn fate(event: &ApplyEvent) -> String {
    match (&event.error, event.ok) {
        (None, true) => "applied".to_owned(),
        (Some(error), false) => error.kind.to_string(),
        (None, false) | (Some(_), true) => "neither applied nor refused".to_owned(),
    }
}

fn is_error(status: crate::verify::Status) -> bool {
    status == crate::verify::Status::Error
}

fn same(index: usize, what: &'static str, holds: bool) -> Result<(), ReplayError> {
    if holds {
        Ok(())
    } else {
        Err(ReplayError::Differs { index, what })
    }
}

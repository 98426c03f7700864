//! Drives a [`Loop`] with a planner, a patcher and a verifier.
//!
//! Each patch is applied under its own snapshot: one that fails leaves the tree as it was
//! and is an observation, not a crash. Planner and patcher see the last verdict, so what
//! failed flows into the next plan. Nothing they say is executed here.

use super::PatchText;
use super::engine::{Loop, OutOfStep, Step, StopReason};
use super::transcript::{ApplyEvent, SCHEMA, Transcript, TranscriptEvent};
use crate::Repo;
use crate::guard::Guard;
use crate::patch::{FormatChoice, apply_bytes};
use crate::spec::Spec;
use crate::verify::Verdict;

/// Most steps of one plan, and most patches for one step.
pub const MAX_ANSWERS: usize = 1000;

/// The planner or the patcher has no answer. It ends the loop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AgentError {
    /// Why.
    pub message: String,
}

impl AgentError {
    /// An error that says `message`.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// Says what to do, knowing what failed.
pub trait Planner {
    /// Makes a plan: steps in words, at most [`MAX_ANSWERS`].
    ///
    /// # Errors
    /// When it has no plan; that ends the loop.
    fn plan(&mut self, spec: &Spec, verdict: &Verdict) -> Result<Vec<String>, AgentError>;
}

/// Says how to do one step of a plan.
pub trait Patcher {
    /// Proposes patches to `repo`, at most [`MAX_ANSWERS`]. Each is applied by itself, in
    /// order.
    ///
    /// # Errors
    /// When it has no answer; that ends the loop. No patch at all is an answer.
    fn patch(
        &mut self,
        spec: &Spec,
        step: &str,
        verdict: &Verdict,
        repo: &Repo,
    ) -> Result<Vec<PatchText>, AgentError>;
}

/// Judges a tree.
pub trait Verifier {
    /// Judges `repo`, which was made of `base`.
    fn verify(&mut self, spec: &Spec, base: &Repo, repo: &Repo) -> Verdict;
}

impl<F: FnMut(&Spec, &Repo, &Repo) -> Verdict> Verifier for F {
    fn verify(&mut self, spec: &Spec, base: &Repo, repo: &Repo) -> Verdict {
        self(spec, base, repo)
    }
}

/// What came out of a loop.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// Whether the last verdict passed.
    pub passed: bool,
    /// How many iterations there were; 0 if nothing had to be done.
    pub iterations: u32,
    /// Why the loop stopped.
    pub reason: StopReason,
    /// The last verdict. If the agent gave up, patches of the last iteration came after it.
    pub verdict: Verdict,
    /// The tree at the end.
    pub repo: Repo,
    /// What happened.
    pub transcript: Transcript,
}

/// Runs the loop on `repo`, whose patches are held to the guard of `spec`.
///
/// With `max_iterations` 0 it only verifies; [`DEFAULT_MAX_ITERATIONS`] is a good default.
///
/// [`DEFAULT_MAX_ITERATIONS`]: super::DEFAULT_MAX_ITERATIONS
///
/// # Errors
/// Never in practice: the driver answers what the loop asks.
pub fn run(
    base: &Repo,
    spec: &Spec,
    planner: &mut dyn Planner,
    patcher: &mut dyn Patcher,
    verifier: &mut dyn Verifier,
    max_iterations: u32,
) -> Result<RunResult, OutOfStep> {
    let mut engine = Loop::new(max_iterations);
    let mut repo = base.clone();
    let mut verdict = Verdict::new(Vec::new());
    let mut events = Vec::new();
    let reason = loop {
        match engine.next().clone() {
            Step::Verify => {
                verdict = verifier.verify(spec, base, &repo);
                events.push(TranscriptEvent::Verify {
                    status: verdict.status(),
                    failures: verdict.failures().to_vec(),
                    tree: repo.digest(),
                });
                engine.verified(verdict.status())?;
            }
            Step::Plan => match bounded("plan", planner.plan(spec, &verdict)) {
                Ok(steps) => {
                    events.push(TranscriptEvent::Plan {
                        iteration: engine.iterations(),
                        steps: steps.clone(),
                    });
                    engine.planned(steps)?;
                }
                Err(error) => {
                    events.push(TranscriptEvent::GaveUp {
                        step: None,
                        message: error.message,
                    });
                    engine.gave_up()?;
                }
            },
            Step::Patch { index, step } => {
                match bounded("answer", patcher.patch(spec, &step, &verdict, &repo)) {
                    Ok(patches) => engine.patched(patches)?,
                    Err(error) => {
                        events.push(TranscriptEvent::GaveUp {
                            step: Some(index),
                            message: error.message,
                        });
                        engine.gave_up()?;
                    }
                }
            }
            Step::Apply { index, patch } => {
                events.push(TranscriptEvent::Apply(try_patch(
                    &mut repo,
                    index,
                    patch,
                    &spec.guard,
                )));
                engine.applied()?;
            }
            Step::Stop { reason } => {
                events.push(TranscriptEvent::Stop {
                    reason,
                    iterations: engine.iterations(),
                });
                break reason;
            }
        }
    };
    Ok(RunResult {
        passed: reason == StopReason::Passed,
        iterations: engine.iterations(),
        reason,
        verdict,
        repo,
        transcript: Transcript {
            schema: SCHEMA.to_owned(),
            spec: spec.digest(),
            max_iterations,
            events,
        },
    })
}

fn bounded<T>(what: &str, answer: Result<Vec<T>, AgentError>) -> Result<Vec<T>, AgentError> {
    let answer = answer?;
    if answer.len() > MAX_ANSWERS {
        let message = format!(
            "the {what} has {} parts, more than {MAX_ANSWERS}",
            answer.len()
        );
        return Err(AgentError { message });
    }
    Ok(answer)
}

/// Tries one patch under a snapshot.
pub(super) fn try_patch(
    repo: &mut Repo,
    step: usize,
    patch: PatchText,
    guard: &Guard,
) -> ApplyEvent {
    let snapshot = repo.snapshot();
    let before = repo.digest();
    let format = FormatChoice::Exactly(patch.format);
    let error = apply_bytes(repo, format, &patch.bytes, guard).err();
    if error.is_some() {
        repo.restore(&snapshot);
    }
    ApplyEvent {
        step,
        patch,
        ok: error.is_none(),
        error,
        before,
        after: repo.digest(),
    }
}

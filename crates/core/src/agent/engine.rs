//! The loop as a step engine.
//!
//! It holds no tree, no verdict and no clock, only where the loop stands, so that any
//! driver gets the same iterations: it starts with a verify, stops at once if that passes,
//! and plans at most `max_iterations` times. A failed patch does not end the iteration;
//! an agent that gives up, a host that failed, or nothing to check ends the loop.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::PatchText;
use crate::verify::Status;

/// How often a loop plans if nothing else is said.
pub const DEFAULT_MAX_ITERATIONS: u32 = 8;

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Verify the tree; answer with [`Loop::verified`].
    Verify,
    /// Ask the planner; answer with [`Loop::planned`] or [`Loop::gave_up`].
    Plan,
    /// Ask the patcher about a step of the plan; answer with [`Loop::patched`] or
    /// [`Loop::gave_up`].
    Patch {
        /// The place of the step in the plan, counted from 0.
        index: usize,
        /// The step.
        step: String,
    },
    /// Try a patch on the tree; answer with [`Loop::applied`], whether it worked or not.
    Apply {
        /// The place of the plan's step that it belongs to, counted from 0.
        index: usize,
        /// The patch.
        patch: PatchText,
    },
    /// Nothing; the loop is over.
    Stop {
        /// Why.
        reason: StopReason,
    },
}

impl Step {
    const fn name(&self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Plan => "plan",
            Self::Patch { .. } => "patch",
            Self::Apply { .. } => "apply",
            Self::Stop { .. } => "stop",
        }
    }
}

/// Why a loop is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The verdict is `passed`.
    Passed,
    /// The last iteration did not pass either.
    MaxIterations,
    /// The spec checks nothing, so no patch could make it pass.
    NothingChecked,
    /// The verdict is `error`: the host failed, and patches do not help.
    HostFailed,
    /// The planner or the patcher gave up.
    AgentFailed,
}

/// The answer does not belong to the step that the loop asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the loop asked for `{expected}` and was answered with `{answer}`")]
pub struct OutOfStep {
    /// The step that it asked for.
    pub expected: &'static str,
    /// The step that was answered.
    pub answer: &'static str,
}

/// Where a loop stands.
#[derive(Debug, Clone)]
pub struct Loop {
    max_iterations: u32,
    iterations: u32,
    step: Step,
    steps: VecDeque<(usize, String)>,
    patches: VecDeque<PatchText>,
}

impl Loop {
    /// A loop that plans at most `max_iterations` times; with 0 it only verifies.
    #[must_use]
    pub const fn new(max_iterations: u32) -> Self {
        Self {
            max_iterations,
            iterations: 0,
            step: Step::Verify,
            steps: VecDeque::new(),
            patches: VecDeque::new(),
        }
    }

    /// What to do next. The same until it is answered.
    #[must_use]
    pub const fn next(&self) -> &Step {
        &self.step
    }

    /// How many iterations have begun.
    #[must_use]
    pub const fn iterations(&self) -> u32 {
        self.iterations
    }

    /// Answers [`Step::Verify`].
    ///
    /// # Errors
    /// When the loop asked for something else.
    pub fn verified(&mut self, status: Status) -> Result<(), OutOfStep> {
        self.answers(matches!(self.step, Step::Verify), "verify")?;
        self.step = match status {
            Status::Passed => stop(StopReason::Passed),
            Status::Error => stop(StopReason::HostFailed),
            Status::NothingChecked => stop(StopReason::NothingChecked),
            Status::Failed if self.iterations >= self.max_iterations => {
                stop(StopReason::MaxIterations)
            }
            Status::Failed => {
                self.iterations = self.iterations.saturating_add(1);
                Step::Plan
            }
        };
        Ok(())
    }

    /// Answers [`Step::Plan`] with the steps of the plan.
    ///
    /// # Errors
    /// When the loop asked for something else.
    pub fn planned(&mut self, steps: Vec<String>) -> Result<(), OutOfStep> {
        self.answers(matches!(self.step, Step::Plan), "plan")?;
        self.steps = steps.into_iter().enumerate().collect();
        self.advance(0);
        Ok(())
    }

    /// Answers [`Step::Patch`] with the patches for that step.
    ///
    /// # Errors
    /// When the loop asked for something else.
    pub fn patched(&mut self, patches: Vec<PatchText>) -> Result<(), OutOfStep> {
        let Step::Patch { index, .. } = self.step else {
            return self.answers(false, "patch");
        };
        self.patches = patches.into();
        self.advance(index);
        Ok(())
    }

    /// Answers [`Step::Apply`]: the patch was tried.
    ///
    /// # Errors
    /// When the loop asked for something else.
    pub fn applied(&mut self) -> Result<(), OutOfStep> {
        let Step::Apply { index, .. } = self.step else {
            return self.answers(false, "apply");
        };
        self.advance(index);
        Ok(())
    }

    /// Answers [`Step::Plan`] or [`Step::Patch`]: the agent has no answer.
    ///
    /// # Errors
    /// When the loop asked for something else.
    pub fn gave_up(&mut self) -> Result<(), OutOfStep> {
        self.answers(
            matches!(self.step, Step::Plan | Step::Patch { .. }),
            "plan or patch",
        )?;
        self.step = stop(StopReason::AgentFailed);
        Ok(())
    }

    fn answers(&self, fits: bool, answer: &'static str) -> Result<(), OutOfStep> {
        if fits {
            return Ok(());
        }
        Err(OutOfStep {
            expected: self.step.name(),
            answer,
        })
    }

    /// The next patch of the step at `index`, else the next step, else a verify.
    fn advance(&mut self, index: usize) {
        self.step = if let Some(patch) = self.patches.pop_front() {
            Step::Apply { index, patch }
        } else if let Some((index, step)) = self.steps.pop_front() {
            Step::Patch { index, step }
        } else {
            Step::Verify
        };
    }
}

impl Default for Loop {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_ITERATIONS)
    }
}

const fn stop(reason: StopReason) -> Step {
    Step::Stop { reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::Format;

    #[test]
    fn every_patch_of_every_step_comes_before_the_next_verify() {
        let mut engine = Loop::new(1);
        let patch = |text: &str| PatchText::new(Format::WholeFile, text);
        assert_eq!(engine.next(), &Step::Verify);
        engine.verified(Status::Failed).unwrap();
        engine.planned(vec!["a".into(), "b".into()]).unwrap();
        let step = |index, step: &str| Step::Patch {
            index,
            step: step.into(),
        };
        assert_eq!(engine.next(), &step(0, "a"));
        engine.patched(vec![patch("1"), patch("2")]).unwrap();
        for text in ["1", "2"] {
            let patch = patch(text);
            assert_eq!(engine.next(), &Step::Apply { index: 0, patch });
            engine.applied().unwrap();
        }
        assert_eq!(engine.next(), &step(1, "b"));
        engine.patched(Vec::new()).unwrap();
        assert_eq!(engine.next(), &Step::Verify);
        engine.verified(Status::Failed).unwrap();
        assert_eq!(engine.next(), &stop(StopReason::MaxIterations));
        assert_eq!(engine.iterations(), 1);
    }

    #[test]
    fn answers_out_of_step_change_nothing() {
        let mut engine = Loop::default();
        let error = engine.planned(Vec::new()).unwrap_err();
        assert_eq!((error.expected, error.answer), ("verify", "plan"));
        assert!(engine.patched(Vec::new()).is_err());
        assert!(engine.applied().is_err());
        assert!(engine.gave_up().is_err());
        assert_eq!(engine.next(), &Step::Verify);
        engine.verified(Status::Passed).unwrap();
        assert!(engine.verified(Status::Passed).is_err());
    }

    #[test]
    fn what_no_patch_can_help_stops_the_loop() {
        for (status, reason) in [
            (Status::Passed, StopReason::Passed),
            (Status::Error, StopReason::HostFailed),
            (Status::NothingChecked, StopReason::NothingChecked),
        ] {
            let mut engine = Loop::default();
            engine.verified(status).unwrap();
            assert_eq!(engine.next(), &stop(reason));
            assert_eq!(engine.iterations(), 0);
        }
        let mut engine = Loop::default();
        engine.verified(Status::Failed).unwrap();
        engine.gave_up().unwrap();
        assert_eq!(engine.next(), &stop(StopReason::AgentFailed));
    }
}

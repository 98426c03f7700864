//! The plan → patch → verify loop.
//!
//! A [`Loop`] is a step engine: it says what to do next and is told what came of it. [`run`]
//! is a driver for it; [`replay`] drives it from a recording.

mod driver;
mod engine;
mod patch_text;
mod replay;
mod transcript;

pub use driver::{AgentError, MAX_ANSWERS, Patcher, Planner, RunResult, Verifier, run};
pub use engine::{DEFAULT_MAX_ITERATIONS, Loop, OutOfStep, Step, StopReason};
pub use patch_text::PatchText;
pub use replay::{ReplayError, replay};
pub use transcript::{ApplyEvent, SCHEMA, Transcript, TranscriptEvent};

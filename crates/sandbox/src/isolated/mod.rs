//! Checks whose judgement is made outside the instance in which the candidate runs.
//!
//! What a guest of theirs holds is the candidate and its input; what is expected stays here.
//! A guest answers in bytes, and those are compared as data. So nothing that the candidate
//! does in its instance can do more than give a wrong answer.

mod answers;
mod call;
mod calls;
mod oracle;
mod program;
mod report;

pub(crate) use call::check_calls;
pub(crate) use oracle::check_oracle;
pub(crate) use program::{Runs, check_program};
pub(crate) use report::Bench;

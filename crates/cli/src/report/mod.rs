//! What people and machines are shown.

pub(crate) mod escape;
mod human;
mod refusal;

pub(crate) use human::{print_check, print_verdict};
pub(crate) use refusal::{refusal, refusal_json};

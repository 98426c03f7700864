//! What the hostile guest does under WASI.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a hostile guest prints wherever it likes; no library is involved"
)]

mod churn;
mod files;
mod links;
mod menu;
mod raw;
mod resources;
mod walls;

pub(crate) use menu::{REFUSED, serve};

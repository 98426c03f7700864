//! The repository on disk: read, changed, and put right after every way of dying.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod commit;
mod crash;
mod journal;
mod kill;
mod load;
mod meddling;
mod scene;
mod sparse;
mod undo;

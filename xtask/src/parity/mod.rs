//! `cargo xtask parity`: the outcome of every test in the sandbox beside native pytest's.
//!
//! Subjects are the release tasks of `tests/tasks` with their fixes applied, and the packages
//! pinned in `tests/parity/packages`. Both sides get the same tree, the same wheels and the
//! same arguments. Differences that are known stand, with their causes, in the data; what
//! stands there and no longer differs is said, too.

mod chore;
mod compare;
mod difference;
mod guest;
mod native;
mod subject;
mod table;

pub(crate) use chore::run;

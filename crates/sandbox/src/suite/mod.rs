//! Test suites: the repository's own tests, run in a guest, one result per test.

mod environment;
mod live;
mod lock;
mod pytest;
mod records;
mod support;
mod wheel;

pub use environment::{BuildPhase, Environment, EnvironmentError, EnvironmentStore, Facts};
pub use lock::{Lock, LockError, Requirement, WheelStore};
pub use pytest::PytestRun;
pub use support::default_lock;

//! Test suites: the repository's own tests, run in a guest, one result per test.

mod across;
mod environment;
mod live;
mod lock;
mod records;
mod repeat;
mod run;
mod seal;
mod support;
mod units;
mod wheel;

pub(crate) use environment::proceed;
pub use environment::{BuildPhase, Environment, EnvironmentError, EnvironmentStore, Facts};
pub use lock::{Lock, LockError, Requirement, WheelStore};
pub use run::SuiteRun;
pub use support::default_lock;

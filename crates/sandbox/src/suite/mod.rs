//! Test suites: the repository's own tests, run in a guest, one result per test.

mod live;
mod lock;
mod pytest;
mod records;
mod site;
mod support;

pub use lock::{Lock, LockError, Requirement, WheelStore};
pub use pytest::PytestRun;
pub use site::{Site, SiteError, SiteStore};
pub use support::default_lock;

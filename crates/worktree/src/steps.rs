//! Counting what changes the file system, so that tests can make each step go wrong.
//!
//! Every call that changes anything on disk first takes a step. Outside tests nothing is
//! ever injected and a step costs one addition.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// What goes wrong, and at which step, counted from 0; for tests.
#[derive(Debug, Clone, Copy, Default)]
#[doc(hidden)]
pub enum Fault {
    /// Nothing.
    #[default]
    Never,
    /// This one step fails.
    Error(u64),
    /// This step and all after it fail, as if the process had died before it.
    Crash(u64),
    /// The process aborts before this step.
    Abort(u64),
    /// Somebody else does something just before this step.
    Meddling(u64, fn()),
}

/// How many steps were taken, and the one that goes wrong.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    taken: AtomicU64,
    fault: Fault,
    links: Links,
}

/// Whether a file may have a second name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Links {
    /// As the file system can.
    #[default]
    Allowed,
    /// Never; for tests.
    Refused,
}

impl Steps {
    /// The same, but for what goes wrong; counting begins anew.
    pub(crate) const fn with_fault(&self, fault: Fault) -> Self {
        Self {
            taken: AtomicU64::new(0),
            fault,
            links: self.links,
        }
    }

    /// The same, on a file system without second names.
    pub(crate) const fn without_links(&self) -> Self {
        Self {
            taken: AtomicU64::new(0),
            fault: self.fault,
            links: Links::Refused,
        }
    }

    pub(crate) const fn links(&self) -> Links {
        self.links
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Comes before every call that changes something on disk.
    pub(crate) fn take(&self) -> io::Result<()> {
        let step = self.taken.fetch_add(1, Ordering::Relaxed);
        let fails = match self.fault {
            Fault::Never => false,
            Fault::Error(at) => step == at,
            Fault::Crash(at) => step >= at,
            Fault::Abort(at) if step == at => std::process::abort(),
            Fault::Abort(_) => false,
            Fault::Meddling(at, meddle) => {
                if step == at {
                    meddle();
                }
                false
            }
        };
        if fails {
            return Err(io::Error::other("a test made this step fail"));
        }
        Ok(())
    }
}

//! Differences that are known, with their causes.

use anyhow::{Result, ensure};
use serde::Deserialize;

/// Why a test comes out differently in the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Cause {
    /// The version of CPython alone.
    Version,
    /// The number of an error, a signal or a constant of the system.
    Numbers,
    /// Threads that run at the same time.
    Threads,
    /// Other programs.
    Processes,
    /// Connections, listening, name look-ups.
    Sockets,
    /// Signals and timers.
    Signals,
    /// Terminals.
    Terminals,
    /// Calling C from Python.
    Ctypes,
    /// TLS and what else OpenSSL gives.
    Ssl,
    /// Permission bits, owners.
    FileModes,
    /// Files of a Linux system, such as time zones.
    SystemFiles,
    /// File descriptors that are redirected.
    Descriptors,
    /// Locales other than C.
    Locales,
    /// The depth of the C stack.
    Stack,
    /// `sys.platform` and what follows from it.
    Platform,
    /// File names that are not UTF-8.
    FileNames,
    /// Our own runner or runtime, where WASI could do better. Counts as unequal.
    Ours,
    /// Natively, too, it differs from one run to the next. Counts as unequal.
    Unsteady,
}

impl Cause {
    /// Every cause.
    pub(super) const ALL: [Self; 18] = [
        Self::Version,
        Self::Numbers,
        Self::Threads,
        Self::Processes,
        Self::Sockets,
        Self::Signals,
        Self::Terminals,
        Self::Ctypes,
        Self::Ssl,
        Self::FileModes,
        Self::SystemFiles,
        Self::Descriptors,
        Self::Locales,
        Self::Stack,
        Self::Platform,
        Self::FileNames,
        Self::Ours,
        Self::Unsteady,
    ];

    /// What the table calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Version => "the version of CPython alone",
            Self::Numbers => "needs Linux's numbers of errors and constants",
            Self::Threads => "needs threads that run at the same time",
            Self::Processes => "needs processes",
            Self::Sockets => "needs sockets",
            Self::Signals => "needs signals",
            Self::Terminals => "needs terminals",
            Self::Ctypes => "needs ctypes",
            Self::Ssl => "needs ssl",
            Self::FileModes => "needs file modes or users",
            Self::SystemFiles => "needs files of a Linux system",
            Self::Descriptors => "needs descriptors that can be redirected",
            Self::Locales => "needs locales",
            Self::Stack => "needs a deeper C stack",
            Self::Platform => "asks which platform it is",
            Self::FileNames => "needs file names that are not UTF-8",
            Self::Ours => "our runner or runtime (counts as unequal)",
            Self::Unsteady => "differs from one native run to the next (counts as unequal)",
        }
    }
}

/// What comparing a test with a known difference comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Left out of the percentage: WASI lacks what the test needs.
    Lacks,
    /// Left out of the percentage: the version of CPython.
    Version,
    /// Counts as unequal.
    Counted,
}

impl Cause {
    pub(super) const fn kind(self) -> Kind {
        match self {
            Self::Version => Kind::Version,
            Self::Ours | Self::Unsteady => Kind::Counted,
            Self::Numbers
            | Self::Threads
            | Self::Processes
            | Self::Sockets
            | Self::Signals
            | Self::Terminals
            | Self::Ctypes
            | Self::Ssl
            | Self::FileModes
            | Self::SystemFiles
            | Self::Descriptors
            | Self::Locales
            | Self::Stack
            | Self::Platform
            | Self::FileNames => Kind::Lacks,
        }
    }
}

/// Tests that differ for one reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Difference {
    pub(super) cause: Cause,
    /// Why, in one line.
    reason: String,
    /// How it is known that the version alone makes the difference. Only there.
    evidence: Option<String>,
    /// Ids, in which `*` stands for any text.
    pub(super) tests: Vec<String>,
}

impl Difference {
    /// Checks what the format alone does not.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(!self.reason.trim().is_empty(), "a difference has no reason");
        ensure!(!self.tests.is_empty(), "`{}` is about no test", self.reason);
        ensure!(
            (self.cause == Cause::Version) == self.evidence.is_some(),
            "`{}`: evidence belongs to differences by the version, and to these only",
            self.reason
        );
        Ok(())
    }
}

/// Whether an id is what a pattern describes; `*` stands for any text, also none.
pub(super) fn matches(pattern: &str, id: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == id;
    };
    let Some(mut left) = id.strip_prefix(head) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let Some(tail) = parts.pop() else {
        return false;
    };
    for part in parts {
        let Some(at) = left.find(part) else {
            return false;
        };
        left = left.get(at + part.len()..).unwrap_or_default();
    }
    left.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, id) in [
            ("a.py::b", "a.py::b"),
            ("a.py::*", "a.py::b[*]"),
            ("*[x-*-y]", "a.py::b[x-1-y]"),
            ("a*b*c", "abc"),
            ("*", ""),
        ] {
            assert!(matches(pattern, id), "{pattern} {id}");
        }
        for (pattern, id) in [
            ("a.py::b", "a.py::bc"),
            ("a*b*c", "acb"),
            ("ab*bc", "abc"),
            ("*::b", "a::bc"),
        ] {
            assert!(!matches(pattern, id), "{pattern} {id}");
        }
    }
}

//! What must hold: the file `probity.toml`, read into a [`Spec`].
//!
//! A spec is contract and evaluation at once: a description for people, a guard, a budget
//! and named checks. It is trusted input, and still read with bounds.

mod call;
mod cases;
mod check;
mod document;
mod error;
mod expected;
mod fields;
mod guarding;
mod hardening;
mod interpreter;
mod json;
mod kinds;
mod oracle;
mod overrides;
mod pattern;
mod program;
mod read;
mod suite;
mod trust;

pub use call::{CallCase, CallCheck, CallExpectation, Instance};
pub use cases::MAX_CASES;
pub use check::{
    Check, CheckKind, DiffCheck, FileContains, FileExists, KindName, MAX_NAME, PackCheck, PackRef,
    Predicate,
};
pub use error::{MAX_ERRORS, SpecError, SpecErrors};
pub use expected::{CaseName, ExpectedText};
pub use hardening::{Hardening, MAX_REPEAT};
pub use interpreter::{Function, Interpreter};
pub use oracle::OracleCheck;
pub use overrides::BudgetOverrides;
pub use pattern::{Pattern, PatternError};
pub use program::{Program, ProgramCase, ProgramCheck};
pub use read::{MAX_CHECKS, MAX_SPEC_BYTES, Resolve, Spec, VERSION};
pub use suite::{Expectation, MAX_TEST_ID, MAX_TEST_IDS, Runner, SuiteCheck, SuiteIsolation};
pub use trust::{MAX_TRUST_PATTERNS, TestTrust, TestsFrom};

pub(crate) use document::{Node, Value, parse_document};
pub(crate) use error::{Source, nearest};

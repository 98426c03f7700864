//! Running the checks of a spec on a tree: from [`Check`](crate::spec::Check)s to a
//! [`Verdict`].
//!
//! Static kinds are decided here. Packs and suites run elsewhere, behind the trait
//! [`Executor`]; nothing in this crate executes what is under test.

mod change;
mod compare;
mod document;
mod files;
mod judge;
mod outcome;
mod repeat;
mod report;
mod run;
mod selftest;
mod suite;
mod trusted;
mod verdict;

pub use compare::{Difference, difference, text_difference};
pub use document::{
    AssuranceSummary, BaseSummary, ConditionsSummary, PatchSummary, PatchedSummary, SCHEMA,
    SpecSource, SpecSummary, Timings, VerdictDocument,
};
pub use judge::{is_failure, judge_suite};
pub use outcome::{Cause, Outcome};

pub use crate::Assurance;
pub use repeat::judge_repeated;
pub use report::{Captured, CheckReport, Finding, Level};
pub use run::{Event, Executor, NoExecutor, Observer, VerifyInput, verify};
pub use selftest::{Fitness, SELFTEST_SCHEMA, SelfTest, Trial};
pub use suite::{
    CanaryReport, CollectError, SuiteEnd, SuiteJudgement, SuiteProgress, SuiteRecord, SuiteReport,
    TestOutcome, TestReport,
};
pub use trusted::{Apart, Laid, Trusting, lay_trusted, take_apart};
pub use verdict::{Status, Verdict};

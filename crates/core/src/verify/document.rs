//! The verdict as a versioned JSON document.
//!
//! Everything outside `timings` is a function of the inputs and comes out byte for byte
//! the same each time: fields have a fixed order, maps are sorted, numbers are integers.
//! `docs/verdict-schema.md` describes every field, `docs/verdict.schema.json` is the schema.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Captured, CheckReport, Outcome, Status, Verdict};
use crate::patch::{Format, Plan, render_plan};
use crate::quantity::{ByteSize, WallTime};
use crate::spec::Spec;
use crate::{Assurance, Digest, Repo};

/// Name and version of the document's form. A field that is added leaves it as it is; one
/// that goes away or changes its meaning raises the number.
pub const SCHEMA: &str = "probity.verdict/1";

/// A verdict with what it was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// How the run ended.
    pub status: Status,
    /// The exit code that stands for it.
    pub exit_code: u8,
    /// The tree before the patch.
    pub base: BaseSummary,
    /// The tree that was judged.
    pub patched: PatchedSummary,
    /// The patch; `None` if the base itself was judged.
    pub patch: Option<PatchSummary>,
    /// The spec.
    pub spec: SpecSummary,
    /// What its guests depended on beside files and budgets.
    pub conditions: ConditionsSummary,
    /// How far its checks can be trusted.
    pub assurance: AssuranceSummary,
    /// Names of the checks that did not pass, in the order of the spec.
    pub failures: Vec<String>,
    /// Every report, in the order of the spec.
    pub checks: Vec<CheckReport>,
    /// Real time. The only part that differs between two runs.
    pub timings: Timings,
}

/// The tree before the patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseSummary {
    /// Its digest: git's tree id in a repository with SHA-256 objects.
    pub tree: Digest,
    /// How many files and links it holds.
    pub files: u64,
}

/// The tree that was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchedSummary {
    /// Its digest: git's tree id in a repository with SHA-256 objects.
    pub tree: Digest,
}

/// The patch that was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchSummary {
    /// SHA-256 of the patch as it came in.
    pub digest: Digest,
    /// Its format.
    pub format: String,
    /// How many files it changes.
    pub files: u64,
    /// Lines that it adds.
    pub added: u64,
    /// Lines that it removes.
    pub removed: u64,
    /// What it changes, as a unified diff; the middle of a long one is cut out.
    pub diff: Captured,
}

impl PatchSummary {
    /// Sums up a patch that came in as `bytes` in `format` and was placed as `plan`. Of its
    /// diff at most `diff_cap` bytes are kept.
    #[must_use]
    pub fn new(bytes: &[u8], format: Format, plan: &Plan, diff_cap: ByteSize) -> Self {
        let stat = plan.stat();
        Self {
            digest: Digest::of(bytes),
            format: format.to_string(),
            files: stat.files,
            added: stat.lines_added,
            removed: stat.lines_removed,
            diff: Captured::keep(&render_plan(plan), diff_cap),
        }
    }
}

/// The spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecSummary {
    /// Where it came from.
    pub source: SpecSource,
    /// Its digest, see [`Spec::digest`].
    pub digest: Digest,
}

/// What guests depend on beside files, arguments and budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionsSummary {
    /// Seed of their randomness.
    pub seed: u64,
    /// Virtual time at their start, in nanoseconds since the Unix epoch.
    pub start_time: u64,
}

/// How far the checks of a verdict can be trusted. Skipped ones do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssuranceSummary {
    /// The level that the spec requires of its checks.
    pub required: Assurance,
    /// The level of the weakest check; `None` if none ran.
    pub reached: Option<Assurance>,
    /// How many checks are isolated.
    pub isolated: u64,
    /// How many are in-guest.
    pub in_guest: u64,
}

impl AssuranceSummary {
    /// Sums up the reports of the checks of a spec that requires `required`.
    #[must_use]
    pub fn new(required: Assurance, checks: &[CheckReport]) -> Self {
        let levels = || {
            checks
                .iter()
                .filter(|check| check.outcome != Outcome::Skipped)
                .map(|check| check.assurance)
        };
        let count = |level| {
            let count = levels().filter(|reached| *reached == level).count();
            u64::try_from(count).unwrap_or(u64::MAX)
        };
        Self {
            required,
            reached: levels().min(),
            isolated: count(Assurance::Isolated),
            in_guest: count(Assurance::InGuest),
        }
    }
}

/// Where a spec came from. As text: `default`, or the path of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum SpecSource {
    /// Made up for the repository at hand.
    Default,
    /// Read from a file, by its path as given.
    File(String),
}

impl From<String> for SpecSource {
    fn from(text: String) -> Self {
        if text == "default" {
            Self::Default
        } else {
            Self::File(text)
        }
    }
}

/// A file called `default` is written as `./default`.
impl From<SpecSource> for String {
    fn from(source: SpecSource) -> Self {
        match source {
            SpecSource::Default => "default".to_owned(),
            SpecSource::File(path) if path == "default" => "./default".to_owned(),
            SpecSource::File(path) => path,
        }
    }
}

/// Real time, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Timings {
    /// From reading the request to the verdict.
    pub total_ns: WallTime,
    /// Each check by its name.
    pub checks: BTreeMap<String, WallTime>,
}

impl VerdictDocument {
    /// Puts a document together. `total` is the real time from reading the request to the
    /// verdict; `repo` is the tree that was judged.
    #[must_use]
    pub fn new(
        base: &Repo,
        repo: &Repo,
        patch: Option<PatchSummary>,
        spec: (&Spec, SpecSource),
        conditions: ConditionsSummary,
        verdict: &Verdict,
        total: WallTime,
    ) -> Self {
        let checks = verdict.checks();
        Self {
            schema: SCHEMA.to_owned(),
            status: verdict.status(),
            exit_code: verdict.exit_code(),
            base: BaseSummary {
                tree: base.digest(),
                files: u64::try_from(base.len()).unwrap_or(u64::MAX),
            },
            patched: PatchedSummary {
                tree: repo.digest(),
            },
            patch,
            spec: SpecSummary {
                source: spec.1,
                digest: spec.0.digest(),
            },
            conditions,
            assurance: AssuranceSummary::new(spec.0.require, checks),
            failures: verdict.failures().to_vec(),
            checks: checks.to_vec(),
            timings: Timings {
                total_ns: total,
                checks: checks
                    .iter()
                    .map(|report| (report.name.clone(), report.wall_time))
                    .collect(),
            },
        }
    }

    /// The document as indented JSON that ends in a line break.
    ///
    /// # Errors
    /// Never in practice: every map has keys that are strings.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }

    /// The digest of the reproducible part: the document in compact JSON with empty
    /// `timings`. Two runs of one verdict have the same.
    ///
    /// # Errors
    /// Never in practice: every map has keys that are strings.
    pub fn reproducible_digest(&self) -> Result<Digest, serde_json::Error> {
        let document = Self {
            timings: Timings::default(),
            ..self.clone()
        };
        Ok(Digest::of(&serde_json::to_vec(&document)?))
    }
}

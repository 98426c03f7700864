//! Two runs of one suite, test by test.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::difference::{Cause, Difference, Kind, matches};

/// What a run of a suite showed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Run {
    /// Outcome and message by id.
    pub(super) outcomes: BTreeMap<String, (String, String)>,
    /// What could not be collected, with the reason.
    pub(super) not_collected: BTreeMap<String, String>,
    /// Whether it came to its end, where the source tells.
    pub(super) finished: Option<bool>,
    pub(super) seconds: f64,
}

impl Run {
    /// The outcome of a test, or `absent`.
    pub(super) fn outcome(&self, id: &str) -> &str {
        self.outcomes
            .get(id)
            .map_or("absent", |(outcome, _)| outcome)
    }

    /// Why a test came out as it did, or why there is none.
    fn message(&self, id: &str) -> &str {
        let of_file = || {
            let found = self.not_collected.iter();
            let mut found = found.filter(|(path, _)| id.starts_with(path.as_str()));
            found.next().map_or("", |(_, message)| message.as_str())
        };
        self.outcomes
            .get(id)
            .map_or_else(of_file, |(_, message)| message.as_str())
    }
}

/// A test that came out differently.
#[derive(Debug)]
pub(super) struct Unequal {
    pub(super) id: String,
    pub(super) native: String,
    pub(super) guest: String,
    /// What the guest said of it, else what the native run did.
    pub(super) message: String,
    pub(super) cause: Option<Cause>,
}

impl Unequal {
    /// Whether the sandbox passes what fails natively.
    pub(super) fn only_in_guest(&self) -> bool {
        matches!(self.guest.as_str(), "passed" | "xpassed")
            && matches!(self.native.as_str(), "failed" | "error")
    }
}

/// What a comparison came to.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) tests: usize,
    pub(super) unequal: Vec<Unequal>,
    /// Patterns of known differences that no differing test matches.
    pub(super) stale: Vec<String>,
}

impl Comparison {
    pub(super) fn of(native: &Run, guest: &Run, known: &[Difference]) -> Self {
        let ids: BTreeSet<&String> = native
            .outcomes
            .keys()
            .chain(guest.outcomes.keys())
            .collect();
        let mut used = BTreeSet::new();
        let mut unequal = Vec::new();
        for id in &ids {
            let (here, there) = (native.outcome(id), guest.outcome(id));
            if here == there {
                continue;
            }
            let mut cause = None;
            for difference in known {
                for pattern in &difference.tests {
                    if matches(pattern, id) {
                        used.insert(pattern.as_str());
                        cause = cause.or(Some(difference.cause));
                    }
                }
            }
            let said = Some(guest.message(id)).filter(|text| !text.is_empty());
            unequal.push(Unequal {
                id: (*id).clone(),
                native: here.to_owned(),
                guest: there.to_owned(),
                message: said.unwrap_or_else(|| native.message(id)).to_owned(),
                cause,
            });
        }
        let steady = known.iter().filter(|known| known.cause != Cause::Unsteady);
        let patterns = steady.flat_map(|difference| &difference.tests);
        let stale = patterns.filter(|pattern| !used.contains(pattern.as_str()));
        Self {
            tests: ids.len(),
            stale: stale.cloned().collect(),
            unequal,
        }
    }

    pub(super) fn equal(&self) -> usize {
        self.tests - self.unequal.len()
    }

    /// How many differ for causes of a kind.
    pub(super) fn of_kind(&self, kind: Kind) -> usize {
        let kinds = self.unequal.iter().filter_map(|test| test.cause);
        kinds.filter(|cause| cause.kind() == kind).count()
    }

    /// How many differ and nobody knows why.
    pub(super) fn unexplained(&self) -> usize {
        let causes = self.unequal.iter().filter(|test| test.cause.is_none());
        causes.count()
    }

    /// How many the sandbox passes although they fail natively: all, and those for which
    /// neither the version nor an unsteady native run is the cause.
    pub(super) fn only_in_guest(&self) -> (usize, usize) {
        let found = || self.unequal.iter().filter(|test| test.only_in_guest());
        let harmless = [Some(Cause::Version), Some(Cause::Unsteady)];
        let unknown = found().filter(|test| !harmless.contains(&test.cause));
        (found().count(), unknown.count())
    }
}

//! How a suite that runs beside the code under test is guarded against it, and how its tests
//! are ordered and repeated.

use serde::Serialize;

use super::error::Sink;
use super::fields::Fields;

/// Most runs of a suite.
pub const MAX_REPEAT: u32 = 20;

/// What is done so that a suite's result can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Hardening {
    /// Whether tests of ours that must fail and must pass run among the real ones. Default
    /// true.
    pub canaries: bool,
    /// Whether the order of the tests follows from the seed. Default false.
    pub shuffle: bool,
    /// How often the suite runs, each time with another seed, 1 to [`MAX_REPEAT`]. Default 1.
    pub repeat: u32,
}

impl Default for Hardening {
    fn default() -> Self {
        Self {
            canaries: true,
            shuffle: false,
            repeat: 1,
        }
    }
}

/// Reads the keys.
pub(super) fn read(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Hardening {
    let usual = Hardening::default();
    let mut flag = |key, usual| fields.flag(sink, key).map_or(usual, |flag| flag.value);
    let canaries = flag("canaries", usual.canaries);
    let shuffle = flag("shuffle", usual.shuffle);
    let repeat = fields.count(sink, "repeat").and_then(|count| {
        let runs = u32::try_from(count.value)
            .ok()
            .filter(|runs| (1..=MAX_REPEAT).contains(runs));
        if runs.is_none() {
            let message = format!(
                "`repeat` must lie between 1 and {MAX_REPEAT}, not at {}",
                count.value
            );
            sink.report(count.at, count.path, message, None);
        }
        runs
    });
    Hardening {
        canaries,
        shuffle,
        repeat: repeat.unwrap_or(usual.repeat),
    }
}

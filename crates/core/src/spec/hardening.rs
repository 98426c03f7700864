//! How a suite that runs beside the code under test is guarded against it, and how its tests
//! are ordered and repeated.

use serde::Serialize;

use super::error::Sink;
use super::fields::Fields;

/// Most runs of a suite.
pub const MAX_REPEAT: u32 = 20;
/// What begins an entry of `allow-steering` that names a function of the runner.
const FUNCTION: &str = "python:";
/// Most entries of `allow-steering`.
const MAX_ALLOWED: usize = 1000;

/// What is done so that a suite's result can be relied on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Hardening {
    /// Whether tests of ours that must fail and must pass run among the real ones. Default
    /// true.
    pub canaries: bool,
    /// Whether the order of the tests follows from the seed. Default false.
    pub shuffle: bool,
    /// How often the suite runs, each time with another seed, 1 to [`MAX_REPEAT`]. Default 1.
    pub repeat: u32,
    /// Functions of the runner that code may replace, as `python:NAME`; other entries are
    /// about files. Default none.
    pub allow_steering: Vec<String>,
}

impl Default for Hardening {
    fn default() -> Self {
        Self {
            canaries: true,
            shuffle: false,
            repeat: 1,
            allow_steering: Vec::new(),
        }
    }
}

impl Hardening {
    /// The functions of the runner that code may replace, by their full names.
    pub fn steering_functions(&self) -> impl Iterator<Item = &str> {
        self.allow_steering
            .iter()
            .filter_map(|text| text.strip_prefix(FUNCTION))
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
    let allowed = fields.texts(sink, "allow-steering").unwrap_or_default();
    if allowed.len() > MAX_ALLOWED {
        let message = format!("`allow-steering` has more than {MAX_ALLOWED} entries");
        let path = fields.path_of("allow-steering");
        sink.report(fields.at(), path, message, None);
    }
    Hardening {
        canaries,
        shuffle,
        repeat: repeat.unwrap_or(usual.repeat),
        allow_steering: allowed.iter().map(|text| text.value.to_owned()).collect(),
    }
}

//! How far a result can be trusted.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How far a result can be trusted, from the weakest level to the strongest.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Assurance {
    /// The candidate ran in the instance that reported the result, and could have forged it.
    #[default]
    InGuest,
    /// The judgement was made outside the instance in which the candidate ran, or the
    /// candidate did not run at all.
    Isolated,
}

impl Assurance {
    /// Every level.
    pub const ALL: [Self; 2] = [Self::InGuest, Self::Isolated];

    /// The name used in specs and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InGuest => "in-guest",
            Self::Isolated => "isolated",
        }
    }
}

impl fmt::Display for Assurance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

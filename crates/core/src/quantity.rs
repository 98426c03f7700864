//! Quantities with units: fuel, byte sizes, durations.
//!
//! Arithmetic saturates. Text forms are those of the spec: `64 MiB`, `1.5 s`, `2_000_000`.
//! Deliberately absent: floating-point quantities in results (they would not compare
//! exactly between two runs).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Work metered by the engine: about one unit per executed WebAssembly instruction, plus
/// what host calls charge for the bytes and entries that they touch.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Fuel(pub u64);

impl Fuel {
    /// `self - other`, or zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self + other`, or the largest value.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Fuel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (divisor, unit) = match self.0 {
            0..=9_999 => return write!(f, "{} fuel", self.0),
            10_000..=9_999_999 => (1_000, "k"),
            10_000_000..=9_999_999_999 => (1_000_000, "M"),
            _ => (1_000_000_000, "G"),
        };
        write!(
            f,
            "{}.{} {unit} fuel",
            self.0 / divisor,
            self.0 % divisor / (divisor / 10)
        )
    }
}

/// A number of bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// `count` kibibytes.
    #[must_use]
    pub const fn kib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 10))
    }

    /// `count` mebibytes.
    #[must_use]
    pub const fn mib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 20))
    }

    /// `count` gibibytes.
    #[must_use]
    pub const fn gib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 30))
    }

    /// The size as a `usize`, saturating on targets where it does not fit.
    #[must_use]
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shift, unit) = match self.0 {
            0..=0x3ff => return write!(f, "{} B", self.0),
            0x400..=0xf_ffff => (10, "KiB"),
            0x10_0000..=0x3fff_ffff => (20, "MiB"),
            _ => (30, "GiB"),
        };
        let whole = self.0 >> shift;
        let tenths = ((self.0 & ((1 << shift) - 1)) * 10) >> shift;
        if tenths == 0 {
            write!(f, "{whole} {unit}")
        } else {
            write!(f, "{whole}.{tenths} {unit}")
        }
    }
}

/// A span of real time on the host, in nanoseconds. Never part of a reproducible result.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct WallTime(pub u64);

impl WallTime {
    /// `count` milliseconds.
    #[must_use]
    pub const fn millis(count: u64) -> Self {
        Self(count.saturating_mul(1_000_000))
    }

    /// `count` seconds.
    #[must_use]
    pub const fn secs(count: u64) -> Self {
        Self(count.saturating_mul(1_000_000_000))
    }

    /// The span as a [`Duration`].
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl From<Duration> for WallTime {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (divisor, unit) = match self.0 {
            0..=999_999 => (1_000, "µs"),
            1_000_000..=999_999_999 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let (whole, rest) = (self.0 / divisor, self.0 % divisor);
        if whole >= 100 || rest == 0 {
            write!(f, "{whole} {unit}")
        } else {
            write!(f, "{whole}.{} {unit}", rest / (divisor / 10))
        }
    }
}

/// The text is not a quantity of the expected unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct ParseQuantityError {
    /// The text as written.
    pub text: String,
    /// What was expected, with an example.
    pub expected: &'static str,
}

/// Splits `12.5 MiB` into digits, fraction digits and unit, and scales exactly.
fn parse_scaled(
    text: &str,
    units: &[(&str, u64)],
    expected: &'static str,
) -> Result<u64, ParseQuantityError> {
    let fail = || ParseQuantityError {
        text: text.to_owned(),
        expected,
    };
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at_checked(split).ok_or_else(fail)?;
    let scale = units
        .iter()
        .find(|(name, _)| *name == unit.trim())
        .map(|(_, scale)| *scale)
        .ok_or_else(fail)?;
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((number.as_str(), ""));
    let whole: u64 = whole.parse().map_err(|_| fail())?;
    let mut value = whole.checked_mul(scale).ok_or_else(fail)?;
    if !fraction.is_empty() {
        if fraction.len() > 9 {
            return Err(fail());
        }
        let digits: u64 = fraction.parse().map_err(|_| fail())?;
        let places = 10_u64.pow(u32::try_from(fraction.len()).map_err(|_| fail())?);
        let part = digits.checked_mul(scale).ok_or_else(fail)? / places;
        value = value.checked_add(part).ok_or_else(fail)?;
    }
    Ok(value)
}

impl FromStr for Fuel {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let units = [
            ("", 1),
            ("k", 1_000),
            ("M", 1_000_000),
            ("G", 1_000_000_000),
            ("T", 1_000_000_000_000),
        ];
        parse_scaled(text, &units, "an amount of fuel, such as `500M` or `20G`").map(Self)
    }
}

impl FromStr for ByteSize {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let units = [
            ("", 1),
            ("B", 1),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
            ("kB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
        ];
        parse_scaled(text, &units, "a size, such as `64 MiB` or `4096`").map(Self)
    }
}

impl FromStr for WallTime {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let units = [
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
            ("min", 60_000_000_000),
            ("h", 3_600_000_000_000),
        ];
        parse_scaled(
            text,
            &units,
            "a duration, such as `500 ms`, `30 s` or `5 min`",
        )
        .map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_binary_and_decimal_units() {
        assert_eq!("64 MiB".parse(), Ok(ByteSize::mib(64)));
        assert_eq!("1.5KiB".parse(), Ok(ByteSize(1536)));
        assert_eq!("2_000 kB".parse(), Ok(ByteSize(2_000_000)));
        assert_eq!("17".parse(), Ok(ByteSize(17)));
        assert!("17 mb".parse::<ByteSize>().is_err());
        assert!("99999999999 GiB".parse::<ByteSize>().is_err());
        assert!("-1".parse::<ByteSize>().is_err());
        assert!("".parse::<ByteSize>().is_err());
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!("1.5 s".parse(), Ok(WallTime::millis(1500)));
        assert_eq!("2 min".parse(), Ok(WallTime::secs(120)));
        assert!("90".parse::<WallTime>().is_err());
    }

    #[test]
    fn quantities_print_short() {
        assert_eq!(ByteSize(1536).to_string(), "1.5 KiB");
        assert_eq!(ByteSize::gib(2).to_string(), "2 GiB");
        assert_eq!(Fuel(12_345_678).to_string(), "12.3 M fuel");
        assert_eq!(Fuel(999).to_string(), "999 fuel");
        assert_eq!(WallTime::millis(1500).to_string(), "1.5 s");
        assert_eq!(WallTime(66_400_000).to_string(), "66.4 ms");
    }
}

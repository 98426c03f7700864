//! Regular expressions of a spec.
//!
//! Matching takes time linear in the text (the `regex` crate has no backtracking), and a
//! compiled pattern is bounded, so a pattern cannot stall a verdict.

use std::fmt;

use regex::bytes::{Regex, RegexBuilder};
use serde::{Serialize, Serializer};

/// Largest compiled form, in bytes.
const MAX_COMPILED: usize = 8 << 20;

/// A compiled pattern that remembers its text. `^` and `$` match at every line; other flags
/// are written in the pattern, such as `(?i)`.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

/// The text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a regular expression: {reason}")]
pub struct PatternError {
    /// What the compiler says, on one line.
    pub reason: String,
}

impl Pattern {
    /// Compiles `text`.
    ///
    /// # Errors
    /// When it is not a regular expression of the `regex` crate, or too large (8 MiB
    /// compiled).
    pub fn new(text: &str) -> Result<Self, PatternError> {
        RegexBuilder::new(text)
            .multi_line(true)
            .size_limit(MAX_COMPILED)
            .build()
            .map(|regex| Self {
                text: text.to_owned(),
                regex,
            })
            .map_err(|error| PatternError {
                reason: reason(&error),
            })
    }

    /// Compiles a pattern that matches exactly `text`.
    ///
    /// # Errors
    /// When it is too large.
    pub fn literal(text: &str) -> Result<Self, PatternError> {
        Self::new(&regex::escape(text))
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it matches anywhere in `bytes`.
    #[must_use]
    pub fn is_match(&self, bytes: &[u8]) -> bool {
        self.regex.is_match(bytes)
    }

    /// The byte at which each match starts; matches do not overlap.
    pub fn matches<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        self.regex.find_iter(bytes).map(|found| found.start())
    }
}

/// The compiler draws the pattern and marks the place over several lines; its last line
/// says what is wrong.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.text)
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_match_at_every_line_and_bytes_need_not_be_text() {
        let pattern = Pattern::new("^b$").unwrap();
        assert!(pattern.is_match(b"a\nb\nc"));
        assert_eq!(pattern.matches(b"\xffx\nb\nb").collect::<Vec<_>>(), [3, 5]);
    }

    #[test]
    fn literals_are_escaped() {
        let pattern = Pattern::literal("a.b(").unwrap();
        assert!(pattern.is_match(b"xa.b("));
        assert!(!pattern.is_match(b"axb("));
    }

    #[test]
    fn refusals_are_one_line() {
        assert_eq!(
            Pattern::new("(a").unwrap_err().to_string(),
            "not a regular expression: unclosed group"
        );
        assert!(Pattern::new("((a{500}){500}){500}").is_err());
    }
}

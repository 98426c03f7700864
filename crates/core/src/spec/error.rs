//! Errors in a spec: where, what, and what to write instead.
//!
//! Every problem found is reported, not only the first, up to [`MAX_ERRORS`].

use std::fmt;

/// How many errors are kept; further ones are counted.
pub const MAX_ERRORS: usize = 20;

/// One problem in a spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecError {
    /// Name of the file, as it was passed in.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// Where in the document, such as `check[2].pattern`; lists are counted from 0. Empty
    /// for the document as a whole.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            message,
            hint,
            path: _,
        } = self;
        write!(f, "{file}:{line}:{column}: {message}")?;
        match hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SpecError {}

/// Every problem found in a spec, in the order of their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecErrors {
    /// The problems; at least one, at most [`MAX_ERRORS`].
    pub errors: Vec<SpecError>,
    /// How many more there were.
    pub more: usize,
}

impl fmt::Display for SpecErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for SpecErrors {}

/// A text with its name, which turns byte offsets into lines and columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'s> {
    pub(crate) file: &'s str,
    pub(crate) text: &'s str,
}

impl Source<'_> {
    /// Line and column of the byte at `offset`, both counted from 1.
    fn position(&self, offset: usize) -> (usize, usize) {
        let before = self
            .text
            .get(..self.text.floor_char_boundary(offset))
            .unwrap_or_default();
        let line = before.matches('\n').count().saturating_add(1);
        let start = before.rfind('\n').map_or(0, |at| at.saturating_add(1));
        let column = before.get(start..).unwrap_or_default().chars().count();
        (line, column.saturating_add(1))
    }
}

/// Collects the problems of one document.
#[derive(Debug)]
pub(super) struct Sink<'s> {
    source: Source<'s>,
    errors: Vec<SpecError>,
    more: usize,
}

impl<'s> Sink<'s> {
    pub(super) fn new(source: Source<'s>) -> Self {
        Self {
            source,
            errors: Vec::new(),
            more: 0,
        }
    }

    /// How many problems there were so far.
    pub(super) fn count(&self) -> usize {
        self.errors.len().saturating_add(self.more)
    }

    /// Adds a problem at the byte `at`.
    pub(super) fn report(
        &mut self,
        at: usize,
        path: impl Into<String>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        if self.errors.len() >= MAX_ERRORS {
            self.more = self.more.saturating_add(1);
            return;
        }
        let (line, column) = self.source.position(at);
        self.errors.push(SpecError {
            file: self.source.file.to_owned(),
            line,
            column,
            path: path.into(),
            message: message.into(),
            hint,
        });
    }

    /// Adds the problems of another document.
    pub(super) fn adopt(&mut self, others: SpecErrors) {
        for error in others.errors {
            if self.errors.len() >= MAX_ERRORS {
                self.more = self.more.saturating_add(1);
            } else {
                self.errors.push(error);
            }
        }
        self.more = self.more.saturating_add(others.more);
    }

    /// The problems, or `value` if there are none.
    pub(super) fn finish<T>(mut self, value: Option<T>) -> Result<T, SpecErrors> {
        if value.is_none() && self.errors.is_empty() {
            // A reader that gives up says why; this keeps the type honest if one does not.
            self.report(0, "", "the spec could not be read", None);
        }
        match value {
            Some(value) if self.errors.is_empty() => Ok(value),
            Some(_) | None => {
                self.errors.sort_by_key(|error| (error.line, error.column));
                Err(SpecErrors {
                    errors: self.errors,
                    more: self.more,
                })
            }
        }
    }
}

/// The hint that names the candidate nearest to `given`, if one is near.
pub(crate) fn did_you_mean<'a>(
    given: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(given, candidates).map(|name| format!("did you mean `{name}`?"))
}

/// The candidate nearest to `given`: at most a third of its letters apart.
pub(crate) fn nearest<'a>(
    given: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if given.len() > 64 {
        return None;
    }
    candidates
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(given, name), name))
        .filter(|(distance, name)| *distance <= name.chars().count().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let source = Source {
            file: "f",
            text: "a\nüö x\n",
        };
        assert_eq!(source.position(0), (1, 1));
        assert_eq!(source.position(2), (2, 1));
        assert_eq!(source.position(7), (2, 4));
        assert_eq!(source.position(9), (3, 1));
        assert_eq!(source.position(5), (2, 2), "inside a character: its start");
        assert_eq!(source.position(99), (3, 1));
    }

    #[test]
    fn only_near_names_are_suggested() {
        assert_eq!(
            nearest("max-flies", ["max-files", "allow"]),
            Some("max-files")
        );
        assert_eq!(nearest("path", ["paths", "args"]), Some("paths"));
        assert_eq!(nearest("xyz", ["max-files", "allow"]), None);
    }

    #[test]
    fn errors_past_the_cap_are_counted() {
        let mut sink = Sink::new(Source {
            file: "f",
            text: "",
        });
        for _ in 0..MAX_ERRORS + 3 {
            sink.report(0, "", "x", None);
        }
        let errors = sink.finish(Some(())).unwrap_err();
        assert_eq!((errors.errors.len(), errors.more), (MAX_ERRORS, 3));
        assert!(errors.to_string().ends_with("and 3 more"));
    }
}

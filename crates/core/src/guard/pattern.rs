//! Lists of globs, and how exactly a path has to be spelled to match one.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use unicode_normalization::UnicodeNormalization as _;

use crate::repo::RepoPath;

/// A pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pattern `{}` in `{list}` {problem}", pattern.escape_debug())]
pub struct GuardError {
    /// `allow` or `protect`.
    pub list: &'static str,
    /// The pattern as given.
    pub pattern: String,
    /// What is wrong with it, and how to write it.
    pub problem: String,
}

/// Globs with the texts they come from.
#[derive(Debug, Clone)]
pub(super) struct Patterns {
    texts: Vec<String>,
    set: GlobSet,
    /// For each glob of the set, the index of its text.
    origin: Vec<usize>,
    spelling: Spelling,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// As written.
    Exact,
    /// Ignoring case and normalisation, with all that lies below.
    Wide,
}

impl Patterns {
    pub(super) fn none() -> Self {
        Self {
            texts: Vec::new(),
            set: GlobSet::empty(),
            origin: Vec::new(),
            spelling: Spelling::Exact,
        }
    }

    pub(super) fn exact<S: AsRef<str>>(texts: &[S]) -> Result<Self, GuardError> {
        Self::new("allow", texts, Spelling::Exact)
    }

    pub(super) fn wide<S: AsRef<str>>(texts: &[S]) -> Result<Self, GuardError> {
        Self::new("protect", texts, Spelling::Wide)
    }

    fn new<S: AsRef<str>>(
        list: &'static str,
        texts: &[S],
        spelling: Spelling,
    ) -> Result<Self, GuardError> {
        let mut builder = GlobSetBuilder::new();
        let mut origin = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let text = text.as_ref();
            let fail = |problem: String| GuardError {
                list,
                pattern: text.to_owned(),
                problem,
            };
            check_pattern(text).map_err(|problem| fail(problem.to_owned()))?;
            let variants = match spelling {
                Spelling::Exact => vec![text.to_owned()],
                Spelling::Wide => {
                    let folded = fold(text);
                    let below = format!("{folded}/**");
                    vec![text.to_owned(), folded, below]
                }
            };
            for variant in variants {
                let glob = GlobBuilder::new(&variant)
                    .literal_separator(true)
                    .backslash_escape(true)
                    .case_insensitive(spelling == Spelling::Wide)
                    .build()
                    .map_err(|error| fail(format!("is not a glob: {}", error.kind())))?;
                builder.add(glob);
                origin.push(index);
            }
        }
        let set = builder.build().map_err(|error| GuardError {
            list,
            pattern: error.glob().unwrap_or_default().to_owned(),
            problem: format!("cannot be used: {}", error.kind()),
        })?;
        Ok(Self {
            texts: texts.iter().map(|text| text.as_ref().to_owned()).collect(),
            set,
            origin,
            spelling,
        })
    }

    /// The patterns, as given.
    pub(super) fn texts(&self) -> &[String] {
        &self.texts
    }

    /// The first pattern that matches, as given.
    pub(super) fn find(&self, path: &RepoPath) -> Option<&str> {
        let mut hits = self.set.matches(path.as_str());
        if self.spelling == Spelling::Wide {
            hits.extend(self.set.matches(path.folded()));
        }
        let first = hits.iter().filter_map(|hit| self.origin.get(*hit)).min()?;
        self.texts.get(*first).map(String::as_str)
    }
}

/// The pattern under the folding of [`RepoPath::folded`].
fn fold(text: &str) -> String {
    text.nfd().flat_map(char::to_lowercase).nfc().collect()
}

fn check_pattern(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        Err("is empty")
    } else if text.starts_with('/') {
        Err("is absolute; patterns start at the repository's root, without `/`")
    } else if text.ends_with('/') {
        Err("ends in `/`; write `folder/**` for all that lies below a folder")
    } else if text.split('/').any(|part| matches!(part, "" | "." | "..")) {
        Err("has a part that is empty, `.` or `..`, which no path has")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_patterns_are_named() {
        for pattern in ["", "/etc/**", "src/", "a//b", "../x", "[a", "{a", "a/./b"] {
            let error = Patterns::wide(&[pattern]).unwrap_err();
            assert_eq!((error.list, error.pattern.as_str()), ("protect", pattern));
        }
    }
}

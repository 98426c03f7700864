//! Lists of globs, and how exactly a path has to be spelled to match one.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::repo::{RepoPath, fold};

/// A pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pattern `{}` in `{list}` {problem}", pattern.escape_debug())]
pub struct GuardError {
    /// The key of the list, such as `allow`.
    pub list: &'static str,
    /// The pattern as given.
    pub pattern: String,
    /// What is wrong with it, and how to write it.
    pub problem: String,
}

/// Patterns with the texts they come from. What is no more than a path is compared as one;
/// only real globs are compiled, which costs more than most patches do.
#[derive(Debug, Clone)]
pub(crate) struct Patterns {
    texts: Vec<String>,
    plain: Vec<(usize, Plain)>,
    set: GlobSet,
    /// For each glob of the set, the index of its text.
    origin: Vec<usize>,
    spelling: Spelling,
}

/// A pattern that needs no glob, folded.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Plain {
    /// `**`: every path.
    All,
    /// A path, and all that lies below it.
    At(String),
    /// `folder/**`: all that lies below it.
    Below(String),
    /// `**/name`: a part of the path.
    Part(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// As written.
    Exact,
    /// Ignoring case and normalisation, with all that lies below.
    Wide,
}

impl Plain {
    fn of(text: &str, spelling: Spelling) -> Option<Self> {
        let literal = |text: &str| {
            let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!');
            (!text.contains(special)).then(|| fold(text))
        };
        if text == "**" {
            return Some(Self::All);
        }
        if spelling == Spelling::Exact {
            return None;
        }
        if let Some(folder) = text.strip_suffix("/**") {
            return literal(folder).map(Self::Below);
        }
        if let Some(name) = text.strip_prefix("**/") {
            return literal(name)
                .filter(|name| !name.contains('/'))
                .map(Self::Part);
        }
        literal(text).map(Self::At)
    }

    /// Whether the pattern matches a path that is folded.
    fn matches(&self, path: &str) -> bool {
        let below = |folder: &str| {
            path.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        match self {
            Self::All => true,
            Self::At(at) => path == at || below(at),
            Self::Below(folder) => below(folder),
            Self::Part(name) => path.split('/').any(|part| part == name),
        }
    }
}

impl Patterns {
    pub(crate) fn none() -> Self {
        Self {
            texts: Vec::new(),
            plain: Vec::new(),
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

    /// The patterns of another list that are taken to the letter, as in `allow`.
    pub(crate) fn exact_in<S: AsRef<str>>(
        list: &'static str,
        texts: &[S],
    ) -> Result<Self, GuardError> {
        Self::new(list, texts, Spelling::Exact)
    }

    /// The patterns of another list that ignore case and cover what is below, as in
    /// `protect`.
    pub(crate) fn wide_in<S: AsRef<str>>(
        list: &'static str,
        texts: &[S],
    ) -> Result<Self, GuardError> {
        Self::new(list, texts, Spelling::Wide)
    }

    fn new<S: AsRef<str>>(
        list: &'static str,
        texts: &[S],
        spelling: Spelling,
    ) -> Result<Self, GuardError> {
        let mut builder = GlobSetBuilder::new();
        let mut plain = Vec::new();
        let mut origin = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let text = text.as_ref();
            let fail = |problem: String| GuardError {
                list,
                pattern: text.to_owned(),
                problem,
            };
            check_pattern(text).map_err(|problem| fail(problem.to_owned()))?;
            if let Some(pattern) = Plain::of(text, spelling) {
                plain.push((index, pattern));
                continue;
            }
            for variant in variants(text, spelling) {
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
            plain,
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
    pub(crate) fn find(&self, path: &RepoPath) -> Option<&str> {
        let folded = path.folded();
        let plain = self
            .plain
            .iter()
            .find(|(_, pattern)| pattern.matches(&folded))
            .map(|(index, _)| *index);
        let mut hits = self.set.matches(path.as_str());
        if self.spelling == Spelling::Wide {
            hits.extend(self.set.matches(&folded));
        }
        let glob = hits.iter().filter_map(|hit| self.origin.get(*hit)).min();
        let first = plain.into_iter().chain(glob.copied()).min()?;
        self.texts.get(first).map(String::as_str)
    }
}

fn variants(text: &str, spelling: Spelling) -> Vec<String> {
    match spelling {
        Spelling::Exact => vec![text.to_owned()],
        Spelling::Wide => {
            let folded = fold(text);
            let below = format!("{folded}/**");
            vec![text.to_owned(), folded, below]
        }
    }
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

    #[test]
    fn plain_patterns_mean_what_the_globs_mean() {
        let patterns = ["**", "a", "a/B", "A/**", "a/b/**", "**/a", "**/Caf\u{e9}.x"];
        let paths = [
            "a",
            "A",
            "a/b",
            "a/b/c",
            "b",
            "b/a",
            "b/a/c",
            "ab",
            "a.b",
            "x/cafe\u{301}.X",
            "caf\u{e9}.x/y",
            "b/ab",
            "aa/a",
        ];
        for pattern in patterns {
            let plain = Patterns::wide(&[pattern]).unwrap();
            assert_eq!(plain.plain.len(), 1, "{pattern}");
            let mut builder = GlobSetBuilder::new();
            for variant in variants(pattern, Spelling::Wide) {
                let mut glob = GlobBuilder::new(&variant);
                glob.literal_separator(true).case_insensitive(true);
                builder.add(glob.build().unwrap());
            }
            let globs = builder.build().unwrap();
            for path in paths {
                let path: RepoPath = path.parse().unwrap();
                let wanted = globs.is_match(path.as_str()) || globs.is_match(path.folded());
                assert_eq!(plain.find(&path).is_some(), wanted, "{pattern} {path}");
            }
        }
        for pattern in ["a*", "**/a/b", "{a,b}", "a\\*", "**/*", "a/**/b"] {
            assert!(Patterns::wide(&[pattern]).unwrap().plain.is_empty());
        }
    }
}

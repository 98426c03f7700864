//! Which files of a suite are trusted tests, where they come from, and what a patch may
//! steer.

use std::collections::BTreeSet;

use serde::Serialize;

use super::error::{Sink, did_you_mean};
use super::fields::{Fields, Located};
use super::kinds::spec_path;
use crate::guard::{GuardError, Patterns};
use crate::{Repo, RepoPath};

/// Most patterns in `tests` or `allow-steering`.
pub const MAX_TRUST_PATTERNS: usize = 1000;
/// What begins an entry of `allow-steering` that names a function of the runner.
const FUNCTION: &str = "python:";

/// What of a suite a patch has a say in.
///
/// Default: tests are those of the base, found by the runners' conventions, and nothing that
/// steers the runner may be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TestTrust {
    /// Where trusted test files come from.
    pub tests_from: TestsFrom,
    /// Globs of the trusted test files; `None` for the conventions of the runners. They
    /// ignore case and cover what is below a folder that they name.
    pub tests: Option<Vec<String>>,
    /// Globs of steering files that a patch may change, and entries `python:NAME` for
    /// functions of the runner that code may replace. Taken to the letter.
    pub allow_steering: Vec<String>,
}

/// Where trusted test files come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestsFrom {
    /// The tree before the patch.
    #[default]
    Base,
    /// The patched tree: the patch may change its own tests.
    Patched,
    /// A folder, relative to that of the spec, whose files are laid over the tree.
    Folder(String),
    /// A folder that the request gives, for all suites.
    Given,
}

impl TestTrust {
    /// The globs of `allow-steering`.
    pub fn steering_globs(&self) -> impl Iterator<Item = &str> {
        self.allow_steering
            .iter()
            .map(String::as_str)
            .filter(|text| !text.starts_with(FUNCTION))
    }

    /// The functions that `allow-steering` names, as dotted names.
    pub fn steering_functions(&self) -> impl Iterator<Item = &str> {
        self.allow_steering
            .iter()
            .filter_map(|text| text.strip_prefix(FUNCTION))
    }

    /// The files of `repo` that `tests` names; none for the conventions.
    #[must_use]
    pub fn listed_in(&self, repo: &Repo) -> BTreeSet<RepoPath> {
        // A pattern that is no glob was refused when the spec was read.
        let Ok(Some(patterns)) = self.tests() else {
            return BTreeSet::new();
        };
        repo.files()
            .into_iter()
            .map(|(path, _)| path)
            .filter(|path| patterns.find(path).is_some())
            .collect()
    }

    /// The compiled `tests`; `None` for the conventions.
    ///
    /// # Errors
    /// Names the first pattern that is not a relative glob.
    pub(crate) fn tests(&self) -> Result<Option<Patterns>, GuardError> {
        self.tests
            .as_deref()
            .map(|texts| Patterns::wide_in("tests", texts))
            .transpose()
    }

    /// The compiled globs of `allow-steering`.
    ///
    /// # Errors
    /// Names the first pattern that is not a relative glob.
    pub(crate) fn allowed(&self) -> Result<Patterns, GuardError> {
        let globs: Vec<&str> = self.steering_globs().collect();
        Patterns::exact_in("allow-steering", &globs)
    }
}

/// Reads the keys.
pub(super) fn read(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<TestTrust> {
    let tests_from = match fields.text(sink, "tests-from") {
        None => Some(TestsFrom::default()),
        Some(text) => source(&text, sink),
    };
    let tests = patterns(fields, "tests", sink);
    let allow_steering = patterns(fields, "allow-steering", sink);
    if let (Some(TestsFrom::Patched), Some(_)) = (&tests_from, &tests) {
        let message = "`tests` says nothing where the patch's tests count";
        let hint = "leave out `tests`, or `tests-from = \"patched\"`".to_owned();
        sink.report(fields.at(), fields.path_of("tests"), message, Some(hint));
    }
    Some(TestTrust {
        tests_from: tests_from?,
        tests,
        allow_steering: allow_steering.unwrap_or_default(),
    })
}

fn source(text: &Located<&str>, sink: &mut Sink<'_>) -> Option<TestsFrom> {
    match text.value {
        "base" => Some(TestsFrom::Base),
        "patched" => Some(TestsFrom::Patched),
        other => {
            let plain = other.bytes().all(|byte| byte.is_ascii_alphabetic());
            // A folder of such a name can still be meant: as `./name`.
            if plain && let Some(hint) = did_you_mean(other, ["base", "patched"]) {
                let message = format!("unknown source of tests `{other}`");
                let hint = format!("{hint}; a folder of that name is `./{other}`");
                sink.report(text.at, text.path.clone(), message, Some(hint));
                return None;
            }
            spec_path(text, sink).map(TestsFrom::Folder)
        }
    }
}

/// Reads a list of patterns and reports each that cannot be used, which is then left out.
fn patterns(
    fields: &mut Fields<'_>,
    key: &'static str,
    sink: &mut Sink<'_>,
) -> Option<Vec<String>> {
    let texts = fields.texts(sink, key)?;
    if texts.len() > MAX_TRUST_PATTERNS {
        let message = format!(
            "`{key}` has {} patterns, more than {MAX_TRUST_PATTERNS}",
            texts.len()
        );
        sink.report(fields.at(), fields.path_of(key), message, None);
        return None;
    }
    let mut patterns = Vec::with_capacity(texts.len());
    for text in texts {
        let problem = match text.value.strip_prefix(FUNCTION) {
            Some(name) if key == "allow-steering" => (!is_dotted_name(name)).then(|| {
                format!(
                    "`{}` is not a dotted name of Python",
                    text.value.escape_debug()
                )
            }),
            Some(_) | None => Patterns::exact_in(key, &[text.value])
                .err()
                .map(|error| error.to_string()),
        };
        match problem {
            None => patterns.push(text.value.to_owned()),
            Some(problem) => sink.report(text.at, text.path, problem, None),
        }
    }
    Some(patterns)
}

fn is_dotted_name(name: &str) -> bool {
    name.split('.').all(|part| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    })
}

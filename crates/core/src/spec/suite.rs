//! A test suite as a check, and what it is expected to show.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::document::Value;
use super::error::{Sink, did_you_mean};
use super::fields::{Fields, Located};
use super::hardening::{self, Hardening};
use super::kinds::{Context, plain_name, spec_path};
use super::trust::{self, TestTrust, TestsFrom};
use crate::RepoPath;

/// Most test ids in one spec, in all lists together.
pub const MAX_TEST_IDS: usize = 200_000;
/// Most modules of a suite that are reached across a border.
const MAX_ACROSS: usize = 50;
/// Longest test id, in bytes.
pub const MAX_TEST_ID: usize = 4096;

/// A test suite that must show what is expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct SuiteCheck {
    /// The test framework.
    pub runner: Runner,
    /// The language implementation to run it on, by name. Default `python`.
    pub runtime: String,
    /// A lock of the packages that the tests need, relative to the folder of the spec.
    pub lock: Option<String>,
    /// Folders of the repository on the import path, `.` being its root. Default `["."]`.
    pub python_path: Vec<String>,
    /// Arguments for the runner. Default none.
    pub args: Vec<String>,
    /// What gets a guest of its own. Default: the suite; with `across` always each test.
    pub isolation: SuiteIsolation,
    /// How it is guarded, ordered and repeated.
    #[serde(flatten)]
    pub hardening: Hardening,
    /// Which files are trusted tests, where they come from, and what a patch may steer.
    #[serde(flatten)]
    pub trust: TestTrust,
    /// Top-level modules that the tests reach only across a border: they live in another
    /// guest than the tests. 1 to 50, only with pytest. Default none.
    pub across: Vec<String>,
    /// What must come out.
    pub expectation: Expectation,
    /// Of the expected ids those that are to fail as long as nothing is changed; for
    /// `probity selftest`. Default none.
    pub fail_to_pass: BTreeSet<String>,
}

/// What of a suite gets a guest of its own, which begins in the state that collection left.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum SuiteIsolation {
    /// The whole suite: tests run one after the other, as the framework runs them.
    #[default]
    Suite,
    /// Each file of tests: what a test leaves behind reaches the tests of its file only.
    File,
    /// Each test: what it leaves behind reaches none.
    Test,
}

impl SuiteIsolation {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Suite, Self::File, Self::Test];

    /// The name used in specs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Suite => "suite",
            Self::File => "file",
            Self::Test => "test",
        }
    }
}

/// A test framework.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runner {
    /// pytest.
    Pytest,
    /// `unittest` of Python's standard library.
    Unittest,
}

impl Runner {
    /// Every runner.
    pub const ALL: [Self; 2] = [Self::Pytest, Self::Unittest];

    /// The name used in specs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
        }
    }
}

impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a suite must show to pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "expect", rename_all = "kebab-case")]
pub enum Expectation {
    /// Every test of `ids` that is not in `except` passed. What other tests did is reported
    /// and decides nothing.
    Tests {
        /// The expected ids.
        ids: BTreeSet<String>,
        /// Ids that are not expected after all.
        except: BTreeSet<String>,
    },
    /// At least one test passed and none outside `except` failed. Skips are allowed, so
    /// this says less than a list does.
    Any {
        /// Ids that may fail.
        except: BTreeSet<String>,
    },
}

impl Expectation {
    /// Expects exactly `ids`.
    pub fn tests(ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::Tests {
            ids: ids.into_iter().map(Into::into).collect(),
            except: BTreeSet::new(),
        }
    }

    /// Expects that something passes and nothing fails.
    #[must_use]
    pub const fn any() -> Self {
        Self::Any {
            except: BTreeSet::new(),
        }
    }

    /// Whether the test called `id` must pass.
    #[must_use]
    pub fn expects(&self, id: &str) -> bool {
        match self {
            Self::Tests { ids, except } => ids.contains(id) && !except.contains(id),
            Self::Any { .. } => false,
        }
    }

    /// Whether the test called `id` can keep the suite from passing.
    #[must_use]
    pub fn decides(&self, id: &str) -> bool {
        match self {
            Self::Tests { .. } => self.expects(id),
            Self::Any { except } => !except.contains(id),
        }
    }

    /// The ids that must pass, sorted; none if there is no list.
    pub fn expected(&self) -> impl Iterator<Item = &str> {
        let (ids, except) = match self {
            Self::Tests { ids, except } => (Some(ids), except),
            Self::Any { except } => (None, except),
        };
        ids.into_iter()
            .flatten()
            .filter(|id| !except.contains(*id))
            .map(String::as_str)
    }
}

/// Reads the keys of `kind = "suite"`.
pub(super) fn read(
    fields: &mut Fields<'_>,
    context: &mut Context<'_>,
    sink: &mut Sink<'_>,
) -> Option<SuiteCheck> {
    let runner = fields
        .required_text(sink, "runner")
        .and_then(|text| choice("runner", Runner::ALL, Runner::name, text, sink));
    let isolation_text = fields.text(sink, "isolation");
    let is_chosen = isolation_text.is_some();
    let isolation = match isolation_text {
        None => Some(SuiteIsolation::default()),
        Some(text) => choice(
            "isolation",
            SuiteIsolation::ALL,
            SuiteIsolation::name,
            text,
            sink,
        ),
    };
    let runtime = match fields.text(sink, "runtime") {
        None => Some("python".to_owned()),
        Some(text) => plain_name(&text, "runtime", sink),
    };
    let lock = fields
        .text(sink, "lock")
        .and_then(|text| spec_path(&text, sink));
    let python_path = python_path(fields, sink);
    let args = arguments(fields, sink);
    let hardening = hardening::read(fields, sink);
    let trust = trust::read(fields, sink);
    let across = across(
        fields,
        runner,
        isolation.filter(|_| is_chosen),
        trust.as_ref(),
        sink,
    );
    let fail_to_pass = fail_to_pass(fields, context, sink);
    let expectation = expectation(fields, &fail_to_pass, context, sink);
    Some(SuiteCheck {
        runner: runner?,
        runtime: runtime?,
        lock,
        python_path,
        args,
        isolation: if across.is_empty() {
            isolation?
        } else {
            SuiteIsolation::Test
        },
        across,
        hardening,
        trust: trust?,
        expectation: expectation?,
        fail_to_pass,
    })
}

/// One of the choices by its name.
pub(super) fn choice<T: Copy, const N: usize>(
    what: &str,
    all: [T; N],
    name: impl Fn(T) -> &'static str,
    text: Located<&str>,
    sink: &mut Sink<'_>,
) -> Option<T> {
    let found = all.into_iter().find(|choice| name(*choice) == text.value);
    if found.is_none() {
        let names = all.map(name);
        let message = format!("unknown {what} `{}`", text.value.escape_debug());
        let hint = did_you_mean(text.value, names)
            .unwrap_or_else(|| format!("known {what}s: {}", names.join(", ")));
        sink.report(text.at, text.path, message, Some(hint));
    }
    found
}

pub(super) fn python_path(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Vec<String> {
    let Some(texts) = fields.texts(sink, "python-path") else {
        return vec![".".to_owned()];
    };
    for text in &texts {
        if text.value != "."
            && let Err(error) = RepoPath::new(text.value)
        {
            let hint = "a folder of the repository, or `.` for its root";
            sink.report(
                text.at,
                text.path.clone(),
                error.to_string(),
                Some(hint.to_owned()),
            );
        }
    }
    texts.iter().map(|text| text.value.to_owned()).collect()
}

/// The modules across a border. `isolation` is what the spec chose, if it did.
fn across(
    fields: &mut Fields<'_>,
    runner: Option<Runner>,
    isolation: Option<SuiteIsolation>,
    trust: Option<&TestTrust>,
    sink: &mut Sink<'_>,
) -> Vec<String> {
    let Some(at) = fields.node("across").map(|node| node.at) else {
        return Vec::new();
    };
    let texts = fields.texts(sink, "across").unwrap_or_default();
    let path = fields.path_of("across");
    if texts.is_empty() || texts.len() > MAX_ACROSS {
        let message = format!("`across` names {} modules", texts.len());
        let hint = format!("name 1 to {MAX_ACROSS}, or leave the key out");
        sink.report(at, path.clone(), message, Some(hint));
    }
    if runner == Some(Runner::Unittest) {
        let message = "`across` needs `runner = \"pytest\"`, which runs tests of unittest too";
        sink.report(at, path.clone(), message, None);
    }
    if let Some(isolation) = isolation.filter(|isolation| *isolation != SuiteIsolation::Test) {
        let message = format!(
            "with `across` each test has guests of its own, so `isolation` cannot be `{}`",
            isolation.name()
        );
        sink.report(at, path.clone(), message, None);
    }
    if trust.is_some_and(|trust| trust.tests_from == TestsFrom::Patched) {
        let message = "`across` needs trusted tests, so `tests-from` cannot be `patched`";
        sink.report(at, path, message, None);
    }
    for text in &texts {
        let mut letters = text.value.chars();
        let is_name = letters
            .next()
            .is_some_and(|first| first == '_' || first.is_alphabetic())
            && letters.all(|letter| letter == '_' || letter.is_alphanumeric());
        if !is_name {
            let message = format!(
                "`{}` is no top-level module of Python",
                text.value.escape_debug()
            );
            let hint = "a name without dots, such as `greeter`".to_owned();
            sink.report(text.at, text.path.clone(), message, Some(hint));
        }
    }
    texts.iter().map(|text| text.value.to_owned()).collect()
}

fn arguments(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Vec<String> {
    let texts = fields.texts(sink, "args").unwrap_or_default();
    for text in texts.iter().filter(|text| text.value.contains('\0')) {
        sink.report(
            text.at,
            text.path.clone(),
            "an argument cannot hold NUL",
            None,
        );
    }
    texts.iter().map(|text| text.value.to_owned()).collect()
}

/// Reads `fail-to-pass` and `fail-to-pass-from`.
fn fail_to_pass(
    fields: &mut Fields<'_>,
    context: &mut Context<'_>,
    sink: &mut Sink<'_>,
) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for text in fields.texts(sink, "fail-to-pass").unwrap_or_default() {
        add_inline(&text, &mut ids, context, sink);
    }
    for text in fields.texts(sink, "fail-to-pass-from").unwrap_or_default() {
        add_file(&text, &mut ids, context, sink);
    }
    ids
}

/// Reads what is expected, to which belongs what is to fail before.
fn expectation(
    fields: &mut Fields<'_>,
    fail_to_pass: &BTreeSet<String>,
    context: &mut Context<'_>,
    sink: &mut Sink<'_>,
) -> Option<Expectation> {
    const SPELL_IT_OUT: &str = "list the ids that must pass, name files that list them as \
        `expect-from`, or write `expect = \"any\"`";
    let problems = sink.count();
    let node = fields.node("expect");
    let any = match node.map(|node| (&node.value, node.at)) {
        Some((Value::Text(text), at)) => {
            if text != "any" {
                let message = format!("`expect` is `{}`", text.escape_debug());
                sink.report(
                    at,
                    fields.path_of("expect"),
                    message,
                    Some(SPELL_IT_OUT.to_owned()),
                );
                return None;
            }
            true
        }
        Some((_, _)) | None => false,
    };
    let inline = if any {
        None
    } else {
        fields.texts(sink, "expect")
    };
    let files = fields.texts(sink, "expect-from");
    let mut except = BTreeSet::new();
    for text in fields.texts(sink, "except").unwrap_or_default() {
        add_inline(&text, &mut except, context, sink);
    }
    for text in fields.texts(sink, "except-from").unwrap_or_default() {
        add_file(&text, &mut except, context, sink);
    }
    if any {
        if let Some(file) = files.iter().flatten().next() {
            let message = "`expect = \"any\"` and `expect-from` exclude each other";
            sink.report(file.at, file.path.clone(), message, None);
            return None;
        }
        if !fail_to_pass.is_empty() {
            let message = "`expect = \"any\"` and a list of tests that are to fail before \
                exclude each other";
            sink.report(fields.at(), fields.path_of("fail-to-pass"), message, None);
            return None;
        }
        return Some(Expectation::Any { except });
    }
    if node.is_none() && files.is_none() && fail_to_pass.is_empty() {
        fields.missing(sink, "expect", Some(SPELL_IT_OUT));
        return None;
    }
    let mut ids = fail_to_pass.clone();
    for text in inline.into_iter().flatten() {
        add_inline(&text, &mut ids, context, sink);
    }
    for text in files.into_iter().flatten() {
        add_file(&text, &mut ids, context, sink);
    }
    if sink.count() > problems {
        return None;
    }
    let expectation = Expectation::Tests { ids, except };
    if expectation.expected().next().is_none() {
        let at = node.map_or(fields.at(), |node| node.at);
        let message = "no test is expected, so nothing would be checked";
        sink.report(
            at,
            fields.path_of("expect"),
            message,
            Some(SPELL_IT_OUT.to_owned()),
        );
        return None;
    }
    Some(expectation)
}

fn add_inline(
    text: &Located<&str>,
    ids: &mut BTreeSet<String>,
    context: &mut Context<'_>,
    sink: &mut Sink<'_>,
) {
    match check_id(text.value).and_then(|()| count_ids(context, 1)) {
        Ok(()) => {
            ids.insert(text.value.to_owned());
        }
        Err(message) => sink.report(text.at, text.path.clone(), message, None),
    }
}

fn add_file(
    text: &Located<&str>,
    ids: &mut BTreeSet<String>,
    context: &mut Context<'_>,
    sink: &mut Sink<'_>,
) {
    let Some(path) = spec_path(text, sink) else {
        return;
    };
    let read = (context.resolve)(&path)
        .and_then(|bytes| read_ids(&bytes))
        .and_then(|list| count_ids(context, list.len()).map(|()| list));
    match read {
        Ok(list) => ids.extend(list),
        Err(reason) => {
            let message = format!("`{}`: {reason}", path.escape_debug());
            sink.report(text.at, text.path.clone(), message, None);
        }
    }
}

/// Counts ids against the bound of the whole spec.
fn count_ids(context: &mut Context<'_>, more: usize) -> Result<(), String> {
    context.ids = context.ids.saturating_add(more);
    if context.ids > MAX_TEST_IDS {
        return Err(format!("the spec names more than {MAX_TEST_IDS} test ids"));
    }
    Ok(())
}

/// Reads a list of test ids: a JSON list of strings, or one id a line.
///
/// # Errors
/// Says in one line what is wrong with the list.
fn read_ids(bytes: &[u8]) -> Result<Vec<String>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let ids: Vec<String> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text)
            .map_err(|error| format!("it is not a JSON list of strings: {error}"))?
    } else {
        text.lines()
            .filter(|line| !line.trim().is_empty())
            .map(str::to_owned)
            .collect()
    };
    ids.iter().try_for_each(|id| check_id(id))?;
    Ok(ids)
}

/// Whether `id` can be the id of a test.
///
/// # Errors
/// Says in one line why not.
fn check_id(id: &str) -> Result<(), String> {
    if id.trim().is_empty() {
        Err("a test id is empty".to_owned())
    } else if id.len() > MAX_TEST_ID {
        Err(format!("a test id is longer than {MAX_TEST_ID} bytes"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_as_json_or_as_lines() {
        let wanted = ["tests/a.py::x[a b]", "tests/a.py::y"];
        assert_eq!(
            read_ids(br#" ["tests/a.py::x[a b]", "tests/a.py::y"]"#).unwrap(),
            wanted
        );
        assert_eq!(
            read_ids(b"tests/a.py::x[a b]\r\n\ntests/a.py::y\n").unwrap(),
            wanted
        );
        assert!(read_ids(b"[1]").is_err());
        assert!(read_ids(b"[\"\"]").is_err());
        assert!(read_ids(b"\xff").is_err());
        assert!(read_ids("x".repeat(MAX_TEST_ID + 1).as_bytes()).is_err());
    }

    #[test]
    fn an_excepted_id_is_not_expected() {
        let expectation = Expectation::Tests {
            ids: ["a", "b"].map(str::to_owned).into(),
            except: ["b", "c"].map(str::to_owned).into(),
        };
        assert_eq!(expectation.expected().collect::<Vec<_>>(), ["a"]);
        assert!(expectation.expects("a") && !expectation.expects("b"));
        assert_eq!(Expectation::any().expected().count(), 0);
    }
}

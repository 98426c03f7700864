//! A named check: what it asks for, and what it may use.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CallCheck, OracleCheck, Pattern, ProgramCheck, SuiteCheck};
use crate::budget::Budget;
use crate::{Assurance, Repo, RepoPath};

/// Longest name of a check, in characters.
pub const MAX_NAME: usize = 100;

/// A named predicate over the tree.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// Its name: unique in the spec, 1 to 100 printable characters.
    pub name: String,
    /// What it asks for.
    #[serde(flatten)]
    pub kind: CheckKind,
    /// How far its result must be trusted: what the spec says, unless the check does.
    pub require: Assurance,
    /// What it may use: the defaults of its kind, changed by the spec, then by the check.
    pub budget: Budget,
}

impl Check {
    /// A check with the default budget of its kind.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: CheckKind) -> Self {
        let budget = kind.default_budget();
        Self {
            name: name.into(),
            kind,
            require: Assurance::default(),
            budget,
        }
    }
}

/// What a check asks for.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CheckKind {
    /// Files exist.
    FileExists(FileExists),
    /// A file contains a text.
    FileContains(FileContains),
    /// The change itself is small and clean.
    Diff(DiffCheck),
    /// A check of a pack passes.
    Pack(PackCheck),
    /// A test suite passes.
    Suite(SuiteCheck),
    /// A function returns what is expected.
    Call(CallCheck),
    /// A function agrees with a trusted one.
    Oracle(OracleCheck),
    /// A program does what is expected.
    Program(ProgramCheck),
    /// A closure of an embedding program holds. Never read from a file.
    Predicate(Predicate),
}

/// The name of a kind of check, as reports carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KindName {
    /// [`CheckKind::FileExists`].
    FileExists,
    /// [`CheckKind::FileContains`].
    FileContains,
    /// [`CheckKind::Diff`].
    Diff,
    /// [`CheckKind::Pack`].
    Pack,
    /// [`CheckKind::Suite`].
    Suite,
    /// [`CheckKind::Call`].
    Call,
    /// [`CheckKind::Oracle`].
    Oracle,
    /// [`CheckKind::Program`].
    Program,
    /// [`CheckKind::Predicate`].
    Predicate,
}

impl KindName {
    /// The name as it is written in specs and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FileExists => "file-exists",
            Self::FileContains => "file-contains",
            Self::Diff => "diff",
            Self::Pack => "pack",
            Self::Suite => "suite",
            Self::Call => "call",
            Self::Oracle => "oracle",
            Self::Program => "program",
            Self::Predicate => "predicate",
        }
    }
}

impl fmt::Display for KindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl CheckKind {
    /// The name of the kind.
    #[must_use]
    pub const fn name(&self) -> KindName {
        match self {
            Self::FileExists(_) => KindName::FileExists,
            Self::FileContains(_) => KindName::FileContains,
            Self::Diff(_) => KindName::Diff,
            Self::Pack(_) => KindName::Pack,
            Self::Suite(_) => KindName::Suite,
            Self::Call(_) => KindName::Call,
            Self::Oracle(_) => KindName::Oracle,
            Self::Program(_) => KindName::Program,
            Self::Predicate(_) => KindName::Predicate,
        }
    }

    /// How far its results can be trusted.
    #[must_use]
    pub fn assurance(&self) -> Assurance {
        match self {
            Self::Suite(suite) if suite.across.is_empty() => Assurance::InGuest,
            Self::Suite(_)
            | Self::FileExists(_)
            | Self::FileContains(_)
            | Self::Diff(_)
            | Self::Pack(_)
            | Self::Call(_)
            | Self::Oracle(_)
            | Self::Program(_)
            | Self::Predicate(_) => Assurance::Isolated,
        }
    }

    /// The default bounds of the kind.
    #[must_use]
    pub const fn default_budget(&self) -> Budget {
        match self {
            Self::Suite(_) | Self::Call(_) | Self::Oracle(_) | Self::Program(_) => Budget::suite(),
            Self::FileExists(_)
            | Self::FileContains(_)
            | Self::Diff(_)
            | Self::Pack(_)
            | Self::Predicate(_) => Budget::check(),
        }
    }
}

/// Every path is a file. A symbolic link or a folder is not one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FileExists {
    /// The paths; at least one.
    pub paths: Vec<RepoPath>,
}

/// A file contains what the pattern matches. A symbolic link is not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FileContains {
    /// The file.
    pub path: RepoPath,
    /// What to look for; a plain text is an escaped pattern.
    pub pattern: Pattern,
    /// How it was written in the spec, for messages.
    pub wanted: String,
    /// How many matches there must be; `None` means at least one, `Some(0)` none at all.
    pub count: Option<u64>,
}

/// The difference between the base and the tree under test is small and clean.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DiffCheck {
    /// Most files changed; `None` leaves it open.
    pub max_files: Option<u64>,
    /// Most lines added and removed, together; `None` leaves it open.
    pub max_changed_lines: Option<u64>,
    /// Patterns that no added line may match.
    pub forbid_added: Vec<Pattern>,
    /// Whether added lines may not end in a space or tab.
    pub no_trailing_whitespace: bool,
}

/// A check of a pack: a WebAssembly module that looks at the tree and reports findings.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PackCheck {
    /// The pack.
    pub pack: PackRef,
    /// The check's name in the pack.
    pub check: String,
    /// Its parameters, keys sorted.
    pub params: serde_json::Map<String, serde_json::Value>,
}

/// Where a pack comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PackRef {
    /// A pack of the host, by name, such as `text`.
    BuiltIn(String),
    /// A `.wasm` file, relative to the folder of the spec.
    File(String),
}

impl fmt::Display for PackRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(name) | Self::File(name) => f.write_str(name),
        }
    }
}

/// A closure over the tree, given by an embedding program.
///
/// `Ok(false)` fails the check, `Err` and a panic break it; neither ends the verifier.
#[derive(Clone)]
pub struct Predicate {
    holds: Arc<Holds>,
}

type Holds = dyn Fn(&Repo) -> Result<bool, String> + Send + Sync;

impl Predicate {
    /// Wraps `holds`.
    pub fn new(holds: impl Fn(&Repo) -> Result<bool, String> + Send + Sync + 'static) -> Self {
        Self {
            holds: Arc::new(holds),
        }
    }

    /// Asks the closure.
    ///
    /// # Errors
    /// Whatever the closure says went wrong.
    pub fn holds(&self, repo: &Repo) -> Result<bool, String> {
        (self.holds)(repo)
    }
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Predicate")
    }
}

/// A closure has no text form: its kind is all that is written.
impl Serialize for Predicate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        serializer.serialize_struct("Predicate", 0)?.end()
    }
}

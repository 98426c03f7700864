//! Paths inside a repository, valid by construction.
//!
//! A [`RepoPath`] is relative, in canonical form, UTF-8, with `/` between its parts. What
//! could leave the tree, reach `.git`, or mean something else on another system is
//! refused here once, so that nothing behind this border has to ask again.
//!
//! Deliberately absent: joining with untrusted text without validation, and conversion
//! from host paths (a loader does that, and reports what it had to leave out).

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use unicode_normalization::UnicodeNormalization as _;

/// Longest path, in bytes.
pub(crate) const MAX_PATH: usize = 4096;
/// Longest part of a path, in bytes.
pub(crate) const MAX_PART: usize = 255;

/// The folder, at the root of a repository without git, in which a change of the repository
/// on disk keeps its journal. Never part of the tree: who could write there could steer what
/// an interrupted change does when it is taken up again.
pub const JOURNAL_FOLDER: &str = ".probity-journal";

/// A validated path to a file inside the repository.
///
/// At most 4096 bytes, each part 1 to 255 bytes. Ordered part by part, so that a folder's
/// files stand together.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RepoPath(Arc<str>);

/// Why a text is not a [`RepoPath`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    /// The path is empty.
    #[error("it is empty")]
    Empty,
    /// The path starts with `/` or a drive letter.
    #[error("it is absolute; give it relative to the repository's root")]
    Absolute,
    /// A part is empty, `.` or `..`.
    #[error("it has a part that is empty, `.` or `..`")]
    NotCanonical,
    /// The path holds a backslash.
    #[error("it holds a backslash; parts are separated by `/`")]
    Backslash,
    /// The path holds NUL, or a line break, with which a name could forge lines of reports.
    #[error("it holds NUL or a line break")]
    LineBreak,
    /// A part means `.git` on some file system.
    #[error("a part of it means `.git`, which is never part of the tree")]
    GitDirectory,
    /// The path leads into [`JOURNAL_FOLDER`].
    #[error("it leads into `.probity-journal`, which is never part of the tree")]
    Journal,
    /// A part is a device name on Windows, or ends in a dot or space.
    #[error("a part of it is a reserved device name or ends in a dot or a space")]
    Reserved,
    /// The path or a part of it is too long.
    #[error("it is longer than 4096 bytes, or one of its parts is longer than 255")]
    TooLong,
}

/// A path was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("path `{}` is refused: {problem}", path.escape_debug())]
pub struct RepoPathError {
    /// The text as given, at most 4096 characters of it.
    pub path: String,
    /// What is wrong with it.
    pub problem: PathProblem,
}

impl RepoPath {
    /// Validates `path`.
    ///
    /// # Errors
    /// Names the first rule that the path breaks.
    pub fn new(path: &str) -> Result<Self, RepoPathError> {
        match check(path) {
            Ok(()) => Ok(Self(Arc::from(path))),
            Err(problem) => Err(RepoPathError {
                path: path.chars().take(MAX_PATH).collect(),
                problem,
            }),
        }
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The parts of the path, from the root down.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// The last part.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The folders that hold the file, outermost first, without the root.
    pub fn parents(&self) -> impl Iterator<Item = RepoPath> + '_ {
        self.0
            .match_indices('/')
            .filter_map(|(at, _)| self.0.get(..at))
            .map(|prefix| Self(Arc::from(prefix)))
    }

    /// Whether `self` lies below the folder `folder`.
    #[must_use]
    pub fn is_below(&self, folder: &RepoPath) -> bool {
        self.0
            .strip_prefix(folder.as_str())
            .is_some_and(|rest| rest.starts_with('/'))
    }

    /// Appends one part.
    ///
    /// # Errors
    /// When the result is not a valid path.
    pub fn join(&self, part: &str) -> Result<Self, RepoPathError> {
        Self::new(&format!("{}/{part}", self.0))
    }

    /// Appends one part that is known to give a valid path, as the names of a tree do.
    pub(crate) fn below(folder: Option<&Self>, part: &str) -> Self {
        match folder {
            Some(folder) => Self(Arc::from(format!("{}/{part}", folder.0))),
            None => Self(Arc::from(part)),
        }
    }

    /// The form under which two paths collide on a file system that ignores case or
    /// normalises Unicode: NFC of the NFD in upper, then lower case, so that letters with
    /// several lower-case forms (σ and ς, s and ſ) are one.
    #[must_use]
    pub fn folded(&self) -> String {
        fold(&self.0)
    }
}

/// The folding of [`RepoPath::folded`] on any text, such as one part of a path.
#[must_use]
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfd()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfc()
        .collect()
}

fn check(path: &str) -> Result<(), PathProblem> {
    if path.is_empty() {
        return Err(PathProblem::Empty);
    }
    if path.len() > MAX_PATH {
        return Err(PathProblem::TooLong);
    }
    if path.contains('\\') {
        return Err(PathProblem::Backslash);
    }
    if path.contains(['\0', '\n', '\r']) {
        return Err(PathProblem::LineBreak);
    }
    let mut start = path.chars();
    if path.starts_with('/')
        || (start.next().is_some_and(|c| c.is_ascii_alphabetic()) && start.next() == Some(':'))
    {
        return Err(PathProblem::Absolute);
    }
    let first = path.split('/').next().unwrap_or(path);
    if visible(first).trim_end_matches(['.', ' ']) == JOURNAL_FOLDER {
        return Err(PathProblem::Journal);
    }
    path.split('/').try_for_each(check_part)
}

fn check_part(part: &str) -> Result<(), PathProblem> {
    if matches!(part, "" | "." | "..") {
        return Err(PathProblem::NotCanonical);
    }
    if part.len() > MAX_PART {
        return Err(PathProblem::TooLong);
    }
    if means_git_directory(part) {
        return Err(PathProblem::GitDirectory);
    }
    if part.ends_with(['.', ' ']) || is_device_name(part) {
        return Err(PathProblem::Reserved);
    }
    Ok(())
}

/// Whether a part is `.git` to a file system that ignores case, trailing dots and spaces,
/// short names (`git~1`), alternate streams (`.git::$INDEX_ALLOCATION`), or the code points
/// that HFS+ skips (the list of git's `utf8.c`).
fn means_git_directory(part: &str) -> bool {
    let visible = visible(part);
    let stem = visible.split(':').next().unwrap_or("");
    let stem = stem.trim_end_matches(['.', ' ']);
    matches!(stem, ".git" | "git~1")
}

/// A part as file systems compare it that ignore case and the code points that HFS+ skips.
fn visible(part: &str) -> String {
    part.chars()
        .filter(|c| {
            !matches!(c,
                '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
        })
        .flat_map(char::to_lowercase)
        .collect()
}

/// Device names of Windows (Microsoft, "Naming Files, Paths, and Namespaces"), with any
/// extension.
fn is_device_name(part: &str) -> bool {
    let stem = part
        .split(['.', ':'])
        .next()
        .unwrap_or("")
        .trim_end_matches(' ');
    let lower = stem.to_ascii_lowercase();
    if matches!(lower.as_str(), "con" | "prn" | "aux" | "nul") {
        return true;
    }
    let Some(number) = lower
        .strip_prefix("com")
        .or_else(|| lower.strip_prefix("lpt"))
    else {
        return false;
    };
    matches!(
        number,
        "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³"
    )
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl FromStr for RepoPath {
    type Err = RepoPathError;

    fn from_str(path: &str) -> Result<Self, Self::Err> {
        Self::new(path)
    }
}

impl Ord for RepoPath {
    fn cmp(&self, other: &Self) -> Ordering {
        // Part by part is byte by byte, with the separator before every other byte; the
        // one byte below it, NUL, is in no path.
        let differ = self.0.bytes().zip(other.0.bytes()).find(|(a, b)| a != b);
        let weight = |byte: u8| if byte == b'/' { 0 } else { byte };
        match differ {
            Some((a, b)) => weight(a).cmp(&weight(b)),
            None => self.0.len().cmp(&other.0.len()),
        }
    }
}

impl PartialOrd for RepoPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(path: &str) -> Option<PathProblem> {
        RepoPath::new(path).err().map(|error| error.problem)
    }

    #[test]
    fn ordinary_paths_are_accepted() {
        for path in [
            "a",
            "src/lib.rs",
            "a b/ü.txt",
            ".github/workflows/ci.yml",
            ".gitignore",
            "dir.git/x",
            "docs/.probity-journal",
            "console.py",
            "com10",
            "...a",
            "tab\there",
        ] {
            assert_eq!(problem(path), None, "{path}");
        }
    }

    #[test]
    fn every_way_out_is_refused() {
        use PathProblem::*;
        for (path, expected) in [
            ("", Empty),
            ("/etc/passwd", Absolute),
            ("C:/x", Absolute),
            ("../x", NotCanonical),
            ("a/../b", NotCanonical),
            ("./a", NotCanonical),
            ("a//b", NotCanonical),
            ("a/", NotCanonical),
            ("a\\b", Backslash),
            ("a\0b", LineBreak),
            ("a\nb", LineBreak),
            (".git/config", GitDirectory),
            ("sub/.GIT/hooks/x", GitDirectory),
            (".g\u{200c}it/x", GitDirectory),
            ("git~1/x", GitDirectory),
            (".git./x", GitDirectory),
            (".git::$INDEX_ALLOCATION/x", GitDirectory),
            (".probity-journal/journal.json", Journal),
            (".Probity-Journal", Journal),
            ("aux", Reserved),
            ("src/NUL.txt", Reserved),
            ("com1", Reserved),
            ("trailing.", Reserved),
            ("trailing /x", Reserved),
        ] {
            assert_eq!(problem(path), Some(expected), "{path:?}");
        }
        assert_eq!(problem(&"x".repeat(256)), Some(TooLong));
        assert_eq!(problem(&"x/".repeat(2100)), Some(TooLong));
    }

    #[test]
    fn paths_sort_part_by_part() {
        let sorted = [
            "a", "a/b", "a/b/c", "a/\u{1}", "a\u{1}", "a b", "a.txt", "a0", "b", "é",
        ];
        let paths = sorted.map(|path| RepoPath::new(path).unwrap());
        for (i, a) in paths.iter().enumerate() {
            for (j, b) in paths.iter().enumerate() {
                let by_parts = a.parts().cmp(b.parts());
                assert_eq!(a.cmp(b), by_parts, "{a:?} {b:?}");
                assert_eq!(by_parts.is_eq(), i == j);
            }
        }
    }

    #[test]
    fn folding_ignores_case_and_normalisation() {
        let composed = RepoPath::new("Caf\u{e9}.TXT").unwrap();
        let decomposed = RepoPath::new("cafe\u{301}.txt").unwrap();
        assert_eq!(composed.folded(), decomposed.folded());
        for (one, other) in [
            ("ΟΔΟΣ", "οδος"),
            ("STRASSE", "straße"),
            ("Jenkinſfile", "JENKINSFILE"),
        ] {
            let folded = |text: &str| RepoPath::new(text).unwrap().folded();
            assert_eq!(folded(one), folded(other));
        }
    }
}

//! Locks of wheels, in pip's requirements format with hashes.
//!
//! Only `name==version --hash=sha256:…` is accepted: a lock that could mean another file
//! on another day is no lock. Format: pip's "Requirements File Format" and "Secure
//! installs".

use std::fs;
use std::path::{Path, PathBuf};

use probity_core::Digest;

use crate::sealed::{private_folder, write_atomically};

/// Most requirements in one lock.
const MAX_REQUIREMENTS: usize = 500;
/// Largest wheel, in bytes.
const MAX_WHEEL: u64 = 1 << 30;
/// Longest lock, in bytes.
const MAX_LOCK: usize = 1 << 20;

/// Wheels by name, version and digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// The requirements, in the order of the file.
    pub requirements: Vec<Requirement>,
}

/// One pinned package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The package's name as written.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Digests of the wheels that may stand for it; at least one.
    pub hashes: Vec<Digest>,
}

/// As `name==version`.
impl std::fmt::Display for Requirement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}=={}", self.name, self.version)
    }
}

/// A lock cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the lock: {problem}")]
pub struct LockError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

impl Lock {
    /// Reads a lock.
    ///
    /// # Errors
    /// Names the line of the first thing that is not a pinned, hashed requirement.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let fail = |line: usize, problem: &str| LockError {
            line,
            problem: problem.to_owned(),
        };
        if text.len() > MAX_LOCK {
            return Err(fail(1, "the file is larger than 1 MiB"));
        }
        let mut requirements = Vec::new();
        for (line, logical) in logical_lines(text) {
            let mut words = logical.split_whitespace();
            let Some(first) = words.next() else {
                continue;
            };
            if first.starts_with('-') {
                return Err(fail(
                    line,
                    "options are not accepted; write `name==version --hash=sha256:…`",
                ));
            }
            let (name, version) = first
                .split_once("==")
                .filter(|(name, version)| is_name(name) && is_version(version))
                .ok_or_else(|| fail(line, "not a pinned requirement, `name==version`"))?;
            let mut hashes = Vec::new();
            for word in words {
                let digest = word
                    .strip_prefix("--hash=sha256:")
                    .and_then(|hex| hex.parse().ok())
                    .ok_or_else(|| fail(line, "only `--hash=sha256:…` may follow a requirement"))?;
                hashes.push(digest);
            }
            if hashes.is_empty() {
                return Err(fail(line, "a `--hash=sha256:…` is missing"));
            }
            if requirements.len() >= MAX_REQUIREMENTS {
                return Err(fail(line, "more than 500 requirements"));
            }
            requirements.push(Requirement {
                name: name.to_owned(),
                version: version.to_owned(),
                hashes,
            });
        }
        if requirements.is_empty() {
            return Err(fail(1, "it names no package"));
        }
        Ok(Self { requirements })
    }
}

/// Lines without comments, with continued lines joined; each with its first line's number.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        let line = match line.split_once('#') {
            Some((before, _)) if before.is_empty() || before.ends_with([' ', '\t']) => before,
            Some(_) | None => line,
        };
        let (part, continued) = match line.trim_end().strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        let (_, joined) = open.get_or_insert_with(|| (index + 1, String::new()));
        joined.push_str(part);
        joined.push(' ');
        if !continued {
            lines.extend(open.take());
        }
    }
    lines.extend(open);
    lines
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn is_version(version: &str) -> bool {
    !version.is_empty()
        && version
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '!' | '-' | '_'))
}

/// The wheels in the cache, by digest.
#[derive(Debug, Clone)]
pub struct WheelStore {
    folder: PathBuf,
}

impl WheelStore {
    /// The store in `folder`, which is made when something is added.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// The file of a requirement, if it is here, with its digest.
    #[must_use]
    pub fn find(&self, requirement: &Requirement) -> Option<(Digest, PathBuf)> {
        requirement.hashes.iter().find_map(|digest| {
            let path = self.path(*digest);
            path.is_file().then_some((*digest, path))
        })
    }

    /// The requirements of `lock` that are not here.
    #[must_use]
    pub fn missing<'a>(&self, lock: &'a Lock) -> Vec<&'a Requirement> {
        lock.requirements
            .iter()
            .filter(|requirement| self.find(requirement).is_none())
            .collect()
    }

    /// The bytes of a requirement's wheel.
    ///
    /// # Errors
    /// Says why there are none: it is not here, cannot be read, or is not what its name says.
    pub fn read(&self, requirement: &Requirement) -> Result<Vec<u8>, String> {
        let (digest, path) = self.find(requirement).ok_or("it is not in the cache")?;
        let size = fs::metadata(&path)
            .map_err(|error| error.to_string())?
            .len();
        if size > MAX_WHEEL {
            return Err("it is larger than 1 GiB".to_owned());
        }
        let bytes = fs::read(&path).map_err(|error| error.to_string())?;
        if Digest::of(&bytes) != digest {
            return Err(format!(
                "`{}` is damaged; remove it, and it is fetched again",
                path.display()
            ));
        }
        Ok(bytes)
    }

    /// Keeps a wheel under its digest.
    ///
    /// # Errors
    /// When the file cannot be read or kept.
    pub fn add(&self, wheel: &Path) -> std::io::Result<Digest> {
        let bytes = fs::read(wheel)?;
        let digest = Digest::of(&bytes);
        private_folder(&self.folder).map_err(std::io::Error::other)?;
        write_atomically(&self.path(digest), &bytes)?;
        Ok(digest)
    }

    fn path(&self, digest: Digest) -> PathBuf {
        self.folder.join(format!("{}.whl", digest.to_hex()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str =
        "--hash=sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn continued_lines_and_comments_are_read() {
        let text = format!(
            "# head\nattrs==26.1.0 \\\n    {HASH} \\\n    {HASH}  # twice\n\nx==1 {HASH}\n"
        );
        let lock = Lock::parse(&text).unwrap();
        assert_eq!(lock.requirements.len(), 2);
        assert_eq!(lock.requirements[0].name, "attrs");
        assert_eq!(lock.requirements[0].hashes.len(), 2);
    }

    #[test]
    fn whatever_is_not_pinned_is_refused_with_its_line() {
        for (text, line) in [
            ("a==1\n".to_owned(), 1),
            (format!("a==1 {HASH}\nb>=2 {HASH}\n"), 2),
            (format!("a==1 {HASH}\n-r other.txt\n"), 2),
            (format!("a==1 {HASH} ; python_version > '3'\n"), 1),
            ("a==1 --hash=sha256:12\n".to_owned(), 1),
            (format!("a==1 {HASH}\n\nhttps://x/y.whl {HASH}\n"), 3),
            ("# nothing\n".to_owned(), 1),
        ] {
            assert_eq!(Lock::parse(&text).unwrap_err().line, line, "{text}");
        }
    }

    #[test]
    fn the_default_lock_is_sound() {
        let lock = Lock::parse(super::super::default_lock()).unwrap();
        assert!(lock.requirements.iter().any(|r| r.name == "pytest"));
    }
}

//! What the formats share: paths, conditions on the files' bytes, counting operations.
//!
//! JSON formats state the digests of the files that they were made for in a `base` object,
//! text formats in lines `base: sha256:<hex> <path>` outside of everything that they
//! change.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};

use crate::Digest;
use crate::patch::error::ordinal;
use crate::patch::plan::MAX_OPERATIONS;
use crate::patch::{PatchError, PatchErrorKind};
use crate::repo::RepoPath;

/// The `base` object: path → `sha256:<hex>`. A key that comes twice is an error.
#[derive(Default)]
pub(super) struct Bases(Vec<(String, Digest)>);

impl<'de> Deserialize<'de> for Bases {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rows;
        impl<'de> Visitor<'de> for Rows {
            type Value = Bases;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object from paths to SHA-256 digests")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Bases, A::Error> {
                let mut seen: BTreeMap<String, Digest> = BTreeMap::new();
                while let Some((path, digest)) = map.next_entry::<String, Digest>()? {
                    if seen.insert(path.clone(), digest).is_some() {
                        return Err(A::Error::custom(format!(
                            "`base` names `{}` twice",
                            path.escape_debug()
                        )));
                    }
                }
                Ok(Bases(seen.into_iter().collect()))
            }
        }
        deserializer.deserialize_map(Rows)
    }
}

impl Bases {
    /// Validates the paths.
    pub(super) fn resolve(self) -> Result<BTreeMap<RepoPath, Digest>, PatchError> {
        self.0
            .into_iter()
            .map(|(path, digest)| Ok((denied_unless_valid(&path)?, digest)))
            .collect()
    }
}

/// Conditions that a text format states line by line.
#[derive(Default)]
pub(super) struct BaseLines(Vec<(String, Digest)>);

impl BaseLines {
    /// Takes `text` in, which is what follows the key of a base line `line`.
    pub(super) fn push(&mut self, text: &[u8], line: u32) -> Result<(), PatchError> {
        let malformed = || {
            PatchError::syntax(format!(
                "line {line} of the patch is not `sha256:<64 hexadecimal digits> <path>`"
            ))
            .with_hint("state the SHA-256 of the file's bytes, or leave the line out")
        };
        let text = std::str::from_utf8(text).map_err(|_| malformed())?;
        let (digest, path) = text.split_once(' ').ok_or_else(malformed)?;
        if !digest.starts_with("sha256:") {
            return Err(malformed());
        }
        let digest = digest.parse().map_err(|_| malformed())?;
        if self.0.iter().any(|(known, _)| known == path) {
            return Err(PatchError::syntax(format!(
                "line {line} of the patch states the base of `{}` again",
                path.escape_debug()
            ))
            .with_hint("state the base of a file once"));
        }
        if self.0.len() >= MAX_OPERATIONS {
            return Err(PatchError::new(
                PatchErrorKind::Budget,
                format!("the patch states more than {MAX_OPERATIONS} bases"),
            )
            .with_hint("split the patch"));
        }
        self.0.push((path.to_owned(), digest));
        Ok(())
    }

    /// Takes in the line `number` of a patch's prose if it is a base line, or looks like one:
    /// a condition with a slip must not be no condition.
    pub(super) fn prose(&mut self, line: &[u8], number: u32) -> Result<(), PatchError> {
        if let Some(rest) = line.strip_prefix(b"base: ") {
            let digest = rest.get(..7).unwrap_or_default();
            if digest == b"sha256:" {
                return self.push(rest, number);
            }
        }
        let lower = line.trim_ascii().to_ascii_lowercase();
        let looks_like = lower.starts_with(b"base")
            && memchr::memmem::find(&lower, b":").is_some()
            && memchr::memmem::find(&lower, b"sha256").is_some();
        if looks_like {
            return Err(PatchError::syntax(format!(
                "line {number} of the patch is nearly a condition `base: sha256:<64 hexadecimal digits> <path>`"
            ))
            .with_hint("write it exactly so, or leave the line out"));
        }
        Ok(())
    }

    /// Validates the paths.
    pub(super) fn resolve(self) -> Result<BTreeMap<RepoPath, Digest>, PatchError> {
        Bases(self.0).resolve()
    }
}

/// Validates a path that a patch names.
pub(super) fn denied_unless_valid(path: &str) -> Result<RepoPath, PatchError> {
    RepoPath::new(path).map_err(|error| {
        PatchError::new(PatchErrorKind::PathDenied, error.to_string())
            .with_path(&error.path)
            .with_hint("name files by their path from the repository's root, such as `src/lib.rs`")
    })
}

/// Validates the path of the operation at `index`.
pub(super) fn operation_path(path: &str, index: usize) -> Result<RepoPath, PatchError> {
    denied_unless_valid(path).map_err(|error| error.with_operation(ordinal(index)))
}

/// Refuses an empty list of operations, and one that is too long.
pub(super) fn check_count(key: &str, count: usize) -> Result<(), PatchError> {
    if count == 0 {
        return Err(PatchError::syntax(format!("`{key}` is empty"))
            .with_hint("a patch has to ask for at least one change"));
    }
    if count > MAX_OPERATIONS {
        return Err(PatchError::new(
            PatchErrorKind::Budget,
            format!("`{key}` has {count} entries, more than {MAX_OPERATIONS}"),
        )
        .with_hint("split the patch"));
    }
    Ok(())
}

/// Says that the text is not the JSON of its format.
pub(super) fn json_error(error: &serde_json::Error, shape: &str) -> PatchError {
    PatchError::syntax(format!("the patch is not valid: {error}"))
        .with_hint(format!("the format is {shape}"))
}

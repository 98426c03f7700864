//! The archives of releases, fetched by cargo and pip and kept by their SHA-256.
//!
//! No code of a package runs. Cargo and pip take one version of a package at a time, so
//! they are asked in rounds, each for one release of every package that lacks some.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

use super::catalog::{Kind, Package, Release};

/// Stands in for the build backends of source distributions.
const STAND_IN: &str = include_str!("stand_in_backend.py");
/// Cargo fetches what this target needs only; it makes no difference for the archives.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A folder of archives.
pub(crate) struct Archives {
    folder: PathBuf,
}

impl Archives {
    pub(crate) fn open(folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// The bytes of a fetched archive.
    pub(crate) fn read(&self, release: &Release) -> Result<Vec<u8>> {
        let path = self.folder.join(&release.sha256);
        let bytes = fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        ensure!(
            hash(&bytes) == release.sha256,
            "`{}` is damaged; delete it",
            path.display()
        );
        Ok(bytes)
    }

    /// Fetches what is not there yet of the releases with these indices (package, release),
    /// and says how much that was.
    pub(crate) fn fetch(
        &self,
        packages: &[Package],
        wanted: &BTreeSet<(usize, usize)>,
    ) -> Result<usize> {
        let mut lacking: BTreeMap<(Kind, usize), Vec<&Release>> = BTreeMap::new();
        for (package_index, release_index) in wanted {
            let package = packages.get(*package_index).context("no such package")?;
            let release = package
                .releases
                .get(*release_index)
                .context("no such release")?;
            if !self.folder.join(&release.sha256).exists() {
                let of_package = lacking.entry((package.kind, *package_index)).or_default();
                of_package.push(release);
            }
        }
        let count = lacking.values().map(Vec::len).sum();
        for kind in [Kind::Crate, Kind::Sdist] {
            for turn in 0.. {
                let round: Vec<(&str, &Release)> = lacking
                    .iter()
                    .filter(|((of_kind, _), _)| *of_kind == kind)
                    .filter_map(|((_, index), releases)| {
                        Some((packages.get(*index)?.name.as_str(), *releases.get(turn)?))
                    })
                    .collect();
                if round.is_empty() {
                    break;
                }
                let scratch = tempfile::tempdir()?;
                match kind {
                    Kind::Crate => self.crates(&round, scratch.path())?,
                    Kind::Sdist => self.sdists(&round, scratch.path())?,
                }
            }
        }
        Ok(count)
    }

    /// Fetches crates as the dependencies of a made-up package.
    fn crates(&self, round: &[(&str, &Release)], scratch: &Path) -> Result<()> {
        let mut manifest = "[package]\nname = \"releases\"\nversion = \"0.0.0\"\n\
            edition = \"2021\"\n[workspace]\n[lib]\npath = \"lib.rs\"\n[dependencies]\n"
            .to_owned();
        for (name, release) in round {
            let version = &release.version;
            writeln!(
                manifest,
                "{name} = {{ version = \"={version}\", default-features = false }}"
            )?;
        }
        fs::write(scratch.join("Cargo.toml"), manifest)?;
        fs::write(scratch.join("lib.rs"), "")?;
        let mut fetch = Command::new("cargo");
        fetch
            .args(["fetch", "--quiet", "--target", TARGET])
            .current_dir(scratch);
        crate::run(&mut fetch).context("cargo cannot fetch the crates; was one yanked?")?;
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let caches = home
            .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")))
            .context("neither CARGO_HOME nor HOME is set")?
            .join("registry/cache");
        let caches: Vec<PathBuf> = fs::read_dir(&caches)
            .with_context(|| format!("cannot list `{}`", caches.display()))?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<_>>()?;
        for (name, release) in round {
            let file = format!("{name}-{}.crate", release.version);
            let found = caches.iter().map(|cache| cache.join(&file));
            self.keep_one_of(found, name, release)?;
        }
        Ok(())
    }

    /// Downloads source distributions; pip checks the hashes before it looks inside.
    fn sdists(&self, round: &[(&str, &Release)], scratch: &Path) -> Result<()> {
        let mut requirements = String::new();
        for (name, release) in round {
            let Release { version, sha256 } = release;
            writeln!(requirements, "{name}=={version} --hash=sha256:{sha256}")?;
        }
        fs::write(scratch.join("requirements.txt"), requirements)?;
        let stand_in = scratch.join("stand-in");
        fs::create_dir_all(stand_in.join("setuptools"))?;
        // Without build isolation pip only looks whether setuptools is there.
        fs::write(stand_in.join("setuptools/__init__.py"), "")?;
        fs::write(stand_in.join("sitecustomize.py"), STAND_IN)?;
        let mut download = Command::new("python3");
        download
            .args(["-m", "pip", "download", "--quiet", "--no-deps"])
            .args([
                "--no-binary",
                ":all:",
                "--no-build-isolation",
                "--use-pep517",
            ])
            .args(["--disable-pip-version-check", "--require-hashes"])
            .args(["-r", "requirements.txt", "-d", "archives"])
            .env("PYTHONPATH", &stand_in)
            .current_dir(scratch);
        crate::run(&mut download).context("pip cannot download the source distributions")?;
        let archives: Vec<PathBuf> = fs::read_dir(scratch.join("archives"))?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<_>>()?;
        for (name, release) in round {
            self.keep_one_of(archives.iter().cloned(), name, release)?;
        }
        Ok(())
    }

    /// Keeps the candidate that has the release's hash.
    fn keep_one_of(
        &self,
        candidates: impl Iterator<Item = PathBuf>,
        name: &str,
        release: &Release,
    ) -> Result<()> {
        let mut bytes = candidates.filter_map(|path| fs::read(path).ok());
        let bytes = bytes
            .find(|bytes| hash(bytes) == release.sha256)
            .with_context(|| {
                format!(
                    "what came for {name} {} does not have its SHA-256",
                    release.version
                )
            })?;
        // Renamed into place, so that a broken run leaves no half of an archive.
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        std::io::Write::write_all(&mut file, &bytes)?;
        file.persist(self.folder.join(&release.sha256))?;
        Ok(())
    }
}

fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

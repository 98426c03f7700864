//! What is compared: a tree with a suite, the wheels it needs, how it is run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::difference::Difference;
use crate::diffs::archive;
use crate::diffs::catalog::{Kind, Package, Release};
use crate::diffs::download::Archives;
use crate::diffs::tree::Tree;
use crate::root;

/// Where the tree comes from.
#[derive(Debug)]
enum Origin {
    /// A source distribution.
    Sdist(Package),
    /// A release task, with its fix applied.
    Task,
}

/// One suite.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) id: String,
    origin: Origin,
    pub(super) lock: PathBuf,
    pub(super) python_path: Vec<String>,
    pub(super) args: Vec<String>,
    pub(super) differences: Vec<Difference>,
}

/// `tests/parity/packages/NAME.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PackageFile {
    package: String,
    version: String,
    sha256: String,
    /// What the lock was resolved from; `pin.py` reads it.
    #[serde(rename = "needs")]
    _needs: Vec<String>,
    python_path: Vec<String>,
    args: Vec<String>,
    #[serde(default)]
    difference: Vec<Difference>,
}

/// `tests/parity/tasks/ID.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TaskFile {
    difference: Vec<Difference>,
}

/// Reads the subjects with these ids, or all.
pub(super) fn load(ids: &BTreeSet<String>) -> Result<Vec<Subject>> {
    let mut all = tasks()?;
    all.extend(packages()?);
    for id in ids {
        ensure!(
            all.iter().any(|subject| subject.id == *id),
            "there is no subject `{id}`"
        );
    }
    for subject in &all {
        for difference in &subject.differences {
            difference
                .check()
                .with_context(|| format!("subject `{}`", subject.id))?;
        }
    }
    all.retain(|subject| ids.is_empty() || ids.contains(&subject.id));
    Ok(all)
}

fn tasks() -> Result<Vec<Subject>> {
    let folder = root().join("tests/tasks");
    let locks = json(&folder.join("locks.json"))?;
    let mut subjects = Vec::new();
    for (id, lock) in locks.as_object().context("locks.json is not an object")? {
        let facts = json(&folder.join(format!("{id}.json")))?;
        let known = root().join(format!("tests/parity/tasks/{id}.toml"));
        let differences = if known.exists() {
            toml::from_str::<TaskFile>(&read(&known)?)
                .with_context(|| known.display().to_string())?
                .difference
        } else {
            Vec::new()
        };
        subjects.push(Subject {
            id: id.clone(),
            origin: Origin::Task,
            lock: folder.join(lock.as_str().context("a lock is not a name")?),
            python_path: texts(facts.get("python_path"))?,
            args: texts(facts.get("pytest_args"))?,
            differences,
        });
    }
    Ok(subjects)
}

fn packages() -> Result<Vec<Subject>> {
    let folder = root().join("tests/parity/packages");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .with_context(|| folder.display().to_string())?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    files.sort();
    files
        .iter()
        .map(|path| {
            let facts: PackageFile =
                toml::from_str(&read(path)?).with_context(|| path.display().to_string())?;
            Ok(Subject {
                id: format!("{}-{}", facts.package, facts.version),
                origin: Origin::Sdist(Package {
                    kind: Kind::Sdist,
                    name: facts.package,
                    releases: vec![Release {
                        version: facts.version,
                        sha256: facts.sha256,
                    }],
                    in_every_sample: BTreeSet::new(),
                }),
                lock: path.with_extension("lock"),
                python_path: facts.python_path,
                args: facts.args,
                differences: facts.difference,
            })
        })
        .collect()
}

impl Subject {
    /// The tree, fetched if it is not there yet; `cache` is Probity's.
    pub(super) fn tree(&self, cache: &Path) -> Result<Tree> {
        match &self.origin {
            Origin::Sdist(package) => {
                let archives = Archives::open(cache.join("parity/sdists"))?;
                archives.fetch(std::slice::from_ref(package), &BTreeSet::from([(0, 0)]))?;
                let release = package.releases.first().context("no release")?;
                archive::unpack(&archives.read(release)?)
            }
            Origin::Task => self.rebuild(cache),
        }
    }

    fn rebuild(&self, cache: &Path) -> Result<Tree> {
        let tasks = root().join("tests/tasks");
        let sdists = cache.join("tasks/sdists");
        fs::create_dir_all(&sdists)?;
        let scratch = tempfile::tempdir()?;
        let mut make = Command::new("python3");
        make.arg(tasks.join("make_task.py"))
            .arg(tasks.join(format!("{}.json", self.id)))
            .arg(scratch.path())
            .arg("--sdists")
            .arg(sdists);
        quietly(&mut make)?;
        let base = scratch.path().join("base");
        let mut apply = Command::new("git");
        apply
            .arg("apply")
            .arg(scratch.path().join("gold.patch"))
            .env("GIT_CEILING_DIRECTORIES", scratch.path())
            .current_dir(&base);
        quietly(&mut apply)?;
        Tree::read(&base)
    }
}

/// Runs a command; what it says is shown only if it fails.
pub(super) fn quietly(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!(
            "{command:?} ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

fn json(path: &Path) -> Result<Value> {
    serde_json::from_str(&read(path)?).with_context(|| format!("`{}` is not JSON", path.display()))
}

fn texts(value: Option<&Value>) -> Result<Vec<String>> {
    let list = value
        .and_then(Value::as_array)
        .context("a list is missing")?;
    list.iter()
        .map(|text| {
            Ok(text
                .as_str()
                .context("a list holds more than texts")?
                .to_owned())
        })
        .collect()
}

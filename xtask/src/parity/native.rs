//! The suite on a Python of this machine, in a virtual environment with the lock's wheels;
//! and, to see what a newer version makes of it, on Pyodide.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::compare::Run;
use super::subject::{Subject, quietly};
use crate::diffs::tree::Tree;
use crate::root;

/// A suite that takes longer than this is ended.
const PATIENCE: Duration = Duration::from_secs(20 * 60);

/// A Python of this machine.
pub(super) struct Python {
    program: PathBuf,
    /// Such as `3.11.7`.
    pub(super) version: String,
}

impl Python {
    /// Asks a program for its version.
    pub(super) fn find(program: &str) -> Result<Self> {
        let output = Command::new(program)
            .args([
                "-c",
                "import platform, sys; print(platform.python_version()); print(sys.executable)",
            ])
            .output()
            .with_context(|| format!("cannot start `{program}`"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines();
        match (lines.next(), lines.next()) {
            (Some(version), Some(path)) if output.status.success() => Ok(Self {
                program: path.into(),
                version: version.to_owned(),
            }),
            _ => bail!("`{program}` is not a Python"),
        }
    }

    /// The interpreter of an environment that holds the wheels of a lock and nothing else.
    /// Shared objects are left out, as in the sandbox, so that both run the same code.
    fn environment(&self, lock: &Path, cache: &Path) -> Result<PathBuf> {
        let folder = cache.join("parity/environments");
        fs::create_dir_all(&folder)?;
        let mut digest = Sha256::new();
        digest.update(fs::read(lock)?);
        digest.update(&self.version);
        let name = hex::encode(digest.finalize());
        let python = |base: &Path| base.join("bin/python");
        let place = folder.join(&name);
        if place.exists() {
            return Ok(python(&place));
        }
        let made = tempfile::tempdir_in(&folder)?;
        let mut venv = Command::new(&self.program);
        venv.args(["-m", "venv", "--without-pip"]).arg(made.path());
        quietly(&mut venv)?;
        let asked = Command::new(python(made.path()))
            .args([
                "-c",
                "import sysconfig; print(sysconfig.get_path('purelib'))",
            ])
            .output()?;
        let site = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim());
        ensure!(
            site.starts_with(made.path()),
            "the environment has no place for wheels"
        );
        let mut pip = Command::new("python3");
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(["--root-user-action=ignore", "--no-compile", "--no-deps"])
        .args(["--require-hashes", "--only-binary=:all:"])
        .args(["--implementation=cp", "--python-version=3.11"])
        .args([
            "--platform=manylinux2014_x86_64",
            "--platform=manylinux_2_17_x86_64",
        ])
        .args(["--platform=manylinux_2_28_x86_64"])
        .arg("--target")
        .arg(&site)
        .arg("-r")
        .arg(lock);
        quietly(&mut pip)?;
        drop_shared_objects(&site)?;
        fs::rename(made.keep(), &place)?;
        Ok(python(&place))
    }

    /// Runs the subject's suite on a fresh copy of the tree.
    pub(super) fn run(&self, subject: &Subject, tree: &Tree, cache: &Path) -> Result<Run> {
        let python = self.environment(&subject.lock, cache)?;
        let scratch = tempfile::tempdir()?;
        let place = |name: &str| scratch.path().join(name);
        let repo = place("repo");
        tree.write(&repo)?;
        for name in ["home", "tmp"] {
            fs::create_dir(place(name))?;
        }
        let path: Vec<PathBuf> = subject
            .python_path
            .iter()
            .map(|part| {
                if part == "." {
                    repo.clone()
                } else {
                    repo.join(part)
                }
            })
            .collect();
        let config = json!({
            "root": repo,
            "args": subject.args,
            "results": place("results"),
        });
        fs::write(place("config.json"), serde_json::to_vec(&config)?)?;
        let started = Instant::now();
        let mut child = Command::new(python)
            .arg("-P")
            .arg(root().join("tests/parity/native.py"))
            .arg(place("config.json"))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", place("home"))
            .env("TMPDIR", place("tmp"))
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("PYTHONPATH", std::env::join_paths(path)?)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONHASHSEED", "0")
            .stdin(Stdio::null())
            .stdout(fs::File::create(place("output"))?)
            .stderr(fs::File::create(place("errors"))?)
            .spawn()
            .context("cannot start the native Python")?;
        wait(&mut child)?;
        let seconds = started.elapsed().as_secs_f64();
        let mut run = read(&place("results")).unwrap_or_default();
        if run.finished != Some(true) || run.outcomes.is_empty() {
            bail!(
                "the native suite did not run to its end: {} {}",
                tail(&place("errors")),
                tail(&place("output"))
            );
        }
        run.seconds = seconds;
        Ok(run)
    }
}

/// CPython as Pyodide builds it, from npm: a newer version than machines tend to have.
pub(super) struct Pyodide {
    /// Where the package and the script are.
    folder: PathBuf,
}

impl Pyodide {
    /// Installs the pinned package.
    pub(super) fn prepare(cache: &Path) -> Result<Self> {
        let folder = cache.join("parity/pyodide");
        fs::create_dir_all(&folder)?;
        for name in ["package.json", "package-lock.json", "run.mjs"] {
            fs::copy(
                root().join("tests/parity/pyodide").join(name),
                folder.join(name),
            )?;
        }
        if !folder.join("node_modules/pyodide").exists() {
            let mut install = Command::new("npm");
            install
                .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
                .current_dir(&folder);
            quietly(&mut install)?;
        }
        Ok(Self { folder })
    }

    /// Runs the subject's suite on a fresh copy of the tree, with the wheels of a native Python.
    pub(super) fn run(
        &self,
        subject: &Subject,
        tree: &Tree,
        native: &Python,
        cache: &Path,
    ) -> Result<Run> {
        let python = native.environment(&subject.lock, cache)?;
        let site = Command::new(python)
            .args([
                "-c",
                "import sysconfig; print(sysconfig.get_path('purelib'))",
            ])
            .output()?;
        let scratch = tempfile::tempdir()?;
        let place = |name: &str| scratch.path().join(name);
        tree.write(&place("repo"))?;
        let config = json!({
            "repo": place("repo"),
            "site": String::from_utf8_lossy(&site.stdout).trim(),
            "native": root().join("tests/parity/native.py"),
            "python_path": subject.python_path,
            "args": subject.args,
            "results": place("results"),
        });
        fs::write(place("config.json"), serde_json::to_vec(&config)?)?;
        let mut child = Command::new("node")
            .arg(self.folder.join("run.mjs"))
            .arg(place("config.json"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(place("errors"))?)
            .spawn()
            .context("cannot start node")?;
        wait(&mut child)?;
        read(&place("results")).with_context(|| tail(&place("errors")))
    }
}

/// Waits for the suite to end, within reason.
fn wait(child: &mut Child) -> Result<()> {
    let started = Instant::now();
    while child.try_wait()?.is_none() {
        if started.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            bail!("the suite does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn read(results: &Path) -> Result<Run> {
    let mut run = Run::default();
    let file = fs::File::open(results).context("the native suite wrote no results")?;
    for line in BufReader::new(file).lines() {
        let record: Value = serde_json::from_str(&line?)?;
        let text = |name: &str| record.get(name).and_then(Value::as_str);
        let message = text("message").unwrap_or("").to_owned();
        if let (Some(id), Some(outcome)) = (text("id"), text("outcome")) {
            run.outcomes
                .insert(id.to_owned(), (outcome.to_owned(), message));
        } else if let Some(path) = text("collect") {
            run.not_collected.insert(path.to_owned(), message);
        } else {
            run.finished = Some(true);
        }
    }
    Ok(run)
}

fn drop_shared_objects(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            drop_shared_objects(&entry.path())?;
        } else if entry.file_name().to_string_lossy().contains(".so") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The last lines of a file.
fn tail(path: &Path) -> String {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines
        .get(lines.len().saturating_sub(5)..)
        .unwrap_or_default()
        .join("\n")
}

//! `cargo xtask cheats`: the patches of `tests/cheats` that try to score without solving, and
//! their honest twins, through plain `python -m pytest` (or unittest) whose exit code is the
//! verdict, and through Probity.
//!
//! Natively a case runs in a folder of its own that is removed, with a home, memory, size of
//! files and time of its own; what it prints is not kept.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::{page, probity, root, say, suites};

/// How long a native run may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// Memory of a native run in KiB, and its largest file in blocks of 512 bytes.
const LIMITS: &str = "ulimit -v 3000000; ulimit -f 65536; exec \"$@\"";
/// Longest excerpt of what Probity said, in characters.
const SAID: usize = 110;

/// `case.toml`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Case {
    project: String,
    technique: String,
    #[serde(default)]
    #[allow(dead_code, reason = "for readers of the case")]
    source: String,
    caught: String,
    #[serde(default)]
    check: String,
    #[serde(default)]
    twin_spec: String,
}

/// What came of a case.
struct Row {
    native: (Came, Came),
    guest: (Came, Came),
    isolated: Came,
    said: String,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    Passed,
    Failed,
    Refused,
    NoEnd,
    Broke,
}

impl Came {
    const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::NoEnd => "no end",
            Self::Broke => "error",
        }
    }
}

/// What both sides need.
struct Bench {
    cases: BTreeMap<String, Case>,
    python: PathBuf,
    binary: PathBuf,
}

pub(crate) fn run(args: &[String]) -> Result<bool> {
    let (flags, ids): (Vec<&String>, Vec<&String>) =
        args.iter().partition(|arg| arg.starts_with('-'));
    let write = flags.iter().any(|flag| *flag == "--write");
    ensure!(
        flags.len() == usize::from(write),
        "usage: cargo xtask cheats [--write] [ID …]"
    );
    ensure!(!write || ids.is_empty(), "--write wants all cases");
    let bench = Bench {
        cases: cases(&ids)?,
        python: suites::pytest()?,
        binary: probity::build()?,
    };
    let rows = bench.rows()?;
    let table = table(&bench.cases, &rows);
    say(&table);
    if write {
        page::replace("docs/cheating.md", "cheats", &table)?;
    }
    Ok(bench
        .cases
        .iter()
        .zip(rows.values())
        .all(|((_, case), row)| holds(case, row)))
}

/// Whether Probity came to what the case promises.
fn holds(case: &Case, row: &Row) -> bool {
    let cheat = if case.caught == "isolated" {
        row.isolated
    } else {
        row.guest.0
    };
    matches!(cheat, Came::Failed | Came::Refused) && row.guest.1 == Came::Passed
}

fn folder() -> PathBuf {
    root().join("tests/cheats")
}

fn cases(ids: &[&String]) -> Result<BTreeMap<String, Case>> {
    let mut cases = BTreeMap::new();
    for entry in fs::read_dir(folder().join("cases"))? {
        let entry = entry?;
        let id = entry.file_name().to_string_lossy().into_owned();
        if ids.is_empty() || ids.iter().any(|wanted| **wanted == id) {
            let text = fs::read_to_string(entry.path().join("case.toml"))?;
            let case = toml::from_str(&text).with_context(|| format!("{id}/case.toml"))?;
            cases.insert(id, case);
        }
    }
    for id in ids {
        ensure!(cases.contains_key(*id), "there is no case `{id}`");
    }
    Ok(cases)
}

impl Bench {
    /// Every case, some at a time.
    fn rows(&self) -> Result<BTreeMap<String, Row>> {
        let all: Vec<(&String, &Case)> = self.cases.iter().collect();
        let (next, rows) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let work = || -> Result<()> {
            while let Some((id, case)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                let row = self.row(id, case).with_context(|| (*id).clone())?;
                let mut rows = rows
                    .lock()
                    .map_err(|_| anyhow::anyhow!("a thread panicked"))?;
                rows.insert((*id).clone(), row);
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| {
                worker
                    .join()
                    .map_err(|_| anyhow::anyhow!("a thread panicked"))?
            })
        })?;
        rows.into_inner()
            .map_err(|_| anyhow::anyhow!("a thread panicked"))
    }

    fn row(&self, id: &str, case: &Case) -> Result<Row> {
        let diff = |name: &str| folder().join("cases").join(id).join(name);
        let (cheat, twin) = (diff("cheat.diff"), diff("twin.diff"));
        let (guest, said) = self.judged(case, "probity.toml", "", &cheat)?;
        let (isolated, told) = self.judged(case, "isolated.toml", "", &cheat)?;
        Ok(Row {
            native: (self.native(case, &cheat)?, self.native(case, &twin)?),
            guest: (
                guest,
                self.judged(case, "probity.toml", &case.twin_spec, &twin)?.0,
            ),
            isolated,
            said: if case.caught == "isolated" {
                told
            } else {
                said
            },
        })
    }

    /// What Probity makes of a patch under a spec, to whose suite `line` is added.
    fn judged(&self, case: &Case, spec: &str, line: &str, patch: &Path) -> Result<(Came, String)> {
        let project = folder().join("projects").join(&case.project);
        let scratch = tempfile::tempdir()?;
        let mut spec = project.join(spec);
        if !line.is_empty() {
            let copied = scratch.path().join("project");
            copy(&project, &copied)?;
            let text = fs::read_to_string(&spec)?;
            let suite = "kind = \"suite\"\n";
            spec = copied.join("probity.toml");
            fs::write(&spec, text.replace(suite, &format!("{suite}{line}\n")))?;
        }
        let output = Command::new(&self.binary)
            .args(["verify", "--json", "--repo"])
            .arg(project.join("repo"))
            .arg("--spec")
            .arg(spec)
            .arg("--patch")
            .arg(patch)
            .stdin(Stdio::null())
            .output()
            .context("cannot start probity")?;
        let told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        Ok(match output.status.code() {
            Some(0) => (Came::Passed, String::new()),
            Some(1) => (Came::Failed, said(&document, &case.check)),
            Some(3) => (Came::Refused, refusal(&document).unwrap_or(told)),
            _ => (Came::Broke, told),
        })
    }

    /// What the exit code of the test runner says, natively.
    fn native(&self, case: &Case, patch: &Path) -> Result<Came> {
        let project = folder().join("projects").join(&case.project);
        let scratch = tempfile::tempdir()?;
        let repo = scratch.path().join("repo");
        copy(&project.join("repo"), &repo)?;
        crate::run(
            Command::new("git")
                .arg("apply")
                .arg(patch)
                .current_dir(&repo),
        )?;
        let hidden = project.join("hidden");
        if hidden.is_dir() {
            add(&hidden, &repo)?;
        }
        let suite = Suite::read(&project)?;
        let mut path = vec![repo.clone()];
        path.extend(suite.python_path.iter().map(|part| repo.join(part)));
        let mut command = Command::new("sh");
        command
            .args(["-c", LIMITS, "sh"])
            .arg(&self.python)
            .args(["-m", &suite.runner])
            .args(&suite.args)
            .current_dir(&repo)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", scratch.path())
            .env("TMPDIR", scratch.path())
            .env("PYTHONPATH", std::env::join_paths(path)?)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        ended(&mut command.spawn().context("cannot start sh")?)
    }
}

/// The suite of a project's `probity.toml`, as far as it is needed natively.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Suite {
    runner: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    python_path: Vec<String>,
}

impl Suite {
    fn read(project: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct Spec {
            check: Vec<Suite>,
        }
        let text = fs::read_to_string(project.join("probity.toml"))?;
        let spec: Spec = toml::from_str(&text)?;
        spec.check.into_iter().next().context("no suite")
    }
}

/// Waits for a run, which is killed if it takes too long.
fn ended(child: &mut Child) -> Result<Came> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() {
                Came::Passed
            } else {
                Came::Failed
            });
        }
        if started.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(Came::NoEnd);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What the verdict says of tampering, else of a check: the one called `wanted`, else the
/// first that did not pass.
fn said(document: &Value, wanted: &str) -> String {
    let checks = || {
        document
            .get("checks")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let text = |value: &Value, key: &str| {
        value
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned()
    };
    let findings = checks()
        .filter_map(|check| check.get("findings")?.as_array())
        .flatten();
    let tampering = findings
        .map(|finding| text(finding, "message"))
        .find(|message| message.starts_with("tampering"));
    let failed = |check: &&Value| text(check, "outcome") != "pass";
    tampering
        .or_else(|| {
            checks()
                .find(|check| text(check, "name") == wanted)
                .map(|check| text(check, "message"))
        })
        .or_else(|| checks().find(failed).map(|check| text(check, "message")))
        .unwrap_or_default()
}

/// Why a patch was refused.
fn refusal(document: &Value) -> Option<String> {
    Some(document.pointer("/error/message")?.as_str()?.to_owned())
}

fn table(cases: &BTreeMap<String, Case>, rows: &BTreeMap<String, Row>) -> String {
    let mut text = String::from(
        "| case | technique | plain: cheat | plain: twin | in-guest: cheat | in-guest: twin | isolated: cheat | what Probity said of the cheat |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for ((id, case), row) in cases.iter().zip(rows.values()) {
        let _ = writeln!(
            text,
            "| `{id}` | {} | {} | {} | {} | {} | {} | {} |",
            cell(&case.technique),
            shown(row.native.0, Came::Passed),
            row.native.1.name(),
            shown(row.guest.0, Came::Passed),
            row.guest.1.name(),
            shown(row.isolated, Came::Passed),
            cell(&excerpt(&row.said)),
        );
    }
    let count = |holds: &dyn Fn(&Row) -> bool| rows.values().filter(|row| holds(row)).count();
    let only = cases
        .values()
        .filter(|case| case.caught == "isolated")
        .count();
    let _ = write!(
        text,
        "\n{} cheats, of which {only} are named as ones that only an isolated check can catch. Passed by plain \
         exit code: {}; in-guest: {}; isolated: {}. Twins that do not pass: plain {}, in-guest {}.\n",
        rows.len(),
        count(&|row| row.native.0 == Came::Passed),
        count(&|row| row.guest.0 == Came::Passed),
        count(&|row| row.isolated == Came::Passed),
        count(&|row| row.native.1 != Came::Passed),
        count(&|row| row.guest.1 != Came::Passed),
    );
    text
}

/// A result that stands out if it is the one that a cheat wants.
fn shown(came: Came, wanted: Came) -> String {
    if came == wanted {
        format!("**{}**", came.name())
    } else {
        came.name().to_owned()
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('\n', " ")
        .replace('<', "&lt;")
}

fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(SAID).collect();
    if text.chars().nth(SAID).is_some() {
        short.push('…');
    }
    short
}

/// Copies a folder; links are not followed, as the projects have none.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Adds hidden tests as a simple harness does: what is there already stays, and where a folder
/// has a file's name, the file lands in it.
fn add(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let mut target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            if target.exists() && !target.is_dir() {
                bail!("{} is no folder", target.display());
            }
            fs::create_dir_all(&target)?;
            add(&entry.path(), &target)?;
            continue;
        }
        if target.is_dir() {
            target.push(entry.file_name());
        }
        if !target.exists() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

//! The chore itself: run both, compare, report.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;

use super::compare::{Comparison, Run, Unequal};
use super::guest::{self, Guest};
use super::native::{Pyodide, Python};
use super::subject::{self, Subject};
use super::table::{Row, Table};
use crate::diffs::tree::Tree;
use crate::{page, probity, say};

/// How many unexplained differences of one suite are shown; the file has all.
const SHOWN: usize = 12;

struct Options {
    ids: BTreeSet<String>,
    also: Option<String>,
    update: bool,
    /// Compare what the last runs showed instead of running anything.
    recorded: bool,
}

impl Options {
    fn read(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            ids: BTreeSet::new(),
            also: None,
            update: false,
            recorded: false,
        };
        let mut left = arguments.iter();
        while let Some(argument) = left.next() {
            match argument.as_str() {
                "--update" => options.update = true,
                "--recorded" => options.recorded = true,
                "--also" => options.also = Some(left.next().context("--also PYTHON")?.clone()),
                other if other.starts_with('-') => bail!("there is no option `{other}`"),
                id => _ = options.ids.insert(id.to_owned()),
            }
        }
        ensure!(
            options.ids.is_empty() || !options.update,
            "--update needs all subjects"
        );
        Ok(options)
    }
}

/// What else to ask about tests that differ.
enum Further {
    Python(Python),
    Pyodide(Pyodide),
}

impl Further {
    fn find(name: &str, cache: &Path) -> Result<Self> {
        if name == "pyodide" {
            return Ok(Self::Pyodide(Pyodide::prepare(cache)?));
        }
        Ok(Self::Python(Python::find(name)?))
    }

    fn run(&self, subject: &Subject, tree: &Tree, native: &Python, cache: &Path) -> Result<Run> {
        match self {
            Self::Python(python) => python.run(subject, tree, cache),
            Self::Pyodide(pyodide) => pyodide.run(subject, tree, native, cache),
        }
    }
}

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    let options = Options::read(arguments)?;
    let subjects = subject::load(&options.ids)?;
    let cache = crate::cache()?;
    let native = Python::find("python3")?;
    let also = options
        .also
        .as_deref()
        .map(|name| Further::find(name, &cache));
    let also = also.transpose()?;
    let binary = probity::build()?;
    let runtime = guest::runtime(&binary)?;
    let guest = if options.recorded {
        None
    } else {
        Some(Guest::prepare(binary, &subjects)?)
    };
    let mut table = Table::default();
    let mut broken = 0;
    for subject in &subjects {
        match compare(subject, &native, also.as_ref(), guest.as_ref(), &cache) {
            Ok(row) => table.rows.push(row),
            Err(error) => {
                broken += 1;
                say(&format!("{}: CANNOT BE COMPARED: {error:#}", subject.id));
            }
        }
    }
    let text = table.markdown();
    say(&format!(
        "\nnative CPython {}, sandbox {runtime}\n",
        native.version
    ));
    say(&text);
    if options.update && broken == 0 {
        page::replace("docs/python.md", "parity", &text)?;
    }
    Ok(table.holds() && broken == 0)
}

fn compare(
    subject: &Subject,
    native: &Python,
    also: Option<&Further>,
    guest: Option<&Guest>,
    cache: &Path,
) -> Result<Row> {
    let folder = cache.join("parity/runs").join(&subject.id);
    fs::create_dir_all(&folder)?;
    let tree = subject.tree(cache)?;
    let (here, there) = match guest {
        Some(guest) => (
            native.run(subject, &tree, cache)?,
            guest.run(subject, &tree)?,
        ),
        None => (recall(&folder, "native")?, recall(&folder, "guest")?),
    };
    record(&folder, "native", &here)?;
    record(&folder, "guest", &there)?;
    let comparison = Comparison::of(&here, &there, &subject.differences);
    say(&format!(
        "{}: {} tests, {} differ, {} of them unexplained; {:.1} s native, {:.1} s in the sandbox",
        subject.id,
        comparison.tests,
        comparison.unequal.len(),
        comparison.unexplained(),
        here.seconds,
        there.seconds
    ));
    let unknown = comparison
        .unequal
        .iter()
        .filter(|test| test.cause.is_none());
    for test in unknown.take(SHOWN) {
        say(&describe(test));
    }
    for pattern in &comparison.stale {
        say(&format!("    no longer differs: {pattern}"));
    }
    let further = match also {
        Some(further) if !comparison.unequal.is_empty() => {
            let run = further.run(subject, &tree, native, cache)?;
            let ids = comparison.unequal.iter();
            let same = ids.filter(|test| run.outcome(&test.id) == test.guest);
            say(&format!(
                "    {} of {} are there as in the sandbox",
                same.count(),
                comparison.unequal.len()
            ));
            Some(run)
        }
        Some(_) | None => None,
    };
    let list: Vec<_> = comparison
        .unequal
        .iter()
        .map(|test| {
            json!({
                "id": test.id,
                "native": test.native,
                "guest": test.guest,
                "also": further.as_ref().map(|run| run.outcome(&test.id)),
                "cause": test.cause.map(super::difference::Cause::name),
                "message": test.message,
            })
        })
        .collect();
    fs::write(
        folder.join("differences.json"),
        serde_json::to_vec_pretty(&list)?,
    )?;
    Ok(Row {
        subject: subject.id.clone(),
        comparison,
        native_seconds: here.seconds,
        guest_seconds: there.seconds,
    })
}

fn record(folder: &Path, side: &str, run: &Run) -> Result<()> {
    let path = folder.join(format!("{side}.json"));
    Ok(fs::write(path, serde_json::to_vec(run)?)?)
}

fn recall(folder: &Path, side: &str) -> Result<Run> {
    let path = folder.join(format!("{side}.json"));
    let text = fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(serde_json::from_slice(&text)?)
}

fn describe(test: &Unequal) -> String {
    let last = test
        .message
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty());
    let said: String = last.unwrap_or("").trim().chars().take(160).collect();
    format!(
        "    {} natively, {} in the sandbox: {}\n        {}",
        test.native,
        test.guest,
        test.id.escape_debug(),
        said.escape_debug()
    )
}

//! `cargo xtask bench`: the measurements, and of these `apply`: whole processes of `probity apply` beside `git apply`.
//!
//! Both work on the same tree in turn, A B A B …, so that a machine whose speed drifts slows
//! both; the ratio is taken pair by pair. Between two runs the tree is put back and left
//! alone until its times tell old from new, as it would be in use.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{calls, fuel, isolated, probity, say, suites};

/// Counted pairs of runs.
pub(crate) const PAIRS: usize = 7;
/// After this long a file that was written is at rest.
const REST: Duration = Duration::from_millis(2100);
/// Lets everything through, so that the guard's limits do not end a large patch.
const SPEC: &str = "version = 1\n[guard]\nallow = [\"**\"]\nprotect-defaults = false\nmax-files = 100000\nmax-changed-lines = 1000000\nmax-patch-bytes = \"64 MiB\"\nmax-file-bytes = \"256 MiB\"\n";

struct Scenario {
    name: &'static str,
    make: fn(&Path) -> Result<String>,
    applies: bool,
}

const SCENARIOS: [Scenario; 4] = [
    Scenario {
        name: "one line in 100,000 files",
        make: |folder| {
            many(folder, 100_000)?;
            Ok(one_line(77_777))
        },
        applies: true,
    },
    Scenario {
        name: "a patch of 5,000 files",
        make: |folder| {
            many(folder, 5_000)?;
            Ok((0..5_000).map(one_line).collect())
        },
        applies: true,
    },
    Scenario {
        name: "one line in 50 MB",
        make: |folder| large(folder, "third"),
        applies: true,
    },
    Scenario {
        name: "a miss in 50 MB",
        make: |folder| large(folder, "missing"),
        applies: false,
    },
];

pub(crate) fn run(args: &[String]) -> Result<bool> {
    match args.first().map(String::as_str) {
        None => Ok(apply()? && calls::run()? && fuel::run()? && isolated::run()? && suites::run()?),
        Some("apply") => apply(),
        Some("calls") => calls::run(),
        Some("fuel") => fuel::run(),
        Some("isolated") => isolated::run(),
        Some("suites") => suites::run(),
        Some(other) => bail!("there is no measurement `{other}`"),
    }
}

fn apply() -> Result<bool> {
    let binary = probity::build()?;
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("spec.toml"), SPEC)?;
    say(&format!(
        "{:28} {:>12} {:>12}   probity / git, {PAIRS} pairs: min, median, max",
        "", "probity ms", "git ms"
    ));
    for scenario in SCENARIOS {
        measure(&scenario, &binary, folder.path())?;
    }
    Ok(true)
}

fn measure(scenario: &Scenario, binary: &Path, folder: &Path) -> Result<()> {
    let tree = folder.join("tree");
    fs::create_dir(&tree)?;
    let patch = (scenario.make)(&tree)?;
    fs::write(folder.join("patch"), patch)?;
    let (mut ours, mut gits) = (Vec::new(), Vec::new());
    // The first pair only warms up.
    for _ in 0..=PAIRS {
        ours.push(timed(scenario, folder, || {
            let mut command = Command::new(binary);
            command
                .args(["apply", "--repo", "tree", "--spec", "spec.toml"])
                .args(["--format", "unified-diff", "patch"])
                .current_dir(folder);
            command
        })?);
        gits.push(timed(scenario, folder, || {
            let mut command = git(&tree);
            command.arg("../patch");
            command
        })?);
    }
    ours.remove(0);
    gits.remove(0);
    let ratios = Ratios::of(&ours, &gits);
    say(&format!(
        "{:28} {:12.1} {:12.1}   {ratios:.2}",
        scenario.name,
        median(&sorted(ours.iter().copied())),
        median(&sorted(gits.iter().copied())),
    ));
    fs::remove_dir_all(&tree)?;
    Ok(())
}

/// `git apply` outside of every repository.
fn git(tree: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .arg("apply")
        .current_dir(tree)
        .env("GIT_CEILING_DIRECTORIES", tree.parent().unwrap_or(tree));
    command
}

/// Milliseconds of one run on a tree at rest; the tree is put back after it.
fn timed(scenario: &Scenario, folder: &Path, command: impl Fn() -> Command) -> Result<f64> {
    std::thread::sleep(REST);
    let started = Instant::now();
    let status = command()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let took = started.elapsed();
    ensure!(
        status.success() == scenario.applies,
        "{}: {status}",
        scenario.name
    );
    if scenario.applies {
        let back = git(&folder.join("tree"))
            .args(["-R", "../patch"])
            .status()?;
        ensure!(back.success(), "{} cannot be put back", scenario.name);
    }
    Ok(took.as_secs_f64() * 1000.0)
}

/// The ratios of measured pairs; shows as the least, the median and the greatest.
pub(crate) struct Ratios(Vec<f64>);

impl Ratios {
    pub(crate) fn of(over: &[f64], under: &[f64]) -> Self {
        Self(sorted(over.iter().zip(under).map(|(a, b)| a / b)))
    }
}

impl std::fmt::Display for Ratios {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = f.precision().unwrap_or(2);
        let least = self.0.first().copied().unwrap_or_default();
        let greatest = self.0.last().copied().unwrap_or_default();
        let middle = median(&self.0);
        write!(
            f,
            "{least:.digits$}, {middle:.digits$}, {greatest:.digits$}"
        )
    }
}

pub(crate) fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

pub(crate) fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// The path of a file: 20 in a folder.
fn path(n: usize) -> String {
    format!("d{}/e{}/f{n}.txt", n / 500, n / 20 % 25)
}

fn many(folder: &Path, count: usize) -> Result<()> {
    for n in 0..count {
        let file = folder.join(path(n));
        if n % 20 == 0 {
            fs::create_dir_all(file.parent().context("a folder")?)?;
        }
        fs::write(file, format!("first {n}\nsecond\nthird\nfourth\nfifth\n"))?;
    }
    Ok(())
}

fn one_line(n: usize) -> String {
    let path = path(n);
    format!(
        "--- a/{path}\n+++ b/{path}\n@@ -1,5 +1,5 @@\n first {n}\n second\n-third\n+3rd\n fourth\n fifth\n"
    )
}

/// A file of 50 MB, and a hunk in its middle that expects `word` there.
fn large(folder: &Path, word: &str) -> Result<String> {
    let mut text = String::with_capacity(51 << 20);
    let mut lines = 0_usize;
    while text.len() < 50 << 20 {
        writeln!(text, "line {lines} of a large file, third of its kind")?;
        lines += 1;
    }
    fs::write(folder.join("large.txt"), text)?;
    let middle = lines / 2;
    let line = |n: usize, word: &str| format!("line {n} of a large file, {word} of its kind\n");
    Ok(format!(
        "--- a/large.txt\n+++ b/large.txt\n@@ -{},3 +{},3 @@\n {}-{}+{} {}",
        middle,
        middle,
        line(middle - 1, "third"),
        line(middle, word),
        line(middle, "fourth"),
        line(middle + 1, "third")
    ))
}

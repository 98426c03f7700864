//! `cargo xtask bench isolated`: calls, programs and oracles, per second.
//!
//! One function is called 1,000 times, with a fresh instance for each call and with one for
//! all, in workers and in threads; what a check took is what its verdict says under
//! `timings`. Beside them, in the same minutes, native processes of Python do the same: one
//! for each call or run, which is what a fresh instance replaces.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::bench::{PAIRS, median, sorted};
use crate::{probity, run as run_command, say};

/// Calls of a check.
const CALLS: usize = 1000;
/// Runs of a program, and native processes.
const RUNS: usize = 100;

const CODE: &str = "\
def greet(name, language=\"en\"):
    greetings = {\"en\": \"Hello\", \"de\": \"Hallo\"}
    return f\"{greetings[language]}, {name}!\"


if __name__ == \"__main__\":
    import sys

    print(greet(sys.argv[1]))
";
const REFERENCE: &str = "\
def greet(name, language=\"en\"):
    return {\"en\": \"Hello\", \"de\": \"Hallo\"}[language] + \", \" + name + \"!\"


def generate(random, index):
    return [str(random.random()), random.choice([\"en\", \"de\"])]
";
/// The checks, with how many calls or runs each makes.
const CHECKS: [(&str, usize); 4] = [
    ("call, an instance each", CALLS),
    ("call, one for all", CALLS),
    ("oracle, an instance each", CALLS),
    ("program", RUNS),
];

pub(crate) fn run() -> Result<bool> {
    let binary = probity::build()?;
    run_command(Command::new(&binary).args(["runtime", "add", "python"]))?;
    let folder = tempfile::tempdir()?;
    write(folder.path())?;
    say(&format!(
        "{:36} {:>10}   min, median, max of {PAIRS} rounds",
        "per second", "median"
    ));
    for isolation in ["process", "thread"] {
        let mut rates: Vec<Vec<f64>> = CHECKS.iter().map(|_| Vec::new()).collect();
        // The first round only warms up.
        for round in 0..=PAIRS {
            let seconds = judged(&binary, folder.path(), isolation)?;
            for ((all, (_, count)), seconds) in rates.iter_mut().zip(CHECKS).zip(seconds) {
                if round > 0 {
                    all.push(f64_of(count) / seconds);
                }
            }
        }
        for ((name, _), rates) in CHECKS.iter().zip(rates) {
            row(&format!("{name}, {isolation}"), rates);
        }
    }
    let mut rates = Vec::new();
    for _ in 0..PAIRS {
        rates.push(native(folder.path())?);
    }
    row("python, a process each, 2 at a time", rates);
    Ok(true)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a benchmark are small"
)]
const fn f64_of(count: usize) -> f64 {
    count as f64
}

fn row(name: &str, rates: Vec<f64>) {
    let rates = sorted(rates.into_iter());
    let edge = |rate: Option<&f64>| rate.copied().unwrap_or_default();
    let middle = median(&rates);
    say(&format!(
        "{name:36} {middle:10.0}   {:.0}, {middle:.0}, {:.0}",
        edge(rates.first()),
        edge(rates.last())
    ));
}

fn write(folder: &Path) -> Result<()> {
    let names = ["Ada", "Grace", "Barbara", "Frances"];
    let cases: Vec<Value> = names
        .iter()
        .cycle()
        .take(CALLS)
        .map(|name| serde_json::json!({"args": [name, "de"], "returns": format!("Hallo, {name}!")}))
        .collect();
    fs::write(
        folder.join("calls.json"),
        serde_json::json!({"case": cases}).to_string(),
    )?;
    let runs: Vec<Value> = names
        .iter()
        .cycle()
        .take(RUNS)
        .map(|name| serde_json::json!({"argv": [name], "stdout": format!("Hello, {name}!\n")}))
        .collect();
    fs::write(
        folder.join("runs.json"),
        serde_json::json!({"case": runs}).to_string(),
    )?;
    let [each, shared, oracle, program] = CHECKS.map(|(name, _)| name);
    let spec = format!(
        "version = 1\nrequire = \"isolated\"\n\
         [[check]]\nname = \"{each}\"\nkind = \"call\"\nfunction = \"greeter:greet\"\ncases-from = [\"calls.json\"]\n\
         [[check]]\nname = \"{shared}\"\nkind = \"call\"\nfunction = \"greeter:greet\"\ninstance = \"shared\"\ncases-from = [\"calls.json\"]\n\
         [[check]]\nname = \"{oracle}\"\nkind = \"oracle\"\nfunction = \"greeter:greet\"\nreference = \"reference.py\"\ncases = {CALLS}\n\
         [[check]]\nname = \"{program}\"\nkind = \"program\"\nargv = [\"greeter.py\"]\ncases-from = [\"runs.json\"]\n"
    );
    fs::write(folder.join("probity.toml"), spec)?;
    fs::write(folder.join("reference.py"), REFERENCE)?;
    let repo = folder.join("repo");
    fs::create_dir_all(&repo)?;
    fs::write(repo.join("greeter.py"), CODE)?;
    Ok(())
}

/// Seconds of each check of a verdict that must pass.
fn judged(binary: &Path, folder: &Path, isolation: &str) -> Result<Vec<f64>> {
    let output = Command::new(binary)
        .args([
            "verify",
            "--json",
            "--repo",
            "repo",
            "--spec",
            "probity.toml",
        ])
        .args(["--isolation", isolation])
        .current_dir(folder)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the verdict is not `passed`");
    let verdict: Value = serde_json::from_slice(&output.stdout)?;
    CHECKS
        .iter()
        .map(|(name, _)| {
            let ns = verdict
                .pointer(&format!("/timings/checks/{name}"))
                .and_then(Value::as_f64);
            Ok(ns.with_context(|| format!("no time of `{name}`"))? / 1e9)
        })
        .collect()
}

/// Native processes per second, two at a time, each importing the module and calling.
fn native(folder: &Path) -> Result<f64> {
    let started = Instant::now();
    for _ in 0..RUNS / 2 {
        let start = || {
            Command::new("python3")
                .args(["-S", "-c", "import greeter; greeter.greet('Ada', 'de')"])
                .current_dir(folder.join("repo"))
                .spawn()
        };
        let running = [start()?, start()?];
        for mut process in running {
            ensure!(process.wait()?.success(), "python3 failed");
        }
    }
    Ok(f64_of(RUNS) / started.elapsed().as_secs_f64())
}

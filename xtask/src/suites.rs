//! `cargo xtask bench suites`: Python suites in the sandbox beside native pytest of the same
//! version with the same wheels.
//!
//! Whole processes run in turn, A B A B …, and the ratio is taken pair by pair, so that a
//! machine whose speed drifts slows both. Through the library, with everything warm, suites
//! are beside whole native processes, as that is what they replace.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use crate::bench::{PAIRS, Ratios, median, sorted};
use crate::runner::Runner;
use crate::{probity, root, run as run_command, say, venv};

/// A suite to time.
struct Suite {
    name: &'static str,
    isolation: &'static str,
    files: fn() -> Vec<(String, String)>,
    pairs: usize,
}

const SUITES: [Suite; 5] = [
    Suite {
        name: "5 tests",
        isolation: "suite",
        files: five,
        pairs: PAIRS,
    },
    Suite {
        name: "2,000 tests",
        isolation: "suite",
        files: || many(40, 50),
        pairs: 3,
    },
    Suite {
        name: "500 tests",
        isolation: "suite",
        files: || many(10, 50),
        pairs: 5,
    },
    Suite {
        name: "500 tests, a guest each",
        isolation: "test",
        files: || many(10, 50),
        pairs: 5,
    },
    Suite {
        name: "computing",
        isolation: "suite",
        files: computing,
        pairs: 3,
    },
];

pub(crate) fn run() -> Result<bool> {
    let binary = probity::build()?;
    let python = pytest()?;
    ensure_runtime(&binary)?;
    let folder = tempfile::tempdir()?;
    say(&format!(
        "{:26} {:>12} {:>12}   probity / native, pairs: min, median, max",
        "whole processes", "probity ms", "native ms"
    ));
    for (number, suite) in SUITES.iter().enumerate() {
        let repo = folder.path().join(number.to_string());
        write(&repo, suite)?;
        let mut ours = Command::new(&binary);
        ours.arg("verify").current_dir(&repo);
        let mut native = native(&python, &repo);
        pairs(suite.name, suite.pairs, &mut ours, &mut native)?;
    }
    warm(&folder.path().join("0"), &python)?;
    Ok(true)
}

/// The library with everything warm, one suite and two at a time, beside processes of pytest.
fn warm(repo: &Path, python: &Path) -> Result<()> {
    const COUNT: u32 = 40;
    let program = probity::example("suites")?;
    let state = std::env::var_os("PROBITY_STATE").map_or_else(
        || -> Result<PathBuf> {
            let base = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
            let home =
                std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
            Ok(base.or(home).context("no HOME")?.join("probity"))
        },
        |state| Ok(PathBuf::from(state)),
    )?;
    let mut runner = Runner::start(
        Command::new(program)
            .arg(crate::cache()?)
            .arg(state.join("seals.key"))
            .arg(repo),
    )?;
    say(&format!(
        "\n{:26} {:>12} {:>12}   min, median, max of {PAIRS} rounds of {COUNT}",
        "warm, through the library", "ms a suite", "suites / s"
    ));
    for kind in ["thread", "process", "thread2", "process2"] {
        runner.nanoseconds(kind, COUNT)?;
        let mut rates = Vec::new();
        for _ in 0..PAIRS {
            rates.push(f64::from(COUNT) * 1e9 / runner.nanoseconds(kind, COUNT)?);
        }
        let rates = sorted(rates.into_iter());
        let at_a_time = if kind.ends_with('2') { 2.0 } else { 1.0 };
        rate_row(kind, at_a_time, &rates);
    }
    runner.end()?;
    let mut rates = Vec::new();
    for _ in 0..PAIRS {
        let started = Instant::now();
        let mut running: Vec<_> = Vec::new();
        for _ in 0..2 {
            running.push(native(python, repo).spawn()?);
        }
        for mut process in running {
            ensure!(process.wait()?.success(), "pytest failed");
        }
        rates.push(2.0 / started.elapsed().as_secs_f64());
    }
    rate_row("python -m pytest, 2", 2.0, &sorted(rates.into_iter()));
    Ok(())
}

fn rate_row(name: &str, at_a_time: f64, rates: &[f64]) {
    let middle = median(rates);
    let edge = |rate: Option<&f64>| rate.copied().unwrap_or_default();
    say(&format!(
        "{name:26} {:12.1} {middle:12.1}   {:.1}, {middle:.1}, {:.1}",
        at_a_time * 1000.0 / middle,
        edge(rates.first()),
        edge(rates.last()),
    ));
}

fn native(python: &Path, repo: &Path) -> Command {
    let mut command = Command::new(python);
    command
        .args(["-m", "pytest", "-q", "tests"])
        .current_dir(repo)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn pairs(name: &str, count: usize, ours: &mut Command, native: &mut Command) -> Result<()> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    // The first pair only warms up.
    for pair in 0..=count {
        let times = (timed(ours)?, timed(native)?);
        if pair > 0 {
            a.push(times.0);
            b.push(times.1);
        }
    }
    let ratios = Ratios::of(&a, &b);
    say(&format!(
        "{name:26} {:12.1} {:12.1}   {ratios:.2}",
        median(&sorted(a.into_iter())),
        median(&sorted(b.into_iter())),
    ));
    Ok(())
}

/// Milliseconds of a run that must pass.
fn timed(command: &mut Command) -> Result<f64> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let status = command.status()?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(started.elapsed().as_secs_f64() * 1000.0)
}

fn write(repo: &Path, suite: &Suite) -> Result<()> {
    let spec = format!(
        "version = 1\n[[check]]\nname = \"tests\"\nkind = \"suite\"\nrunner = \"pytest\"\nargs = [\"tests\"]\nisolation = \"{}\"\nexpect = \"any\"\n",
        suite.isolation
    );
    let mut files = (suite.files)();
    files.push(("probity.toml".to_owned(), spec));
    for (path, text) in files {
        let path = repo.join(path);
        fs::create_dir_all(path.parent().context("a folder")?)?;
        fs::write(path, text)?;
    }
    Ok(())
}

fn five() -> Vec<(String, String)> {
    let code = "def add(a, b):\n    return a + b\n";
    let tests = "import pytest\nfrom calc import add\n\n\ndef test_one():\n    assert add(1, 2) == 3\n\n\ndef test_file(tmp_path):\n    (tmp_path / \"x\").write_text(\"1\")\n    assert (tmp_path / \"x\").read_text() == \"1\"\n\n\n@pytest.mark.parametrize(\"n\", [1, 2])\ndef test_each(n):\n    assert add(n, 0) == n\n\n\ndef test_out(capsys):\n    print(\"x\")\n    assert capsys.readouterr().out == \"x\\n\"\n";
    vec![
        ("calc.py".to_owned(), code.to_owned()),
        ("tests/test_calc.py".to_owned(), tests.to_owned()),
    ]
}

/// `files` files of `each` small tests.
fn many(files: usize, each: usize) -> Vec<(String, String)> {
    (0..files)
        .map(|file| {
            let mut text = String::from("import json\n\n");
            for test in 0..each {
                let _ = write!(
                    text,
                    "\ndef test_{test}(tmp_path):\n    value = {{\"n\": {test}, \"list\": list(range({test}))}}\n    assert json.loads(json.dumps(value)) == value\n    assert sorted(value[\"list\"], reverse=True)[:1] == [{test} - 1][:{test}]\n\n"
                );
            }
            (format!("tests/test_f{file}.py"), text)
        })
        .collect()
}

fn computing() -> Vec<(String, String)> {
    let tests = "def test_loop():\n    total = 0\n    for n in range(3_000_000):\n        total += n % 7\n    assert total == 8_999_994\n\n\ndef test_strings():\n    words = [str(n) for n in range(200_000)]\n    assert len(\"\".join(sorted(words))) == 1_088_890\n\n\ndef test_calls():\n    def fib(n):\n        return n if n < 2 else fib(n - 1) + fib(n - 2)\n\n    assert fib(25) == 75_025\n";
    vec![("tests/test_computing.py".to_owned(), tests.to_owned())]
}

/// Makes sure that the runtime is there before anything is timed.
fn ensure_runtime(binary: &Path) -> Result<()> {
    run_command(Command::new(binary).args(["runtime", "add", "python"]))
}

/// A native Python with the packages of the default lock.
pub(crate) fn pytest() -> Result<PathBuf> {
    let lock = fs::read_to_string(root().join("crates/sandbox/python/pytest.lock"))?;
    let folder = venv::ready("pytest-default-1", &lock, |_| Ok(()))?;
    Ok(venv::python(&folder))
}

//! Chores of the workspace: `cargo xtask CHORE`.
//!
//! Each does what a person would do by hand, with the ordinary tools.

mod bench;
mod calls;
mod cheats;
mod diffs;
mod fuel;
mod fuzz;
mod isolated;
mod packs;
mod page;
mod parity;
mod probity;
mod repeat;
mod reports;
mod runner;
mod soak;
mod suites;
mod tasks;
mod test;
mod venv;
mod wasi_testsuite;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

const USAGE: &str = "\
Usage: cargo xtask CHORE

  test [-- ARGS]     build, install what the tests need, run all tests
                     (cargo nextest if it is there, else cargo test)
  tasks [--runtime NAME] [ID …]
                     rebuild the release tasks of tests/tasks from PyPI and judge each
                     three ways; without IDs all of them. On another runtime than the
                     usual one no test is excluded, so what differs there is named
  parity [ID …] [--also PYTHON] [--recorded] [--update]
                     run the suites of the release tasks and of tests/parity/packages here
                     and in the sandbox and compare them test by test; --also shows what a
                     further Python makes of the tests that differ (`pyodide`: CPython
                     3.14 from npm); --recorded compares what the last runs showed;
                     --update writes the table into docs/python.md (without IDs only)
  cheats [--write] [ID …]
                     run the patches of tests/cheats, which try to score without solving, and
                     their honest twins through plain pytest and through Probity, and print
                     the table; --write puts it into docs/cheating.md
  bench [apply|calls|fuel|isolated|suites]
                     apply: time probity apply beside git apply, as whole processes in
                     pairs; calls: time a guest's calls to the filesystem beside the same
                     in wasmtime's own WASI on tmpfs; fuel: time what metering costs;
                     isolated: calls, oracles and programs a second;
                     suites: time Python suites beside native pytest;
                     without a name all
  fuzz [--seconds N] [TARGET …]
                     run the fuzz targets of fuzz/ (all of them, 60 s each) on seeds
                     made from the conformance cases
  repeat [--times N] judge one patch N times (40), in workers and threads, on one and on
                     all processors, and compare the verdicts
  reports            write reports of a suite that tries to break them, and read them with
                     programs of other people, of pinned versions from PyPI
  soak [--seconds N] [calls|modules|components …]
                     run random guests (all kinds, 60 s each): calls of every function of
                     WASI, and modules and components through the whole path
  diffs [--sample N] try probity apply against git apply on the diffs between the releases
                     pinned in tests/release-diffs; with --sample on N of them only, always
                     the same, for which it fetches only what they need
  wasi-testsuite FOLDER …
                     run the public tests of WASI 0.1, from a checkout of the branch
                     prod/testsuite-base of WebAssembly/wasi-testsuite
  packs [--check]    rebuild the check packs of guest-checks, or prove that the
                     committed ones are what a rebuild gives

Environment: PROBITY_CACHE is where downloads and compiled code are kept
(default: $XDG_CACHE_HOME/probity, else ~/.cache/probity). PROBITY_BIN is a probity to
try instead of building one.";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((chore, rest)) = args.split_first() else {
        say(USAGE);
        return ExitCode::from(2);
    };
    let result = match chore.as_str() {
        "test" => test::run(rest),
        "tasks" => tasks::run(rest),
        "bench" => bench::run(rest),
        "fuzz" => fuzz::run(rest),
        "repeat" => repeat::run(rest),
        "reports" => reports::run(rest),
        "soak" => soak::run(rest),
        "diffs" => diffs::run(rest),
        "packs" => packs::run(rest),
        "cheats" => cheats::run(rest),
        "parity" => parity::run(rest),
        "wasi-testsuite" => wasi_testsuite::run(rest),
        "help" | "--help" | "-h" => {
            say(USAGE);
            return ExitCode::SUCCESS;
        }
        other => {
            say(&format!("there is no chore `{other}`\n\n{USAGE}"));
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints a line.
#[allow(
    clippy::print_stdout,
    reason = "a chore talks to the person who runs it"
)]
fn say(text: &str) {
    println!("{text}");
}

/// The root of the workspace that cargo runs this in. Asked at run time: a build folder may
/// be shared between checkouts.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(|| here.clone(), PathBuf::from)
}

/// The folder in which downloads, tools and compiled code are kept.
fn cache() -> Result<PathBuf> {
    let given = |name| std::env::var_os(name).map(PathBuf::from);
    given("PROBITY_CACHE")
        .or_else(|| given("XDG_CACHE_HOME").map(|base| base.join("probity")))
        .or_else(|| given("HOME").map(|home| home.join(".cache/probity")))
        .context("neither PROBITY_CACHE nor HOME is set")
}

/// Runs a command and fails if it does.
fn run(command: &mut std::process::Command) -> Result<()> {
    let status = command.status()?;
    anyhow::ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

//! `cargo xtask bench calls`: calls to the filesystem from inside a guest, in our sandbox
//! beside wasmtime's own WASI on a folder of the host's tmpfs.
//!
//! A third column is what the kernel alone takes for the same calls, without a guest: the
//! package runs each call on a thread of its own, which an embedder may avoid, and no
//! sandbox over a folder of the host can be faster than that.
//!
//! The same guest makes the same calls in both, in turn, A B A B …, so that a machine whose
//! speed drifts slows both; the ratio is taken pair by pair. Wasmtime comes from PyPI, as a
//! package of one pinned version, in a virtual environment in the cache.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::bench::{median, sorted};
use crate::{probity, root, run as run_command, say};

/// Counted pairs of runs.
const PAIRS: usize = 7;
/// What is measured, with the guest's letter for it and the calls of one run.
const KINDS: [(&str, &str, u32); 4] = [
    ("open and close a file", "o", 50_000),
    ("stat a path", "s", 50_000),
    ("read 4 KiB", "r", 100_000),
    ("list 100 entries", "d", 3_000),
];
/// The package, as pip's requirements name it. The version is near that of our engine, of
/// which PyPI has only the first of each month.
const PACKAGE: &str = "wasmtime==48.0.0 \
    --hash=sha256:58544d539053dff7bd4cf30c40d7a540862d683013c0dfa6ba46a063f5b682f7\n";

pub(crate) fn run() -> Result<bool> {
    let python = environment()?;
    let ours = probity::example("guest_calls")?;
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() {
        tempfile::tempdir_in(shared)?
    } else {
        tempfile::tempdir()?
    };
    fill(folder.path())?;
    let bench = root().join("guest-checks/bench");
    let module = folder.path().join("calls.wat");
    fs::copy(bench.join("calls.wat"), &module)?;
    let mut ours = Runner::start(Command::new(ours).arg(&module).arg(folder.path()))?;
    let mut theirs = Runner::start(
        Command::new(python)
            .arg(bench.join("wasmtime_calls.py"))
            .arg(&module)
            .arg(folder.path()),
    )?;
    say(&format!(
        "{:24} {:>12} {:>12} {:>12}   probity / wasmtime, {PAIRS} pairs: min, median, max",
        "calls per second", "probity", "wasmtime", "kernel alone"
    ));
    for (name, letter, count) in KINDS {
        let (mut fast, mut slow, mut least) = (Vec::new(), Vec::new(), Vec::new());
        let capital = letter.to_uppercase();
        // The first pair only warms up.
        for pair in 0..=PAIRS {
            let times = (
                ours.nanoseconds(letter, count)?,
                theirs.nanoseconds(letter, count)?,
                ours.nanoseconds(&capital, count)?,
            );
            if pair > 0 {
                fast.push(times.0);
                slow.push(times.1);
                least.push(times.2);
            }
        }
        let ratios = sorted(fast.iter().zip(&slow).map(|(a, b)| b / a));
        let per_second =
            |times: Vec<f64>| f64::from(count) * 1e9 / median(&sorted(times.into_iter()));
        say(&format!(
            "{name:24} {:12.0} {:12.0} {:12.0}   {:.1}, {:.1}, {:.1}",
            per_second(fast),
            per_second(slow),
            per_second(least),
            ratios.first().copied().unwrap_or_default(),
            median(&ratios),
            ratios.last().copied().unwrap_or_default(),
        ));
    }
    ours.end()?;
    theirs.end()?;
    Ok(true)
}

/// What the guest expects to find.
fn fill(folder: &Path) -> Result<()> {
    fs::create_dir(folder.join("src"))?;
    fs::write(folder.join("src/file.txt"), [b'x'; 4096])?;
    fs::create_dir(folder.join("many"))?;
    for index in 0..100 {
        fs::write(folder.join(format!("many/entry-{index:03}.txt")), "text\n")?;
    }
    Ok(())
}

/// A Python that has the package.
fn environment() -> Result<PathBuf> {
    let folder = crate::cache()?.join("tools/wasmtime-48.0.0");
    let python = folder.join("bin/python");
    let ready = folder.join("ready");
    if !ready.exists() {
        run_command(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&folder),
        )?;
        let requirements = folder.join("requirements.txt");
        fs::write(&requirements, PACKAGE)?;
        run_command(
            Command::new(&python)
                .args(["-m", "pip", "install", "--quiet", "--no-deps"])
                .args(["--disable-pip-version-check", "--require-hashes", "-r"])
                .arg(&requirements),
        )?;
        fs::write(&ready, "")?;
    }
    Ok(python)
}

/// A process that runs the guest for each line that it is sent.
struct Runner {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Runner {
    fn start(command: &mut Command) -> Result<Self> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let input = process.stdin.take().context("no stdin")?;
        let output = process.stdout.take().context("no stdout")?;
        Ok(Self {
            process,
            input,
            output: BufReader::new(output),
        })
    }

    fn nanoseconds(&mut self, letter: &str, count: u32) -> Result<f64> {
        writeln!(self.input, "{letter} {count}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        line.trim().parse().context("the run failed")
    }

    fn end(self) -> Result<()> {
        let Self {
            mut process, input, ..
        } = self;
        drop(input);
        ensure!(process.wait()?.success(), "a runner failed at its end");
        Ok(())
    }
}

//! `cargo xtask bench calls`: calls to the filesystem from inside a guest, in our sandbox
//! beside wasmtime's own WASI on a folder of the host's tmpfs.
//!
//! A third column is what the kernel alone takes for the same calls, without a guest: the
//! package runs each call on a thread of its own, which an embedder may avoid, and no
//! sandbox over a folder of the host can be faster than that.
//!
//! The same guest makes the same calls in both, in turn, A B A B …, so that a machine whose
//! speed drifts slows both; the ratio is taken pair by pair.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::bench::{PAIRS, Ratios, median, sorted};
use crate::runner::{Runner, wasmtime};
use crate::{probity, root, say};

/// What is measured, with the guest's letter for it and the calls of one run.
const KINDS: [(&str, &str, u32); 4] = [
    ("open and close a file", "o", 50_000),
    ("stat a path", "s", 50_000),
    ("read 4 KiB", "r", 100_000),
    ("list 100 entries", "d", 3_000),
];
pub(crate) fn run() -> Result<bool> {
    let python = wasmtime()?;
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
        let ratios = Ratios::of(&slow, &fast);
        let per_second =
            |times: Vec<f64>| f64::from(count) * 1e9 / median(&sorted(times.into_iter()));
        say(&format!(
            "{name:24} {:12.0} {:12.0} {:12.0}   {ratios:.1}",
            per_second(fast),
            per_second(slow),
            per_second(least),
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

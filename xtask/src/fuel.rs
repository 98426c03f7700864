//! `cargo xtask bench fuel`: what metering fuel costs, in the same engine with and without.
//!
//! Compiled code that counts does the same work as code that does not, in turn, A B A B …;
//! the ratio is taken pair by pair. Our engine always counts, so this is wasmtime's own
//! package; operators cost other amounts of fuel there, which changes constants only.

use std::process::Command;

use anyhow::Result;

use crate::bench::{PAIRS, Ratios, median, sorted};
use crate::runner::{Runner, wasmtime};
use crate::{root, say};

/// What is measured, with the guest's export and the rounds of one run.
const KINDS: [(&str, &str, u32); 3] = [
    ("a loop over registers", "loop", 100_000_000),
    ("a loop over memory", "sieve", 500),
    ("calls and branches", "fib", 3_000),
];

pub(crate) fn run() -> Result<bool> {
    let bench = root().join("guest-checks/bench");
    let mut runner = Runner::start(
        Command::new(wasmtime()?)
            .arg(bench.join("wasmtime_fuel.py"))
            .arg(bench.join("compute.wat")),
    )?;
    say(&format!(
        "{:24} {:>12} {:>12}   metered / not, {PAIRS} pairs: min, median, max",
        "", "metered ms", "not ms"
    ));
    for (name, export, count) in KINDS {
        let (mut metered, mut plain) = (Vec::new(), Vec::new());
        // The first pair only warms up.
        for pair in 0..=PAIRS {
            let times = (
                runner.nanoseconds(&format!("{export}-metered"), count)?,
                runner.nanoseconds(export, count)?,
            );
            if pair > 0 {
                metered.push(times.0);
                plain.push(times.1);
            }
        }
        let ratios = Ratios::of(&metered, &plain);
        let milliseconds = |times: Vec<f64>| median(&sorted(times.into_iter())) / 1e6;
        say(&format!(
            "{name:24} {:12.1} {:12.1}   {ratios:.2}",
            milliseconds(metered),
            milliseconds(plain),
        ));
    }
    runner.end()?;
    Ok(true)
}

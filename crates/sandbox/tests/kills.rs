//! Workers are killed at random moments while a batch of verdicts is made: no verdict is
//! lost or wrong, nothing is stuck, nobody is left behind.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test has nobody to report to"
)]

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use probity_core::budget::{Budget, Limit};
use probity_core::quantity::Fuel;
use probity_sandbox::fs::Mounts;
use probity_sandbox::guest::RunError;
use probity_sandbox::worker::{PoolSettings, Process, WorkerCommand};
use probity_sandbox::{Ending, Invocation, Sandbox, Trust};

/// How many kills.
const KILLS: u32 = 200;

/// The running children of this process.
fn children() -> Vec<u32> {
    let me = std::process::id().to_string();
    let of_mine = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut after = stat.rsplit_once(')')?.1.split_whitespace();
        let state = after.next()?;
        (after.next()? == me && state != "Z").then_some(pid)
    };
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(of_mine).collect()
}

/// Numbers that look random and are the same each time.
fn scattered(seed: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) ^ seed
}

#[test]
fn kills_at_random_moments_cost_only_what_they_hit() {
    let command = WorkerCommand::program(env!("CARGO_BIN_EXE_probity-worker"));
    let settings = PoolSettings {
        workers: 2,
        ahead: 2,
        ..PoolSettings::default()
    };
    let sandbox = Sandbox::new(Process::new(command, settings).unwrap(), None).unwrap();
    let budget = Budget {
        fuel: Fuel(20_000_000),
        ..Budget::check()
    };
    let module = |text: &str| {
        let bytes = wat::parse_str(text).unwrap();
        let module = sandbox.module(&bytes, &budget, Trust::Untrusted);
        module.unwrap().unwrap()
    };
    let quiet = module(r#"(module (memory (export "memory") 1) (func (export "_start")))"#);
    let spins = module(
        r#"(module (memory (export "memory") 1) (func (export "_start") (loop $l (br $l))))"#,
    );
    let (kills, done) = (AtomicU32::new(0), AtomicBool::new(false));
    let (good, lost) = (AtomicU32::new(0), AtomicU32::new(0));
    let started = Instant::now();
    std::thread::scope(|scope| {
        for runner in 0..3 {
            let (sandbox, quiet, spins) = (&sandbox, &quiet, &spins);
            let (done, good, lost) = (&done, &good, &lost);
            scope.spawn(move || {
                let mut turn = runner;
                while !done.load(Ordering::Relaxed) {
                    turn += 1;
                    let (module, expected) = if turn % 3 == 0 {
                        (spins, None)
                    } else {
                        (quiet, Some(Ending::Exited(0)))
                    };
                    let args = vec!["guest".to_owned()];
                    let invocation = Invocation::command(args, Mounts::default(), budget);
                    match (sandbox.run(invocation, module), expected) {
                        (Ok(run), Some(expected)) => assert_eq!(run.ending, expected),
                        (Ok(run), None) => {
                            assert!(
                                matches!(&run.ending, Ending::Limit(hit) if hit.limit == Limit::Fuel),
                                "{:?}",
                                run.ending
                            );
                            assert_eq!(run.fuel, budget.fuel);
                        }
                        (Err(RunError::Worker(message)), _) => {
                            assert!(message.contains("SIGKILL"), "{message}");
                            lost.fetch_add(1, Ordering::Relaxed);
                            continue;
                        }
                        (Err(error), _) => panic!("{error:?}"),
                    }
                    good.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while kills.load(Ordering::Relaxed) < KILLS {
            let number = kills.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_micros(scattered(u64::from(number)) % 20_000));
            let alive = children();
            let Some(victim) = alive.get(
                usize::try_from(scattered(7 + u64::from(number))).unwrap() % alive.len().max(1),
            ) else {
                continue;
            };
            let victim = i32::try_from(*victim).unwrap();
            let victim = rustix::process::Pid::from_raw(victim).unwrap();
            if rustix::process::kill_process(victim, rustix::process::Signal::KILL).is_ok() {
                kills.fetch_add(1, Ordering::Relaxed);
            }
            assert!(started.elapsed() < Duration::from_secs(300), "it is stuck");
        }
        done.store(true, Ordering::Relaxed);
    });
    let (good, lost) = (good.into_inner(), lost.into_inner());
    assert!(lost <= KILLS, "{lost} lost by {KILLS} kills");
    assert!(lost > 0 && good > 0, "{good} good, {lost} lost");
    drop(sandbox);
    let deadline = Instant::now() + Duration::from_secs(10);
    while !children().is_empty() {
        assert!(Instant::now() < deadline, "left behind: {:?}", children());
        std::thread::sleep(Duration::from_millis(5));
    }
}

//! Workers: the same results as in this process, and what it costs when one breaks.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test has nobody to report to"
)]

use std::time::{Duration, Instant};

use probity_core::budget::{Budget, Limit};
use probity_core::quantity::{ByteSize, Fuel, WallTime};
use probity_core::repo::File;
use probity_core::{Repo, RepoPath};
use probity_sandbox::engine::ModuleError;
use probity_sandbox::fs::{Access, Device, Devices, Mounts};
use probity_sandbox::guest::RunError;
use probity_sandbox::worker::{PoolSettings, Process, WorkerCommand};
use probity_sandbox::{
    Cancel, Conditions, Ending, Invocation, Listener, Module, Run, Sandbox, Trust,
};

fn pool(settings: PoolSettings) -> Process {
    let command = WorkerCommand::program(env!("CARGO_BIN_EXE_probity-worker"));
    Process::new(command, settings).unwrap()
}

fn workers() -> Sandbox {
    let settings = PoolSettings {
        workers: 1,
        ..PoolSettings::default()
    };
    Sandbox::new(pool(settings), None).unwrap()
}

fn budget() -> Budget {
    Budget {
        fuel: Fuel(100_000_000),
        memory: ByteSize::mib(4),
        ..Budget::check()
    }
}

fn module(sandbox: &Sandbox, text: &str) -> Module {
    let bytes = wat::parse_str(text).unwrap();
    sandbox
        .module(&bytes, &budget(), Trust::Untrusted)
        .unwrap()
        .unwrap()
}

fn invocation() -> Invocation {
    let mut repo = Repo::new();
    for (path, text) in [
        ("a.txt", "one\n"),
        ("src/b.txt", "two\n"),
        ("src/empty", ""),
    ] {
        let path: RepoPath = path.parse().unwrap();
        repo.insert(&path, File::regular(text.as_bytes())).unwrap();
    }
    let mut mounts = Mounts::new(Devices::Usual);
    mounts.folder("/repo", repo.root(), Access::Writable);
    mounts.empty("/tmp", Access::Writable);
    mounts.device("/dev/results", Device::Results);
    let mut invocation = Invocation::command(vec!["guest".to_owned()], mounts, budget());
    invocation.preopens = vec!["/".to_owned()];
    invocation
}

fn run(sandbox: &Sandbox, text: &str) -> Result<Run, RunError> {
    let module = module(sandbox, text);
    sandbox.run(invocation(), &module)
}

/// Everything of a run that must not depend on where it ran.
fn reproducible(run: &Run) -> String {
    format!(
        "{:?}",
        Run {
            wall_time: WallTime(0),
            ..run.clone()
        }
    )
}

const QUIET: &str = r#"(module (memory (export "memory") 1) (func (export "_start")))"#;
const SPINS: &str =
    r#"(module (memory (export "memory") 1) (func (export "_start") (loop $l (br $l))))"#;

/// A budget that a loop does not use up while a test waits.
fn endless() -> Invocation {
    let mut invocation = invocation();
    invocation.budget.fuel = Fuel(u64::MAX / 4);
    invocation
}

/// Reads a file of the tree, writes one, prints, reports, asks for time and randomness.
const BUSY: &str = r#"(module
    (import "wasi_snapshot_preview1" "path_open"
        (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "clock_time_get" (func $time (param i32 i64 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 0) "repo/src/b.txt")
    (data (i32.const 32) "repo/src/new.txt")
    (data (i32.const 64) "dev/results")
    (data (i32.const 96) "\80\00\00\00\40\00\00\00")
    (func $must (param i32) (if (local.get 0) (then unreachable)))
    (func (export "_start")
        (call $must (call $open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 14)
            (i32.const 0) (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 112)))
        (call $must (call $read (i32.load (i32.const 112)) (i32.const 96) (i32.const 1) (i32.const 116)))
        (call $must (call $random (i32.const 144) (i32.const 16)))
        (call $must (call $time (i32.const 0) (i64.const 1) (i32.const 160)))
        (call $must (call $open (i32.const 3) (i32.const 0) (i32.const 32) (i32.const 16)
            (i32.const 1) (i64.const 64) (i64.const 64) (i32.const 0) (i32.const 112)))
        (call $must (call $write (i32.load (i32.const 112)) (i32.const 96) (i32.const 1) (i32.const 116)))
        (call $must (call $open (i32.const 3) (i32.const 0) (i32.const 64) (i32.const 11)
            (i32.const 0) (i64.const 64) (i64.const 64) (i32.const 0) (i32.const 112)))
        (call $must (call $write (i32.load (i32.const 112)) (i32.const 96) (i32.const 1) (i32.const 116)))
        (call $must (call $write (i32.const 1) (i32.const 96) (i32.const 1) (i32.const 116)))))"#;

#[test]
fn a_guest_leaves_the_same_in_a_worker_as_in_this_process() {
    let (here, there) = (Sandbox::in_process(None).unwrap(), workers());
    let recursion = r#"(module (memory (export "memory") 1)
        (func $f (call $f)) (func (export "_start") (call $f)))"#;
    let exits = r#"(module
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (memory (export "memory") 1) (func (export "_start") (call $exit (i32.const 42))))"#;
    let grows = r#"(module (memory (export "memory") 1)
        (func (export "_start") (drop (memory.grow (i32.const 1000))) unreachable))"#;
    let out_of_bounds = r#"(module (memory (export "memory") 1)
        (func (export "_start") (drop (i32.load (i32.const 65536)))))"#;
    let divides = r#"(module (memory (export "memory") 1)
        (func (export "_start") (drop (i32.div_u (i32.const 1) (i32.const 0)))))"#;
    let refused = r#"(module (import "env" "system" (func)) (func (export "_start")))"#;
    for text in [
        QUIET,
        BUSY,
        SPINS,
        recursion,
        exits,
        grows,
        out_of_bounds,
        divides,
        refused,
        BUSY,
    ] {
        let (here, there) = (run(&here, text).unwrap(), run(&there, text).unwrap());
        assert_eq!(reproducible(&here), reproducible(&there));
    }
}

#[test]
fn the_busy_guest_is_really_busy() {
    let run = run(&workers(), BUSY).unwrap();
    assert_eq!(run.ending, Ending::Exited(0));
    assert!(run.results.starts_with(b"two\n"), "{:?}", run.results);
    assert_eq!(run.stdout.bytes, run.results);
    assert!(run.reads.read.contains("/repo/src/b.txt"));
}

#[test]
fn seed_and_start_time_change_a_run_on_purpose() {
    let sandbox = workers();
    let module = module(&sandbox, BUSY);
    let with = |seed, start_time| {
        let mut invocation = invocation();
        invocation.depend_on(&Conditions {
            seed,
            start_time,
            ..Conditions::default()
        });
        sandbox.run(invocation, &module).unwrap().results
    };
    let plain = with(0, 1_000);
    assert_eq!(with(0, 1_000), plain);
    assert_ne!(with(1, 1_000), plain);
    assert_ne!(with(0, 2_000), plain);
}

/// Reports "two\n" over and over, a million times; `work` stands between the reports.
fn chatty(work: &str) -> String {
    let loop_over = format!(
        r#"(local $n i32)
        (call $must (call $open (i32.const 3) (i32.const 0) (i32.const 64) (i32.const 11)
            (i32.const 0) (i64.const 64) (i64.const 64) (i32.const 0) (i32.const 112)))
        (i32.store (i32.const 96) (i32.const 128))
        (i32.store (i32.const 100) (i32.const 4))
        (i32.store (i32.const 128) (i32.const 0x0a6f7774))
        (loop $again
            (call $must (call $write (i32.load (i32.const 112)) (i32.const 96) (i32.const 1) (i32.const 116)))
            {work}
            (local.set $n (i32.add (local.get $n) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $n) (i32.const 20000))))))"#
    );
    let start = BUSY.find(r#"(func (export "_start")"#).unwrap();
    format!("{}(func (export \"_start\") {loop_over}", &BUSY[..start])
}

/// What a listener hears of a guest, piece by piece, and the run.
fn listened(
    sandbox: &Sandbox,
    module: &Module,
    fuel: u64,
) -> (Vec<Vec<u8>>, Result<Run, RunError>) {
    let (send, pieces) = std::sync::mpsc::channel();
    let mut invocation = invocation();
    invocation.budget.fuel = Fuel(fuel);
    invocation.listener = Some(Listener::new(move |piece| {
        let _ = send.send(piece.to_vec());
    }));
    let run = sandbox.run(invocation, module);
    (pieces.iter().collect(), run)
}

#[test]
fn results_are_heard_while_a_guest_runs_whole_and_in_few_pieces() {
    for sandbox in [workers(), Sandbox::in_process(None).unwrap()] {
        let module = module(&sandbox, &chatty(""));
        let (pieces, run) = listened(&sandbox, &module, 1_000_000_000);
        let run = run.unwrap();
        assert_eq!(run.ending, Ending::Exited(0));
        assert_eq!(run.results.len(), 80_000);
        assert_eq!(pieces.concat(), run.results);
        assert!(pieces.len() < 200, "{} pieces", pieces.len());
        assert_eq!(run.marks.len(), 20_001);
        let last = run.marks.last().unwrap();
        assert_eq!((last.end, last.fuel), (80_000, run.fuel));
        // Who does not listen gets the same run.
        let mut quiet = invocation();
        quiet.budget.fuel = Fuel(1_000_000_000);
        let quiet = sandbox.run(quiet, &module).unwrap();
        assert_eq!(reproducible(&quiet), reproducible(&run));
    }
}

#[test]
fn a_report_is_heard_soon_even_if_the_guest_then_only_works() {
    let sandbox = workers();
    let spins = chatty("(loop $l (br $l))");
    let module = module(&sandbox, &spins);
    let (send, pieces) = std::sync::mpsc::channel();
    let mut invocation = endless();
    invocation.budget.wall_time = WallTime::secs(20);
    let cancel = Cancel::default();
    invocation.cancel = cancel.clone();
    invocation.listener = Some(Listener::new(move |piece| {
        let _ = send.send(piece.to_vec());
    }));
    std::thread::scope(|scope| {
        let run = scope.spawn(|| sandbox.run(invocation, &module));
        let piece = pieces.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!(piece, b"two\n");
        cancel.cancel();
        assert!(matches!(run.join().unwrap(), Err(RunError::Cancelled)));
    });
}

/// Runs an endless guest and does `meddle` with its worker's number while it runs.
fn meddled(
    settings: PoolSettings,
    meddle: impl FnOnce(u32) + Send,
) -> (Result<Run, RunError>, Sandbox) {
    let pool = pool(PoolSettings {
        workers: 1,
        ..settings
    });
    let pid = loop {
        if let [pid] = pool.idle_workers()[..] {
            break pid;
        }
        std::thread::yield_now();
    };
    let sandbox = Sandbox::new(pool, None).unwrap();
    let module = module(&sandbox, SPINS);
    let mut invocation = endless();
    invocation.budget.wall_time = WallTime::millis(700);
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| sandbox.run(invocation, &module));
        std::thread::sleep(Duration::from_millis(100));
        meddle(pid);
        run.join().unwrap()
    });
    (run, sandbox)
}

fn signal(pid: u32, signal: &str) {
    let pid = pid.to_string();
    let status = std::process::Command::new("kill")
        .args(["-s", signal, &pid])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn a_worker_that_is_killed_costs_one_guest() {
    for (name, reason) in [
        ("KILL", "SIGKILL"),
        // The first one looks like a trap of the guest, which goes on; the second ends it.
        ("SEGV", "SIGSEGV"),
        ("ABRT", "SIGABRT"),
        ("BUS", "SIGBUS"),
    ] {
        let twice = |pid| {
            signal(pid, name);
            std::thread::sleep(Duration::from_millis(20));
            let _ = std::process::Command::new("kill")
                .args(["-s", name, &u32::to_string(&pid)])
                .stderr(std::process::Stdio::null())
                .status();
        };
        // On a busy machine the blow may fall before the guest is there, and hit nobody.
        let mut struck = meddled(PoolSettings::default(), twice);
        for _ in 0..5 {
            if struck.0.is_err() {
                break;
            }
            struck = meddled(PoolSettings::default(), twice);
        }
        let (run, sandbox) = struck;
        let Err(RunError::Worker(message)) = run else {
            panic!("{name}: {run:?}");
        };
        assert!(message.contains(reason), "{message}");
        let next = sandbox.run(invocation(), &module(&sandbox, BUSY)).unwrap();
        assert_eq!(next.ending, Ending::Exited(0));
    }
}

#[test]
fn a_worker_that_hangs_is_ended_at_the_deadline() {
    let settings = PoolSettings {
        grace: Duration::from_millis(300),
        ..PoolSettings::default()
    };
    let started = Instant::now();
    let (run, sandbox) = meddled(settings, |pid| signal(pid, "STOP"));
    let Err(RunError::Worker(message)) = run else {
        panic!("{run:?}");
    };
    assert!(message.contains("did not answer in time"), "{message}");
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(sandbox.run(invocation(), &module(&sandbox, QUIET)).is_ok());
}

#[test]
fn a_worker_that_dies_idle_is_replaced_and_nobody_notices() {
    let pool = pool(PoolSettings {
        workers: 1,
        ..PoolSettings::default()
    });
    while pool.idle_workers().is_empty() {
        std::thread::yield_now();
    }
    signal(pool.idle_workers()[0], "KILL");
    let sandbox = Sandbox::new(pool, None).unwrap();
    let module = module(&sandbox, BUSY);
    assert!(sandbox.run(invocation(), &module).is_ok());
}

#[test]
fn a_cancelled_guest_ends_soon_wherever_it_runs() {
    for sandbox in [workers(), Sandbox::in_process(None).unwrap()] {
        let module = module(&sandbox, SPINS);
        let cancel = Cancel::default();
        let mut invocation = endless();
        invocation.cancel = cancel.clone();
        let started = Instant::now();
        let run = std::thread::scope(|scope| {
            let run = scope.spawn(|| sandbox.run(invocation, &module));
            std::thread::sleep(Duration::from_millis(50));
            cancel.cancel();
            run.join().unwrap()
        });
        assert!(matches!(run, Err(RunError::Cancelled)), "{run:?}");
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}

/// A module of `functions` functions that take time to compile.
fn large(functions: usize) -> Vec<u8> {
    let body = "(local.set 1 (i64.add (i64.mul (local.get 0) (local.get 1)) (i64.const 3)))";
    let body = body.repeat(300);
    let mut text = String::from(r#"(module (memory (export "memory") 1) (func (export "_start"))"#);
    for _ in 0..functions {
        text.push_str(&format!("(func (param i64) (local i64) {body})"));
    }
    text.push(')');
    wat::parse_str(text).unwrap()
}

#[test]
fn compiling_is_bounded_in_time() {
    let sandbox = workers();
    let budget = Budget {
        compile_time: WallTime::secs(1),
        ..Budget::check()
    };
    let bytes = large(4_000);
    let Err(ModuleError::Limit(hit)) = sandbox.module(&bytes, &budget, Trust::Pinned).unwrap()
    else {
        panic!("it was compiled within a second");
    };
    assert_eq!((hit.limit, hit.cap), (Limit::CompileTime, 1_000_000_000));
}

#[test]
fn compiling_is_bounded_in_memory() {
    let sandbox = workers();
    let budget = Budget {
        compile_memory: ByteSize::mib(24),
        ..Budget::check()
    };
    let Err(ModuleError::Limit(hit)) = sandbox
        .module(&large(2_000), &budget, Trust::Pinned)
        .unwrap()
    else {
        panic!("it was compiled within 24 MiB");
    };
    assert_eq!(
        (hit.limit, hit.cap),
        (Limit::CompileMemory, ByteSize::mib(24).0)
    );
}

#[test]
fn each_guest_can_have_a_process_of_its_own() {
    let pool = pool(PoolSettings {
        workers: 1,
        guests_per_worker: 1,
        ..PoolSettings::default()
    });
    while pool.idle_workers().is_empty() {
        std::thread::yield_now();
    }
    let first = pool.idle_workers();
    let sandbox = Sandbox::new(pool, None).unwrap();
    let module = module(&sandbox, QUIET);
    for _ in 0..3 {
        assert!(sandbox.run(invocation(), &module).is_ok());
    }
    let gone = std::path::Path::new("/proc").join(first[0].to_string());
    assert!(!gone.exists());
}

#[test]
fn a_program_that_is_no_worker_is_an_error_with_its_reason() {
    let command = WorkerCommand::program("/bin/true");
    let pool = Process::new(command, PoolSettings::default()).unwrap();
    let sandbox = Sandbox::new(pool, None).unwrap();
    let bytes = wat::parse_str(QUIET).unwrap();
    let error = sandbox
        .module(&bytes, &budget(), Trust::Untrusted)
        .unwrap_err();
    assert!(error.to_string().contains("exit code 0"), "{error}");
}

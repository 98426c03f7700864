//! Every limit trips, in this process and in a worker, with its name, use and cap.
//!
//! [`trip`] matches on [`Limit`] exhaustively: a limit without a case does not compile, and
//! the table in `docs/threat-model.md` has to name it.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test has nobody to report to"
)]

mod adapter;

use probity_core::Repo;
use probity_core::budget::{Budget, Limit, LimitHit};
use probity_core::quantity::{ByteSize, Fuel, WallTime};
use probity_core::spec::{Check, CheckKind, PackCheck, PackRef};
use probity_core::verify::{Cause, CheckReport};
use probity_sandbox::engine::{ModuleError, STACK};
use probity_sandbox::fs::{Access, Device, Devices, Mounts};
use probity_sandbox::worker::{PoolSettings, Process, WorkerCommand};
use probity_sandbox::{Conditions, Ending, Invocation, Module, Sandbox, Trust, pack};

fn budget() -> Budget {
    Budget {
        fuel: Fuel(50_000_000),
        test_fuel: Fuel(1_000_000),
        memory: ByteSize::mib(1),
        table_elements: 100,
        wall_time: WallTime::secs(30),
        output: ByteSize(100),
        results: ByteSize(100),
        file_bytes: ByteSize(100),
        inodes: 2,
        open_files: 10,
        path_depth: 2,
        compile_time: WallTime::secs(1),
        compile_memory: ByteSize::mib(24),
        ..Budget::check()
    }
}

/// A core module with what most guests need: `$mkdir`, `$open` and `$write` below the
/// folder with descriptor 4 (`/tmp` of a check), and 64 bytes of text at 64.
fn module(start: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
        (import "wasi_snapshot_preview1" "path_create_directory"
            (func $path_create_directory (param i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "path_open"
            (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_write"
            (func $fd_write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (table $t 1 funcref)
        (data (i32.const 0) "a/b/c")
        (data (i32.const 8) "results")
        (data (i32.const 32) "\40\00\00\00\40\00\00\00")
        (data (i32.const 64) "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
        (func $mkdir (param $at i32) (param $length i32) (result i32)
            (call $path_create_directory (i32.const 4) (local.get $at) (local.get $length)))
        ;; Creates or opens a file; its descriptor, or minus the error number.
        (func $open (param $in i32) (param $at i32) (param $length i32) (param $flags i32)
            (result i32) (local $errno i32)
            (local.set $errno (call $path_open (local.get $in) (i32.const 0) (local.get $at)
                (local.get $length) (local.get $flags) (i64.const 66) (i64.const 66) (i32.const 0)
                (i32.const 48)))
            (if (result i32) (local.get $errno)
                (then (i32.sub (i32.const 0) (local.get $errno)))
                (else (i32.load (i32.const 48)))))
        ;; Writes the 64 bytes.
        (func $write (param $fd i32) (result i32)
            (call $fd_write (local.get $fd) (i32.const 32) (i32.const 1) (i32.const 48)))
        (func $recurse (param i64) (result i64)
            (i64.add (local.get 0) (call $recurse (i64.add (local.get 0) (i64.const 1)))))
        (func (export "_start") (local $n i32) {start}))"#
    );
    wat::parse_str(text).unwrap()
}

fn compiled(sandbox: &Sandbox, bytes: &[u8]) -> Module {
    let module = sandbox.module(bytes, &Budget::check(), Trust::Untrusted);
    module.unwrap().unwrap()
}

/// The report of a pack's check, whose pack is a module with this start function.
fn reported(sandbox: &Sandbox, budget: Budget, start: &str) -> CheckReport {
    let wanted = PackCheck {
        pack: PackRef::File("guest.wasm".to_owned()),
        check: "any".to_owned(),
        params: serde_json::Map::new(),
    };
    let mut check = Check::new("guest", CheckKind::Pack(wanted.clone()));
    check.budget = budget;
    let module = compiled(sandbox, &module(start));
    let conditions = Conditions::default();
    pack::run_check(sandbox, &module, &check, &wanted, &Repo::new(), &conditions)
}

/// The limit that ended a check.
fn ended(report: &CheckReport) -> LimitHit {
    match &report.cause {
        Some(Cause::Limit(hit)) => *hit,
        other => panic!("{other:?}"),
    }
}

/// The limit that refused something without ending the check.
fn met(report: &CheckReport, limit: Limit) -> LimitHit {
    let met = report.limits.iter().find(|hit| hit.limit == limit);
    *met.unwrap_or_else(|| panic!("{report:?}"))
}

/// The limit that ended a guest with a results channel, whose fuel is dealt in slices.
fn ended_in_suite(sandbox: &Sandbox, bytes: &[u8]) -> LimitHit {
    let mut mounts = Mounts::new(Devices::None);
    mounts.empty("/tmp", Access::Writable);
    mounts.device("/dev/results", Device::Results);
    let mut invocation = Invocation::command(vec!["guest".to_owned()], mounts, budget());
    invocation.preopens = vec!["/dev".to_owned(), "/tmp".to_owned()];
    invocation.sliced = true;
    let run = sandbox.run(invocation, &compiled(sandbox, bytes)).unwrap();
    match run.ending {
        Ending::Limit(hit) => hit,
        other => panic!("{other:?}"),
    }
}

/// Why a module is refused under the small budget.
fn refused(sandbox: &Sandbox, bytes: &[u8], budget: &Budget) -> LimitHit {
    match sandbox.module(bytes, budget, Trust::Pinned).unwrap() {
        Err(ModuleError::Limit(hit)) => hit,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was compiled"),
    }
}

/// A module that takes time and memory to compile.
fn large() -> Vec<u8> {
    let body = "(local.set 1 (i64.add (i64.mul (local.get 0) (local.get 1)) (i64.const 3)))";
    let body = body.repeat(300);
    let functions = format!("(func (param i64) (local i64) {body})").repeat(4_000);
    wat::parse_str(format!("(module {functions})")).unwrap()
}

/// Where modules are compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compiles {
    Here,
    Elsewhere,
}

/// Trips a limit; the hit, and the cap that was set.
fn trip(sandbox: &Sandbox, compiles: Compiles, limit: Limit) -> Option<(LimitHit, u64)> {
    let b = budget();
    let check = |start: &str| reported(sandbox, b, start);
    Some(match limit {
        Limit::Fuel => (ended(&check("(loop $l (br $l))")), b.fuel.0),
        Limit::TestFuel => (
            ended_in_suite(sandbox, &module("(loop $l (br $l))")),
            b.test_fuel.0,
        ),
        Limit::Memory => (
            ended(&check("(drop (memory.grow (i32.const 100))) unreachable")),
            b.memory.0,
        ),
        Limit::TableElements => {
            let start = "(drop (table.grow $t (ref.null func) (i32.const 200))) unreachable";
            (ended(&check(start)), b.table_elements)
        }
        Limit::WallTime => {
            let long = Budget {
                fuel: Fuel(u64::MAX / 4),
                wall_time: WallTime::millis(100),
                ..b
            };
            let report = reported(sandbox, long, "(loop $l (br $l))");
            (ended(&report), long.wall_time.0)
        }
        Limit::Stack => {
            let report = check("(drop (call $recurse (i64.const 0)))");
            (ended(&report), u64::try_from(STACK).unwrap())
        }
        Limit::Output => {
            let start = "(drop (call $write (i32.const 2))) (drop (call $write (i32.const 2)))";
            (met(&check(start), limit), b.output.0)
        }
        Limit::Results => {
            // /dev is descriptor 3.
            let start = "(local.set $n (call $open (i32.const 3) (i32.const 8) (i32.const 7) (i32.const 0)))
                (loop $l (drop (call $write (local.get $n))) (br $l))";
            (ended_in_suite(sandbox, &module(start)), b.results.0)
        }
        Limit::FileBytes => {
            let start = "(local.set $n (call $open (i32.const 4) (i32.const 0) (i32.const 1) (i32.const 1)))
                (drop (call $write (local.get $n))) (drop (call $write (local.get $n)))";
            (met(&check(start), limit), b.file_bytes.0)
        }
        Limit::Inodes => {
            // a, then a/b, then a file beside.
            let start = "(drop (call $mkdir (i32.const 0) (i32.const 1)))
                (drop (call $mkdir (i32.const 0) (i32.const 3)))
                (drop (call $open (i32.const 4) (i32.const 8) (i32.const 7) (i32.const 1)))";
            let shallow = Budget { path_depth: 9, ..b };
            (met(&reported(sandbox, shallow, start), limit), b.inodes)
        }
        Limit::OpenFiles => {
            let start =
                "(drop (call $open (i32.const 4) (i32.const 8) (i32.const 7) (i32.const 1)))
                (loop $l (br_if $l (i32.gt_s
                    (call $open (i32.const 4) (i32.const 8) (i32.const 7) (i32.const 0))
                    (i32.const 0))))";
            (met(&check(start), limit), u64::from(b.open_files))
        }
        Limit::Handles => {
            let bytes = adapter::component(
                r#"(module
                (import "wasi:cli/stdout@$WASI" "get-stdout" (func $stdout (result i32)))
                $MEMORY
                (func (export "wasi:cli/run@$WASI#run") (result i32)
                    (loop $l (drop (call $stdout)) (br $l)) (i32.const 0)))"#,
            );
            let hit = ended_in_suite(sandbox, &bytes);
            (hit, hit.cap)
        }
        Limit::PathDepth => {
            let start = "(drop (call $mkdir (i32.const 0) (i32.const 1)))
                (drop (call $mkdir (i32.const 0) (i32.const 3)))
                (drop (call $mkdir (i32.const 0) (i32.const 5)))";
            (met(&check(start), limit), u64::from(b.path_depth))
        }
        Limit::ModuleSize => {
            let small = Budget {
                module_size: ByteSize(20),
                ..b
            };
            (refused(sandbox, &module(""), &small), 20)
        }
        // Where modules are compiled in this very process, only their shape is bounded.
        Limit::CompileTime | Limit::CompileMemory if compiles == Compiles::Here => return None,
        Limit::CompileTime => {
            let roomy = Budget {
                compile_memory: ByteSize::gib(2),
                ..b
            };
            (refused(sandbox, &large(), &roomy), b.compile_time.0)
        }
        Limit::CompileMemory => {
            let patient = Budget {
                compile_time: WallTime::secs(60),
                ..b
            };
            (refused(sandbox, &large(), &patient), b.compile_memory.0)
        }
    })
}

fn every_limit_trips(sandbox: &Sandbox, compiles: Compiles) {
    for limit in Limit::ALL {
        let Some((hit, cap)) = trip(sandbox, compiles, limit) else {
            continue;
        };
        assert_eq!(hit.limit, limit);
        assert_eq!(hit.cap, cap, "{limit}");
        assert!(hit.used >= hit.cap, "{hit:?}");
        // The line that people see has all three.
        let line = hit.to_string();
        assert!(
            line.starts_with(limit.name()) && line.contains(" of "),
            "{line}"
        );
    }
}

#[test]
fn every_limit_trips_in_this_process() {
    every_limit_trips(&Sandbox::in_process(None).unwrap(), Compiles::Here);
}

#[test]
fn every_limit_trips_in_a_worker() {
    let command = WorkerCommand::program(env!("CARGO_BIN_EXE_probity-worker"));
    let pool = Process::new(command, PoolSettings::default()).unwrap();
    every_limit_trips(&Sandbox::new(pool, None).unwrap(), Compiles::Elsewhere);
}

#[test]
fn the_documentation_names_every_limit() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for file in ["docs/threat-model.md", "docs/verdict-schema.md"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        for limit in Limit::ALL {
            assert!(text.contains(&format!("`{limit}`")), "{file}: {limit}");
        }
    }
}

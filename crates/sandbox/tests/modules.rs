//! Modules that no compiler would make: what the engine and the border refuse.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test has nobody to report to"
)]

use probity_core::budget::{Budget, Limit};
use probity_core::quantity::{ByteSize, Fuel};
use probity_sandbox::engine::ModuleError;
use probity_sandbox::fs::{Access, Device, Devices, Mounts};
use probity_sandbox::{Ending, Invocation, Module, Run, Sandbox, Trust};

fn budget() -> Budget {
    Budget {
        fuel: Fuel(100_000_000),
        memory: ByteSize::mib(1),
        table_elements: 100,
        results: ByteSize(100),
        ..Budget::check()
    }
}

fn invocation(budget: Budget) -> Invocation {
    let mut mounts = Mounts::new(Devices::None);
    mounts.empty("/tmp", Access::Writable);
    mounts.device("/dev/results", Device::Results);
    let mut invocation = Invocation::command(vec!["guest".to_owned()], mounts, budget);
    invocation.preopens = vec!["/".to_owned()];
    invocation
}

fn module(sandbox: &Sandbox, bytes: &[u8], cap: u64) -> Result<Module, ModuleError> {
    let budget = Budget {
        module_size: ByteSize(cap),
        ..budget()
    };
    sandbox.module(bytes, &budget, Trust::Untrusted).unwrap()
}

fn run_in(text: &str, invocation: Invocation) -> Run {
    let sandbox = Sandbox::in_process(None).unwrap();
    let bytes = wat::parse_str(text).unwrap();
    let module = module(&sandbox, &bytes, 1 << 20).unwrap();
    sandbox.run(invocation, &module).unwrap()
}

fn run(text: &str) -> Run {
    run_in(text, invocation(budget()))
}

fn ended_by(run: &Run) -> Limit {
    match &run.ending {
        Ending::Limit(hit) => hit.limit,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_modules_of_bounded_size_are_compiled() {
    let sandbox = Sandbox::in_process(None).unwrap();
    let refused = |bytes: &[u8]| module(&sandbox, bytes, 100).err();
    assert!(matches!(refused(b"(module)"), Some(ModuleError::Shape(_))));
    assert!(matches!(
        refused(b"\0asm\x02\0\0\0"),
        Some(ModuleError::Shape(_))
    ));
    assert!(matches!(
        refused(b"\0asm\x01\0\0\0\x01"),
        Some(ModuleError::Shape(_))
    ));
    let Some(ModuleError::Limit(hit)) = refused(&[0; 101]) else {
        panic!("it was accepted");
    };
    assert_eq!(
        (hit.limit, hit.cap, hit.used),
        (Limit::ModuleSize, 100, 101)
    );
}

#[test]
fn proposals_that_are_not_offered_are_refused() {
    let sandbox = Sandbox::in_process(None).unwrap();
    for text in [
        "(module (memory i64 1))",
        "(module (memory 1) (memory 1))",
        "(module (memory 1 1 shared))",
        "(module (func (return_call 0)))",
        "(module (type (struct)))",
    ] {
        let bytes = wat::parse_str(text).unwrap();
        let refused = module(&sandbox, &bytes, 1 << 20);
        assert!(matches!(refused, Err(ModuleError::Shape(_))), "{text}");
    }
}

#[test]
fn unknown_imports_are_refused_before_anything_runs() {
    let run = run(
        r#"(module (import "env" "system" (func (param i32) (result i32)))
        (memory (export "memory") 1) (func (export "_start")))"#,
    );
    let Ending::Refused(message) = &run.ending else {
        panic!("{:?}", run.ending);
    };
    assert!(message.contains("env::system"), "{message}");
}

#[test]
fn a_module_without_entry_or_memory_is_refused() {
    assert!(matches!(run("(module)").ending, Ending::Refused(_)));
    let without_memory = r#"(module
        (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
        (func (export "_start") (drop (call $yield))))"#;
    assert!(matches!(run(without_memory).ending, Ending::Refused(_)));
}

#[test]
fn sockets_and_signals_are_linked_and_refused() {
    // 57 is ENOTSOCK, 8 EBADF, 52 ENOSYS.
    let text = r#"(module
        (import "wasi_snapshot_preview1" "sock_accept" (func $accept (param i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "sock_recv"
            (func $recv (param i32 i32 i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "sock_send" (func $send (param i32 i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "sock_shutdown" (func $shutdown (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "proc_raise" (func $raise (param i32) (result i32)))
        (memory (export "memory") 1)
        (func $want (param i32 i32) (if (i32.ne (local.get 0) (local.get 1)) (then unreachable)))
        (func (export "_start")
            (call $want (i32.const 57) (call $accept (i32.const 3) (i32.const 0) (i32.const 0)))
            (call $want (i32.const 57)
                (call $recv (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
            (call $want (i32.const 57)
                (call $send (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
            (call $want (i32.const 57) (call $shutdown (i32.const 2) (i32.const 0)))
            (call $want (i32.const 8) (call $shutdown (i32.const 99) (i32.const 0)))
            (call $want (i32.const 52) (call $raise (i32.const 9)))))"#;
    assert_eq!(run(text).ending, Ending::Exited(0));
}

#[test]
fn bounds_are_armed_before_the_start_function() {
    let text = r#"(module (memory (export "memory") 1)
        (func $spin (loop $l (br $l))) (start $spin) (func (export "_start")))"#;
    assert_eq!(ended_by(&run(text)), Limit::Fuel);
}

#[test]
fn endless_recursion_meets_the_stack_limit() {
    let text = r#"(module (memory (export "memory") 1)
        (func $f (param i64) (result i64)
            (i64.add (local.get 0) (call $f (i64.add (local.get 0) (i64.const 1)))))
        (func (export "_start") (drop (call $f (i64.const 0)))))"#;
    assert_eq!(ended_by(&run(text)), Limit::Stack);
}

#[test]
fn declared_memory_and_tables_count_against_the_budget() {
    let memory = r#"(module (memory (export "memory") 17) (func (export "_start")))"#;
    assert_eq!(ended_by(&run(memory)), Limit::Memory);
    let table =
        r#"(module (memory (export "memory") 1) (table 101 funcref) (func (export "_start")))"#;
    assert_eq!(ended_by(&run(table)), Limit::TableElements);
    let growing = r#"(module (memory (export "memory") 1) (table $t 90 funcref)
        (func (export "_start")
            (if (i32.ne (table.grow $t (ref.null func) (i32.const 11)) (i32.const -1))
                (then unreachable))))"#;
    let run = run(growing);
    assert_eq!(run.ending, Ending::Exited(0));
    assert_eq!(run.limits[0].limit, Limit::TableElements);
}

/// Writes `text` to the results channel over and over, `work` loops before each write.
fn reporter(work: u64, writes: u32) -> String {
    format!(
        r#"(module
        (import "wasi_snapshot_preview1" "path_open"
            (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (data (i32.const 0) "dev/results")
        (data (i32.const 32) "\40\00\00\00\0a\00\00\00")
        (data (i32.const 64) "0123456789")
        (func $work (local $i i64)
            (local.set $i (i64.const {work}))
            (loop $l (br_if $l (i64.ne (local.tee $i (i64.sub (local.get $i) (i64.const 1))) (i64.const 0)))))
        (func (export "_start") (local $n i32)
            (if (call $open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 11) (i32.const 0)
                    (i64.const 64) (i64.const 64) (i32.const 0) (i32.const 100)) (then unreachable))
            (local.set $n (i32.const {writes}))
            (loop $l
                (call $work)
                (if (call $write (i32.load (i32.const 100)) (i32.const 32) (i32.const 1) (i32.const 104))
                    (then unreachable))
                (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#
    )
}

#[test]
fn the_results_channel_is_kept_and_bounded() {
    let run_ten = run(&reporter(1, 10));
    assert_eq!(run_ten.ending, Ending::Exited(0));
    assert_eq!(run_ten.results, b"0123456789".repeat(10));
    let flood = run(&reporter(1, 11));
    assert_eq!(ended_by(&flood), Limit::Results);
}

#[test]
fn each_report_renews_the_fuel_of_one_test_but_not_the_whole() {
    let sliced = |fuel: u64, test_fuel: u64| {
        let mut invocation = invocation(Budget {
            fuel: Fuel(fuel),
            test_fuel: Fuel(test_fuel),
            ..budget()
        });
        invocation.sliced = true;
        invocation
    };
    // Ten reports of about 70,000 fuel each.
    let text = reporter(10_000, 10);
    let whole = run_in(&text, sliced(10_000_000, 150_000));
    assert_eq!(whole.ending, Ending::Exited(0));
    assert!(whole.fuel > Fuel(150_000), "{}", whole.fuel);
    let unsliced = run_in(&text, invocation(budget()));
    assert_eq!(whole.fuel, unsliced.fuel, "slices do not change the count");
    let short = run_in(&text, sliced(10_000_000, 20_000));
    assert_eq!(ended_by(&short), Limit::TestFuel);
    let total = run_in(&text, sliced(300_000, 150_000));
    assert_eq!(ended_by(&total), Limit::Fuel);
    assert_eq!(total.fuel, Fuel(300_000));
}

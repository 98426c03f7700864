//! Guests that begin in a snapshot go on where it was taken, in both isolations.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test has nobody to report to"
)]

use probity_core::budget::Limit;
use probity_core::quantity::ByteSize;
use probity_core::{Budget, Digest};
use probity_sandbox::fs::{Devices, Mounts};
use probity_sandbox::guest::Keep;
use probity_sandbox::snapshot::{Snapshot, Taken, strip};
use probity_sandbox::worker::{PoolSettings, Process, WorkerCommand};
use probity_sandbox::{Ending, Entry, Invocation, Module, Run, Sandbox, Trust};

/// Counts its turns in a global and in memory, and writes its clock and the length of the
/// text to the results: `turn` returns the count.
const COUNTER: &str = r#"(module
    (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
    (memory (export "memory") 2)
    (data (i32.const 100) "\05")
    (global $count (mut i64) (i64.const 0))
    (func (export "host_alloc") (param i32) (result i32) (i32.const 4096))
    (func (export "turn") (param i32 i32) (result i32)
        (drop (call $clock (i32.const 1) (i64.const 0) (i32.const 200)))
        (global.set $count (i64.add (global.get $count) (i64.const 1)))
        (i32.store8 (i32.const 100) (i32.add (i32.load8_u (i32.const 100)) (i32.const 1)))
        (if (i32.eq (i32.load8_u (i32.const 4096)) (i32.const 103)) ;; g
            (then (drop (memory.grow (i32.const 3)))
                  (i32.store (i32.const 300000) (i32.const 7))))
        (i32.add
            (i32.mul (i32.wrap_i64 (global.get $count)) (i32.const 1000))
            (i32.load8_u (i32.const 100)))))"#;

fn sandboxes() -> [Sandbox; 2] {
    let command = WorkerCommand::program(env!("CARGO_BIN_EXE_probity-worker"));
    let pool = Process::new(command, PoolSettings::default()).unwrap();
    [
        Sandbox::in_process(None).unwrap(),
        Sandbox::new(pool, None).unwrap(),
    ]
}

/// The bare module, compiled, and the state of the module itself.
fn counter(sandbox: &Sandbox) -> (Module, Snapshot) {
    let bare = strip(&wat::parse_str(COUNTER).unwrap(), 1 << 20).unwrap();
    let module = sandbox
        .module(&bare.module, &Budget::check(), Trust::Untrusted)
        .unwrap()
        .unwrap();
    // A turn on a memory without contents, whose own contents are then put in place.
    let mut taken = turn(sandbox, &module, None, "").taken.unwrap();
    taken.memory = bare.memory;
    let mut zero = serde_json::to_value(&taken.rest).unwrap();
    zero["globals"][0]["value"]["I64"] = 0.into();
    zero["passed"] = 0.into();
    taken.rest = serde_json::from_value(zero).unwrap();
    (module, Snapshot::keep(&taken).unwrap())
}

fn turn(sandbox: &Sandbox, module: &Module, from: Option<&Snapshot>, text: &str) -> Run {
    turn_within(sandbox, module, from, text, Budget::check()).unwrap()
}

fn turn_within(
    sandbox: &Sandbox,
    module: &Module,
    from: Option<&Snapshot>,
    text: &str,
    budget: Budget,
) -> Result<Run, probity_sandbox::guest::RunError> {
    let mut invocation = Invocation::command(Vec::new(), Mounts::new(Devices::None), budget);
    invocation.entry = Entry::Turn(text.to_owned());
    invocation.from = from.cloned();
    invocation.keep = Keep::Snapshot;
    sandbox.run(invocation, module)
}

#[test]
fn memory_globals_and_clock_go_on() {
    for sandbox in sandboxes() {
        let (module, begin) = counter(&sandbox);
        let first = turn(&sandbox, &module, Some(&begin), "a");
        assert_eq!(first.ending, Ending::Exited(1_006));
        let after = Snapshot::keep(&first.taken.unwrap()).unwrap();
        let second = turn(&sandbox, &module, Some(&after), "a");
        assert_eq!(second.ending, Ending::Exited(2_007));
        let clock = |taken: &Taken| u64::from_le_bytes(taken.memory[200..208].try_into().unwrap());
        let one = turn(&sandbox, &module, Some(&begin), "a").taken.unwrap();
        let two = second.taken.unwrap();
        assert!(clock(&two) > clock(&one), "the monotonic clock goes on");
        // Nothing was written to what others begin in.
        let again = turn(&sandbox, &module, Some(&begin), "a");
        assert_eq!(again.ending, Ending::Exited(1_006));
        assert_eq!(again.fuel, first.fuel);
    }
}

#[test]
fn both_isolations_take_the_same_snapshot() {
    let digests = sandboxes().map(|sandbox| {
        let (module, begin) = counter(&sandbox);
        let taken = turn(&sandbox, &module, Some(&begin), "g").taken.unwrap();
        (Digest::of(&taken.memory), taken.rest)
    });
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn a_memory_that_grew_is_as_large_again() {
    for sandbox in sandboxes() {
        let (module, begin) = counter(&sandbox);
        let grown = turn(&sandbox, &module, Some(&begin), "g");
        let taken = grown.taken.unwrap();
        assert_eq!(taken.memory.len(), 5 * 65_536);
        let after = Snapshot::keep(&taken).unwrap();
        let next = turn(&sandbox, &module, Some(&after), "a");
        assert_eq!(next.ending, Ending::Exited(2_007));
        assert_eq!(next.memory_peak, ByteSize(5 * 65_536));
        assert_eq!(next.taken.unwrap().memory[300_000], 7);
    }
}

#[test]
fn a_snapshot_counts_against_the_budget() {
    for sandbox in sandboxes() {
        let (module, begin) = counter(&sandbox);
        let taken = turn(&sandbox, &module, Some(&begin), "g").taken.unwrap();
        let after = Snapshot::keep(&taken).unwrap();
        let budget = Budget {
            memory: ByteSize(3 * 65_536),
            ..Budget::check()
        };
        let run = turn_within(&sandbox, &module, Some(&after), "a", budget).unwrap();
        let Ending::Limit(hit) = run.ending else {
            panic!("{:?}", run.ending);
        };
        assert_eq!((hit.limit, hit.used), (Limit::Memory, 5 * 65_536));
    }
}

#[test]
fn a_snapshot_of_another_module_is_refused() {
    for sandbox in sandboxes() {
        let (_, begin) = counter(&sandbox);
        let other = wat::parse_str(
            r#"(module (memory (export "memory") 2)
                (func (export "host_alloc") (param i32) (result i32) (i32.const 4096))
                (func (export "turn") (param i32 i32) (result i32) (i32.const 0)))"#,
        )
        .unwrap();
        let module = sandbox
            .module(&other, &Budget::check(), Trust::Untrusted)
            .unwrap()
            .unwrap();
        let run = turn_within(&sandbox, &module, Some(&begin), "a", Budget::check());
        match run {
            Err(_) => {}
            Ok(run) => assert!(!matches!(run.ending, Ending::Exited(_)), "{:?}", run.ending),
        }
    }
}

#[test]
fn no_state_is_kept_of_a_guest_that_ended_otherwise() {
    for sandbox in sandboxes() {
        let exits = wat::parse_str(
            r#"(module
                (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
                (memory (export "memory") 1)
                (func (export "_start") (call $exit (i32.const 0))))"#,
        )
        .unwrap();
        let bare = strip(&exits, 1 << 20).unwrap();
        let module = sandbox
            .module(&bare.module, &Budget::check(), Trust::Untrusted)
            .unwrap()
            .unwrap();
        let mut invocation =
            Invocation::command(Vec::new(), Mounts::new(Devices::None), Budget::check());
        invocation.keep = Keep::Snapshot;
        let run = sandbox.run(invocation, &module).unwrap();
        assert_eq!(run.ending, Ending::Exited(0));
        assert!(run.taken.is_none());
    }
}

//! Components that no compiler would make: what the engine and the border of WASI 0.2 do
//! with them.
//!
//! Most are core modules in text form that import functions of WASI 0.2 by the canonical
//! ABI; the harness makes components of them. `$want` traps unless two numbers are equal,
//! so that a guest that ends with 0 saw what it expected.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test has nobody to report to"
)]

mod adapter;

use std::sync::OnceLock;

use probity_core::budget::{Budget, Limit};
use probity_core::quantity::{ByteSize, Fuel, WallTime};
use probity_core::repo::File;
use probity_core::{Digest, Repo, RepoPath};
use probity_sandbox::engine::ModuleError;
use probity_sandbox::fs::{Access, Device, Devices, Mounts};
use probity_sandbox::guest::START_TIME;
use probity_sandbox::{CodeCache, Ending, Invocation, Run, Sandbox, Trust};

use adapter::{component, component_of, imports_everything};

fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| Sandbox::in_process(None).unwrap())
}

fn budget() -> Budget {
    Budget {
        fuel: Fuel(100_000_000),
        memory: ByteSize::mib(4),
        table_elements: 1000,
        results: ByteSize(100),
        file_bytes: ByteSize::kib(64),
        open_files: 20,
        ..Budget::check()
    }
}

fn invocation(budget: Budget) -> Invocation {
    let mut repo = Repo::new();
    let path: RepoPath = "a.txt".parse().unwrap();
    repo.insert(&path, File::regular(*b"0123456789")).unwrap();
    let mut mounts = Mounts::new(Devices::None);
    mounts.folder("/repo", repo.root(), Access::ReadOnly);
    mounts.empty("/tmp", Access::Writable);
    mounts.device("/dev/results", Device::Results);
    let mut invocation = Invocation::command(vec!["guest".to_owned()], mounts, budget);
    invocation.preopens = vec!["/".to_owned()];
    invocation
}

fn run_bytes(bytes: &[u8], invocation: Invocation) -> Run {
    let component = sandbox().module(bytes, &Budget::check(), Trust::Untrusted);
    sandbox()
        .run(invocation, &component.unwrap().unwrap())
        .unwrap()
}

fn refused_bytes(bytes: &[u8]) -> String {
    match run_bytes(bytes, invocation(budget())).ending {
        Ending::Refused(message) => message,
        other => panic!("{other:?}"),
    }
}

/// Runs a component whose core module has these fields, with a memory and an allocator.
fn run(fields: &str) -> Run {
    run_in(fields, invocation(budget()))
}

fn run_in(fields: &str, invocation: Invocation) -> Run {
    run_bytes(&component(&module(fields)), invocation)
}

fn module(fields: &str) -> String {
    let imports = IMPORTS
        .lines()
        .filter(|line| {
            let name = line.split("(func ").nth(1).unwrap_or("");
            let name = name.split([' ', ')']).next().unwrap_or("");
            name.is_empty() || fields.split([' ', ')', '\n']).any(|word| word == name)
        })
        .collect::<Vec<_>>()
        .join("\n");
    format!(
        r#"(module {imports} $MEMORY
            (func $want (param i32 i32)
                (if (i32.ne (local.get 0) (local.get 1)) (then unreachable)))
            {fields})"#
    )
}

/// Functions of WASI 0.2 as the canonical ABI gives them to a core module. Only those that
/// a test names are imported.
const IMPORTS: &str = r#"
(import "wasi:cli/exit@$WASI" "exit" (func $exit (param i32)))
(import "wasi:cli/exit@$WASI" "exit-with-code" (func $exit_with_code (param i32)))
(import "wasi:cli/stdin@$WASI" "get-stdin" (func $stdin (result i32)))
(import "wasi:cli/stdout@$WASI" "get-stdout" (func $stdout (result i32)))
(import "wasi:cli/terminal-stdout@$WASI" "get-terminal-stdout" (func $terminal (param i32)))
(import "wasi:io/error@$WASI" "[resource-drop]error" (func $drop_error (param i32)))
(import "wasi:io/streams@$WASI" "[resource-drop]output-stream" (func $drop_output (param i32)))
(import "wasi:io/streams@$WASI" "[method]input-stream.read" (func $read (param i32 i64 i32)))
(import "wasi:io/streams@$WASI" "[method]input-stream.skip" (func $skip (param i32 i64 i32)))
(import "wasi:io/streams@$WASI" "[method]input-stream.subscribe" (func $subscribe (param i32) (result i32)))
(import "wasi:io/streams@$WASI" "[method]output-stream.check-write" (func $check_write (param i32 i32)))
(import "wasi:io/streams@$WASI" "[method]output-stream.write" (func $write (param i32 i32 i32 i32)))
(import "wasi:io/streams@$WASI" "[method]output-stream.blocking-write-and-flush" (func $print (param i32 i32 i32 i32)))
(import "wasi:io/streams@$WASI" "[method]output-stream.write-zeroes" (func $write_zeroes (param i32 i64 i32)))
(import "wasi:io/streams@$WASI" "[method]output-stream.splice" (func $splice (param i32 i32 i64 i32)))
(import "wasi:io/poll@$WASI" "poll" (func $poll (param i32 i32 i32)))
(import "wasi:io/poll@$WASI" "[method]pollable.block" (func $block (param i32)))
(import "wasi:io/poll@$WASI" "[method]pollable.ready" (func $ready (param i32) (result i32)))
(import "wasi:clocks/monotonic-clock@$WASI" "now" (func $now (result i64)))
(import "wasi:clocks/monotonic-clock@$WASI" "subscribe-duration" (func $after (param i64) (result i32)))
(import "wasi:clocks/wall-clock@$WASI" "now" (func $wall (param i32)))
(import "wasi:random/random@$WASI" "get-random-bytes" (func $random (param i64 i32)))
(import "wasi:random/insecure-seed@$WASI" "insecure-seed" (func $seed (param i32)))
(import "wasi:filesystem/preopens@$WASI" "get-directories" (func $folders (param i32)))
(import "wasi:filesystem/types@$WASI" "[resource-drop]descriptor" (func $close (param i32)))
(import "wasi:filesystem/types@$WASI" "[method]descriptor.open-at" (func $open (param i32 i32 i32 i32 i32 i32 i32)))
(import "wasi:filesystem/types@$WASI" "[method]descriptor.read-via-stream" (func $reader (param i32 i64 i32)))
(import "wasi:filesystem/types@$WASI" "[method]descriptor.write-via-stream" (func $writer (param i32 i64 i32)))
(import "wasi:filesystem/types@$WASI" "[method]descriptor.append-via-stream" (func $appender (param i32 i32)))
(import "wasi:filesystem/types@$WASI" "[method]descriptor.set-size" (func $set_size (param i32 i64 i32)))
(import "wasi:filesystem/types@$WASI" "[method]descriptor.write" (func $pwrite (param i32 i32 i32 i64 i32)))
(import "wasi:filesystem/types@$WASI" "[method]descriptor.read" (func $pread (param i32 i64 i64 i32)))
(import "wasi:filesystem/types@$WASI" "filesystem-error-code" (func $error_code (param i32 i32)))
(import "wasi:sockets/instance-network@$WASI" "instance-network" (func $network (result i32)))
(import "wasi:sockets/tcp-create-socket@$WASI" "create-tcp-socket" (func $tcp (param i32 i32)))
(import "wasi:sockets/udp-create-socket@$WASI" "create-udp-socket" (func $udp (param i32 i32)))
(import "wasi:sockets/ip-name-lookup@$WASI" "resolve-addresses" (func $resolve (param i32 i32 i32 i32)))
(import "wasi:sockets/tcp@$WASI" "[method]tcp-socket.is-listening" (func $is_listening (param i32) (result i32)))
"#;

/// A `run` with this body that returns `ok`.
fn main_of(body: &str) -> String {
    format!(
        r#"(func (export "wasi:cli/run@$WASI#run") (result i32) (local $a i32) (local $b i32)
            {body}
            (i32.const 0))"#
    )
}

fn ending_of(body: &str) -> Ending {
    run(&main_of(body)).ending
}

fn ended_by(run: &Run) -> Limit {
    match &run.ending {
        Ending::Limit(hit) => hit.limit,
        other => panic!("{other:?}"),
    }
}

fn trapped(body: &str) -> String {
    match ending_of(body) {
        Ending::Trapped(message) => message,
        other => panic!("{other:?}"),
    }
}

/// The granted folder in `$a`, and `path` below it opened with these flags in `$b`.
fn opening(path: &str, open_flags: u8, flags: u8) -> String {
    format!(
        r#"(call $folders (i32.const 16))
        (local.set $a (i32.load (i32.load (i32.const 16))))
        (call $open (local.get $a) (i32.const 0) (i32.const 1024) (i32.const {length})
            (i32.const {open_flags}) (i32.const {flags}) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 0))
        (local.set $b (i32.load (i32.const 36)))"#,
        length = path.len(),
    )
}

fn with_path(path: &str, body: &str) -> String {
    format!(r#"(data (i32.const 1024) "{path}") {}"#, main_of(body))
}

#[test]
fn every_interface_is_linked_for_every_version_of_0_2() {
    for version in ["0.2.0", "0.2.3", "0.2.6", "0.2.12", "0.2.99"] {
        let run = run_bytes(&imports_everything(version), invocation(budget()));
        // The body of each of its functions is `unreachable`: it was linked and entered.
        let Ending::Trapped(message) = &run.ending else {
            panic!("{version}: {:?}", run.ending);
        };
        assert!(message.contains("unreachable"), "{version}: {message}");
    }
}

#[test]
fn a_component_prints_and_ends_with_its_result() {
    for version in ["0.2.0", "0.2.6", "0.2.12"] {
        let text = module(&format!(
            r#"(data (i32.const 8) "hello\n") {}"#,
            main_of(
                "(call $print (call $stdout) (i32.const 8) (i32.const 6) (i32.const 64))
                 (call $want (i32.load8_u (i32.const 64)) (i32.const 0))"
            )
        ));
        let run = run_bytes(&component_of(version, &text), invocation(budget()));
        assert_eq!(run.ending, Ending::Exited(0), "{version}");
        assert_eq!(run.stdout.bytes, b"hello\n");
    }
    let failing = r#"(func (export "wasi:cli/run@$WASI#run") (result i32) (i32.const 1))"#;
    assert_eq!(run(failing).ending, Ending::Exited(1));
}

#[test]
fn exits_keep_their_codes() {
    assert_eq!(
        ending_of("(call $exit (i32.const 0)) unreachable"),
        Ending::Exited(0)
    );
    assert_eq!(
        ending_of("(call $exit (i32.const 1)) unreachable"),
        Ending::Exited(1)
    );
    assert_eq!(
        ending_of("(call $exit_with_code (i32.const 42)) unreachable"),
        Ending::Exited(42)
    );
}

#[test]
fn what_is_not_offered_is_refused_before_it_runs() {
    let imports = |text: &str| refused_bytes(&wat::parse_str(text).unwrap());
    let http = r#"(component
        (import "wasi:http/types@0.2.12" (instance (export "now" (func)))))"#;
    assert!(imports(http).contains("wasi:http/types@0.2.12"));
    let own = r#"(component (import "acme:secrets/door" (func)))"#;
    assert!(imports(own).contains("acme:secrets/door"));
    let later = r#"(component
        (import "wasi:cli/exit@0.3.0" (instance (export "exit" (func)))))"#;
    assert!(imports(later).contains("wasi:cli/exit@0.3.0"));
    let lacking = r#"(component
        (import "wasi:cli/exit@0.2.0" (instance (export "vanish" (func)))))"#;
    assert!(imports(lacking).contains("vanish"));
    let wrong = r#"(component
        (import "wasi:random/random@0.2.0" (instance
            (export "get-random-u64" (func (result string))))))"#;
    assert!(imports(wrong).contains("get-random-u64"));
    // The message is one short line, whatever the name is.
    let long = format!(r#"(component (import "a:{}/b" (func)))"#, "a".repeat(900));
    assert!(imports(&long).len() <= 500);
}

#[test]
fn a_component_without_the_entry_is_refused() {
    let nothing = wat::parse_str("(component)").unwrap();
    assert!(refused_bytes(&nothing).contains("wasi:cli/run"));
    let number = r#"(component
        (core module $m (func (export "run") (result i32) (i32.const 1)))
        (core instance $i (instantiate $m))
        (func $f (result u32) (canon lift (core func $i "run")))
        (instance $r (export "run" (func $f)))
        (export "wasi:cli/run@0.2.0" (instance $r)))"#;
    assert!(refused_bytes(&wat::parse_str(number).unwrap()).contains("wasi:cli/run"));
}

#[test]
fn damaged_components_are_refused() {
    let whole = component(&module(&main_of("")));
    let mut refused = 0;
    for cut in (8..whole.len()).step_by(37) {
        match sandbox()
            .module(&whole[..cut], &Budget::check(), Trust::Untrusted)
            .unwrap()
        {
            Err(ModuleError::Shape(_)) => refused += 1,
            Err(other) => panic!("{other:?}"),
            // A cut between sections leaves a component that lacks its entry, or only what
            // nobody reads.
            Ok(module) => {
                let run = sandbox().run(invocation(budget()), &module).unwrap();
                assert!(
                    matches!(run.ending, Ending::Refused(_) | Ending::Exited(0)),
                    "{:?}",
                    run.ending
                );
            }
        }
    }
    assert!(refused > 10, "{refused}");
}

#[test]
fn there_is_no_terminal() {
    let body =
        "(call $terminal (i32.const 8)) (call $want (i32.load8_u (i32.const 8)) (i32.const 0))";
    assert_eq!(ending_of(body), Ending::Exited(0));
}

#[test]
fn sleeping_passes_on_the_virtual_clock() {
    let hour = "(drop (call $now)) (call $block (call $after (i64.const 3600000000000)))
        (if (i64.lt_u (call $now) (i64.const 3600000000000)) (then unreachable))
        (if (i64.gt_u (call $now) (i64.const 3600001000000)) (then unreachable))";
    let run = run(&main_of(hour));
    assert_eq!(run.ending, Ending::Exited(0));
    assert!(run.fuel < Fuel(10_000), "{}", run.fuel);
    let forever = "(call $block (call $after (i64.const -1)))
        (if (i64.ne (call $now) (i64.const -1)) (then unreachable))";
    assert_eq!(ending_of(forever), Ending::Exited(0));
}

#[test]
fn poll_answers_with_what_is_ready() {
    // An hour, a millisecond, and a stream, which is always ready.
    let list = |count: u8| {
        format!(
            "(i32.store (i32.const 8) (call $after (i64.const 3600000000000)))
            (i32.store (i32.const 12) (call $after (i64.const 1000000)))
            (i32.store (i32.const 16) (call $subscribe (call $stdin)))
            (call $want (call $ready (i32.load (i32.const 12))) (i32.const 0))
            (call $poll (i32.const 8) (i32.const {count}) (i32.const 32))
            (call $want (i32.load (i32.const 36)) (i32.const 1))"
        )
    };
    let with_stream = format!(
        "{} (call $want (i32.load (i32.load (i32.const 32))) (i32.const 2))",
        list(3)
    );
    assert_eq!(ending_of(&with_stream), Ending::Exited(0));
    let clocks = format!(
        "{} (call $want (i32.load (i32.load (i32.const 32))) (i32.const 1))
        (call $want (call $ready (i32.load (i32.const 12))) (i32.const 1))
        (call $want (call $ready (i32.load (i32.const 8))) (i32.const 0))",
        list(2)
    );
    assert_eq!(ending_of(&clocks), Ending::Exited(0));
}

/// Waits for the same pollable this many times over, in one list.
fn polls(count: u32) -> String {
    format!(
        "(local.set $a (call $after (i64.const 1)))
        (loop $l
            (i32.store (i32.add (i32.const 4096) (i32.mul (local.get $b) (i32.const 4))) (local.get $a))
            (br_if $l (i32.lt_u (local.tee $b (i32.add (local.get $b) (i32.const 1))) (i32.const {count}))))
        (call $poll (i32.const 4096) (i32.const {count}) (i32.const 32))
        (call $want (i32.load (i32.const 36)) (i32.const {count}))"
    )
}

#[test]
fn the_number_of_pollables_is_bounded() {
    assert_eq!(ending_of(&polls(2_000)), Ending::Exited(0));
    assert!(!trapped(&polls(15_000)).is_empty());
    let nothing = "(call $poll (i32.const 4096) (i32.const 0) (i32.const 32))";
    assert_eq!(trapped(nothing), "it waits for nothing");
    // Lists that lie outside the memory, or are longer than it.
    let outside = "(call $poll (i32.const -8) (i32.const 4) (i32.const 32))";
    assert!(!trapped(outside).is_empty());
    let long = "(call $poll (i32.const 8) (i32.const -1) (i32.const 32))";
    assert!(!trapped(long).is_empty());
}

#[test]
fn handles_cannot_be_made_up() {
    for body in [
        // Never given out, given up, of another type.
        "(call $print (i32.const 999) (i32.const 8) (i32.const 6) (i32.const 64))",
        "(call $print (i32.const -1) (i32.const 8) (i32.const 6) (i32.const 64))",
        "(local.set $a (call $stdout)) (call $drop_output (local.get $a))
            (call $print (local.get $a) (i32.const 8) (i32.const 6) (i32.const 64))",
        "(local.set $a (call $stdout)) (call $drop_output (local.get $a))
            (call $drop_output (local.get $a))",
        "(call $block (call $stdout))",
        "(call $drop_output (call $stdin))",
        "(call $close (i32.const 1))",
    ] {
        assert!(!trapped(body).is_empty(), "{body}");
    }
}

#[test]
fn handles_that_are_never_given_up_end_the_guest() {
    for body in [
        "(loop $l (drop (call $stdout)) (br $l))",
        "(loop $l (drop (call $after (i64.const 1))) (br $l))",
        "(local.set $a (call $stdin)) (loop $l (drop (call $subscribe (local.get $a))) (br $l))",
        "(loop $l (drop (call $network)) (br $l))",
    ] {
        let run = run(&main_of(body));
        assert_eq!(ended_by(&run), Limit::Handles, "{body}");
        let Ending::Limit(hit) = run.ending else {
            unreachable!()
        };
        // Four for each file that may be open, and 4,096.
        assert_eq!((hit.cap, hit.used), (4176, 4177));
    }
    // Given up each time they cost only fuel.
    let frugal = "(loop $l (call $drop_output (call $stdout)) (br $l))";
    assert_eq!(ended_by(&run(&main_of(frugal))), Limit::Fuel);
}

#[test]
fn open_files_are_counted_and_given_back() {
    // Three standard streams, one folder, and 16 files make 20.
    let opening_again = "(call $open (local.get $a) (i32.const 0) (i32.const 1024)
            (i32.const 10) (i32.const 0) (i32.const 1) (i32.const 32))";
    let body = format!(
        "(call $folders (i32.const 16))
        (local.set $a (i32.load (i32.load (i32.const 16))))
        (loop $l
            {opening_again}
            (call $want (i32.load8_u (i32.const 32)) (i32.const 0))
            (br_if $l (i32.lt_u (local.tee $b (i32.add (local.get $b) (i32.const 1))) (i32.const 16))))
        {opening_again}
        (call $want (i32.load8_u (i32.const 32)) (i32.const 1))
        ;; `quota`
        (call $want (i32.load8_u (i32.const 36)) (i32.const 6))"
    );
    let full = run(&with_path("repo/a.txt", &body));
    assert_eq!(full.ending, Ending::Exited(0));
    assert_eq!(full.limits[0].limit, Limit::OpenFiles);
    let closing = format!(
        "{}
        (loop $l
            (call $close (local.get $b))
            {opening_again}
            (call $want (i32.load8_u (i32.const 32)) (i32.const 0))
            (local.set $b (i32.load (i32.const 36)))
            (br_if $l (i32.lt_u (local.tee $c (i32.add (local.get $c) (i32.const 1))) (i32.const 100))))",
        opening("repo/a.txt", 0, 1)
    );
    let closing = with_path("repo/a.txt", &closing)
        .replace("(local $b i32)", "(local $b i32) (local $c i32)");
    let run_closing = run(&closing);
    assert_eq!(run_closing.ending, Ending::Exited(0));
    assert!(run_closing.limits.is_empty());
    // The granted folders count each time that they are asked for.
    let folders = "(loop $l (call $folders (i32.const 16)) (br $l))";
    assert_eq!(ended_by(&run(&main_of(folders))), Limit::OpenFiles);
}

#[test]
fn a_stream_reads_to_the_end_of_a_file() {
    let body = format!(
        "{}
        (call $reader (local.get $b) (i64.const 2) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 0))
        (local.set $b (i32.load (i32.const 36)))
        ;; One byte is passed over, and seven of however many are read.
        (call $skip (local.get $b) (i64.const 1) (i32.const 48))
        (call $want (i32.load8_u (i32.const 48)) (i32.const 0))
        (call $want (i32.wrap_i64 (i64.load (i32.const 56))) (i32.const 1))
        (call $read (local.get $b) (i64.const -1) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 0))
        (call $want (i32.load (i32.const 40)) (i32.const 7))
        (call $want (i32.load8_u (i32.load (i32.const 36))) (i32.const 51))
        ;; Nothing of nothing is no end; then it is closed, each time.
        (call $read (local.get $b) (i64.const 0) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 0))
        (call $read (local.get $b) (i64.const 1) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 1))
        (call $want (i32.load8_u (i32.const 36)) (i32.const 1))
        (call $skip (local.get $b) (i64.const 1) (i32.const 48))
        (call $want (i32.load8_u (i32.const 48)) (i32.const 1))",
        opening("repo/a.txt", 0, 1)
    );
    assert_eq!(
        run(&with_path("repo/a.txt", &body)).ending,
        Ending::Exited(0)
    );
}

#[test]
fn a_stream_that_failed_says_why_and_takes_nothing_more() {
    // The file is grown to the quota; one more byte has no room.
    let body = format!(
        "{}
        (call $set_size (local.get $b) (i64.const 65536) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 0))
        (call $appender (local.get $b) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 0))
        (local.set $b (i32.load (i32.const 36)))
        (call $write (local.get $b) (i32.const 8) (i32.const 1) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 1))
        (call $want (i32.load8_u (i32.const 36)) (i32.const 0))
        ;; `insufficient-space`
        (call $error_code (i32.load (i32.const 40)) (i32.const 48))
        (call $want (i32.load8_u (i32.const 48)) (i32.const 1))
        (call $want (i32.load8_u (i32.const 49)) (i32.const 23))
        (call $drop_error (i32.load (i32.const 40)))
        (call $write (local.get $b) (i32.const 8) (i32.const 1) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 1))
        (call $want (i32.load8_u (i32.const 36)) (i32.const 1))
        (call $check_write (local.get $b) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 1))",
        opening("tmp/new", 1, 2)
    );
    let run = run(&with_path("tmp/new", &body));
    assert_eq!(run.ending, Ending::Exited(0));
    assert_eq!(run.limits[0].limit, Limit::FileBytes);
}

#[test]
fn writes_are_bounded_by_the_permit() {
    let print = |length: u32| {
        format!("(call $print (call $stdout) (i32.const 8) (i32.const {length}) (i32.const 8))")
    };
    assert_eq!(ending_of(&print(4096)), Ending::Exited(0));
    assert!(trapped(&print(4097)).contains("permitted"));
    let zeros = "(call $write_zeroes (call $stdout) (i64.const 10000) (i32.const 8))";
    let run_zeros = run(&main_of(zeros));
    assert_eq!(run_zeros.ending, Ending::Exited(0));
    assert_eq!(run_zeros.stdout.total, 10_000);
    let many = "(call $write_zeroes (call $stdout) (i64.const -1) (i32.const 8))";
    assert!(trapped(many).contains("permitted"));
    // Nor may a list be longer than the memory.
    assert!(!trapped(&print(u32::MAX)).is_empty());
}

#[test]
fn one_call_moves_a_bounded_number_of_bytes() {
    let big = Budget {
        memory: ByteSize::mib(64),
        ..budget()
    };
    // 20 MiB as a path.
    let body = "(drop (memory.grow (i32.const 500)))
        (call $folders (i32.const 16))
        (call $open (i32.load (i32.load (i32.const 16))) (i32.const 0) (i32.const 8)
            (i32.const 20971520) (i32.const 0) (i32.const 1) (i32.const 32))";
    let Ending::Trapped(message) = run_in(&main_of(body), invocation(big)).ending else {
        panic!("it ran");
    };
    assert!(message.contains("too much data"), "{message}");
}

#[test]
fn standard_input_ends() {
    let body = "(local.set $a (call $stdin))
        (call $splice (call $stdout) (local.get $a) (i64.const 1000) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 0))
        (call $want (i32.load (i32.const 40)) (i32.const 5))
        (call $splice (call $stdout) (local.get $a) (i64.const 1000) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 1))
        (call $want (i32.load8_u (i32.const 40)) (i32.const 1))";
    let mut given = invocation(budget());
    given.stdin = b"input".to_vec();
    let run = run_in(&main_of(body), given);
    assert_eq!(run.ending, Ending::Exited(0));
    assert_eq!(run.stdout.bytes, b"input");
}

#[test]
fn read_only_mounts_stay_as_they_are() {
    // `write`, and no flag to write but one to truncate: both are `read-only`.
    for (open_flags, flags) in [(0, 2), (0, 3), (8, 1), (9, 0)] {
        let body = format!(
            "(call $folders (i32.const 16))
            (call $open (i32.load (i32.load (i32.const 16))) (i32.const 0) (i32.const 1024)
                (i32.const 10) (i32.const {open_flags}) (i32.const {flags}) (i32.const 32))
            (call $want (i32.load8_u (i32.const 32)) (i32.const 1))
            (call $want (i32.load8_u (i32.const 36)) (i32.const 33))"
        );
        let ending = run(&with_path("repo/a.txt", &body)).ending;
        assert_eq!(ending, Ending::Exited(0), "{open_flags} {flags}");
    }
    // A descriptor that was opened to read takes no writes: `bad-descriptor`.
    let body = format!(
        "{}
        (call $pwrite (local.get $b) (i32.const 8) (i32.const 1) (i64.const 0) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 1))
        (call $want (i32.load8_u (i32.const 40)) (i32.const 3))
        (call $writer (local.get $b) (i64.const 0) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 1))
        (call $set_size (local.get $b) (i64.const 0) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 1))
        (call $want (i32.load8_u (i32.const 33)) (i32.const 3))",
        opening("tmp/new", 1, 1)
    );
    assert_eq!(run(&with_path("tmp/new", &body)).ending, Ending::Exited(0));
}

#[test]
fn absurd_offsets_are_answered() {
    let body = format!(
        "{}
        (call $pread (local.get $b) (i64.const -1) (i64.const -1) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 0))
        (call $want (i32.load (i32.const 40)) (i32.const 0))
        (call $want (i32.load8_u (i32.const 44)) (i32.const 1))
        (call $pwrite (local.get $b) (i32.const 8) (i32.const 1) (i64.const -1) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 1))",
        opening("tmp/new", 1, 3)
    );
    assert_eq!(run(&with_path("tmp/new", &body)).ending, Ending::Exited(0));
    // There is no room for the gap, which is found before it costs anything.
    let far = format!(
        "{}
        (call $pwrite (local.get $b) (i32.const 8) (i32.const 1) (i64.const 0x7fffffffffff) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 1))
        (call $want (i32.load8_u (i32.const 40)) (i32.const 23))
        (call $set_size (local.get $b) (i64.const -1) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 1))",
        opening("tmp/new", 1, 2)
    );
    let far = run(&with_path("tmp/new", &far));
    assert_eq!(far.ending, Ending::Exited(0));
    assert!(far.fuel < Fuel(10_000), "{}", far.fuel);
}

#[test]
fn randomness_is_bounded_in_one_call() {
    let few = "(call $random (i64.const 100) (i32.const 8))
        (call $want (i32.load (i32.const 12)) (i32.const 100))";
    assert_eq!(ending_of(few), Ending::Exited(0));
    let many = "(call $random (i64.const 0x100000001) (i32.const 8))";
    assert_eq!(trapped(many), "it asks for too many random bytes at once");
}

#[test]
fn no_socket_can_be_made() {
    let body = "(call $tcp (i32.const 0) (i32.const 8))
        (call $want (i32.load8_u (i32.const 8)) (i32.const 1))
        (call $want (i32.load8_u (i32.const 12)) (i32.const 1))
        (call $udp (i32.const 1) (i32.const 8))
        (call $want (i32.load8_u (i32.const 8)) (i32.const 1))
        (call $want (i32.load8_u (i32.const 12)) (i32.const 1))
        (call $resolve (call $network) (i32.const 64) (i32.const 9) (i32.const 8))
        (call $want (i32.load8_u (i32.const 8)) (i32.const 1))
        (call $want (i32.load8_u (i32.const 12)) (i32.const 1))";
    assert_eq!(
        run(&format!(
            r#"(data (i32.const 64) "localhost") {}"#,
            main_of(body)
        ))
        .ending,
        Ending::Exited(0)
    );
    assert!(!trapped("(drop (call $is_listening (i32.const 1)))").is_empty());
}

#[test]
fn bounds_are_armed_before_the_first_instruction() {
    let spin = r#"(func $spin (loop $l (br $l))) (start $spin)"#;
    let looping = run(&format!("{spin} {}", main_of("")));
    assert_eq!(ended_by(&looping), Limit::Fuel);
    assert_eq!(looping.fuel, Fuel(100_000_000));
    let slow = invocation(Budget {
        fuel: Fuel(u64::MAX / 4),
        wall_time: WallTime::millis(200),
        ..budget()
    });
    let timed = run_in(&format!("{spin} {}", main_of("")), slow);
    assert_eq!(ended_by(&timed), Limit::WallTime);
    let calls = "(loop $l (drop (call $now)) (br $l))";
    assert_eq!(ended_by(&run(&main_of(calls))), Limit::Fuel);
    let deep = format!(
        "(func $f (param i64) (result i64)
            (i64.add (local.get 0) (call $f (i64.add (local.get 0) (i64.const 1))))) {}",
        main_of("(drop (call $f (i64.const 0)))")
    );
    assert_eq!(ended_by(&run(&deep)), Limit::Stack);
    // An allocator that never returns, called while a result is handed over.
    let lists = module(&main_of("(call $folders (i32.const 16))"));
    let endless = lists.replace(
        "$MEMORY",
        r#"(memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (loop $l (br $l)) unreachable)"#,
    );
    let run = run_bytes(&component(&endless), invocation(budget()));
    assert_eq!(ended_by(&run), Limit::Fuel);
}

#[test]
fn a_lying_allocator_traps() {
    for at in ["-8", "4", "1"] {
        let lists = module(&main_of("(call $folders (i32.const 16))"));
        let lying = lists.replace(
            "$MEMORY",
            &format!(
                r#"(memory (export "memory") 1) (global $n (mut i32) (i32.const 0))
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const {at}))"#
            ),
        );
        let run = run_bytes(&component(&lying), invocation(budget()));
        match (at, run.ending) {
            // Aligned and inside: its own memory is its own affair.
            ("4", Ending::Exited(0)) => {}
            (_, Ending::Trapped(_)) => {}
            (_, other) => panic!("{at}: {other:?}"),
        }
    }
}

/// A component with this many instances of a module that declares `fields`.
fn instances(count: usize, fields: &str) -> Vec<u8> {
    let many: String = (0..count)
        .map(|_| "(core instance (instantiate $m))")
        .collect();
    let text = format!(
        r#"(component
            (core module $m {fields})
            (core module $main (func (export "run") (result i32) (i32.const 0)))
            {many}
            (core instance $i (instantiate $main))
            (func $f (result (result)) (canon lift (core func $i "run")))
            (instance $r (export "run" (func $f)))
            (export "wasi:cli/run@0.2.0" (instance $r)))"#
    );
    wat::parse_str(text).unwrap()
}

#[test]
fn instances_share_the_budget_and_are_bounded_in_number() {
    let run =
        |count: usize, fields: &str| run_bytes(&instances(count, fields), invocation(budget()));
    assert_eq!(run(60, "").ending, Ending::Exited(0));
    assert!(matches!(run(64, "").ending, Ending::Trapped(_)));
    assert!(matches!(run(900, "").ending, Ending::Trapped(_)));
    // 4 MiB are four memories of 1 MiB, and no fifth.
    assert_eq!(run(4, "(memory 16)").ending, Ending::Exited(0));
    assert_eq!(ended_by(&run(5, "(memory 16)")), Limit::Memory);
    assert!(matches!(run(17, "(memory 1)").ending, Ending::Trapped(_)));
    assert_eq!(run(4, "(table 250 funcref)").ending, Ending::Exited(0));
    assert_eq!(
        ended_by(&run(5, "(table 250 funcref)")),
        Limit::TableElements
    );
    // Core modules keep their own, lower numbers.
    assert_eq!(
        ended_by(&run(1, "(func $s (loop $l (br $l))) (start $s)")),
        Limit::Fuel
    );
}

#[test]
fn resources_of_its_own_are_bounded() {
    let text = r#"(component
        (type $t (resource (rep i32)))
        (core func $new (canon resource.new $t))
        (core module $m
            (import "" "new" (func $new (param i32) (result i32)))
            (func (export "run") (result i32)
                (loop $l (drop (call $new (i32.const 1))) (br $l)) unreachable))
        (core instance $i (instantiate $m (with "" (instance (export "new" (func $new))))))
        (func $f (result (result)) (canon lift (core func $i "run")))
        (instance $r (export "run" (func $f)))
        (export "wasi:cli/run@0.2.0" (instance $r)))"#;
    let run = run_bytes(&wat::parse_str(text).unwrap(), invocation(budget()));
    let Ending::Trapped(message) = run.ending else {
        panic!("{:?}", run.ending);
    };
    assert!(message.contains("handle limit"), "{message}");
}

/// A component that is composed of two, so that a call goes from one to the other.
const COMPOSED: &str = r#"(component
    (component $inner
        (core module $m
            (memory (export "memory") 1)
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 64))
            (func (export "length") (param i32 i32) (result i32) (local.get 1)))
        (core instance $i (instantiate $m))
        (func (export "length") (param "text" string) (result u32)
            (canon lift (core func $i "length")
                (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))
    (component $outer
        (import "length" (func $length (param "text" string) (result u32)))
        (core module $memory (memory (export "memory") 1) (data (i32.const 8) "four"))
        (core instance $memory (instantiate $memory))
        (core func $lowered (canon lower (func $length) (memory (core memory $memory "memory"))))
        (core module $main
            (import "" "length" (func $length (param i32 i32) (result i32)))
            (func (export "run") (result i32)
                (i32.ne (call $length (i32.const 8) (i32.const 4)) (i32.const 4))))
        (core instance $main (instantiate $main
            (with "" (instance (export "length" (func $lowered))))))
        (func (export "run") (result (result)) (canon lift (core func $main "run"))))
    (instance $first (instantiate $inner))
    (instance $second (instantiate $outer (with "length" (func $first "length"))))
    (instance $r (export "run" (func $second "run")))
    (export "wasi:cli/run@0.2.0" (instance $r)))"#;

#[test]
fn components_composed_of_others_are_refused() {
    let bytes = wat::parse_str(COMPOSED).unwrap();
    let refused = sandbox().module(&bytes, &Budget::check(), Trust::Untrusted);
    let Err(refused) = refused.unwrap() else {
        panic!("it was compiled");
    };
    assert!(refused.to_string().contains("composed"), "{refused}");
}

#[test]
fn several_memories_in_one_module_are_refused_in_components_too() {
    let text = "(component (core module (memory 1) (memory 1)))";
    let bytes = wat::parse_str(text).unwrap();
    let refused = sandbox().module(&bytes, &Budget::check(), Trust::Untrusted);
    assert!(matches!(refused.unwrap(), Err(ModuleError::Shape(_))));
}

/// Reports ten bytes to the results channel, after some work, this many times.
fn reporter(work: u64, writes: u32) -> String {
    let body = format!(
        "{}
        (call $writer (local.get $b) (i64.const 0) (i32.const 32))
        (call $want (i32.load8_u (i32.const 32)) (i32.const 0))
        (local.set $b (i32.load (i32.const 36)))
        (local.set $a (i32.const {writes}))
        (loop $l
            (call $work)
            (call $print (local.get $b) (i32.const 1024) (i32.const 10) (i32.const 32))
            (call $want (i32.load8_u (i32.const 32)) (i32.const 0))
            (br_if $l (local.tee $a (i32.sub (local.get $a) (i32.const 1)))))",
        opening("dev/results", 0, 2)
    );
    format!(
        "(func $work (local $i i64)
            (local.set $i (i64.const {work}))
            (loop $l (br_if $l (i64.ne (local.tee $i (i64.sub (local.get $i) (i64.const 1))) (i64.const 0)))))
        {}",
        with_path("dev/results", &body)
    )
}

#[test]
fn the_results_channel_is_kept_bounded_and_renews_fuel() {
    let ten = run(&reporter(1, 10));
    assert_eq!(ten.ending, Ending::Exited(0));
    assert_eq!(ten.results, b"dev/result".repeat(10));
    assert_eq!(ended_by(&run(&reporter(1, 11))), Limit::Results);
    let sliced = |fuel: u64, test_fuel: u64| {
        let mut invocation = invocation(Budget {
            fuel: Fuel(fuel),
            test_fuel: Fuel(test_fuel),
            ..budget()
        });
        invocation.sliced = true;
        run_in(&reporter(10_000, 10), invocation)
    };
    let whole = sliced(10_000_000, 150_000);
    assert_eq!(whole.ending, Ending::Exited(0));
    assert_eq!(whole.fuel, run(&reporter(10_000, 10)).fuel);
    assert_eq!(ended_by(&sliced(10_000_000, 20_000)), Limit::TestFuel);
    assert_eq!(ended_by(&sliced(300_000, 150_000)), Limit::Fuel);
}

#[test]
fn time_and_randomness_are_functions_of_the_seed() {
    let body = "(call $wall (i32.const 8)) (call $seed (i32.const 24))
        (i64.store (i32.const 40) (call $now))
        (call $print (call $stdout) (i32.const 8) (i32.const 40) (i32.const 64))";
    let seeded = |seed: u64| {
        let mut invocation = invocation(budget());
        invocation.seed = seed;
        run_in(&main_of(body), invocation)
    };
    let (first, second, other) = (seeded(1), seeded(1), seeded(2));
    assert_eq!(first.ending, Ending::Exited(0));
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(first.fuel, second.fuel);
    assert_ne!(first.stdout, other.stdout);
    let seconds = u64::from_le_bytes(first.stdout.bytes[..8].try_into().unwrap());
    assert_eq!(seconds, START_TIME / 1_000_000_000);
}

#[test]
fn compiled_components_are_kept_and_found_again() {
    let cache = tempfile::tempdir().unwrap();
    let bytes = component(&module(&main_of("")));
    let digest = Digest::of(&bytes);
    let start = || {
        let key = cache.path().join("state/key");
        let code = CodeCache::open(&cache.path().join("compiled"), &key);
        Sandbox::in_process(Some(code.unwrap())).unwrap()
    };
    let first = start();
    assert!(first.cached(digest).is_none());
    let module = first.module(&bytes, &Budget::check(), Trust::Untrusted);
    module.unwrap().unwrap();
    let again = start();
    let found = again.cached(digest).unwrap();
    let run = again.run(invocation(budget()), &found).unwrap();
    assert_eq!(run.ending, Ending::Exited(0));
}

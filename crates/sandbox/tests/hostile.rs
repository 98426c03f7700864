//! Every hostile guest ends with the right typed result, through both adapters.
//!
//! The guest is `guest-checks/hostile`; each row runs one of its sub-commands, as the core
//! module that it is and as the component that toolchains make of it. The whole corpus is
//! run by `corpus`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test has nobody to report to"
)]

mod adapter;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use probity_core::budget::{Budget, Limit};
use probity_core::quantity::{ByteSize, Fuel, WallTime};
use probity_core::repo::File;
use probity_core::{Repo, RepoPath};
use probity_sandbox::fs::{Access, Attempted, Device, Devices, FileSeals, Mounts};
use probity_sandbox::{Ending, Invocation, Module, Run, Sandbox, Trust};

use adapter::Adapter;

fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| Sandbox::in_process(None).unwrap())
}

fn hostile(adapter: Adapter) -> &'static Module {
    static MODULES: OnceLock<[Module; 2]> = OnceLock::new();
    let [core, component] = MODULES.get_or_init(|| {
        let bytes = adapter::built("hostile");
        Adapter::BOTH.map(|adapter| {
            let guest = adapter.guest(&bytes);
            let budget = Budget::check();
            let module = sandbox().module(&guest, &budget, Trust::Untrusted);
            module.unwrap().unwrap()
        })
    });
    match adapter {
        Adapter::Core => core,
        Adapter::Component => component,
    }
}

/// Small bounds, so that every attack meets them soon.
fn budget() -> Budget {
    Budget {
        fuel: Fuel(2_000_000_000),
        memory: ByteSize::mib(64),
        wall_time: WallTime::secs(60),
        output: ByteSize::kib(64),
        file_bytes: ByteSize::mib(4),
        inodes: 500,
        open_files: 50,
        path_depth: 20,
        ..Budget::check()
    }
}

fn run_with(adapter: Adapter, args: &[&str], budget: Budget) -> Run {
    run_on(adapter, args, budget, None)
}

/// The same; with seals the repository can be written to but for them.
fn run_on(adapter: Adapter, args: &[&str], budget: Budget, seals: Option<FileSeals>) -> Run {
    let mut repo = Repo::new();
    for name in ["a.txt", "src/b.txt"] {
        let path: RepoPath = name.parse().unwrap();
        repo.insert(&path, File::regular(*b"content\n")).unwrap();
    }
    let mut mounts = Mounts::new(Devices::None);
    match seals {
        None => mounts.folder("/repo", repo.root(), Access::ReadOnly),
        Some(seals) => mounts.sealed_folder("/repo", repo.root(), seals),
    }
    mounts.empty("/tmp", Access::Writable);
    mounts.device("/dev/null", Device::Null);
    let args = std::iter::once("hostile").chain(args.iter().copied());
    let mut invocation = Invocation::command(args.map(str::to_owned).collect(), mounts, budget);
    invocation.preopens = vec!["/repo".to_owned(), "/tmp".to_owned()];
    sandbox().run(invocation, hostile(adapter)).unwrap()
}

fn run(adapter: Adapter, args: &[&str]) -> Run {
    run_with(adapter, args, budget())
}

fn stdout(run: &Run) -> String {
    String::from_utf8_lossy(&run.stdout.bytes).into_owned()
}

fn ended_by(run: &Run) -> Option<Limit> {
    match &run.ending {
        Ending::Limit(hit) => Some(hit.limit),
        Ending::Exited(_) | Ending::Trapped(_) | Ending::Refused(_) => None,
    }
}

fn met(run: &Run, limit: Limit) -> bool {
    run.limits.iter().any(|hit| hit.limit == limit)
}

/// Sub-commands that end by a limit.
const ENDED: &[(&str, Limit)] = &[
    ("loop", Limit::Fuel),
    ("allocate", Limit::Memory),
    ("print", Limit::Fuel),
    ("print-stderr", Limit::Fuel),
];

/// Sub-commands that try to get somewhere and exit with 7 when every attempt was refused.
const WALLED: &[&str] = &[
    "socket",
    "spawn",
    "thread",
    "passwd",
    "dotdot",
    "write-repo",
    "bad-pointers",
    "bad-descriptors",
];

/// Sub-commands that exit with 0 after meeting a limit that does not end them.
const BOUNDED: &[(&str, Limit)] = &[
    ("grow-refused", Limit::Memory),
    ("fill-tmp", Limit::FileBytes),
    ("sparse-tmp", Limit::FileBytes),
    ("many-files", Limit::Inodes),
    ("deep-dirs", Limit::PathDepth),
    ("open-many", Limit::OpenFiles),
];

/// Sub-commands that exit with 0 and say on stdout what they were told.
const ANSWERED: &[(&str, &str)] = &[
    ("long-name", "255"),
    ("big-random", "errno 21"),
    ("poll-many", "errno 28"),
    ("poll-forever", "errno 0"),
    ("iovec-count", "errno 28"),
    ("env", "hostile"),
];

/// How a sub-command ends as a component, where that is not as above.
enum Otherwise {
    Exits(u32),
    Traps(&'static str),
    Ends(Limit),
}

/// What the adapter that toolchains put between a program for WASI 0.1 and WASI 0.2 does
/// otherwise, and why. It runs in the guest, so a wrong answer of it is the guest's own.
const OTHERWISE: &[(&str, Otherwise, &str)] = &[
    (
        "big-random",
        Otherwise::Traps("random bytes"),
        "a list is made before it is copied to the pointer, and there is a bound on it",
    ),
    (
        "poll-many",
        Otherwise::Ends(Limit::Handles),
        "each subscription becomes a pollable, and nothing bounds their number before",
    ),
    (
        "iovec-count",
        Otherwise::Exits(0),
        "only the first vector is looked at, and written",
    ),
    (
        "bad-pointers",
        Otherwise::Traps("memory"),
        "pointers are used as they are, so that bad ones trap",
    ),
    (
        "bad-descriptors",
        Otherwise::Exits(0),
        "reading and writing nothing is answered before the descriptor is looked at",
    ),
];

/// Whether a sub-command has a row in [`OTHERWISE`] for this adapter.
fn otherwise(adapter: Adapter, name: &str) -> bool {
    adapter == Adapter::Component && OTHERWISE.iter().any(|(other, _, _)| *other == name)
}

/// What of an exit code is left: the `exit` that the toolchains' adapter calls knows only
/// success and failure.
fn code(adapter: Adapter, code: u32) -> u32 {
    match adapter {
        Adapter::Core => code,
        Adapter::Component => code.min(1),
    }
}

#[test]
fn what_the_toolchains_adapter_changes() {
    for (name, expected, why) in OTHERWISE {
        let run = run(Adapter::Component, &[name]);
        match (expected, &run.ending) {
            (Otherwise::Exits(code), Ending::Exited(found)) if code == found => {}
            (Otherwise::Traps(text), Ending::Trapped(message)) if message.contains(text) => {}
            (Otherwise::Ends(limit), Ending::Limit(hit)) if *limit == hit.limit => {}
            (_, other) => panic!("{name} ({why}): {other:?}"),
        }
    }
}

#[test]
fn endless_guests_end_by_the_limit_that_they_attack() {
    for adapter in Adapter::BOTH {
        for (name, limit) in ENDED {
            let run = run(adapter, &[name]);
            assert_eq!(
                ended_by(&run),
                Some(*limit),
                "{adapter:?} {name}: {:?}",
                run.ending
            );
        }
    }
}

#[test]
fn no_wall_can_be_passed() {
    for adapter in Adapter::BOTH {
        for name in WALLED {
            if otherwise(adapter, name) {
                continue;
            }
            let run = run(adapter, &[name]);
            assert_eq!(
                run.ending,
                Ending::Exited(code(adapter, 7)),
                "{adapter:?} {name}:\n{}",
                stdout(&run)
            );
        }
    }
}

#[test]
fn a_seal_holds_through_both_adapters() {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    for adapter in Adapter::BOTH {
        let seals = FileSeals {
            files: owned(&["a.txt"]),
            names: owned(&["new-file", "new-folder", "renamed", "linked"]),
        };
        let run = run_on(adapter, &["write-repo"], budget(), Some(seals));
        assert_eq!(
            run.ending,
            Ending::Exited(code(adapter, 7)),
            "{adapter:?}:\n{}",
            stdout(&run)
        );
        let attempts: Vec<(&str, Attempted)> = run
            .attempts
            .iter()
            .map(|attempt| (attempt.path.as_str(), attempt.what))
            .collect();
        assert_eq!(
            attempts,
            [
                ("/repo/a.txt", Attempted::Write),
                ("/repo/a.txt", Attempted::Remove),
                ("/repo/new-file", Attempted::Make),
                ("/repo/new-folder", Attempted::Make),
            ],
            "{adapter:?}"
        );
    }
}

#[test]
fn bounded_resources_are_refused_and_named() {
    for adapter in Adapter::BOTH {
        for (name, limit) in BOUNDED {
            let run = run(adapter, &[name]);
            assert_eq!(
                run.ending,
                Ending::Exited(0),
                "{adapter:?} {name}:\n{}",
                stdout(&run)
            );
            assert!(met(&run, *limit), "{adapter:?} {name}: {:?}", run.limits);
        }
    }
}

#[test]
fn absurd_requests_are_answered() {
    for adapter in Adapter::BOTH {
        for (name, answer) in ANSWERED {
            if otherwise(adapter, name) {
                continue;
            }
            let run = run(adapter, &[name]);
            assert_eq!(
                run.ending,
                Ending::Exited(0),
                "{adapter:?} {name}:\n{}",
                stdout(&run)
            );
            assert!(
                stdout(&run).contains(answer),
                "{adapter:?} {name}:\n{}",
                stdout(&run)
            );
        }
    }
}

#[test]
fn a_flood_of_output_is_counted_and_its_ends_are_kept() {
    for adapter in Adapter::BOTH {
        let run = run(adapter, &["print"]);
        assert!(run.stdout.total > 1_000_000, "{}", run.stdout.total);
        assert!(run.stdout.bytes.len() < 70_000);
        let kept = u64::try_from(run.stdout.bytes.len()).unwrap();
        assert!(run.stdout.dropped > run.stdout.total - kept);
        assert!(met(&run, Limit::Output));
    }
}

#[test]
fn one_call_cannot_write_more_than_its_bound() {
    for adapter in Adapter::BOTH {
        let started = Instant::now();
        let run = run(adapter, &["iovec-bomb"]);
        assert!(run.stdout.total <= 16 << 20, "{}", run.stdout.total);
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn an_hour_of_sleep_passes_at_once() {
    for adapter in Adapter::BOTH {
        let run = run(adapter, &["sleep"]);
        assert_eq!(run.ending, Ending::Exited(0), "{}", stdout(&run));
        let text = stdout(&run);
        assert!(text.contains("3600"), "{text}");
        // Sleeping costs the host nothing: the fuel is that of a few calls.
        assert!(run.fuel < Fuel(10_000_000), "{}", run.fuel);
    }
}

#[test]
fn recursion_ends_at_whichever_stack_is_used_up_first() {
    for adapter in Adapter::BOTH {
        // Compiled code keeps large frames in a stack of its own in linear memory; running over
        // its end is a trap, running out of calls the engine's limit.
        match run(adapter, &["recurse"]).ending {
            Ending::Limit(hit) => assert_eq!(hit.limit, Limit::Stack),
            Ending::Trapped(message) => assert!(message.contains("out of bounds"), "{message}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_tree_is_listed_in_order() {
    for adapter in Adapter::BOTH {
        let run = run(adapter, &["read-tree", "/repo"]);
        let text = stdout(&run);
        let a = text.find("/repo/a.txt").unwrap();
        let b = text.find("/repo/src/b.txt").unwrap();
        assert!(a < b, "{text}");
    }
}

#[test]
fn exits_and_traps_keep_their_meaning() {
    for adapter in Adapter::BOTH {
        let expected = Ending::Exited(code(adapter, 42));
        assert_eq!(run(adapter, &["exit", "42"]).ending, expected);
        assert!(matches!(run(adapter, &["trap"]).ending, Ending::Trapped(_)));
    }
}

#[test]
fn time_and_randomness_are_functions_of_the_seed() {
    for adapter in Adapter::BOTH {
        for name in ["random", "clock", "env"] {
            let (first, second) = (run(adapter, &[name]), run(adapter, &[name]));
            assert_eq!(first.stdout, second.stdout, "{adapter:?} {name}");
            assert_eq!(first.fuel, second.fuel, "{adapter:?} {name}");
            assert!(first.stdout.total > 0, "{adapter:?} {name}");
        }
    }
}

#[test]
fn real_time_is_the_outer_fuse() {
    for adapter in Adapter::BOTH {
        let run = run_with(
            adapter,
            &["loop"],
            Budget {
                fuel: Fuel(u64::MAX / 4),
                wall_time: WallTime::millis(300),
                ..budget()
            },
        );
        assert_eq!(ended_by(&run), Some(Limit::WallTime), "{:?}", run.ending);
    }
}

#[test]
fn every_cap_and_use_is_reported() {
    for adapter in Adapter::BOTH {
        let run = run(adapter, &["fill-tmp"]);
        let hit = run
            .limits
            .iter()
            .find(|hit| hit.limit == Limit::FileBytes)
            .unwrap();
        assert_eq!(hit.cap, ByteSize::mib(4).0);
        assert!(hit.used > hit.cap);
    }
}

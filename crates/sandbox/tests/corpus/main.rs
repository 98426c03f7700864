//! The hostile corpus: every guest of `guest-checks/hostile/corpus.toml` ends as its row
//! says, within its bounds on real time and on the host's memory.
//!
//! To add a trick: write it as a sub-command of the Rust or C guest, as a file in `wat`, or
//! as a function in `made.rs`, and give it a row. A trick without a row fails
//! `every_guest_has_a_row`, a row without a trick too. A group reports all of its rows that
//! fail at once; `PROBITY_GUEST=name` runs one row, and `PROBITY_SHOW=1` prints how each
//! ended.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test has nobody to report to"
)]

#[path = "../adapter/mod.rs"]
mod adapter;
mod made;
mod manifest;
mod place;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use manifest::{Corpus, Expect, Guest, Source, Wasi, folder, wat_files};
use place::{Ended, Ending, Place};

/// Memory is measured for the whole process, so guests run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn built(name: &str) -> Vec<u8> {
    std::fs::read(folder().join("built").join(name)).unwrap()
}

fn wat(name: &str) -> Vec<u8> {
    let path = folder()
        .join("hostile/wat")
        .join(name)
        .with_extension("wat");
    wat::parse_file(path).unwrap_or_else(|error| panic!("{error}"))
}

/// The guests of a row: one, or variants that have to end alike.
fn bytes(source: Source<'_>) -> Vec<Vec<u8>> {
    match source {
        Source::Rust(_) => vec![built("hostile.wasm")],
        Source::C(_) => vec![built("hostile-c.wasm")],
        Source::Wat(name) => vec![wat(name)],
        Source::Made(name) => made::guests(name).unwrap_or_else(|| panic!("no guest `{name}`")),
    }
}

fn is_component(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\0asm\x0d\0\x01\0")
}

/// What of a row did not come true.
fn failures(guest: &Guest, expect: &Expect, stdout: bool, ended: &Ended) -> Vec<String> {
    let ran = expect.refused.is_none();
    let mut failures = Vec::new();
    let fits = match &ended.ending {
        Ending::Exit(code) => expect.exit == Some(*code),
        Ending::Limit(name) => expect.limit.as_deref() == Some(*name),
        Ending::Trap(message) => expect
            .trap
            .as_ref()
            .is_some_and(|part| message.contains(part)),
        Ending::Refused(message) => expect
            .refused
            .as_ref()
            .is_some_and(|part| message.contains(part)),
    };
    if !fits && !expect.any {
        failures.push(format!("it ended by {}, not by {expect:?}", ended.ending));
    }
    if let Ending::Trap(message) | Ending::Refused(message) = &ended.ending
        && (message.len() > 2_500 || message.contains(char::is_control))
    {
        failures.push("its message is long or has control characters".to_owned());
    }
    for limit in guest.limits.iter().filter(|_| ran) {
        if !ended.limits.contains(&limit.as_str()) {
            failures.push(format!("it met {:?}, not {limit}", ended.limits));
        }
    }
    if let Some(part) = &guest.stdout
        && ran
        && stdout
        && (!ended.stdout.contains(part) || (part.is_empty() && !ended.stdout.is_empty()))
    {
        failures.push(format!("it printed other than {part:?}"));
    }
    if ended.seconds > guest.seconds() {
        failures.push(format!(
            "it took {:.1} s of {} s",
            ended.seconds,
            guest.seconds()
        ));
    }
    if ended.cpu_seconds > guest.cpu_seconds() {
        failures.push(format!(
            "it took {:.1} s of {} s of the processor",
            ended.cpu_seconds,
            guest.cpu_seconds()
        ));
    }
    if ended.host_mib > guest.host_mib() {
        failures.push(format!(
            "the host grew by {} MiB of {} MiB",
            ended.host_mib,
            guest.host_mib()
        ));
    }
    failures
}

/// Runs one guest and says what was wrong.
fn judge(place: &Place, guest: &Guest, bytes: &[u8]) -> Option<String> {
    // The `exit` that the toolchains' adapter calls knows only success and failure.
    let known = Expect {
        exit: guest.expect.exit.map(|code| code.min(1)),
        ..guest.expect.clone()
    };
    let (expect, stdout) = match (place.wasi(), &guest.expect_component) {
        (Wasi::Modules, _) => (&guest.expect, true),
        (Wasi::Components, Some(other)) => (other, false),
        (Wasi::Components, None) if is_component(bytes) => (&guest.expect, true),
        (Wasi::Components, None) => (&known, true),
    };
    let ended = place.run(guest, bytes);
    if std::env::var_os("PROBITY_SHOW").is_some() {
        eprintln!(
            "{:32} {:6.2} s {:6.2} cpu {:5} MiB  {} {:?}",
            guest.name,
            ended.seconds,
            ended.cpu_seconds,
            ended.host_mib,
            ended.ending,
            ended.limits
        );
    }
    let failures = failures(guest, expect, stdout, &ended);
    if failures.is_empty() {
        return None;
    }
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let tail = lines[lines.len().saturating_sub(12)..].join("\n  | ");
    Some(format!(
        "{}: {}\n  | {}",
        guest.name,
        failures.join("; "),
        tail.chars()
            .filter(|c| !c.is_control() || *c == '\n')
            .take(2_000)
            .collect::<String>()
    ))
}

/// Runs the rows of one kind and reports all that fail.
fn run_group(place: &Place, wanted: impl Fn(Source<'_>) -> bool) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let only = std::env::var("PROBITY_GUEST").ok();
    let mut failed = Vec::new();
    for guest in &Corpus::read().guests {
        let chosen = only.as_ref().is_none_or(|name| *name == guest.name);
        if !chosen || !wanted(guest.source()) {
            continue;
        }
        for bytes in bytes(guest.source()) {
            let fits = match place.wasi() {
                Wasi::Modules => !is_component(&bytes),
                Wasi::Components => true,
            };
            if fits && guest.is_for(place.wasi()) {
                failed.extend(judge(place, guest, &bytes));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_guest_has_a_row() {
    let corpus = Corpus::read();
    let defects: Vec<String> = corpus.guests.iter().flat_map(Guest::defects).collect();
    assert!(defects.is_empty(), "{}", defects.join("\n"));
    let names: BTreeSet<&str> = corpus
        .guests
        .iter()
        .map(|guest| guest.name.as_str())
        .collect();
    assert_eq!(names.len(), corpus.guests.len(), "a name stands twice");
    let rows = |pick: fn(Source<'_>) -> Option<&str>| -> BTreeSet<String> {
        let picked = corpus
            .guests
            .iter()
            .filter_map(|guest| pick(guest.source()));
        picked.map(str::to_owned).collect()
    };
    let wat_rows = rows(|source| match source {
        Source::Wat(name) => Some(name),
        Source::Rust(_) | Source::C(_) | Source::Made(_) => None,
    });
    assert_eq!(wat_rows, wat_files(), "rows and files in `wat`");
    let made_rows = rows(|source| match source {
        Source::Made(name) => Some(name),
        Source::Rust(_) | Source::C(_) | Source::Wat(_) => None,
    });
    let known: BTreeSet<String> = made::MADE
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    assert_eq!(made_rows, known, "rows and guests in `made.rs`");
    assert!(corpus.guests.len() >= 60, "{}", corpus.guests.len());
}

/// The sub-commands that a guest prints.
fn sub_commands(module: &str) -> BTreeSet<String> {
    let bytes = built(module);
    let list: Guest =
        toml::from_str("name = 'list'\nabout = 'the list'\nrust = 'list'\nexpect = { exit = 0 }")
            .unwrap();
    let ended = Place::in_process(Wasi::Modules).run(&list, &bytes);
    assert_eq!(ended.ending, Ending::Exit(0));
    let names = ended
        .stdout
        .lines()
        .filter_map(|line| line.split('\t').next());
    names.map(str::to_owned).collect()
}

#[test]
fn every_sub_command_has_a_row() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let corpus = Corpus::read();
    let (mut rust, mut c) = (BTreeSet::new(), BTreeSet::new());
    for guest in &corpus.guests {
        match guest.source() {
            Source::Rust(name) => drop(rust.insert(name.to_owned())),
            Source::C(name) => drop(c.insert(name.to_owned())),
            Source::Wat(_) | Source::Made(_) => {}
        }
    }
    assert_eq!(rust, sub_commands("hostile.wasm"));
    assert_eq!(c, sub_commands("hostile-c.wasm"));
}

fn rust(source: Source<'_>) -> bool {
    matches!(source, Source::Rust(_))
}

fn c(source: Source<'_>) -> bool {
    matches!(source, Source::C(_))
}

fn text(source: Source<'_>) -> bool {
    matches!(source, Source::Wat(_))
}

fn made(source: Source<'_>) -> bool {
    matches!(source, Source::Made(_))
}

macro_rules! groups {
    ($($module:ident: $place:expr;)*) => {
        $(
            mod $module {
                use super::*;

                #[test]
                fn rust_guests() {
                    let place = $place;
                    place.share(&built("hostile.wasm"));
                    run_group(&place, rust);
                }

                #[test]
                fn c_guests() {
                    let place = $place;
                    place.share(&built("hostile-c.wasm"));
                    run_group(&place, c);
                }

                #[test]
                fn text_guests() {
                    run_group(&$place, text);
                }

                #[test]
                fn made_guests() {
                    run_group(&$place, made);
                }
            }
        )*
    };
}

groups! {
    modules_in_process: Place::in_process(Wasi::Modules);
    components_in_process: Place::in_process(Wasi::Components);
}

#[cfg(target_os = "linux")]
groups! {
    modules_in_a_worker: Place::in_a_worker(Wasi::Modules);
    components_in_a_worker: Place::in_a_worker(Wasi::Components);
}

/// A component is a real attack: nothing but a look at
/// its shape, its compilation or its run can tell it from a good one.
#[test]
fn components_are_valid() {
    let mut invalid = Vec::new();
    for guest in Corpus::read().guests {
        let written = matches!(guest.source(), Source::Wat(name) if name.starts_with("component-"));
        if !written {
            continue;
        }
        for bytes in bytes(guest.source()) {
            if let Err(error) = wasmparser::validate(&bytes) {
                invalid.push(format!("{}: {error}", guest.name));
            }
        }
    }
    assert!(invalid.is_empty(), "{}", invalid.join("\n"));
}

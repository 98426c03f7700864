//! The kind `program`: runs of a program, and what they printed, wrote and returned.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use probity_core::Repo;
use probity_core::budget::Budget;
use probity_core::quantity::{Fuel, WallTime};
use probity_core::repo::File;
use probity_core::spec::{ExpectedText, ProgramCase, ProgramCheck};
use probity_core::verify::{CheckReport, TestOutcome, text_difference};
use serde::Serialize;

use super::report::{Bench, CaseReport, Spent, of_cases};
use crate::engine::Module;
use crate::fs::{Access, Device, Devices, Mounts};
use crate::guest::{Ending, Invocation, LeftFile, Run};
use crate::output::Output;
use crate::pack::{cause_of, reproducible};
use crate::suite::Environment;

const CONFIG: &str = "/run/probity.json";
const RESULTS: &str = "/dev/results";
/// Longest piece of an error stream in a message, in bytes.
const SAID: usize = 2000;

/// What runs, ready to be started.
pub(crate) enum Runs<'a> {
    /// Python with these first arguments.
    Python {
        environment: &'a Environment,
        python_path: &'a [String],
        argv: &'a [String],
    },
    /// A WASI command of the tree by this name.
    Module {
        module: &'a Module,
        name: String,
        argv: &'a [String],
    },
}

/// What `main.py` in the guest is told.
#[derive(Serialize)]
struct Config<'a> {
    root: &'a str,
    runner: &'a str,
    results: &'a str,
    python_path: &'a [String],
    site: [&'a str; 1],
    args: &'a [&'a str],
    seed: u64,
}

/// Runs the program and judges each run.
pub(crate) fn check_program(
    bench: Bench<'_>,
    runs: &Runs<'_>,
    wanted: &ProgramCheck,
) -> CheckReport {
    let started = Instant::now();
    let made = match all(bench, runs, wanted, started) {
        Ok(made) => made,
        Err(report) => return *report,
    };
    let mut spent = Spent::default();
    let cap = bench.check.budget.fuel;
    let cases = wanted.cases.iter().zip(made).enumerate();
    let cases = cases.map(|(index, (case, run))| {
        let beyond = spent.fuel >= cap;
        spent.fuel = spent.fuel.saturating_add(run.fuel).min(cap);
        spent
            .limits
            .extend(run.limits.iter().copied().map(reproducible));
        if let Ending::Limit(hit) = &run.ending {
            spent.limits.push(reproducible(*hit));
        }
        let name = case.name.or_number(index);
        if beyond {
            let hit =
                super::report::used_up(probity_core::budget::Limit::Fuel, &bench.check.budget);
            spent.limits.push(hit);
            return CaseReport {
                name,
                outcome: TestOutcome::Incomplete,
                message: Some(format!("it was not run: limit reached: {hit}")),
                fuel: Fuel(0),
                duration_ns: 0,
            };
        }
        let (outcome, message) = judge(case, &run, wanted.hidden);
        CaseReport {
            name,
            outcome,
            message,
            fuel: run.fuel,
            duration_ns: run.marks.last().map_or(0, |mark| mark.time_ns),
        }
    });
    let cases = cases.collect();
    spent.wall_time = WallTime::from(started.elapsed());
    let (what, runtime) = match runs {
        Runs::Python {
            environment, argv, ..
        } => (
            format!("program {}", argv.join(" ")),
            (environment.runtime().manifest.title(), Some(*environment)),
        ),
        Runs::Module { name, .. } => (format!("program {name}"), ("wasi".to_owned(), None)),
    };
    of_cases(bench, &what, runtime, cases, spent)
}

/// Makes every run, on all processors. In the order of the cases.
fn all(
    bench: Bench<'_>,
    runs: &Runs<'_>,
    wanted: &ProgramCheck,
    started: Instant,
) -> Result<Vec<Run>, Box<CheckReport>> {
    let next = AtomicUsize::new(0);
    let threads = bench.sandbox.parallelism().min(wanted.cases.len()).max(1);
    let (send, sent) = mpsc::channel();
    let mut made: Vec<Option<Run>> = wanted.cases.iter().map(|_| None).collect();
    let mut fault = None;
    thread::scope(|scope| {
        for _ in 0..threads {
            let (send, next) = (send.clone(), &next);
            let spawned = thread::Builder::new()
                .name("probity-runs".to_owned())
                .spawn_scoped(scope, move || {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(case) = wanted.cases.get(index) else {
                            return;
                        };
                        if send.send((index, one(bench, runs, case, started))).is_err() {
                            return;
                        }
                    }
                });
            if let Err(error) = spawned {
                fault = Some(bench.host_failed(format!("cannot start a thread: {error}")));
            }
        }
        drop(send);
        for (index, run) in sent {
            match run {
                Ok(run) => {
                    if let Some(place) = made.get_mut(index) {
                        *place = Some(run);
                    }
                }
                Err(message) => {
                    fault = Some(bench.host_failed(message));
                    next.store(wanted.cases.len(), Ordering::Relaxed);
                }
            }
        }
    });
    match (fault, made.into_iter().collect()) {
        (None, Some(made)) => Ok(made),
        (Some(report), _) => Err(report),
        (None, None) => Err(bench.host_failed("a run was not made")),
    }
}

/// Makes one run. The error is the host's.
fn one(
    bench: Bench<'_>,
    runs: &Runs<'_>,
    case: &ProgramCase,
    started: Instant,
) -> Result<Run, String> {
    let gone = WallTime::from(started.elapsed());
    let budget = Budget {
        wall_time: WallTime(bench.check.budget.wall_time.0.saturating_sub(gone.0)),
        fuel: bench.check.budget.fuel.min(bench.check.budget.test_fuel),
        ..bench.check.budget
    };
    let tree = with_files(bench.repo, case)?;
    let mut mounts = Mounts::new(Devices::Usual);
    mounts.folder("/repo", tree.root(), Access::Writable);
    mounts.empty("/tmp", Access::Writable);
    let more = case.argv.iter().map(String::as_str);
    let (mut invocation, module) = match runs {
        Runs::Python {
            environment,
            python_path,
            argv,
        } => {
            let args: Vec<&str> = argv.iter().map(String::as_str).chain(more).collect();
            let config = Config {
                root: "/repo",
                runner: "program",
                results: RESULTS,
                python_path,
                site: ["/site"],
                args: &args,
                seed: bench.conditions.seed,
            };
            let config = serde_json::to_vec(&config).map_err(|error| error.to_string())?;
            mounts.bytes(CONFIG, config);
            mounts.device(RESULTS, Device::Results);
            let invocation = environment.session(CONFIG, mounts, budget);
            (invocation, &environment.runtime().module)
        }
        Runs::Module { module, name, argv } => {
            let args = std::iter::once(name.clone())
                .chain(argv.iter().cloned())
                .chain(more.map(str::to_owned))
                .collect();
            let mut invocation = Invocation::command(args, mounts, budget);
            // The first is what relative paths of a command start at.
            invocation.preopens = vec!["/repo".to_owned(), "/tmp".to_owned()];
            (invocation, *module)
        }
    };
    invocation.depend_on(bench.conditions);
    invocation.stdin = case.stdin.clone().into_bytes();
    invocation.wanted = case
        .expect_files
        .iter()
        .map(|(path, _)| format!("/repo/{path}"))
        .collect();
    bench
        .sandbox
        .run(invocation, module)
        .map_err(|error| error.to_string())
}

/// The tree with the files of the case laid over it.
fn with_files<'r>(repo: &'r Repo, case: &ProgramCase) -> Result<Cow<'r, Repo>, String> {
    if case.files.is_empty() {
        return Ok(Cow::Borrowed(repo));
    }
    let mut tree = repo.clone();
    for (path, text) in &case.files {
        tree.insert(path, File::regular(text.clone().into_bytes()))
            .map_err(|error| {
                format!("the file `{path}` of a case cannot be laid there: {error}")
            })?;
    }
    Ok(Cow::Owned(tree))
}

/// How a run came out, and why it did not do as expected.
fn judge(case: &ProgramCase, run: &Run, hidden: bool) -> (TestOutcome, Option<String>) {
    let code = match &run.ending {
        Ending::Exited(code) => *code,
        other => {
            let cause = cause_of(other, &run.stderr);
            return (TestOutcome::Incomplete, Some(cause.to_string()));
        }
    };
    let mut wrong = Vec::new();
    if code != u32::from(case.exit_code) {
        let said = stream_end(&run.stderr);
        wrong.push(format!(
            "the exit code is {code}, not {}{said}",
            case.exit_code
        ));
    }
    for (name, expected, found) in [
        ("standard output", &case.stdout, &run.stdout),
        ("standard error", &case.stderr, &run.stderr),
    ] {
        if let Some(expected) = expected {
            wrong.extend(in_stream(expected, found).map(|what| format!("{name}: {what}")));
        }
    }
    for (index, (path, expected)) in case.expect_files.iter().enumerate() {
        let what = match run.left.get(index) {
            Some(LeftFile::Bytes(bytes)) => text_difference(expected, bytes),
            Some(LeftFile::TooLarge) => Some("it is too large to be looked at".to_owned()),
            Some(LeftFile::Missing) | None => Some("there is no such file".to_owned()),
        };
        wrong.extend(what.map(|what| format!("`{path}`: {what}")));
    }
    if wrong.is_empty() {
        return (TestOutcome::Passed, None);
    }
    let message = if hidden {
        "it did not do what is expected".to_owned()
    } else {
        wrong.join("\n")
    };
    (TestOutcome::Failed, Some(message))
}

/// What is wrong with a stream. One that lost its middle is not compared.
fn in_stream(expected: &ExpectedText, found: &Output) -> Option<String> {
    if found.dropped > 0 {
        return Some(format!(
            "{} bytes are more than are kept; raise the limit `output`",
            found.total
        ));
    }
    text_difference(expected, &found.bytes)
}

/// The end of an error stream, on lines of its own.
fn stream_end(stream: &Output) -> String {
    let text = String::from_utf8_lossy(&stream.bytes);
    let text = text.trim_end();
    if text.is_empty() {
        return String::new();
    }
    let from = text.ceil_char_boundary(text.len().saturating_sub(SAID));
    format!("\n{}", text.get(from..).unwrap_or_default())
}

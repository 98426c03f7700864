//! Calls of one function, made in guests.
//!
//! A warmed-up interpreter imports the module once and is paused; each call goes on from
//! there in a guest of its own, on all processors. Where no guest can be paused, or where the
//! calls are to share an instance, guests begin anew. Answers and what they took are the same
//! whoever was faster.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Instant;

use probity_core::Repo;
use probity_core::budget::{Budget, Limit};
use probity_core::quantity::{Fuel, WallTime};
use probity_core::spec::{Function, Instance};
use probity_core::verify::{Cause, CheckReport};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::answers::{Answered, Answers};
use super::report::{Bench, Spent, used_up};
use crate::cancel::Cancel;
use crate::fs::{Access, Device, Devices, Mounts};
use crate::guest::{Ending, Invocation, Run, RunError, Turn};
use crate::isolation::{Paused, PausedGuest};
use crate::pack::{cause_of, reproducible};
use crate::suite::{Environment, proceed};

const CONFIG: &str = "/run/probity.json";
const RESULTS: &str = "/dev/results";
/// Calls that are worth a guest of their own to import for.
const CALLS_PER_GUEST: usize = 16;

/// One call: its arguments by place and by name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Call {
    pub(super) args: Vec<Json>,
    pub(super) kwargs: Map<String, Json>,
}

/// What came of a call that was made.
pub(super) enum Came {
    /// An answer.
    Answer(Answered),
    /// None: the guest ended, or said something else.
    Lost {
        cause: Cause,
        /// What it burned.
        fuel: Fuel,
    },
}

/// What came of all calls.
pub(super) struct Asked {
    /// In the order of the calls.
    pub(super) came: Vec<Came>,
    pub(super) spent: Spent,
    /// The runtime with the version that it says it has.
    pub(super) runtime: String,
}

/// Where a function is called.
#[derive(Clone, Copy)]
pub(super) struct Callee<'a> {
    pub(super) bench: Bench<'a>,
    pub(super) environment: &'a Environment,
    /// The tree that holds it.
    pub(super) tree: &'a Repo,
    pub(super) python_path: &'a [String],
    pub(super) function: &'a Function,
    pub(super) instance: Instance,
}

/// What `main.py` in the guest is told.
#[derive(Serialize)]
struct Config<'a> {
    root: &'a str,
    runner: &'a str,
    results: &'a str,
    python_path: &'a [String],
    site: [&'a str; 1],
    args: [&'a str; 2],
    seed: u64,
    calls: &'a [Numbered<'a>],
    pause: bool,
    results_size: u64,
}

/// A call as the guest is told of it: its number, its arguments.
type Numbered<'a> = (usize, &'a [Json], &'a Map<String, Json>);

/// How calls are made.
enum Place {
    /// From a guest that is paused.
    Paused(Box<dyn PausedGuest>),
    /// From the beginning.
    Anew,
}

/// Why calls cannot be made: the report of the check.
type Fault = Box<CheckReport>;

impl Callee<'_> {
    /// Makes all calls. The error is the report of the check, when nothing can be said of
    /// single calls.
    pub(super) fn ask(&self, calls: &[Call]) -> Result<Asked, Fault> {
        let started = Instant::now();
        let mut asked = match self.instance {
            Instance::Each => self.each(calls, started)?,
            Instance::Shared => self.shared(calls)?,
        };
        asked.spent.wall_time = WallTime::from(started.elapsed());
        self.hold_to_the_budget(&mut asked);
        Ok(asked)
    }

    const fn budget(&self) -> &Budget {
        &self.bench.check.budget
    }

    /// Adds up what the calls took. What the budget does not reach to is lost, as if they had
    /// been made one after the other.
    fn hold_to_the_budget(&self, asked: &mut Asked) {
        let cap = self.budget().fuel;
        for came in &mut asked.came {
            let fuel = match came {
                Came::Answer(answered) => answered.fuel,
                Came::Lost { fuel, .. } => *fuel,
            };
            let total = asked.spent.fuel.saturating_add(fuel);
            if total > cap || asked.spent.fuel >= cap {
                let hit = used_up(Limit::Fuel, self.budget());
                asked.spent.limits.push(hit);
                *came = Came::Lost {
                    cause: Cause::Limit(hit),
                    fuel: Fuel(0),
                };
            }
            asked.spent.fuel = total.min(cap);
        }
    }

    /// Makes each call in a guest of its own.
    fn each(&self, calls: &[Call], started: Instant) -> Result<Asked, Fault> {
        let (first, begun) = self.place(&self.bench.conditions.cancel)?;
        let (mut spent, runtime) = match &begun {
            None => (Spent::default(), None),
            Some(run) => {
                let answers = self.begun(run)?;
                (spent_of(run), answers.version)
            }
        };
        let next = AtomicUsize::new(0);
        let worth = calls.len().div_ceil(CALLS_PER_GUEST).max(1);
        let threads = self.bench.sandbox.parallelism().min(worth);
        let (send, sent) = mpsc::channel();
        let mut came = BTreeMap::new();
        let mut fault = None;
        thread::scope(|scope| {
            let mut first = Some(first);
            for number in 0..threads {
                let (place, send, next) = (first.take(), send.clone(), &next);
                let spawned = thread::Builder::new()
                    .name("probity-calls".to_owned())
                    .spawn_scoped(scope, move || {
                        self.make(calls, next, place, started, &send);
                    });
                // The first thread is enough.
                if let Err(error) = spawned
                    && number == 0
                {
                    fault = Some(
                        self.bench
                            .host_failed(format!("cannot start a thread: {error}")),
                    );
                }
            }
            drop(send);
            let mut burned = spent.fuel;
            for (index, result) in sent {
                match result {
                    Ok((one, limits)) => {
                        burned = burned.saturating_add(fuel_of(&one));
                        spent.limits.extend(limits);
                        came.insert(index, one);
                    }
                    Err(report) => fault = Some(report),
                }
                // Nothing more is begun that would be lost anyway.
                if fault.is_some() || burned > self.budget().fuel {
                    next.store(calls.len(), Ordering::Relaxed);
                }
            }
        });
        if let Some(report) = fault {
            return Err(report);
        }
        let beyond = || Came::Lost {
            cause: Cause::Limit(used_up(Limit::Fuel, self.budget())),
            fuel: self.budget().fuel,
        };
        Ok(Asked {
            came: (0..calls.len())
                .map(|index| came.remove(&index).unwrap_or_else(beyond))
                .collect(),
            spent,
            runtime: self.title(runtime),
        })
    }

    /// Makes calls, until none is left.
    #[expect(clippy::type_complexity, reason = "a message of this module's own")]
    fn make(
        &self,
        calls: &[Call],
        next: &AtomicUsize,
        place: Option<Place>,
        started: Instant,
        send: &Sender<(
            usize,
            Result<(Came, Vec<probity_core::budget::LimitHit>), Fault>,
        )>,
    ) {
        let mut place = match place {
            Some(place) => place,
            // One more to go on from; the first one's work was counted.
            None => match self.place(&self.bench.conditions.cancel) {
                Ok((place, _)) => place,
                Err(_) => return,
            },
        };
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(call) = calls.get(index) else {
                return;
            };
            let made = self.one(index, call, &mut place, started);
            let failed = made.is_err();
            if send.send((index, made)).is_err() || failed {
                return;
            }
        }
    }

    /// Makes one call.
    fn one(
        &self,
        index: usize,
        call: &Call,
        place: &mut Place,
        started: Instant,
    ) -> Result<(Came, Vec<probity_core::budget::LimitHit>), Fault> {
        let calls = [numbered(index, call)];
        let gone = WallTime::from(started.elapsed());
        let budget = Budget {
            wall_time: WallTime(self.budget().wall_time.0.saturating_sub(gone.0)),
            ..*self.budget()
        };
        let run = match place {
            Place::Paused(guest) => guest.go_on(Turn {
                text: proceed(&calls),
                sliced: true,
                budget,
                cancel: self.bench.conditions.cancel.clone(),
            }),
            Place::Anew => self.run(&calls, budget),
        };
        let run = run.map_err(|error| self.bench.host_failed(error.to_string()))?;
        let limits = run.limits.iter().copied().map(reproducible).collect();
        let answers = self.answers(&run);
        let lost = |cause| Came::Lost {
            cause,
            fuel: run.fuel,
        };
        let came = match answers {
            Err(message) => lost(Cause::Protocol { message }),
            Ok(answers) if answers.unfit.is_some() => lost(unfit(&answers)),
            Ok(mut answers) => match answers.answers.remove(&index) {
                // All that the guest did was for this call.
                Some(answered) => Came::Answer(Answered {
                    fuel: run.fuel,
                    ..answered
                }),
                None => lost(ended(&run)),
            },
        };
        Ok((came, limits))
    }

    /// Makes all calls in one guest. A call that ends it is lost, and another goes on.
    fn shared(&self, calls: &[Call]) -> Result<Asked, Fault> {
        let all: Vec<Numbered<'_>> = calls
            .iter()
            .enumerate()
            .map(|(index, call)| numbered(index, call))
            .collect();
        let mut came = Vec::new();
        let mut spent = Spent::default();
        let mut runtime = None;
        while let Some(left) = all.get(came.len()..).filter(|left| !left.is_empty()) {
            let budget = Budget {
                fuel: self.budget().fuel.saturating_sub(spent.fuel),
                wall_time: WallTime(self.budget().wall_time.0.saturating_sub(spent.wall_time.0)),
                ..*self.budget()
            };
            let run = self
                .run(left, budget)
                .map_err(|error| self.bench.host_failed(error.to_string()))?;
            let used = spent_of(&run);
            spent.fuel = spent.fuel.saturating_add(used.fuel);
            spent.wall_time = WallTime(spent.wall_time.0.saturating_add(used.wall_time.0));
            spent.limits.extend(used.limits);
            let mut answers = match self.answers(&run) {
                Ok(answers) => answers,
                Err(message) => {
                    return Err(Box::new(self.bench.stopped(Cause::Protocol { message })));
                }
            };
            runtime = runtime.or(answers.version.take());
            if answers.unfit.is_some() {
                return Err(Box::new(self.unusable(&answers, &run)));
            }
            let before = came.len();
            while let Some(answered) = answers.answers.remove(&came.len()) {
                came.push(Came::Answer(answered));
            }
            if came.len() < calls.len() {
                let lost_at_once = came.len() == before && answers.open.is_none();
                let cause = ended(&run);
                if lost_at_once || spent.fuel >= self.budget().fuel {
                    return Err(Box::new(CheckReport {
                        fuel: spent.fuel,
                        ..self.bench.stopped(cause)
                    }));
                }
                came.push(Came::Lost {
                    cause,
                    fuel: Fuel(0),
                });
            }
        }
        // What the guests used is known as a whole; that of the calls is part of it.
        let within: Fuel = came.iter().map(fuel_of).fold(Fuel(0), Fuel::saturating_add);
        spent.fuel = spent.fuel.saturating_sub(within);
        Ok(Asked {
            came,
            spent,
            runtime: self.title(runtime),
        })
    }

    /// Where calls are made from, and the run that came so far.
    fn place(&self, cancel: &Cancel) -> Result<(Place, Option<Run>), Fault> {
        if !self.environment.is_warm() {
            return Ok((Place::Anew, None));
        }
        let failed = |error: RunError| self.bench.host_failed(error.to_string());
        let mut invocation = self
            .invocation(&[], true, *self.budget())
            .map_err(|message| self.bench.host_failed(message))?;
        invocation.cancel = cancel.clone();
        let module = &self.environment.runtime().module;
        let Paused { run, guest } = self
            .bench
            .sandbox
            .pause(invocation, module)
            .map_err(failed)?;
        match guest {
            Some(guest) => Ok((Place::Paused(guest), Some(run))),
            None => Err(Box::new(match self.answers(&run) {
                Ok(answers) => self.unusable(&answers, &run),
                Err(message) => self.bench.stopped(Cause::Protocol { message }),
            })),
        }
    }

    /// What a guest said that was paused: nothing but that it is ready.
    fn begun(&self, run: &Run) -> Result<Answers, Fault> {
        let answers = self
            .answers(run)
            .map_err(|message| Box::new(self.bench.stopped(Cause::Protocol { message })))?;
        if answers.answers.is_empty() && answers.open.is_none() {
            return Ok(answers);
        }
        let message = "a call was answered before any was made".to_owned();
        Err(Box::new(self.bench.stopped(Cause::Protocol { message })))
    }

    /// The report of a function that cannot be called.
    fn unusable(&self, answers: &Answers, run: &Run) -> CheckReport {
        let cause = match &answers.unfit {
            Some(_) => unfit(answers),
            None => ended(run),
        };
        let evidence = |output: &crate::output::Output| {
            (output.total > 0).then(|| crate::pack::captured(output))
        };
        CheckReport {
            fuel: run.fuel,
            limits: run.limits.iter().copied().map(reproducible).collect(),
            stdout: evidence(&run.stdout),
            stderr: evidence(&run.stderr),
            wall_time: run.wall_time,
            message: format!("`{}` cannot be called: {cause}", self.function),
            ..self.bench.stopped(cause)
        }
    }

    fn answers(&self, run: &Run) -> Result<Answers, String> {
        let complete = matches!(run.ending, Ending::Exited(_));
        Answers::read(&run.results, &run.marks, complete)
    }

    fn run(&self, calls: &[Numbered<'_>], budget: Budget) -> Result<Run, RunError> {
        let invocation = self
            .invocation(calls, false, budget)
            .map_err(RunError::Engine)?;
        let module = &self.environment.runtime().module;
        self.bench.sandbox.run(invocation, module)
    }

    fn invocation(
        &self,
        calls: &[Numbered<'_>],
        pause: bool,
        budget: Budget,
    ) -> Result<Invocation, String> {
        let config = Config {
            root: "/repo",
            runner: "call",
            results: RESULTS,
            python_path: self.python_path,
            site: ["/site"],
            args: [&self.function.module, &self.function.name],
            seed: self.bench.conditions.seed,
            calls,
            pause,
            results_size: budget.results.0,
        };
        let config = serde_json::to_vec(&config).map_err(|error| error.to_string())?;
        let mut mounts = Mounts::new(Devices::Usual);
        mounts.folder("/repo", self.tree.root(), Access::Writable);
        mounts.empty("/tmp", Access::Writable);
        mounts.bytes(CONFIG, config);
        mounts.device(RESULTS, Device::Results);
        let mut invocation = self.environment.session(CONFIG, mounts, budget);
        invocation.depend_on(self.bench.conditions);
        invocation.sliced = true;
        Ok(invocation)
    }

    fn title(&self, version: Option<String>) -> String {
        let manifest = &self.environment.runtime().manifest;
        match version {
            Some(version) => format!("{} {version}", manifest.language),
            None => manifest.title(),
        }
    }
}

fn numbered(index: usize, call: &Call) -> Numbered<'_> {
    (index, &call.args, &call.kwargs)
}

fn fuel_of(came: &Came) -> Fuel {
    match came {
        Came::Answer(answered) => answered.fuel,
        Came::Lost { fuel, .. } => *fuel,
    }
}

fn spent_of(run: &Run) -> Spent {
    Spent {
        fuel: run.fuel,
        limits: run.limits.iter().copied().map(reproducible).collect(),
        wall_time: run.wall_time,
    }
}

/// Why a guest that ended gave no answer.
fn ended(run: &Run) -> Cause {
    match &run.ending {
        // It left by itself, in the middle of a call.
        Ending::Exited(code) => Cause::Exit {
            code: i32::try_from(*code).unwrap_or(i32::MAX),
        },
        other => cause_of(other, &run.stderr),
    }
}

/// Why a function cannot be called.
fn unfit(answers: &Answers) -> Cause {
    let message = answers.unfit.as_deref().unwrap_or_default();
    let last = message.trim_end().lines().next_back().unwrap_or(message);
    Cause::Broke {
        message: crate::text::clean(last),
    }
}

//! Suites whose tests, or files of tests, get a guest each.
//!
//! One guest collects and is paused. Each unit then begins in the state that it left: from
//! the paused guest itself where that can be, else from the beginning with the rest left out.
//! Units run on several threads; what they come to is put together in the order of
//! collection, as if they had run one after the other, so that budgets and results do not
//! depend on who was faster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use probity_core::budget::{Budget, Limit, LimitHit};
use probity_core::quantity::WallTime;
use probity_core::spec::SuiteIsolation;
use probity_core::verify::{Cause, CheckReport, Observer, SuiteEnd};

use super::across::Pair;
use super::live::Live;
use super::run::{Heard, Session, Stage, SuiteRun, Used, costs_one_test};
use super::seal;
use crate::cancel::Cancel;
use crate::guest::{Run, RunError, Turn};
use crate::isolation::{Paused, PausedGuest};
use crate::output::Output;
use crate::text::clean;

/// Units that are worth a guest of their own to collect for.
const UNITS_PER_GUEST: usize = 8;
/// Most units of a suite.
const MAX_UNITS: usize = 100_000;

/// Where the guests of units begin.
pub(super) enum Source {
    /// In a paused guest, which has written so many records.
    Paused(Box<dyn PausedGuest>, u64),
    /// In one, with another paused guest on the other side of the border.
    Across(Pair),
    /// At the beginning.
    Anew,
}

impl Source {
    /// Records that were written before a unit begins.
    const fn records(&self) -> u64 {
        match self {
            Self::Paused(_, records) => *records,
            Self::Anew | Self::Across(_) => 0,
        }
    }
}

/// What a unit came to.
pub(super) struct Outcome {
    pub(super) heard: Heard,
    pub(super) end: SuiteEnd,
    /// Whether its runner reported its end, or the test is known that kept it from that.
    pub(super) finished: bool,
    pub(super) stdout: Output,
    pub(super) stderr: Output,
}

impl Outcome {
    /// Whether nothing comes after it.
    const fn ends_the_suite(&self) -> bool {
        !self.finished || !matches!(self.end, SuiteEnd::Exit(_))
    }

    /// Whether its exit code says no more than its results do.
    fn is_explained(&self) -> bool {
        self.end == SuiteEnd::Exit(0) || self.heard.records.any_failed()
    }
}

/// What the units share.
pub(super) struct Plan {
    units: Vec<Vec<String>>,
    progress: Mutex<Progress>,
    /// Every bound on a unit; wall time counts from `started`.
    pub(super) budget: Budget,
    started: Instant,
    /// Ends guests that collect for units that are run already.
    late: Cancel,
}

/// How far the units are.
#[derive(Default)]
struct Progress {
    /// The next unit that nobody runs.
    next: usize,
    /// What the units that have ended used.
    used: Used,
}

impl Plan {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<(usize, &[String])> {
        let mut progress = self.progress();
        let index = progress.next;
        let unit = self.units.get(index)?;
        progress.next = index.saturating_add(1);
        Some((index, unit))
    }

    /// Takes note of what came of a unit. Once the suite cannot go on, the rest is left
    /// undone: all units before it have been taken and are run to their ends, so that the end
    /// is the same whoever was faster.
    fn note(&self, outcome: Option<&Outcome>) {
        let mut progress = self.progress();
        let goes_on = outcome.is_some_and(|outcome| {
            progress.used.join(outcome.heard.used);
            progress.used.fuel <= self.budget.fuel
                && progress.used.results <= self.budget.results
                && !outcome.ends_the_suite()
        });
        if !goes_on {
            progress.next = self.units.len();
            self.late.cancel();
        }
    }

    /// The bounds of a guest that begins now.
    pub(super) fn budget_now(&self) -> Budget {
        let gone = Used {
            wall_time: WallTime::from(self.started.elapsed()),
            ..Used::default()
        };
        gone.left_of(self.budget)
    }
}

/// What came of a unit; the error is the report of the whole suite.
pub(super) type Came = Result<Outcome, Box<CheckReport>>;

impl SuiteRun<'_> {
    /// Collects in one guest and runs each unit in its own. The error is the report.
    pub(super) fn session_in_units(
        &self,
        observe: Observer<'_>,
    ) -> Result<Session, Box<CheckReport>> {
        let mut live = Live::new(&self.wanted.expectation, observe);
        live.guest_begins();
        let budget = self.check.budget;
        let (run, source) = self.collect(budget, &self.conditions.cancel)?;
        // Without the time for which it waited for a worker.
        let now = Instant::now();
        let started = now.checked_sub(run.wall_time.duration()).unwrap_or(now);
        live.hear(&run.results);
        let mut heard = Heard::default();
        let (end, _) = self.hear(&run, &mut heard, 0)?;
        if let Some(id) = heard.records.passed_beside(&BTreeSet::new()) {
            let message = format!("`{}` was run while tests were collected", clean(id));
            return Err(self.protocol(message));
        }
        let ready = end == SuiteEnd::Exit(0) && !heard.records.finished();
        let units = units(&heard.records.collected, self.wanted.isolation);
        let used = heard.used;
        let mut session = Session {
            heard,
            end,
            stdout: run.stdout,
            stderr: run.stderr,
        };
        let Some(source) = source.filter(|_| ready) else {
            return Ok(session);
        };
        if units.len() > MAX_UNITS {
            let message = format!("{} units; {MAX_UNITS} are the most", units.len());
            return Err(Box::new(self.stopped(Cause::Broke { message })));
        }
        let plan = Plan {
            units,
            progress: Mutex::default(),
            budget: Budget {
                wall_time: budget.wall_time,
                ..used.left_of(budget)
            },
            started,
            late: self.conditions.cancel.inner(),
        };
        let mut came = self.run_units(&plan, source, &mut live)?;
        let mut code = 0;
        for index in 0..plan.units.len() {
            // Nothing is concluded from a part of the units.
            let Some(outcome) = came.remove(&index) else {
                return Ok(session);
            };
            match self.put(&mut session, outcome?) {
                Some(more) => code = code.max(more),
                None => return Ok(session),
            }
        }
        session.end = SuiteEnd::Exit(code);
        session.heard.records.finish();
        session.heard.used.wall_time = WallTime::from(started.elapsed());
        Ok(session)
    }

    /// Runs a guest up to the end of collection; where its units begin, if it came so far.
    fn collect(
        &self,
        budget: Budget,
        cancel: &Cancel,
    ) -> Result<(Run, Option<Source>), Box<CheckReport>> {
        if self.candidate.is_some() {
            return self.collect_across(budget, cancel);
        }
        let mut invocation = self.invocation(Stage::Collect, budget)?;
        invocation.cancel = cancel.clone();
        let module = &self.environment.runtime().module;
        let failed = |error: RunError| self.host_failed(&error.to_string());
        if self.environment.is_warm() {
            let Paused { run, guest } = self.sandbox.pause(invocation, module).map_err(failed)?;
            let records = seal::count(&run.results);
            Ok((run, guest.map(|guest| Source::Paused(guest, records))))
        } else {
            let run = self.sandbox.run(invocation, module).map_err(failed)?;
            Ok((run, Some(Source::Anew)))
        }
    }

    /// Runs all units, up to the first after which the suite cannot go on; what came of each.
    fn run_units(
        &self,
        plan: &Plan,
        source: Source,
        live: &mut Live<'_>,
    ) -> Result<BTreeMap<usize, Came>, Box<CheckReport>> {
        let worth = plan.units.len().div_ceil(UNITS_PER_GUEST).max(1);
        let threads = self.sandbox.parallelism().min(worth);
        let (send, sent) = mpsc::channel();
        let mut all = BTreeMap::new();
        thread::scope(|scope| {
            let mut source = Some(source);
            for number in 0..threads {
                let first = source.take();
                let send = send.clone();
                let spawned = thread::Builder::new()
                    .name("probity-units".to_owned())
                    .spawn_scoped(scope, move || {
                        // Others collect for themselves; the first has done so.
                        if let Some(source) = first.or_else(|| self.another(plan)) {
                            self.run_some(plan, source, &send);
                        }
                    });
                // The first thread is enough.
                if let Err(error) = spawned
                    && number == 0
                {
                    return Err(self.host_failed(&format!("cannot start a thread: {error}")));
                }
            }
            drop(send);
            for (index, mut came) in sent {
                plan.note(came.as_ref().ok());
                if let Ok(outcome) = &mut came {
                    live.unit(&outcome.heard.records.records);
                    if !outcome.ends_the_suite() && outcome.is_explained() {
                        // Nobody will ask what it printed.
                        (outcome.stdout, outcome.stderr) = Default::default();
                    }
                }
                all.insert(index, came);
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// One more place for units to begin, while some are left. Its guest collected what the
    /// first one did, so its work counts once.
    fn another(&self, plan: &Plan) -> Option<Source> {
        if !self.environment.is_warm() {
            return Some(Source::Anew);
        }
        // It is told what the first one was, or it would see that it is another.
        let budget = Budget {
            wall_time: plan.budget_now().wall_time,
            ..self.check.budget
        };
        let (_, source) = self.collect(budget, &plan.late).ok()?;
        source
    }

    fn run_some(&self, plan: &Plan, mut source: Source, send: &Sender<(usize, Came)>) {
        while let Some((index, ids)) = plan.take() {
            let came = self.unit(plan, &mut source, ids);
            let ok = came.is_ok();
            if send.send((index, came)).is_err() || !ok {
                break;
            }
        }
        // Nothing is left for guests that still collect.
        plan.late.cancel();
    }

    /// Runs one unit: in one guest, or more if tests are lost on the way.
    fn unit(&self, plan: &Plan, source: &mut Source, ids: &[String]) -> Came {
        if let Source::Across(pair) = source {
            return self.unit_across(plan, pair, ids);
        }
        let mut heard = Heard::default();
        let wanted: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
        let mut left = ids.to_vec();
        loop {
            let mut budget = heard.used.left_of(plan.budget);
            budget.wall_time = plan.budget_now().wall_time;
            let run = self.stretch(budget, source, &left)?;
            let (end, open) = self.hear(&run, &mut heard, source.records())?;
            if let Some(id) = heard.records.passed_beside(&wanted) {
                let message = format!("a guest reported `{}`, which is not its test", clean(id));
                return Err(self.protocol(message));
            }
            // A test that ends its process is lost like one that ends its guest.
            let ended = matches!(end, SuiteEnd::Exit(_)) && !heard.records.finished();
            let lost = open.filter(|_| ended || costs_one_test(&end));
            let (end, finished) = match lost {
                None => {
                    // One end stands for all units, once they are put together.
                    let finished = heard.records.take_finish();
                    if finished {
                        heard.records.note_silent(ids);
                    }
                    (end, finished)
                }
                Some(id) => {
                    heard.lose(&id, &end);
                    let begun: BTreeSet<String> = heard.records.begun().into_iter().collect();
                    let before = left.len();
                    left.retain(|id| !begun.contains(id));
                    if !left.is_empty() && left.len() < before {
                        continue;
                    }
                    // The guest is gone, and with it the end that its runner would have
                    // reported. One that loses tests of others would go on for ever.
                    (SuiteEnd::Exit(1), left.is_empty())
                }
            };
            return Ok(Outcome {
                heard,
                end,
                finished,
                stdout: run.stdout,
                stderr: run.stderr,
            });
        }
    }

    /// Runs one guest for these tests.
    fn stretch(
        &self,
        budget: Budget,
        source: &mut Source,
        ids: &[String],
    ) -> Result<Run, Box<CheckReport>> {
        let run = match source {
            Source::Paused(guest, _) => guest.go_on(Turn {
                text: super::environment::proceed(&ids),
                sliced: true,
                budget,
                cancel: self.conditions.cancel.clone(),
            }),
            Source::Anew => {
                let invocation = self.invocation(Stage::Only(ids), budget)?;
                let module = &self.environment.runtime().module;
                self.sandbox.run(invocation, module)
            }
            Source::Across(_) => Err(RunError::Panicked), // has a way of its own
        };
        run.map_err(|error| self.host_failed(&error.to_string()))
    }

    /// Adds what a unit came to. The exit code that it leads to; `None` if the suite ends
    /// here.
    fn put(&self, session: &mut Session, outcome: Outcome) -> Option<i32> {
        let budget = self.check.budget;
        let explained = outcome.is_explained();
        let Outcome {
            heard,
            end,
            finished,
            stdout,
            stderr,
        } = outcome;
        let all = &mut session.heard;
        all.records.append(heard.records);
        all.limits.extend(heard.limits);
        all.attempts.extend(heard.attempts);
        all.used.join(heard.used);
        let over = |limit, cap| {
            SuiteEnd::Limit(LimitHit {
                limit,
                cap,
                used: cap,
            })
        };
        // As it would have been ended, had the units run one after the other.
        let end = if all.used.fuel > budget.fuel {
            all.used.fuel = budget.fuel;
            over(Limit::Fuel, budget.fuel.0)
        } else if all.used.results > budget.results {
            over(Limit::Results, budget.results.0)
        } else {
            end
        };
        match end {
            SuiteEnd::Exit(code) if finished && explained => Some(code.signum()),
            SuiteEnd::Exit(code) if finished => {
                (session.stdout, session.stderr) = (stdout, stderr);
                Some(code)
            }
            SuiteEnd::Exit(_) | SuiteEnd::Limit(_) | SuiteEnd::Trap(_) => {
                session.end = end;
                (session.stdout, session.stderr) = (stdout, stderr);
                None
            }
        }
    }
}

/// The units in the order of collection.
fn units(collected: &[String], isolation: SuiteIsolation) -> Vec<Vec<String>> {
    match isolation {
        SuiteIsolation::Suite => vec![collected.to_vec()],
        SuiteIsolation::Test => collected.iter().map(|id| vec![id.clone()]).collect(),
        SuiteIsolation::File => {
            let mut units: Vec<Vec<String>> = Vec::new();
            let mut place: BTreeMap<&str, usize> = BTreeMap::new();
            for id in collected {
                let file = file_of(id);
                let at = *place.entry(file).or_insert_with(|| {
                    units.push(Vec::new());
                    units.len().saturating_sub(1)
                });
                if let Some(unit) = units.get_mut(at) {
                    unit.push(id.clone());
                }
            }
            units
        }
    }
}

/// The file of a test, or its module: pytest's ids are `file::…`, unittest's
/// `module.Class.method`.
fn file_of(id: &str) -> &str {
    match id.split_once("::") {
        Some((file, _)) => file,
        None => id.rsplitn(3, '.').nth(2).unwrap_or(id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_their_tests_together_in_the_order_of_collection() {
        let ids = ["b.py::x", "a.py::y", "b.py::C::z", "README.md"].map(str::to_owned);
        assert_eq!(
            units(&ids, SuiteIsolation::File),
            [
                vec!["b.py::x", "b.py::C::z"],
                vec!["a.py::y"],
                vec!["README.md"]
            ]
        );
        assert_eq!(file_of("tests.test_x.Case.test_y"), "tests.test_x");
        assert_eq!(units(&ids, SuiteIsolation::Test).len(), 4);
        assert_eq!(units(&ids, SuiteIsolation::Suite), [ids.to_vec()]);
    }
}

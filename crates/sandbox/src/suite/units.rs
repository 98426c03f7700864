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
use probity_core::quantity::{ByteSize, Fuel, WallTime};
use probity_core::spec::SuiteIsolation;
use probity_core::verify::{Cause, CheckReport, Observer, SuiteEnd};

use super::live::Live;
use super::records::Records;
use super::run::{Session, Stage, SuiteRun, Used, costs_one_test};
use crate::cancel::Cancel;
use crate::guest::{Run, RunError, Turn};
use crate::isolation::{Paused, PausedGuest};
use crate::output::Output;
use crate::pack::reproducible;
use crate::text::clean;

/// Units that are worth a guest of their own to collect for.
const UNITS_PER_GUEST: usize = 8;
/// Most units of a suite.
const MAX_UNITS: usize = 100_000;

/// Where the guests of units begin.
enum Source {
    /// In a paused guest.
    Paused(Box<dyn PausedGuest>),
    /// At the beginning.
    Anew,
}

/// What a unit came to.
struct Outcome {
    records: Records,
    used: Used,
    limits: Vec<LimitHit>,
    end: SuiteEnd,
    /// Whether its runner reported its end, or the test is known that kept it from that.
    finished: bool,
    /// Whether the exit code says no more than the results do.
    explained: bool,
    stdout: Output,
    stderr: Output,
}

/// What the units share.
struct Plan {
    units: Vec<Vec<String>>,
    /// The next unit that nobody runs, and what the units that have ended used.
    next: Mutex<(usize, Used)>,
    /// Every bound on a unit; wall time counts from `started`.
    budget: Budget,
    started: Instant,
    /// Ends guests that collect for units that are run already.
    late: Cancel,
}

impl Plan {
    fn take(&self) -> Option<(usize, &[String])> {
        let mut next = self.next();
        let index = next.0;
        let unit = self.units.get(index)?;
        next.0 = index.saturating_add(1);
        Some((index, unit))
    }

    fn next(&self) -> MutexGuard<'_, (usize, Used)> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves the rest undone. Whatever comes before what was taken is run to its end.
    fn stop(&self) {
        self.next().0 = self.units.len();
        self.late.cancel();
    }

    /// Takes note of what a unit came to. Once the suite cannot go on, the rest is left
    /// undone: all units before it have been taken, so that the end is the same whoever was
    /// faster.
    fn note(&self, outcome: &Outcome) {
        let used = {
            let mut next = self.next();
            next.1.join(outcome.used);
            next.1
        };
        let over = used.fuel > self.budget.fuel || used.results.0 > self.budget.results.0;
        if over || outcome.ends_the_suite() {
            self.stop();
        }
    }

    /// The bounds of a guest that begins now.
    fn budget_now(&self) -> Budget {
        let gone = WallTime::from(self.started.elapsed());
        Budget {
            wall_time: WallTime(self.budget.wall_time.0.saturating_sub(gone.0)),
            ..self.budget
        }
    }
}

impl Outcome {
    /// Whether nothing comes after it.
    const fn ends_the_suite(&self) -> bool {
        !self.finished || !matches!(self.end, SuiteEnd::Exit(_))
    }
}

type Sent = (usize, Result<Outcome, Box<CheckReport>>);

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
        let mut used = Used::default();
        used.add(&run);
        let mut records = Records::default();
        let end = self.end_of(&run.ending)?;
        let complete = matches!(end, SuiteEnd::Exit(_));
        records
            .add(&run.results, &run.marks, complete)
            .map_err(|message| Box::new(self.stopped(Cause::Protocol { message })))?;
        let limits = run.limits.iter().copied().map(reproducible).collect();
        let mut session = Session {
            records,
            end,
            used,
            limits,
            stdout: run.stdout,
            stderr: run.stderr,
        };
        if let Some(id) = session.records.passed_beside(&BTreeSet::new()) {
            let message = format!("`{}` was run while tests were collected", clean(id));
            return Err(Box::new(self.stopped(Cause::Protocol { message })));
        }
        let ready = session.end == SuiteEnd::Exit(0) && !session.records.finished();
        let Some(source) = source.filter(|_| ready) else {
            return Ok(session);
        };
        let units = units(&session.records.collected, self.wanted.isolation);
        if units.len() > MAX_UNITS {
            let message = format!("{} units; {MAX_UNITS} are the most", units.len());
            return Err(Box::new(self.stopped(Cause::Broke { message })));
        }
        let plan = Plan {
            units,
            next: Mutex::default(),
            budget: Budget {
                fuel: budget.fuel.saturating_sub(used.fuel),
                results: ByteSize(budget.results.0.saturating_sub(used.results.0)),
                ..budget
            },
            started,
            late: self.conditions.cancel.inner(),
        };
        let mut outcomes = self.run_units(&plan, source, &mut live)?;
        let mut code = 0;
        for index in 0..plan.units.len() {
            // Nothing is concluded from a part of the units.
            let Some(outcome) = outcomes.remove(&index) else {
                return Ok(session);
            };
            match self.put(&mut session, outcome) {
                Some(more) => code = code.max(more),
                None => return Ok(session),
            }
        }
        session.end = SuiteEnd::Exit(code);
        session.records.finish();
        session.used.wall_time = WallTime::from(started.elapsed());
        Ok(session)
    }

    /// Runs a guest up to the end of collection; where its units begin, if it came so far.
    fn collect(
        &self,
        budget: Budget,
        cancel: &Cancel,
    ) -> Result<(Run, Option<Source>), Box<CheckReport>> {
        let mut invocation = self.invocation(Stage::Collect, budget)?;
        invocation.cancel = cancel.clone();
        let module = &self.environment.runtime().module;
        let failed = |error: RunError| self.host_failed(&error.to_string());
        if self.environment.is_warm() {
            let Paused { run, guest } = self.sandbox.pause(invocation, module).map_err(failed)?;
            Ok((run, guest.map(Source::Paused)))
        } else {
            let run = self.sandbox.run(invocation, module).map_err(failed)?;
            Ok((run, Some(Source::Anew)))
        }
    }

    /// Runs all units; what each came to, up to the first that could not be run.
    fn run_units(
        &self,
        plan: &Plan,
        source: Source,
        live: &mut Live<'_>,
    ) -> Result<BTreeMap<usize, Outcome>, Box<CheckReport>> {
        let worth = plan.units.len().div_ceil(UNITS_PER_GUEST).max(1);
        let threads = self.sandbox.parallelism().min(worth);
        let (send, sent) = mpsc::channel::<Sent>();
        let mut outcomes = BTreeMap::new();
        let mut failed: Option<Sent> = None;
        thread::scope(|scope| {
            let mut source = Some(source);
            for number in 0..threads {
                let first = source.take();
                let send = send.clone();
                let spawned = thread::Builder::new()
                    .name("probity-units".to_owned())
                    .spawn_scoped(scope, move || {
                        // Others collect for themselves; the first has done so.
                        let source = match first {
                            Some(source) => Some(source),
                            None => self.another(plan),
                        };
                        if let Some(source) = source {
                            self.run_some(plan, source, &send);
                        }
                    });
                // The first thread is enough.
                if let Err(error) = spawned
                    && number == 0
                {
                    let report = self.host_failed(&format!("cannot start a thread: {error}"));
                    failed = Some((0, Err(report)));
                }
            }
            drop(send);
            for (index, outcome) in sent {
                match outcome {
                    Ok(mut outcome) => {
                        plan.note(&outcome);
                        if !outcome.ends_the_suite() && outcome.explained {
                            // Nobody will ask what it printed.
                            (outcome.stdout, outcome.stderr) = Default::default();
                        }
                        live.unit(&outcome.records.records);
                        outcomes.insert(index, outcome);
                    }
                    Err(report) => {
                        plan.stop();
                        if failed.as_ref().is_none_or(|(before, _)| index < *before) {
                            failed = Some((index, Err(report)));
                        }
                    }
                }
            }
        });
        match failed {
            Some((_, Err(report))) => Err(report),
            Some((_, Ok(_))) | None => Ok(outcomes),
        }
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

    fn run_some(&self, plan: &Plan, mut source: Source, send: &Sender<Sent>) {
        while let Some((index, ids)) = plan.take() {
            let outcome = self.unit(plan, &mut source, ids);
            let ok = outcome.is_ok();
            if send.send((index, outcome)).is_err() || !ok {
                break;
            }
        }
        // Nothing is left for guests that still collect.
        plan.late.cancel();
    }

    /// Runs one unit: in one guest, or more if tests are lost on the way.
    fn unit(
        &self,
        plan: &Plan,
        source: &mut Source,
        ids: &[String],
    ) -> Result<Outcome, Box<CheckReport>> {
        let mut records = Records::default();
        let mut used = Used::default();
        let mut limits: Vec<LimitHit> = Vec::new();
        let wanted: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
        let mut left = ids.to_vec();
        loop {
            let run = self.stretch(plan, used, source, &left)?;
            used.add(&run);
            limits.extend(run.limits.iter().copied().map(reproducible));
            let end = self.end_of(&run.ending)?;
            let complete = matches!(end, SuiteEnd::Exit(_));
            let open = records
                .add(&run.results, &run.marks, complete)
                .map_err(|message| Box::new(self.stopped(Cause::Protocol { message })))?;
            if let Some(id) = records.passed_beside(&wanted) {
                let message = format!("a guest reported `{}`, which is not its test", clean(id));
                return Err(Box::new(self.stopped(Cause::Protocol { message })));
            }
            // A test that ends its process is lost like one that ends its guest.
            let ended = complete && !records.finished();
            if let Some(id) = open.filter(|_| ended || costs_one_test(&end)) {
                if let SuiteEnd::Limit(hit) = &end {
                    limits.push(*hit);
                }
                records.note_lost(&id, &end.cause().to_string());
                let begun: BTreeSet<String> = records.begun().into_iter().collect();
                let before = left.len();
                left.retain(|id| !begun.contains(id));
                if !left.is_empty() && left.len() < before {
                    continue;
                }
                // One that loses tests of others would go on for ever.
                let finished = left.is_empty();
                // The guest is gone, and with it the end that its runner would have reported.
                return Ok(Outcome {
                    finished,
                    explained: true,
                    records,
                    used,
                    limits,
                    end: SuiteEnd::Exit(1),
                    stdout: run.stdout,
                    stderr: run.stderr,
                });
            }
            // One end stands for all units, once they are put together.
            let finished = records.take_finish();
            if finished {
                records.note_silent(ids);
            }
            let explained = records.any_failed();
            return Ok(Outcome {
                finished,
                records,
                used,
                limits,
                end,
                explained,
                stdout: run.stdout,
                stderr: run.stderr,
            });
        }
    }

    /// Runs one guest for these tests.
    fn stretch(
        &self,
        plan: &Plan,
        used: Used,
        source: &mut Source,
        ids: &[String],
    ) -> Result<Run, Box<CheckReport>> {
        let mut budget = plan.budget_now();
        budget.fuel = budget.fuel.saturating_sub(used.fuel);
        budget.results = ByteSize(budget.results.0.saturating_sub(used.results.0));
        let run = match source {
            Source::Paused(guest) => guest.go_on(Turn {
                text: super::environment::proceed(ids),
                sliced: true,
                budget,
                cancel: self.conditions.cancel.clone(),
            }),
            Source::Anew => {
                let invocation = self.invocation(Stage::Only(ids), budget)?;
                let module = &self.environment.runtime().module;
                self.sandbox.run(invocation, module)
            }
        };
        run.map_err(|error| self.host_failed(&error.to_string()))
    }

    /// Adds what a unit came to. The exit code that it leads to; `None` if the suite ends
    /// here.
    fn put(&self, session: &mut Session, outcome: Outcome) -> Option<i32> {
        let budget = self.check.budget;
        session.records.append(outcome.records);
        session.limits.extend(outcome.limits);
        session.used.fuel = session.used.fuel.saturating_add(outcome.used.fuel);
        let results = session
            .used
            .results
            .0
            .saturating_add(outcome.used.results.0);
        session.used.results = ByteSize(results);
        let over = |limit, cap| {
            SuiteEnd::Limit(LimitHit {
                limit,
                cap,
                used: cap,
            })
        };
        // As it would have been ended, had the units run one after the other.
        let end = if session.used.fuel > budget.fuel {
            session.used.fuel = Fuel(budget.fuel.0);
            over(Limit::Fuel, budget.fuel.0)
        } else if results > budget.results.0 {
            over(Limit::Results, budget.results.0)
        } else {
            outcome.end
        };
        match end {
            SuiteEnd::Exit(0) if outcome.finished => Some(0),
            SuiteEnd::Exit(_) if outcome.finished && outcome.explained => Some(1),
            SuiteEnd::Exit(code) if outcome.finished => {
                (session.stdout, session.stderr) = (outcome.stdout, outcome.stderr);
                Some(code)
            }
            end @ (SuiteEnd::Exit(_) | SuiteEnd::Limit(_) | SuiteEnd::Trap(_)) => {
                session.end = end;
                (session.stdout, session.stderr) = (outcome.stdout, outcome.stderr);
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

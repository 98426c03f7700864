//! Running a test suite in guests and judging what it reports.
//!
//! One guest runs the whole suite. If it traps or a test uses up its own fuel, that test is
//! lost and another guest goes on with the rest, within what is left of the budget: one
//! broken test costs itself, not the suite.

use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;

use probity_core::Repo;
use probity_core::budget::{Budget, Limit, LimitHit};
use probity_core::quantity::{ByteSize, Fuel, WallTime};
use probity_core::repo::File;
use probity_core::spec::{Check, SuiteCheck, SuiteIsolation};
use probity_core::verify::{
    Assurance, Cause, CheckReport, Finding, Laid, Observer, SuiteEnd, judge_suite,
};
use serde::Serialize;

use super::environment::Environment;
use super::live::Live;
use super::records::Records;
use super::seal::{Key, Seal};
use crate::fs::{Access, Attempt, Content, Device, Devices, FileSeals, Mounts};
use crate::guest::{Conditions, Ending, Invocation, Run, RunError};
use crate::output::Output;
use crate::pack::{captured, reproducible};
use crate::results::Listener;
use crate::sandbox::Sandbox;
use crate::text::clean;

/// Most guests for one suite.
const MAX_GUESTS: usize = 200;
/// Most findings of tampering in a report.
const LISTED: usize = 20;
const REPO: &str = "/repo";
const CONFIG: &str = "/run/probity.json";
const RESULTS: &str = "/dev/results";
const BORDER: &str = "/run/probity-border";

/// What `main.py` in the guest is told.
#[derive(Serialize)]
struct Config<'a> {
    root: &'a str,
    runner: &'a str,
    results: &'a str,
    python_path: &'a [String],
    site: [&'a str; 1],
    args: &'a [String],
    seed: u64,
    key: String,
    shuffle: bool,
    canaries: bool,
    allow: Vec<&'a str>,
    skip: &'a [String],
    only: Option<&'a [String]>,
    pause: bool,
    results_size: u64,
    across: &'a [String],
    border: Option<&'a str>,
}

/// What a guest does of the suite.
#[derive(Clone, Copy)]
pub(super) enum Stage<'a> {
    /// All of it but these tests.
    Without(&'a [String]),
    /// Its beginning, up to the end of collection.
    Collect,
    /// These tests.
    Only(&'a [String]),
    /// Its beginning, with these answers from the other side of the border.
    CollectWith(&'a [String]),
    /// No test: the other side of the border answers these messages.
    Answer(&'a [String]),
}

/// What the guests of a suite used of its budget.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Used {
    pub(super) fuel: Fuel,
    pub(super) wall_time: WallTime,
    pub(super) results: ByteSize,
}

impl Used {
    /// What of `budget` is left.
    pub(super) const fn left_of(self, budget: Budget) -> Budget {
        Budget {
            fuel: budget.fuel.saturating_sub(self.fuel),
            wall_time: WallTime(budget.wall_time.0.saturating_sub(self.wall_time.0)),
            results: ByteSize(budget.results.0.saturating_sub(self.results.0)),
            ..budget
        }
    }

    /// Adds what another part used.
    pub(super) const fn join(&mut self, other: Self) {
        self.fuel = self.fuel.saturating_add(other.fuel);
        self.wall_time = WallTime(self.wall_time.0.saturating_add(other.wall_time.0));
        self.results = ByteSize(self.results.0.saturating_add(other.results.0));
    }

    /// Adds what a guest used.
    fn add(&mut self, run: &Run) {
        self.join(Self {
            fuel: run.fuel,
            wall_time: run.wall_time,
            results: ByteSize(u64::try_from(run.results.len()).unwrap_or(u64::MAX)),
        });
    }
}

/// A suite and what it runs on.
#[derive(Clone, Copy)]
pub struct SuiteRun<'a> {
    /// Where its guests run.
    pub sandbox: &'a Sandbox,
    /// The Python to run on, with the packages.
    pub environment: &'a Environment,
    /// The check to report for.
    pub check: &'a Check,
    /// What it asks for.
    pub wanted: &'a SuiteCheck,
    /// The tree of its tests: the one under test, with trusted tests laid over it, or, where
    /// that is reached across a border, the trusted one.
    pub laid: &'a Laid,
    /// The tree on the other side of the border, if there is one.
    pub candidate: Option<&'a Repo>,
    /// What its guests depend on beside their files.
    pub conditions: &'a Conditions,
    /// What the records of its sessions are signed with.
    pub(super) key: Option<Key>,
}

/// What the guests of a suite, or of a part of one, reported so far.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) records: Records,
    pub(super) used: Used,
    pub(super) limits: Vec<LimitHit>,
    /// What was tried with sealed files.
    pub(super) attempts: BTreeSet<Attempt>,
}

impl Heard {
    /// Notes that a guest ended during a test.
    pub(super) fn lose(&mut self, id: &str, end: &SuiteEnd) {
        if let SuiteEnd::Limit(hit) = end {
            self.limits.push(*hit);
        }
        self.records.note_lost(id, &end.cause().to_string());
    }
}

/// What the guests of one suite came to.
pub(super) struct Session {
    pub(super) heard: Heard,
    pub(super) end: SuiteEnd,
    pub(super) stdout: Output,
    pub(super) stderr: Output,
}

impl<'a> SuiteRun<'a> {
    /// A run of `check`, which asks for `wanted`, on the tree `laid`; across a border, with
    /// the tree of the candidate.
    #[must_use]
    pub fn new(
        sandbox: &'a Sandbox,
        environment: &'a Environment,
        (check, wanted): (&'a Check, &'a SuiteCheck),
        (laid, candidate): (&'a Laid, Option<&'a Repo>),
        conditions: &'a Conditions,
    ) -> Self {
        Self {
            sandbox,
            environment,
            check,
            wanted,
            laid,
            candidate,
            conditions,
            key: key(check, wanted, laid, conditions.seed),
        }
    }

    /// The same run with another seed and budget.
    pub(super) fn again(&self, check: &'a Check, conditions: &'a Conditions) -> Self {
        Self {
            check,
            conditions,
            key: key(check, self.wanted, self.laid, conditions.seed),
            ..*self
        }
    }
}

impl SuiteRun<'_> {
    /// Runs the suite and reports. Meanwhile `observe` is told how far it is.
    #[must_use]
    pub fn report(&self, observe: Observer<'_>) -> CheckReport {
        match self.wanted.hardening.repeat {
            0 | 1 => self.report_once(observe),
            runs => self.report_repeated(runs, observe),
        }
    }

    /// Runs it once.
    pub(super) fn report_once(&self, observe: Observer<'_>) -> CheckReport {
        let session = match self.wanted.isolation {
            _ if self.candidate.is_some() => self.session_across(observe),
            SuiteIsolation::Suite => self.session(observe),
            SuiteIsolation::File | SuiteIsolation::Test => self.session_in_units(observe),
        };
        let mut report = match session {
            Ok(session) => self.judge(session),
            Err(report) => *report,
        };
        report.findings.extend(self.laid.findings.iter().cloned());
        report
    }

    /// Runs guests until the suite is done or cannot go on. The error is the report.
    fn session(&self, observe: Observer<'_>) -> Result<Session, Box<CheckReport>> {
        let mut heard = Heard::default();
        let mut live = Live::new(&self.wanted.expectation, observe);
        for guest in 1..=MAX_GUESTS {
            live.guest_begins();
            let budget = heard.used.left_of(self.check.budget);
            let invocation = self.invocation(Stage::Without(&heard.records.begun()), budget)?;
            let run = self
                .run_followed(invocation, &mut live)
                .map_err(|error| self.host_failed(&error.to_string()))?;
            let (end, open) = self.hear(&run, &mut heard, 0)?;
            // Without an open test the guest would end there again.
            if costs_one_test(&end)
                && guest < MAX_GUESTS
                && let Some(id) = open
            {
                heard.lose(&id, &end);
                live.lost(&id);
                continue;
            }
            return Ok(Session {
                heard,
                end,
                stdout: run.stdout,
                stderr: run.stderr,
            });
        }
        let message = "the suite needed too many guests".to_owned();
        Err(Box::new(self.stopped(Cause::Broke { message })))
    }

    /// Takes in what a guest used and reported, which had written so many records `before`.
    /// How it ended, and the test that it had begun and not ended, if any. The error is the
    /// report.
    pub(super) fn hear(
        &self,
        run: &Run,
        heard: &mut Heard,
        before: u64,
    ) -> Result<(SuiteEnd, Option<String>), Box<CheckReport>> {
        heard.used.add(run);
        heard
            .limits
            .extend(run.limits.iter().copied().map(reproducible));
        heard.attempts.extend(run.attempts.iter().cloned());
        let end = self.end_of(&run.ending)?;
        let complete = matches!(end, SuiteEnd::Exit(_));
        if run.results_refused > 0 {
            heard
                .records
                .note_tampering("the results were opened a second time, which was refused");
        }
        let open = heard
            .records
            .add(
                &run.results,
                &run.marks,
                complete,
                Seal::new(self.key, before),
            )
            .map_err(|message| self.protocol(message))?;
        Ok((end, open))
    }

    /// The guest that does `stage` within `budget`.
    pub(super) fn invocation(
        &self,
        stage: Stage<'_>,
        budget: Budget,
    ) -> Result<Invocation, Box<CheckReport>> {
        let mounts = self
            .mounts(stage, budget.results)
            .map_err(|message| self.host_failed(&message))?;
        let mut invocation = self.environment.session(CONFIG, mounts, budget);
        invocation.depend_on(self.conditions);
        invocation.sliced = true;
        Ok(invocation)
    }

    /// The report of a failure of ours.
    pub(super) fn host_failed(&self, message: &str) -> Box<CheckReport> {
        Box::new(CheckReport::host_failed(self.check, message, None))
    }

    /// Runs a guest in a thread and tells `live` here, meanwhile, what it reports.
    fn run_followed(
        &self,
        mut invocation: Invocation,
        live: &mut Live<'_>,
    ) -> Result<Run, RunError> {
        let (send, pieces) = mpsc::channel::<Vec<u8>>();
        invocation.listener = Some(Listener::new(move |piece| {
            let _ = send.send(piece.to_vec());
        }));
        thread::scope(|scope| {
            let guest = thread::Builder::new()
                .name("probity-suite".to_owned())
                .spawn_scoped(scope, || {
                    self.sandbox
                        .run(invocation, &self.environment.runtime().module)
                })
                .map_err(RunError::Thread)?;
            // Ends when the guest's end of the channel is gone.
            for piece in pieces {
                live.hear(&piece);
            }
            guest.join().unwrap_or(Err(RunError::Panicked))
        })
    }

    fn mounts(&self, stage: Stage<'_>, results: ByteSize) -> Result<Mounts, String> {
        let (skip, only): (&[String], _) = match stage {
            Stage::Without(skip) => (skip, None),
            Stage::Collect | Stage::CollectWith(_) | Stage::Answer(_) => (&[], None),
            Stage::Only(only) => (&[], Some(only)),
        };
        let tests = (self.wanted.runner.name(), &self.laid.repo);
        let (said, (runner, repo)) = match stage {
            Stage::Answer(said) => (Some(said), ("candidate", self.under_test())),
            Stage::CollectWith(said) => (Some(said), tests),
            Stage::Without(_) | Stage::Collect | Stage::Only(_) => (None, tests),
        };
        let config = Config {
            root: REPO,
            runner,
            results: RESULTS,
            python_path: &self.wanted.python_path,
            site: ["/site"],
            args: &self.wanted.args,
            seed: self.conditions.seed,
            key: self.key.map(Key::to_hex).unwrap_or_default(),
            shuffle: self.wanted.hardening.shuffle,
            canaries: self.key.is_some() && self.wanted.hardening.canaries,
            allow: self.wanted.trust.steering_functions().collect(),
            skip,
            only,
            pause: !matches!(stage, Stage::Without(_) | Stage::Only(_)),
            results_size: results.0,
            across: &self.wanted.across,
            border: said.map(|_| BORDER),
        };
        let config = serde_json::to_vec(&config).map_err(|error| error.to_string())?;
        let mut mounts = Mounts::new(Devices::Usual);
        if matches!(stage, Stage::Answer(_)) {
            mounts.folder(REPO, repo.root(), Access::Writable);
        } else {
            let seals = FileSeals {
                files: self.laid.sealed.iter().map(ToString::to_string).collect(),
                names: self.laid.closed_names.clone(),
            };
            mounts.sealed_folder(REPO, repo.root(), seals);
        }
        mounts.empty("/tmp", Access::Writable);
        // The session empties the file, since the key is in it.
        let config = Content::Shared(File::regular(config));
        mounts.file(CONFIG, config, Access::Writable);
        if let Some(said) = said {
            mounts.bytes(BORDER, said.join("\n").into_bytes());
        }
        mounts.device(RESULTS, Device::Results);
        Ok(mounts)
    }

    fn end_of(&self, ending: &Ending) -> Result<SuiteEnd, Box<CheckReport>> {
        Ok(match ending {
            Ending::Exited(code) => SuiteEnd::Exit(i32::try_from(*code).unwrap_or(i32::MAX)),
            Ending::Limit(hit) => SuiteEnd::Limit(reproducible(*hit)),
            Ending::Trapped(message) => SuiteEnd::Trap(message.clone()),
            Ending::Refused(message) => {
                let name = &self.environment.runtime().manifest.name;
                let message = format!("the runtime `{name}` cannot run here: {message}");
                return Err(Box::new(CheckReport::host_failed(
                    self.check, message, None,
                )));
            }
        })
    }

    /// The report of results that are not of the agreed form.
    pub(super) fn protocol(&self, message: String) -> Box<CheckReport> {
        Box::new(self.stopped(Cause::Protocol { message }))
    }

    pub(super) fn stopped(&self, cause: Cause) -> CheckReport {
        let message = cause.to_string();
        CheckReport::stopped(self.check, self.assurance(), cause, message)
    }

    /// The tree that the code under test comes from.
    const fn under_test(&self) -> &Repo {
        match self.candidate {
            Some(repo) => repo,
            None => &self.laid.repo,
        }
    }

    /// How far a result of this suite can be trusted.
    pub(super) const fn assurance(&self) -> Assurance {
        match self.candidate {
            Some(_) => Assurance::Isolated,
            None => Assurance::InGuest,
        }
    }

    fn judge(&self, session: Session) -> CheckReport {
        let Heard {
            records,
            used,
            mut limits,
            attempts,
        } = session.heard;
        limits.sort_by_key(|hit| (hit.limit, std::cmp::Reverse(hit.used)));
        limits.dedup_by_key(|hit| hit.limit);
        let manifest = &self.environment.runtime().manifest;
        let title = match &records.version {
            Some(version) => format!("{} {version}", manifest.language),
            None => manifest.title(),
        };
        let refused = super::across::refused(&records);
        let runner = records
            .runner
            .unwrap_or_else(|| self.wanted.runner.name().to_owned());
        let judgement = judge_suite(&self.wanted.expectation, records.records, &session.end);
        let mut report = judgement.into_report(self.check, self.assurance(), title, runner);
        if let Some(suite) = &mut report.tests {
            suite.environment = Some(self.environment.facts.digest);
            suite.tree = Some(self.under_test().digest());
            suite.canaries = records.canaries;
        }
        report.findings.extend(refused);
        let silent = records.canaries.fired == 0 && records.canaries.expected > 0;
        let report = match records.broken {
            // The results stay as evidence, but nothing is concluded from them.
            Some(message) => CheckReport {
                tests: report.tests,
                message: format!("the session broke: {}", last_line(&message)),
                ..self.stopped(Cause::Broke { message })
            },
            None => report,
        };
        let report = self.with_attempts(report, attempts);
        let report = guarded(report, &records.tampering, silent);
        let evidence = |output: &Output| {
            (report.cause.is_some() && output.total > 0).then(|| captured(output))
        };
        CheckReport {
            fuel: used.fuel,
            limits,
            stdout: evidence(&session.stdout),
            stderr: evidence(&session.stderr),
            wall_time: used.wall_time,
            ..report
        }
    }

    /// Adds what was tried with sealed files: such a suite has not passed, whatever it showed.
    fn with_attempts(&self, mut report: CheckReport, attempts: BTreeSet<Attempt>) -> CheckReport {
        let tampering: Vec<Finding> = attempts.iter().take(LISTED).map(finding).collect();
        if let Some(first) = tampering.first()
            && !report.cause.as_ref().is_some_and(Cause::is_host)
        {
            let text = first.message.trim_start_matches(TAMPERING);
            let message = text.split(';').next().unwrap_or(text).to_owned();
            let cause = Cause::Tampered { message };
            report.message = cause.to_string();
            report.outcome = cause.outcome();
            report.cause = Some(cause);
        }
        report.findings.extend(tampering);
        report
    }
}

/// What sessions sign with. Across a border only trusted code runs where records are written.
fn key(check: &Check, wanted: &SuiteCheck, laid: &Laid, seed: u64) -> Option<Key> {
    wanted
        .across
        .is_empty()
        .then(|| Key::of(check, &laid.repo, seed))
}

/// What begins the message of a finding of tampering.
const TAMPERING: &str = "tampering: ";

/// What is said of an attempt.
fn finding(attempt: &Attempt) -> Finding {
    let path = attempt.path.strip_prefix("/repo/").unwrap_or(&attempt.path);
    let path = clean(path);
    let verb = attempt.what.verb();
    Finding::error(format!(
        "{TAMPERING}the code under test tried to {verb} `{path}`; if the tests themselves do that, \
         leave the file out of `tests`, or name it in `allow-steering`"
    ))
    .at(path)
}

/// Whether a guest that ended so lost the test that it was running, and another can go on
/// with the rest.
pub(super) const fn costs_one_test(end: &SuiteEnd) -> bool {
    match end {
        SuiteEnd::Exit(_) => false,
        SuiteEnd::Trap(_) => true,
        SuiteEnd::Limit(hit) => match hit.limit {
            Limit::TestFuel | Limit::Memory | Limit::TableElements | Limit::Stack => true,
            Limit::Fuel
            | Limit::WallTime
            | Limit::Output
            | Limit::Results
            | Limit::FileBytes
            | Limit::Inodes
            | Limit::OpenFiles
            | Limit::Handles
            | Limit::PathDepth
            | Limit::ModuleSize
            | Limit::CompileTime
            | Limit::CompileMemory => false,
        },
    }
}

/// The report with what was seen of attempts to tamper with the suite, after which it did not
/// pass, whatever else it shows. `silent` tells that no test of ours told anything.
fn guarded(report: CheckReport, tampering: &[String], silent: bool) -> CheckReport {
    let mut report = report;
    if silent && report.cause.is_none() {
        report.findings.push(Finding::warning(
            "none of our own tests among the suite's could run, so nothing is known of how the runner judges them",
        ));
    }
    let Some(first) = tampering.first() else {
        return report;
    };
    if report.cause.as_ref().is_some_and(Cause::is_host) {
        return report;
    }
    report.findings.extend(
        tampering
            .iter()
            .map(|message| Finding::error(format!("{TAMPERING}{message}"))),
    );
    let cause = Cause::Tampered {
        message: first.clone(),
    };
    CheckReport {
        outcome: cause.outcome(),
        message: cause.to_string(),
        cause: Some(cause),
        ..report
    }
}

/// The last line of a traceback says what happened.
fn last_line(message: &str) -> String {
    clean(message.trim_end().lines().next_back().unwrap_or(message))
}

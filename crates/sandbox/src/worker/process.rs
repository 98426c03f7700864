//! Guests in worker processes: a pool of them, and a fresh one for each compilation.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use probity_core::budget::{Budget, Limit, LimitHit};
use probity_core::repo::Directory;
use tracing::{debug, warn};

use super::child::{Death, Hearing, MAX_DATA, Worker, WorkerCommand};
use super::frame::{MAX_FILES, Patience};
use super::images::{Image, Images, memory, seal, seal_size, sealed_memory};
use super::lockdown::{self, Role};
use super::message::{
    Answer, Beginning, CompileFault, Given, Going, Job, Mounted, Order, Place, What,
};
use super::nursery::Nursery;
use super::serve::ARGUMENT;
use crate::cancel::Cancel;
use crate::engine::{EngineError, Kind, Module, ModuleError};
use crate::fs::{Content, LowerDirectory, Mapping, Source};
use crate::guest::{Invocation, Keep, Run, RunError, Turn};
use crate::isolation::{Compiled, CompiledCode, Isolation, Paused, PausedGuest};
use crate::results::MAX_MARKS;
use crate::text::clean;

/// Memory of a worker beyond what its guest's budget grants: the engine, compiled code,
/// the tables of its filesystem, messages.
const OWN_MEMORY: u64 = 512 << 20;
/// Bytes of an answer beyond what its guest's budget grants: what it read, above all.
const OWN_ANSWER: u64 = 64 << 20;
/// Largest answer of a compiler: a message.
const MAX_COMPILER_ANSWER: u64 = 1 << 16;
/// Bytes of memory for each file, folder or link that a guest makes.
const INODE: u64 = 512;
/// Bytes of memory for each element of a table.
const ELEMENT: u64 = 16;
/// Bytes of a mark, in memory or on its way at most.
const MARK: u64 = 32;
/// Most bytes of compiled code, and of a guest's memory.
const MAX_CODE: u64 = 4 << 30;

/// How many workers there are, and how long each works.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// Most workers at a time; who needs one more waits. Default: the number of processors.
    pub workers: usize,
    /// Workers that are started before anybody needs them. Default 1.
    pub ahead: usize,
    /// Guests that a worker runs before it is replaced; 1 gives each guest a process of its
    /// own. Default 1,000.
    pub guests_per_worker: u32,
    /// Real time that a worker gets beyond its guest's own, to load, to clear up and to
    /// answer, before it is ended. Default 5 s.
    pub grace: Duration,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            workers: thread::available_parallelism().map_or(1, usize::from),
            ahead: 1,
            guests_per_worker: 1_000,
            grace: Duration::from_secs(5),
        }
    }
}

/// Runs guests in worker processes, and compiles each module in a process of its own.
///
/// A worker that does anything odd — ends, is late, breaks the protocol — costs the one
/// guest that it was running, and is replaced. Dropping this ends every worker.
pub struct Process {
    shared: Arc<Shared>,
}

struct Shared {
    pool: Mutex<Pool>,
    free: Condvar,
    nursery: Nursery,
    images: Images,
    settings: PoolSettings,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Worker>,
    /// Workers that are idle, busy or being started.
    alive: usize,
    /// Workers that are being started.
    starting: usize,
    /// Guests that wait for a worker.
    waiting: usize,
    /// Why the last worker could not be started.
    trouble: Option<String>,
}

impl Process {
    /// Starts a pool. The first workers are started in the background.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(command: WorkerCommand, settings: PoolSettings) -> Result<Self, EngineError> {
        // A worker of a program that does not serve would start workers without end.
        if std::env::args_os()
            .nth(1)
            .is_some_and(|arg| arg == ARGUMENT)
        {
            return Err(EngineError::Setup(
                "this process is a worker itself; call `serve_if_asked` first thing in `main`"
                    .to_owned(),
            ));
        }
        let nursery = Nursery::new(command)
            .map_err(|error| EngineError::Setup(format!("cannot start a thread: {error}")))?;
        let shared = Arc::new(Shared {
            pool: Mutex::new(Pool::default()),
            free: Condvar::new(),
            nursery,
            images: Images::default(),
            settings,
        });
        for _ in 0..shared.settings.ahead.min(shared.settings.workers) {
            shared.start_one(&mut shared.pool());
        }
        Ok(Self { shared })
    }

    /// What the lockdown of a worker came to on this machine.
    ///
    /// # Errors
    /// When no worker can be started.
    pub fn lockdown(&self) -> Result<lockdown::Report, RunError> {
        let worker = self.shared.acquire(&Cancel::default())?;
        let report = worker.lockdown.clone();
        self.shared.give_back(worker);
        Ok(report)
    }

    /// The process ids of the workers that wait for work: for tests and for those who watch.
    #[must_use]
    pub fn idle_workers(&self) -> Vec<u32> {
        let pool = self.shared.pool();
        pool.idle.iter().map(Worker::process_id).collect()
    }
}

impl Shared {
    /// How long a guest with this budget is waited for.
    fn patience<'a>(&self, budget: &Budget, cancel: &'a Cancel) -> Patience<'a> {
        let time = budget.wall_time.duration();
        Patience {
            deadline: Instant::now().checked_add(time.saturating_add(self.settings.grace)),
            cancel: Some(cancel),
        }
    }

    fn pool(&self) -> std::sync::MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a worker in the background, and counts it.
    fn start_one(self: &Arc<Self>, pool: &mut Pool) {
        pool.alive += 1;
        pool.starting += 1;
        let shared = Arc::downgrade(self);
        self.nursery
            .start_then(settings(Role::Guest), move |worker| {
                let pool = Weak::clone(&shared);
                // The nursery must not wait for one worker while another is wanted.
                let greeter = thread::Builder::new().spawn(move || {
                    let worker = worker.and_then(|mut worker| {
                        worker.greet(None)?;
                        Ok(worker)
                    });
                    if let Some(pool) = pool.upgrade() {
                        pool.arrived(worker);
                    }
                });
                if let (Err(error), Some(shared)) = (greeter, shared.upgrade()) {
                    shared.arrived(Err(format!("cannot be greeted: {error}")));
                }
            });
    }

    /// Takes in a worker that was started, or the reason why it was not.
    fn arrived(&self, worker: Result<Worker, String>) {
        let mut pool = self.pool();
        pool.starting = pool.starting.saturating_sub(1);
        match worker {
            Ok(worker) => pool.idle.push(worker),
            Err(problem) => {
                warn!(%problem, "a worker could not be started");
                pool.alive = pool.alive.saturating_sub(1);
                pool.trouble = (pool.waiting > 0).then_some(problem);
            }
        }
        drop(pool);
        self.free.notify_all();
    }

    /// Takes an idle worker, starting one if fewer than the most are alive.
    fn acquire(self: &Arc<Self>, cancel: &Cancel) -> Result<Worker, RunError> {
        let mut pool = self.pool();
        pool.waiting += 1;
        drop(pool);
        let worker = self.wait_for_one(cancel);
        pool = self.pool();
        pool.waiting = pool.waiting.saturating_sub(1);
        if pool.waiting == 0 {
            // Whoever comes later has had no trouble yet.
            pool.trouble = None;
        }
        worker
    }

    fn wait_for_one(self: &Arc<Self>, cancel: &Cancel) -> Result<Worker, RunError> {
        let mut pool = self.pool();
        loop {
            if cancel.is_cancelled() {
                return Err(RunError::Cancelled);
            }
            while let Some(mut worker) = pool.idle.pop() {
                if worker.is_idle() {
                    return Ok(worker);
                }
                debug!("an idle worker was gone");
                pool.alive = pool.alive.saturating_sub(1);
            }
            if let Some(problem) = pool.trouble.take() {
                return Err(RunError::Worker(problem));
            }
            if pool.starting < pool.waiting && pool.alive < self.settings.workers.max(1) {
                self.start_one(&mut pool);
                continue;
            }
            let wait = self.free.wait_timeout(pool, Duration::from_millis(20));
            pool = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes back a worker that did its work, or retires it.
    fn give_back(self: &Arc<Self>, worker: Worker) {
        if worker.done >= self.settings.guests_per_worker {
            return self.retire(worker);
        }
        self.pool().idle.push(worker);
        self.free.notify_one();
    }

    /// Ends a worker and starts the next one ahead of need.
    fn retire(self: &Arc<Self>, worker: Worker) {
        drop(worker);
        let mut pool = self.pool();
        pool.alive = pool.alive.saturating_sub(1);
        if pool.alive < self.settings.ahead.min(self.settings.workers) {
            self.start_one(&mut pool);
        }
        drop(pool);
        self.free.notify_one();
    }
}

fn settings(role: Role) -> lockdown::Settings {
    lockdown::Settings {
        parent: Some(std::process::id()),
        // Each guest has its own bound, see `Worker::set_data_limit`.
        data_bytes: MAX_DATA,
        // Those that it keeps, those that come with an order, and its own.
        open_files: 192,
        // A paused guest's memory; files that came over the socket are smaller than that.
        file_bytes: MAX_CODE,
        ..lockdown::Settings::new(role)
    }
}

/// What a job names, and what keeps it alive until the worker has it.
enum Thing<'a> {
    Module(&'a Module),
    Image(Arc<Image>),
    File(Arc<Mapping>),
}

impl Thing<'_> {
    fn given(&self) -> Given {
        let (id, what) = match self {
            Self::Module(module) => (module.id(), What::Code(module.kind())),
            Self::Image(image) => (image.id, What::Bytes),
            Self::File(mapping) => (mapping.id(), What::Bytes),
        };
        Given { id, what }
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        Some(match self {
            Self::Module(module) => module.file()?.as_fd(),
            Self::Image(image) => image.file.as_fd(),
            Self::File(mapping) => mapping.file().as_fd(),
        })
    }
}

impl Isolation for Process {
    fn compile(
        &self,
        bytes: &[u8],
        kind: Kind,
        budget: &Budget,
        cancel: &Cancel,
    ) -> Result<Result<Compiled, ModuleError>, EngineError> {
        let host = |error: std::io::Error| EngineError::Compiler(error.to_string());
        let module = sealed_memory(c"probity-module", |out| out.write_all(bytes)).map_err(host)?;
        let code = File::from(memory(c"probity-code").map_err(host)?);
        let time = budget.compile_time.duration();
        let settings = lockdown::Settings {
            data_bytes: budget.compile_memory.0,
            cpu_seconds: Some(time.as_secs().max(1)),
            ..settings(Role::Compiler)
        };
        let mut worker =
            self.shared.nursery.start(settings).map_err(|problem| {
                EngineError::Compiler(format!("the worker process {problem}"))
            })?;
        if let Err(problem) = worker.greet(Some(cancel)) {
            return Err(if cancel.is_cancelled() {
                EngineError::Cancelled
            } else {
                EngineError::Compiler(format!("the worker process {problem}"))
            });
        }
        // Real time is only the fuse for a compiler that waits instead of working.
        let fuse = time
            .saturating_mul(8)
            .saturating_add(self.shared.settings.grace);
        let patience = Patience {
            deadline: Instant::now().checked_add(fuse),
            cancel: Some(cancel),
        };
        let started = Instant::now();
        let limit = |limit, cap| {
            ModuleError::Limit(LimitHit {
                limit,
                cap,
                used: cap,
            })
        };
        let too_long = limit(Limit::CompileTime, budget.compile_time.0);
        let too_much = limit(Limit::CompileMemory, budget.compile_memory.0);
        let answer = worker.ask(
            &Order::Compile(kind),
            &[module.as_fd(), code.as_fd()],
            MAX_COMPILER_ANSWER,
            patience,
            Hearing::NOBODY,
        );
        debug!(seconds = started.elapsed().as_secs_f64(), "compiled");
        match answer {
            Ok(Answer::Compiled(Ok(()))) => {
                seal(&code).map_err(host)?;
                Ok(Ok(Compiled(CompiledCode::File(code))))
            }
            Ok(Answer::Compiled(Err(CompileFault::Invalid(message)))) => {
                Ok(Err(ModuleError::Invalid(clean(&message))))
            }
            Ok(Answer::Compiled(Err(CompileFault::Host(message)))) => {
                Err(EngineError::Compiler(clean(&message)))
            }
            Ok(Answer::Ran(_) | Answer::Paused(_) | Answer::Progress(_)) => Err(
                EngineError::Compiler("the worker process answered another question".to_owned()),
            ),
            Err(death) if death.signal() == Some(libc::SIGXCPU) => Ok(Err(too_long)),
            Err(death) if death.is_cancelled() => Err(EngineError::Cancelled),
            Err(death) if death.is_late() => Ok(Err(too_long)),
            Err(death) if death.is_out_of_memory() => Ok(Err(too_much)),
            Err(death) => {
                warn!(%death, "a compiler was lost");
                Ok(Err(ModuleError::Compiler(death.plainly())))
            }
        }
    }

    fn run(&self, invocation: Invocation, module: &Module) -> Result<Run, RunError> {
        let budget = invocation.budget;
        let (worker, answer) = self.order(invocation, module, false)?;
        match accepted(answer, &budget) {
            Ok((run, _)) => {
                self.shared.give_back(worker);
                Ok(run)
            }
            Err(error) => {
                self.shared.retire(worker);
                Err(error)
            }
        }
    }

    fn pause(&self, invocation: Invocation, module: &Module) -> Result<Paused, RunError> {
        let budget = invocation.budget;
        let (worker, answer) = self.order(invocation, module, true)?;
        match accepted(answer, &budget) {
            Ok((run, true)) => Ok(Paused {
                run,
                guest: Some(Box::new(PausedThere {
                    shared: Arc::clone(&self.shared),
                    worker: Some(worker),
                })),
            }),
            Ok((run, false)) => {
                self.shared.give_back(worker);
                Ok(Paused { run, guest: None })
            }
            Err(error) => {
                self.shared.retire(worker);
                Err(error)
            }
        }
    }

    fn parallelism(&self) -> usize {
        self.shared.settings.workers.max(1)
    }
}

/// The run that a worker answered with, if it is one that its guest's budget allows, and
/// whether the guest is kept.
fn accepted(answer: Result<Answer, Death>, budget: &Budget) -> Result<(Run, bool), RunError> {
    let (run, kept) = match answer {
        Ok(Answer::Ran(Ok(run))) => (run, false),
        Ok(Answer::Paused(Ok(paused))) => paused,
        Ok(Answer::Ran(Err(message)) | Answer::Paused(Err(message))) => {
            return Err(RunError::Engine(clean(&message)));
        }
        Ok(Answer::Compiled(_) | Answer::Progress(_)) => {
            return Err(RunError::Worker("answered another question".to_owned()));
        }
        Err(death) if death.is_cancelled() => return Err(RunError::Cancelled),
        Err(death) => {
            warn!(%death, "a worker was lost");
            return Err(RunError::Worker(death.to_string()));
        }
    };
    let odd = || RunError::Worker("answered more than its guest's budget allows".to_owned());
    Ok((run.within(budget).ok_or_else(odd)?, kept))
}

/// A guest that rests in a worker, which does nothing else meanwhile.
struct PausedThere {
    shared: Arc<Shared>,
    /// Gone when it did wrong.
    worker: Option<Worker>,
}

impl PausedGuest for PausedThere {
    fn go_on(&mut self, turn: Turn) -> Result<Run, RunError> {
        let mut worker = self
            .worker
            .take()
            .ok_or_else(|| RunError::Worker("is gone, and its paused guest with it".to_owned()))?;
        let Turn {
            text,
            sliced,
            budget,
            cancel,
        } = turn;
        let going = Going {
            text,
            sliced,
            budget,
        };
        let answer = worker.ask(
            &Order::GoOn(Box::new(going)),
            &[],
            answer_of(&budget, Keep::Nothing),
            self.shared.patience(&budget, &cancel),
            Hearing::NOBODY,
        );
        match accepted(answer, &budget) {
            Ok((run, _)) => {
                self.worker = Some(worker);
                Ok(run)
            }
            Err(error) => {
                self.shared.retire(worker);
                Err(error)
            }
        }
    }
}

impl Drop for PausedThere {
    fn drop(&mut self) {
        // It held what is nobody's concern any more.
        if let Some(worker) = self.worker.take() {
            self.shared.retire(worker);
        }
    }
}

impl Process {
    /// Has a worker run a guest, and keep it afterwards if it is to be paused.
    fn order(
        &self,
        invocation: Invocation,
        module: &Module,
        pause: bool,
    ) -> Result<(Worker, Result<Answer, Death>), RunError> {
        let shared = &self.shared;
        let cancel = invocation.cancel.clone();
        let budget = invocation.budget;
        let listener = invocation.listener.clone();
        let (mut job, things) = self.job(invocation, module)?;
        let job_keep = job.keep;
        let keep = if pause { Keep::Snapshot } else { job_keep };
        let left = if job.wanted.is_empty() {
            0
        } else {
            budget.file_bytes.0
        };
        // Whatever can fail without the worker's doing fails before there is one.
        if things.len() >= MAX_FILES {
            return Err(RunError::Worker(format!(
                "cannot be given {} files and trees; {MAX_FILES} are the most",
                things.len()
            )));
        }
        if things.iter().any(|thing| thing.file().is_none()) {
            return Err(RunError::Load(
                "it was compiled for guests of this process".to_owned(),
            ));
        }
        let rest = if pause {
            let file = room(budget.memory.0)
                .map_err(|error| RunError::Worker(format!("cannot be given memory: {error}")))?;
            Some(file)
        } else {
            None
        };
        let mut worker = shared.acquire(&cancel)?;
        let mut files = Vec::new();
        let mut known = Vec::new();
        for thing in &things {
            let given = thing.given();
            if worker.knows.contains(&given.id) || known.contains(&given.id) {
                continue;
            }
            files.extend(thing.file());
            known.push(given.id);
            job.given.push(given);
        }
        job.forget = worker.forget(&things.iter().map(|thing| thing.given().id).collect());
        worker.knows.extend(known);
        if let Err(error) = worker.set_data_limit(memory_of(&budget, keep, left)) {
            shared.retire(worker);
            return Err(RunError::Worker(format!("cannot be bounded: {error}")));
        }
        // The last file of an order to pause is where the guest's memory goes.
        files.extend(rest.as_ref().map(|file| file.as_fd()));
        let answer = worker.ask(
            &if pause {
                Order::Pause(Box::new(job))
            } else {
                Order::Run(Box::new(job))
            },
            &files,
            // A paused guest's memory stays where it is.
            answer_of(&budget, job_keep).saturating_add(left),
            shared.patience(&budget, &cancel),
            Hearing::new(listener.as_ref(), &budget),
        );
        Ok((worker, answer))
    }

    /// The message that describes the guest, and what it names.
    fn job<'a>(
        &self,
        invocation: Invocation,
        module: &'a Module,
    ) -> Result<(Job, Vec<Thing<'a>>), RunError> {
        let mut things = vec![Thing::Module(module)];
        let mut mounts = Vec::new();
        let mut images: HashMap<*const Directory, u64> = HashMap::new();
        for mount in invocation.mounts.rows() {
            let what = match &mount.source {
                Source::Empty => Place::Empty,
                Source::Device(device) => Place::Device(*device),
                Source::File(Content::Mapped(part)) => match part.as_whole() {
                    Some(mapping) => {
                        things.push(Thing::File(Arc::clone(mapping)));
                        Place::File(mapping.id())
                    }
                    None => Place::Bytes(part.bytes().to_vec()),
                },
                Source::File(content) => Place::Bytes(content.bytes().to_vec()),
                Source::Folder(LowerDirectory::Tree(tree)) => {
                    let id = match images.get(&Arc::as_ptr(tree)) {
                        Some(id) => *id,
                        None => {
                            let image = self.shared.images.of(tree).map_err(|error| {
                                RunError::Worker(format!("cannot be given a tree: {error}"))
                            })?;
                            let id = image.id;
                            images.insert(Arc::as_ptr(tree), id);
                            things.push(Thing::Image(image));
                            id
                        }
                    };
                    Place::Image(id)
                }
                Source::Folder(LowerDirectory::Image(folder)) => {
                    let mapping = folder.whole().ok_or_else(|| {
                        RunError::Worker("cannot be given a part of an image".to_owned())
                    })?;
                    things.push(Thing::File(Arc::clone(mapping)));
                    Place::Image(mapping.id())
                }
            };
            mounts.push(Mounted {
                path: mount.path.clone(),
                access: mount.access,
                seals: mount.seals.clone(),
                what,
            });
        }
        let from = invocation.from.map(|from| {
            let message = Beginning {
                memory: from.memory.id(),
                rest: from.rest(),
            };
            things.push(Thing::File(from.memory));
            message
        });
        let job = Job {
            given: Vec::new(),
            forget: Vec::new(),
            module: module.id(),
            args: invocation.args,
            env: invocation.env,
            stdin: invocation.stdin,
            mounts,
            preopens: invocation.preopens,
            entry: invocation.entry,
            from,
            keep: invocation.keep,
            seed: invocation.seed,
            start_time: invocation.start_time,
            sliced: invocation.sliced,
            budget: invocation.budget,
            listened: invocation.listener.is_some(),
            wanted: invocation.wanted,
        };
        Ok((job, things))
    }
}

/// Most bytes of marks on the results of a guest with this budget.
fn marks_of(budget: &Budget) -> u64 {
    let marks = u64::try_from(MAX_MARKS).unwrap_or(u64::MAX);
    // Each write has a byte at least, and the end of the guest has a mark, too.
    let marks = budget.results.0.saturating_add(1).min(marks);
    marks.saturating_mul(MARK)
}

/// Memory for `bytes` bytes as a file, which can only get smaller.
fn room(bytes: u64) -> std::io::Result<File> {
    let file = File::from(memory(c"probity-snapshot")?);
    file.set_len(bytes)?;
    seal_size(&file)?;
    Ok(file)
}

/// The memory that a worker may have while it runs a guest with this budget, which leaves
/// `left` bytes of files.
fn memory_of(budget: &Budget, keep: Keep, left: u64) -> u64 {
    [
        OWN_MEMORY,
        budget.memory.0,
        // A snapshot is copied twice: from the guest, and into the answer.
        match keep {
            Keep::Nothing => 0,
            Keep::Snapshot => budget.memory.0.saturating_mul(2),
        },
        budget.table_elements.saturating_mul(ELEMENT),
        // A file that grows is copied, and results are copied into the answer.
        budget.file_bytes.0.saturating_mul(2),
        budget.results.0.saturating_mul(4),
        marks_of(budget).saturating_mul(4),
        budget.output.0.saturating_mul(8),
        budget.inodes.saturating_mul(INODE),
        left.saturating_mul(2),
    ]
    .into_iter()
    .fold(0, u64::saturating_add)
}

/// The largest answer of a guest with this budget.
fn answer_of(budget: &Budget, keep: Keep) -> u64 {
    OWN_ANSWER
        .saturating_add(budget.results.0)
        .saturating_add(marks_of(budget))
        .saturating_add(budget.output.0.saturating_mul(2))
        .saturating_add(match keep {
            Keep::Nothing => 0,
            Keep::Snapshot => budget.memory.0,
        })
}

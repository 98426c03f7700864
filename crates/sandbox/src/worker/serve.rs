//! The worker's side: waits for orders on its standard input, a socket, and answers there.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::frame::{Channel, FrameError, Patience};
use super::lockdown::probe::Probe;
use super::lockdown::{self, Layer, Role, State};
use super::message::{Answer, CompileFault, Hello, Job, MAX_ORDER, Order, PROTOCOL, Place, What};
use crate::cancel::Cancel;
use crate::engine::{Code, Compiler, Engine, Kind, is_of_kernel};
use crate::fs::{Content, ImageFolder, LowerDirectory, Mapped, Mapping, Mounts, Source};
use crate::guest::{Invocation, Resting};
use crate::isolation::THREAD_STACK;
use crate::results::Listener;
use crate::snapshot::Snapshot;
use crate::text::clean;

/// The argument by which a program is asked to be a worker.
pub(super) const ARGUMENT: &str = "probity-worker";

/// Exit code of a worker that could not begin.
const CANNOT_BEGIN: u8 = 71;

/// If this process was started as a worker, works until the parent is gone and returns the
/// exit code; otherwise returns at once.
///
/// A program that uses [`Process`](super::Process) with itself as the worker calls this
/// first thing in `main`, before it starts threads or opens files:
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(code) = probity_sandbox::worker::serve_if_asked() {
///         return code;
///     }
///     // … the program itself …
///     ExitCode::SUCCESS
/// }
/// ```
#[must_use]
pub fn serve_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != ARGUMENT {
        return None;
    }
    let duty = args.next().and_then(|text| {
        let text = text.into_string().ok()?;
        serde_json::from_str::<Duty>(&text).ok()
    });
    Some(match duty {
        Some(Duty::Work(settings)) => serve(&settings),
        Some(Duty::Try(settings, probe)) => attempt(&settings, probe),
        None => {
            complain("a worker is started by Probity itself, not by hand");
            ExitCode::from(CANNOT_BEGIN)
        }
    })
}

/// What a worker is started for; its second argument, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Duty {
    /// To lock itself down and wait for orders.
    Work(lockdown::Settings),
    /// To lock itself down and try something forbidden.
    Try(lockdown::Settings, Probe),
}

/// Tries something forbidden and writes to standard output how that went, if it still can.
fn attempt(settings: &lockdown::Settings, probe: Probe) -> ExitCode {
    let _ = lockdown::apply(settings);
    let answer = serde_json::to_vec(&probe.attempt(settings)).unwrap_or_default();
    match std::io::stdout().write_all(&answer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(CANNOT_BEGIN),
    }
}

/// Says why on standard error, which the parent reads when a worker ends.
fn complain(what: &str) {
    let _ = writeln!(std::io::stderr(), "{what}");
}

fn serve(settings: &lockdown::Settings) -> ExitCode {
    let report = lockdown::apply(settings);
    if let State::Failed { why } = report.state(Layer::ParentDeath) {
        complain(&format!("the parent is gone: {why}"));
        return ExitCode::from(CANNOT_BEGIN);
    }
    let settings = settings.clone();
    // All work happens on one thread whose stack holds a guest's.
    let worker = std::thread::Builder::new()
        .name("probity-worker".to_owned())
        .stack_size(THREAD_STACK)
        .spawn(move || work(&settings, report));
    let ended = match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(ended)) => ended,
        Ok(Err(_)) => Err("the worker panicked".to_owned()),
        Err(error) => Err(format!("cannot start a thread: {error}")),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            complain(&problem);
            ExitCode::from(CANNOT_BEGIN)
        }
    }
}

fn work(settings: &lockdown::Settings, lockdown: lockdown::Report) -> Result<(), String> {
    let channel = Arc::new(Channel::new(stdin()?));
    // Before the first order, so that the first guest does not wait for it.
    let mut desk = match settings.role {
        Role::Guest => Engine::new().map(|engine| Desk::Guests {
            engine,
            kept: HashMap::new(),
            resting: None,
        }),
        Role::Compiler => Compiler::new().map(Desk::Modules),
    }
    .map_err(|error| error.to_string())?;
    let hello = Hello {
        protocol: PROTOCOL,
        lockdown,
    };
    let failed = |error: FrameError| format!("the parent {error}");
    channel
        .send(&hello, &[], Patience::ENDLESS)
        .map_err(failed)?;
    loop {
        let (order, files) = match channel.receive::<Order>(MAX_ORDER, Patience::ENDLESS) {
            Ok(received) => received,
            Err(FrameError::Closed) => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        let answer = match (order, &mut desk) {
            (
                Order::Run(job),
                Desk::Guests {
                    engine,
                    kept,
                    resting,
                },
            ) => {
                *resting = None;
                let run = prepared(engine, *job, files, kept, &channel).and_then(|ready| {
                    let Ready { invocation, code } = ready;
                    invocation
                        .run_here(engine, &code)
                        .map_err(|error| error.to_string())
                });
                Answer::Ran(run.map(Box::new))
            }
            (
                Order::Pause(job),
                Desk::Guests {
                    engine,
                    kept,
                    resting,
                },
            ) => {
                *resting = None;
                let mut files = files;
                let memory = files.pop().ok_or("a file is missing beside the order");
                let ready = prepared(engine, *job, files, kept, &channel);
                let paused = ready.and_then(|Ready { invocation, code }| {
                    let (run, guest) = invocation
                        .pause_here(engine, &code, File::from(memory?))
                        .map_err(|error| error.to_string())?;
                    *resting = guest.map(|guest| Box::new((guest, code)));
                    Ok((Box::new(run), resting.is_some()))
                });
                Answer::Paused(paused)
            }
            (
                Order::GoOn(going),
                Desk::Guests {
                    engine, resting, ..
                },
            ) => {
                let run = match resting {
                    Some(paused) => paused
                        .0
                        .go_on(engine, &paused.1, (*going).into())
                        .map_err(|error| error.to_string()),
                    None => Err("no guest is paused here".to_owned()),
                };
                Answer::Ran(run.map(Box::new))
            }
            (Order::Compile(kind), Desk::Modules(compiler)) => {
                Answer::Compiled(compile(compiler, kind, files))
            }
            (Order::Run(_) | Order::Pause(_) | Order::GoOn(_) | Order::Compile(_), _) => {
                return Err("the parent asked for what this worker is not there for".to_owned());
            }
        };
        channel
            .send(&answer, &[], Patience::ENDLESS)
            .map_err(failed)?;
    }
}

/// The socket on standard input.
fn stdin() -> Result<OwnedFd, String> {
    use std::os::fd::AsFd as _;
    std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| format!("cannot use standard input: {error}"))
}

/// What a worker works with, by what it is there for.
enum Desk {
    Guests {
        engine: Engine,
        /// What it was given, by the parent's numbers.
        kept: HashMap<u64, Kept>,
        /// The guest that was paused, with its code.
        resting: Option<Box<(Resting, Code)>>,
    },
    Modules(Compiler),
}

/// What the worker keeps between orders.
enum Kept {
    Code(Code),
    Bytes(Arc<Mapping>),
}

/// A guest that is ready to run.
struct Ready {
    invocation: Invocation,
    code: Code,
}

/// Takes in what is beside the order, and puts the guest together.
fn prepared(
    engine: &Engine,
    job: Job,
    files: Vec<OwnedFd>,
    kept: &mut HashMap<u64, Kept>,
    channel: &Arc<Channel>,
) -> Result<Ready, String> {
    for id in &job.forget {
        kept.remove(id);
    }
    if files.len() != job.given.len() {
        return Err("files are missing beside the order".to_owned());
    }
    for (given, file) in job.given.iter().zip(files) {
        let file = File::from(file);
        let thing = match given.what {
            What::Code(kind) => Kept::Code(
                engine
                    .load(&file, kind)
                    .map_err(|error| format!("cannot load the compiled module: {error:#}"))?,
            ),
            What::Bytes => Kept::Bytes(
                Mapping::of(file).map_err(|error| format!("cannot map a file: {error}"))?,
            ),
        };
        kept.insert(given.id, thing);
    }
    let bytes = |id: &u64| match kept.get(id) {
        Some(Kept::Bytes(mapping)) => Ok(Arc::clone(mapping)),
        Some(Kept::Code(_)) | None => Err(format!("file {id} was never given")),
    };
    let mut mounts = Mounts::default();
    for mount in job.mounts {
        let source = match mount.what {
            Place::Empty => Source::Empty,
            Place::Device(device) => Source::Device(device),
            Place::Bytes(bytes) => {
                Source::File(Content::Shared(probity_core::repo::File::regular(bytes)))
            }
            Place::File(id) => Source::File(Content::Mapped(Mapped::whole(bytes(&id)?))),
            Place::Image(id) => {
                let root = ImageFolder::root(bytes(&id)?).ok_or("an image of a tree is damaged")?;
                Source::Folder(LowerDirectory::Image(root))
            }
        };
        mounts.add_sealed(&mount.path, source, mount.access, mount.seals);
    }
    let from = match job.from {
        Some(from) => Some(Snapshot::new(bytes(&from.memory)?, from.rest)),
        None => None,
    };
    let code = match kept.get(&job.module) {
        Some(Kept::Code(code)) => code.clone(),
        Some(Kept::Bytes(_)) | None => return Err("the module was never given".to_owned()),
    };
    let invocation = Invocation {
        args: job.args,
        env: job.env,
        stdin: job.stdin,
        mounts,
        preopens: job.preopens,
        entry: job.entry,
        from,
        keep: job.keep,
        seed: job.seed,
        start_time: job.start_time,
        sliced: job.sliced,
        budget: job.budget,
        cancel: Cancel::default(),
        listener: job.listened.then(|| listener(channel)),
        wanted: job.wanted,
    };
    Ok(Ready { invocation, code })
}

/// Sends the parent what the guest reports. If the parent is gone, the kernel ends us.
fn listener(channel: &Arc<Channel>) -> Listener {
    let channel = Arc::clone(channel);
    Listener::new(move |piece| {
        let piece = Answer::Progress(piece.to_vec());
        let _ = channel.send(&piece, &[], Patience::ENDLESS);
    })
}

fn compile(compiler: &Compiler, kind: Kind, files: Vec<OwnedFd>) -> Result<(), CompileFault> {
    let host = |error: std::io::Error| CompileFault::Host(error.to_string());
    let [module, out]: [OwnedFd; 2] = files
        .try_into()
        .map_err(|_| CompileFault::Host("files are missing beside the order".to_owned()))?;
    let module = Mapping::of(File::from(module)).map_err(host)?;
    let code = compiler.compile(module.bytes(), kind).map_err(|error| {
        let message = clean(&format!("{error:#}"));
        if is_of_kernel(&error) {
            CompileFault::Host(message)
        } else {
            CompileFault::Invalid(message)
        }
    })?;
    File::from(out).write_all(&code).map_err(host)
}

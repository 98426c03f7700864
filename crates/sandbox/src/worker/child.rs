//! One worker process, seen from the parent.

use std::collections::HashSet;
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use probity_core::budget::Budget;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Resource, Rlimit};

use super::frame::{Channel, FrameError, Patience};
use super::lockdown;
use super::lockdown::probe::{Outcome, Outside, Probe};
use super::message::{Answer, Hello, MAX_HELLO, Order, PROTOCOL};
use super::serve::{ARGUMENT, Duty};
use crate::cancel::Cancel;
use crate::results::{Listener, PAUSE, PIECE};
use crate::text::clean;

/// How long a worker may take to begin. The machine may be busy.
const BEGIN: Duration = Duration::from_secs(30);
/// Most memory that a worker may ever be granted.
pub(super) const MAX_DATA: u64 = 64 << 30;
/// Things that a worker keeps before it is told to forget some.
const MAX_KEPT: usize = 64;
/// Most bytes read of what a worker said before it ended.
const MAX_LAST_WORDS: u64 = 8 << 10;

/// How a worker is started.
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    program: PathBuf,
}

impl WorkerCommand {
    /// This very program, which calls [`serve_if_asked`](super::serve_if_asked) first thing
    /// in `main`.
    #[must_use]
    pub fn this_program() -> Self {
        // The file that runs, even if another one has taken its name since.
        Self::program("/proc/self/exe")
    }

    /// Another program that does so.
    #[must_use]
    pub fn program(program: impl Into<PathBuf>) -> Self {
        let program = program.into();
        Self {
            // Workers are started in another folder.
            program: std::path::absolute(&program).unwrap_or(program),
        }
    }

    fn arguments(&self, duty: &Duty) -> Result<[String; 2], String> {
        let duty = serde_json::to_string(duty).map_err(|error| error.to_string())?;
        Ok([ARGUMENT.to_owned(), duty])
    }

    /// Lets a process lock itself down as `settings` say and try something forbidden.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub(crate) fn try_out(
        &self,
        settings: &lockdown::Settings,
        probe: Probe,
        outside: &Outside,
    ) -> Result<Outcome, String> {
        let failed = |error: std::io::Error| {
            format!("`{}` cannot be started: {error}", self.program.display())
        };
        let duty = self.arguments(&Duty::Try(settings.clone(), probe))?;
        let output = Command::new(&self.program)
            .args(duty)
            .env_clear()
            .envs(outside.environment().map_err(failed)?)
            .current_dir("/")
            .stdin(Stdio::from(outside.file().map_err(failed)?))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .output()
            .map_err(failed)?;
        let answer = serde_json::from_slice(&output.stdout).ok();
        Ok(probe.judge(answer, output.status))
    }
}

/// A worker that ended, or was ended.
#[derive(Debug)]
pub(super) struct Death {
    /// How the process ended; `None` if that cannot be told.
    pub(super) status: Option<ExitStatus>,
    /// What it wrote to standard error, one line of it.
    pub(super) last_words: String,
    /// Why the parent gave it up, if it was the parent who ended it.
    given_up: Option<FrameError>,
}

impl Death {
    /// The signal that ended the process.
    pub(super) fn signal(&self) -> Option<i32> {
        self.status.and_then(|status| status.signal())
    }

    /// Whether it was ended because the embedder cancelled the work.
    pub(super) const fn is_cancelled(&self) -> bool {
        matches!(self.given_up, Some(FrameError::Cancelled))
    }

    /// Whether it was ended for taking too long.
    pub(super) const fn is_late(&self) -> bool {
        matches!(self.given_up, Some(FrameError::Late))
    }

    /// Whether it ended for lack of memory of its own.
    pub(super) fn is_out_of_memory(&self) -> bool {
        self.signal() == Some(libc::SIGABRT) && self.last_words.contains("memory allocation")
    }

    /// How it ended, without anything that it said: the same wherever it happens.
    pub(super) fn plainly(&self) -> String {
        match (self.signal(), self.status.and_then(|status| status.code())) {
            (Some(signal), _) => signal_name(signal),
            (None, Some(_)) => "it gave up".to_owned(),
            (None, None) => "it is gone".to_owned(),
        }
    }
}

impl std::fmt::Display for Death {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(reason) = &self.given_up {
            return write!(f, "{reason}, and was ended");
        }
        match (self.signal(), self.status.and_then(|status| status.code())) {
            (Some(signal), _) => write!(f, "was ended by {}", signal_name(signal))?,
            (None, Some(code)) => write!(f, "ended with exit code {code}")?,
            (None, None) => f.write_str("is gone")?,
        }
        if !self.last_words.is_empty() {
            write!(f, ": {}", self.last_words)?;
        }
        Ok(())
    }
}

fn signal_name(signal: i32) -> String {
    let (name, meaning) = match signal {
        libc::SIGABRT => ("SIGABRT", "it gave up"),
        libc::SIGBUS => ("SIGBUS", "a mapped file was cut off"),
        libc::SIGFPE => ("SIGFPE", "an arithmetic fault"),
        libc::SIGILL => ("SIGILL", "an illegal instruction"),
        libc::SIGKILL => (
            "SIGKILL",
            "by the kernel for lack of memory, or from outside",
        ),
        libc::SIGSEGV => ("SIGSEGV", "a memory fault"),
        libc::SIGSYS => ("SIGSYS", "a system call that no worker makes"),
        libc::SIGTERM => ("SIGTERM", "from outside"),
        libc::SIGXCPU => ("SIGXCPU", "its processor time was used up"),
        other => return format!("signal {other}"),
    };
    format!("{name} ({meaning})")
}

/// Who hears what a guest reports while it runs, and how much of that there may be: a worker
/// that a guest has taken over must not keep its parent busy or fill its memory.
pub(super) struct Hearing<'a> {
    listener: Option<&'a Listener>,
    bytes: u64,
    pieces: u64,
}

impl<'a> Hearing<'a> {
    /// For work that reports nothing on the way.
    pub(super) const NOBODY: Self = Self {
        listener: None,
        bytes: 0,
        pieces: 0,
    };

    /// For a guest with this budget: all of its results once, in as many pieces as they take
    /// by size and by time.
    pub(super) fn new(listener: Option<&'a Listener>, budget: &Budget) -> Self {
        let piece = u64::try_from(PIECE).unwrap_or(u64::MAX);
        let pause = u64::try_from(PAUSE.as_nanos()).unwrap_or(u64::MAX);
        let by_size = budget.results.0.checked_div(piece).unwrap_or(0);
        let by_time = budget.wall_time.0.checked_div(pause).unwrap_or(0);
        Self {
            listener,
            bytes: budget.results.0,
            // Some more for the end, and for clocks that differ.
            pieces: by_size.saturating_add(by_time).saturating_add(100),
        }
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), FrameError> {
        let size = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        let left = (self.bytes.checked_sub(size), self.pieces.checked_sub(1));
        let (Some(listener), (Some(bytes), Some(pieces))) = (self.listener, left) else {
            let what = "it reports more on the way than its guest may".to_owned();
            return Err(FrameError::Protocol(what));
        };
        (self.bytes, self.pieces) = (bytes, pieces);
        listener.hear(piece);
        Ok(())
    }
}

/// A running worker. Dropping it ends the process.
#[derive(Debug)]
pub(super) struct Worker {
    process: std::process::Child,
    stderr: Option<ChildStderr>,
    channel: Channel,
    /// What the worker keeps, by the parent's numbers.
    pub(super) knows: HashSet<u64>,
    /// Orders that it has carried out.
    pub(super) done: u32,
    pub(super) lockdown: lockdown::Report,
}

impl Worker {
    /// Starts a worker, which is to be greeted before it is given any order.
    ///
    /// The kernel ends a worker when the *thread* that started it ends; see
    /// [`Nursery`](super::nursery::Nursery).
    pub(super) fn start(
        command: &WorkerCommand,
        settings: &lockdown::Settings,
    ) -> Result<Self, String> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(|errno| format!("cannot make a socket: {errno}"))?;
        let duty = command.arguments(&Duty::Work(settings.clone()))?;
        let mut process = Command::new(&command.program)
            .args(duty)
            .env_clear()
            // However many processors there are: what compiling takes must not depend on it.
            .env("RAYON_NUM_THREADS", "2")
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                format!("`{}` cannot be started: {error}", command.program.display())
            })?;
        let stderr = process.stderr.take();
        Ok(Self {
            process,
            stderr,
            channel: Channel::new(ours),
            knows: HashSet::new(),
            done: 0,
            lockdown: lockdown::Report { layers: Vec::new() },
        })
    }

    /// Waits until the worker's lockdown is in place.
    pub(super) fn greet(&mut self, cancel: Option<&Cancel>) -> Result<(), String> {
        let patience = Patience {
            deadline: Instant::now().checked_add(BEGIN),
            cancel,
        };
        match self.channel.receive::<Hello>(MAX_HELLO, patience) {
            Ok((hello, _)) if hello.protocol == PROTOCOL => {
                self.lockdown = hello.lockdown;
                let failed = self
                    .lockdown
                    .missing()
                    .find_map(|(layer, state)| match state {
                        lockdown::State::Failed { why } => Some(format!("{layer}: {why}")),
                        lockdown::State::Active { .. }
                        | lockdown::State::NotOffered { .. }
                        | lockdown::State::Off => None,
                    });
                match failed {
                    None => Ok(()),
                    Some(problem) => Err(format!("could not be locked down: {problem}")),
                }
            }
            Ok(_) => Err("is of another version".to_owned()),
            Err(error) => Err(self.bury(error).to_string()),
        }
    }

    /// Gives an order with files and waits for the answer, of at most `cap` bytes. What comes
    /// before the answer goes to `hearing`, and makes nobody wait longer.
    pub(super) fn ask(
        &mut self,
        order: &Order,
        files: &[BorrowedFd<'_>],
        cap: u64,
        patience: Patience<'_>,
        mut hearing: Hearing<'_>,
    ) -> Result<Answer, Death> {
        let answer = self.channel.send(order, files, patience).and_then(|()| {
            loop {
                match self.channel.receive::<Answer>(cap, patience)? {
                    (Answer::Progress(piece), files) if files.is_empty() => {
                        hearing.take(&piece)?;
                        patience.check()?;
                    }
                    answer => return Ok(answer),
                }
            }
        });
        match answer {
            Ok((answer, files)) if files.is_empty() => {
                self.done = self.done.saturating_add(1);
                Ok(answer)
            }
            Ok(_) => {
                let odd = FrameError::Protocol("it sent files".to_owned());
                Err(self.bury(odd))
            }
            Err(error) => Err(self.bury(error)),
        }
    }

    /// The process's number.
    pub(super) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Takes note of what the worker may forget: once it keeps many things, all that are not
    /// `needed` now.
    pub(super) fn forget(&mut self, needed: &HashSet<u64>) -> Vec<u64> {
        // Each thing may keep a file open in the worker.
        if self.knows.union(needed).count() <= MAX_KEPT {
            return Vec::new();
        }
        let gone: Vec<u64> = self.knows.difference(needed).copied().collect();
        self.knows.retain(|id| needed.contains(id));
        gone
    }

    /// Bounds the worker's own memory, in bytes.
    pub(super) fn set_data_limit(&self, bytes: u64) -> std::io::Result<()> {
        let pid = i32::try_from(self.process.id())
            .ok()
            .and_then(Pid::from_raw);
        // The worker cannot raise it: its list of system calls has no such call. Nor can we,
        // past a hard limit that was there before: the worker inherited ours.
        let ceiling = rustix::process::getrlimit(Resource::Data).maximum;
        let ceiling = ceiling.map_or(MAX_DATA, |ceiling| ceiling.min(MAX_DATA));
        let limit = Rlimit {
            current: Some(bytes.min(ceiling)),
            maximum: Some(ceiling),
        };
        let before = rustix::process::prlimit(pid, Resource::Data, limit);
        before.map(|_| ()).map_err(std::io::Error::from)
    }

    /// Whether the process is still there and has nothing to say.
    pub(super) fn is_idle(&mut self) -> bool {
        if !matches!(self.process.try_wait(), Ok(None)) {
            return false;
        }
        // An idle worker says nothing; one that does has lost its place.
        let fd = self.channel.as_fd();
        let mut wanted = [rustix::event::PollFd::new(
            &fd,
            rustix::event::PollFlags::IN,
        )];
        let now = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        matches!(rustix::event::poll(&mut wanted, Some(&now)), Ok(0))
    }

    /// Ends the process and finds out what happened to it.
    fn bury(&mut self, error: FrameError) -> Death {
        // A process that closed its end is about to end by itself; its own status tells more
        // than ours would.
        let mut status = None;
        if matches!(error, FrameError::Closed) {
            let until = Instant::now().checked_add(Duration::from_millis(500));
            while until.is_some_and(|until| Instant::now() < until) {
                status = self.process.try_wait().ok().flatten();
                if status.is_some() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let ended_itself = status.is_some();
        if status.is_none() {
            let _ = self.process.kill();
            status = self.process.wait().ok();
        }
        Death {
            status,
            last_words: self.last_words(),
            given_up: (!ended_itself).then_some(error),
        }
    }

    /// What the process said last, once it is gone.
    fn last_words(&mut self) -> String {
        let mut words = Vec::new();
        if let Some(stderr) = &mut self.stderr {
            // Whoever still holds the other end, we ourselves perhaps (descriptors that the
            // worker sent and nobody took), must not keep us waiting.
            let _ = rustix::io::ioctl_fionbio(&*stderr, true);
            let _ = stderr.take(MAX_LAST_WORDS).read_to_end(&mut words);
        }
        let text = String::from_utf8_lossy(&words);
        let line = text.lines().find(|line| !line.trim().is_empty());
        clean(line.unwrap_or_default())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use probity_core::quantity::{ByteSize, WallTime};

    use super::*;

    #[test]
    fn a_worker_that_reports_too_much_on_the_way_is_given_up() {
        let heard = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&heard);
        let listener = Listener::new(move |piece| {
            counter.fetch_add(piece.len(), Ordering::Relaxed);
        });
        let budget = Budget {
            results: ByteSize(1000),
            wall_time: WallTime::secs(1),
            ..Budget::check()
        };
        let mut hearing = Hearing::new(Some(&listener), &budget);
        assert!(hearing.take(&[0; 900]).is_ok());
        assert!(hearing.take(&[0; 101]).is_err());
        assert_eq!(heard.load(Ordering::Relaxed), 900);
        // Nor do pieces without bytes keep the parent busy for ever.
        let mut hearing = Hearing::new(Some(&listener), &budget);
        let pieces = (0..10_000)
            .take_while(|_| hearing.take(&[]).is_ok())
            .count();
        assert_eq!(pieces, 120);
        let mut nobody = Hearing::NOBODY;
        assert!(nobody.take(&[]).is_err());
        assert!(Hearing::new(None, &budget).take(&[1]).is_err());
    }
}

//! The state behind one guest's WASI calls.

use std::time::Instant;

use probity_core::budget::{Budget, Limit, LimitHit};
use probity_core::quantity::Fuel;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use super::clock::VirtualClock;
use super::meter::Meter;
use super::open_files::OpenFiles;
use super::p1::Descriptors;
use super::p2::Handles;
use crate::engine::Kind;
use crate::fs::{Errno, Filesystem, Follow, NodeId};
use crate::limits::EngineLimits;
use crate::output::OutputSink;
use crate::results::{Feed, Listener, Mark, Marks};

/// Why a host call ends the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    /// The guest asked to exit.
    #[error("exited with code {0}")]
    Exit(u32),
    /// A limit that ends the guest was reached.
    #[error("limit reached: {0}")]
    Limit(LimitHit),
    /// The embedder ended the guest.
    #[error("cancelled")]
    Cancelled,
    /// The host has less memory than the budget grants.
    #[error("the host has too little memory for what the budget grants")]
    HostMemory,
    /// The module has no memory to pass data through.
    #[error("the module calls WASI but exports no memory")]
    NoMemory,
    /// A call that its interface does not allow, and that has no error to answer with.
    #[error("{0}")]
    Misuse(&'static str),
}

/// Everything that one guest can reach.
pub(crate) struct Host {
    pub(crate) fs: Filesystem,
    pub(super) files: OpenFiles,
    /// Granted folders with their guest paths.
    pub(super) preopens: Vec<(NodeId, String)>,
    /// What a core module has open, by number.
    pub(super) descriptors: Descriptors,
    /// What a component has open, by handle.
    pub(super) handles: Handles,
    pub(super) clock: VirtualClock,
    pub(super) random: ChaCha8Rng,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) stdin: Vec<u8>,
    pub(super) stdin_at: usize,
    pub(crate) stdout: OutputSink,
    pub(crate) stderr: OutputSink,
    pub(crate) results: Vec<u8>,
    /// How far the guest was at each write to the results.
    marks: Marks,
    /// Passes the results on while the guest runs.
    feed: Option<Feed>,
    pub(crate) limits: EngineLimits,
    pub(super) stop: Option<Stop>,
    pub(super) memory: Option<wasmtime::Memory>,
    pub(super) meter: Meter,
    pub(super) budget: Budget,
    deadline: Instant,
    started: Instant,
    /// Fuel that the engine held when the call under way began.
    pub(super) fuel_left: u64,
    /// Calls made, to look at the clock now and then.
    calls: u32,
}

/// What a guest is given.
pub(crate) struct HostSetup {
    /// The interface that the guest is made for.
    pub(crate) kind: Kind,
    pub(crate) fs: Filesystem,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) stdin: Vec<u8>,
    /// Guest paths of the folders it may open things below.
    pub(crate) preopens: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) start_time: u64,
    /// Virtual time that had passed before, for a guest that begins in a snapshot.
    pub(crate) passed: u64,
    /// Fuel that may be burned between two writes to the results channel.
    pub(crate) slice: Option<u64>,
    /// Hears what is written to the results channel.
    pub(crate) listener: Option<Listener>,
}

impl Host {
    pub(crate) fn new(setup: HostSetup, budget: &Budget) -> Result<Self, Errno> {
        let mut files = OpenFiles::new(budget.open_files);
        let mut fs = setup.fs;
        let mut preopens = Vec::new();
        for path in setup.preopens {
            let below = path.trim_start_matches('/');
            let below = if below.is_empty() { "." } else { below };
            let node = fs.existing(NodeId::ROOT, below, Follow::No)?;
            // Granted folders stay, whatever the guest closes.
            fs.hold(node);
            preopens.push((node, path));
        }
        let descriptors = match setup.kind {
            Kind::Core => Descriptors::standard(&mut files, &mut fs, &preopens)?,
            Kind::Component => {
                // The standard streams count, as they do where they have numbers.
                for _ in 0..3 {
                    files.opened()?;
                }
                Descriptors::default()
            }
        };
        let started = Instant::now();
        Ok(Self {
            meter: Meter::new(budget.fuel.0, setup.slice),
            fs,
            files,
            preopens,
            descriptors,
            handles: Handles::new(budget.open_files),
            clock: VirtualClock::new(setup.start_time, setup.passed),
            random: ChaCha8Rng::seed_from_u64(setup.seed),
            args: setup.args,
            env: setup.env,
            stdin: setup.stdin,
            stdin_at: 0,
            stdout: OutputSink::new(budget.output.0),
            stderr: OutputSink::new(budget.output.0),
            results: Vec::new(),
            marks: Marks::default(),
            feed: setup.listener.map(Feed::new),
            limits: EngineLimits::new(budget, setup.kind),
            stop: None,
            memory: None,
            deadline: started
                .checked_add(budget.wall_time.duration())
                .unwrap_or(started),
            started,
            fuel_left: 0,
            calls: 0,
            budget: *budget,
        })
    }

    /// Adds to the fuel that the call under way costs.
    pub(super) fn charge(&mut self, amount: usize) {
        self.meter.charge(amount);
    }

    /// Sets the clocks by the fuel that the engine has left.
    pub(super) fn tick(&mut self, fuel_left: u64) {
        self.clock.set_burned(self.burned(fuel_left));
        self.fs.now = self.clock.realtime();
    }

    /// The fuel burned so far, by what the engine has left.
    pub(crate) const fn burned(&self, fuel_left: u64) -> u64 {
        self.meter.burned(fuel_left)
    }

    /// The fuel that the engine gets at the start.
    pub(crate) fn first_slice(&self) -> u64 {
        self.meter.first_slice()
    }

    /// The limit that was met when the engine had no fuel left.
    pub(crate) const fn fuel_hit(&self) -> LimitHit {
        self.meter.hit()
    }

    /// The host of a guest that goes on where this one stands, with a budget of its own.
    /// What was printed and reported, and which limits were met, stays with this one.
    pub(crate) fn fork(
        &self,
        budget: &Budget,
        slice: Option<u64>,
        listener: Option<Listener>,
    ) -> Self {
        let started = Instant::now();
        Self {
            meter: Meter::new(budget.fuel.0, slice),
            fs: self.fs.fork(),
            files: self.files.clone(),
            preopens: self.preopens.clone(),
            descriptors: self.descriptors.clone(),
            // Components are not forked.
            handles: Handles::new(budget.open_files),
            clock: self.clock.going_on(),
            random: self.random.clone(),
            args: self.args.clone(),
            env: self.env.clone(),
            stdin: self.stdin.clone(),
            stdin_at: self.stdin_at,
            stdout: OutputSink::new(budget.output.0),
            stderr: OutputSink::new(budget.output.0),
            results: Vec::new(),
            marks: Marks::default(),
            feed: listener.map(Feed::new),
            limits: EngineLimits::new(budget, Kind::Core),
            stop: None,
            memory: None,
            deadline: started
                .checked_add(budget.wall_time.duration())
                .unwrap_or(started),
            started,
            fuel_left: 0,
            calls: 0,
            budget: *budget,
        }
    }

    /// The guest's memory, once it has called us.
    pub(crate) const fn memory(&self) -> Option<wasmtime::Memory> {
        self.memory
    }

    /// Virtual time since the guest, or the one whose state it began in, started; in
    /// nanoseconds.
    pub(crate) const fn passed(&self) -> u64 {
        self.clock.monotonic()
    }

    /// Takes bytes for the results, with a mark of how far the guest is.
    pub(super) fn report(&mut self, bytes: &[u8]) {
        self.results.extend_from_slice(bytes);
        self.marks.note(self.mark());
        if let Some(feed) = &mut self.feed {
            feed.take(bytes);
        }
    }

    /// Passes on results that nobody has heard yet, unless some were just before.
    pub(crate) fn tell_if_due(&mut self) {
        if let Some(feed) = &mut self.feed {
            feed.flush_if_due();
        }
    }

    /// The marks, with one for the end of the guest, which burned `fuel` in all.
    pub(crate) fn finish_results(&mut self, fuel: Fuel) -> Vec<Mark> {
        if let Some(feed) = &mut self.feed {
            feed.flush();
        }
        self.clock.set_burned(fuel.0);
        self.marks.note(self.mark());
        std::mem::take(&mut self.marks).finish()
    }

    fn mark(&self) -> Mark {
        Mark {
            end: u64::try_from(self.results.len()).unwrap_or(u64::MAX),
            fuel: Fuel(self.clock.burned()),
            time_ns: self.clock.monotonic(),
        }
    }

    pub(super) fn fill_random(&mut self, into: &mut [u8]) {
        self.random.fill_bytes(into);
    }

    /// The wall-time limit, if it has passed; looked at in one of a few calls, as reading
    /// the clock takes longer than some of them. A guest that makes none meets the limit
    /// through the engine's epochs.
    pub(super) fn overdue_now_and_then(&mut self) -> Option<LimitHit> {
        self.calls = self.calls.wrapping_add(1);
        if self.calls.is_multiple_of(16) {
            self.overdue()
        } else {
            None
        }
    }

    /// The wall-time limit, if it has passed.
    pub(crate) fn overdue(&self) -> Option<LimitHit> {
        (Instant::now() >= self.deadline).then(|| self.wall_time_hit())
    }

    /// The wall-time limit with the time used so far.
    pub(crate) fn wall_time_hit(&self) -> LimitHit {
        LimitHit {
            limit: Limit::WallTime,
            cap: self.budget.wall_time.0,
            used: u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX),
        }
    }

    /// The limits that refused something without ending the guest.
    pub(crate) fn limits_met(&self) -> Vec<LimitHit> {
        let mut hits: Vec<LimitHit> = self.fs.quota_use().hits().collect();
        hits.extend(self.files.hit());
        hits.extend(self.limits.hits());
        for sink in [&self.stdout, &self.stderr] {
            if sink.dropped() > 0 {
                hits.push(LimitHit {
                    limit: Limit::Output,
                    cap: self.budget.output.0,
                    used: sink.total(),
                });
            }
        }
        hits.sort_by_key(|hit| hit.limit);
        hits.dedup_by_key(|hit| hit.limit);
        hits
    }
}

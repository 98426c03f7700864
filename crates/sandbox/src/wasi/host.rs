//! The state behind one guest's WASI calls.

use std::time::Instant;

use probity_core::budget::{Budget, Limit, LimitHit};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use super::clock::VirtualClock;
use super::descriptor::{Descriptor, Descriptors, Target, rights};
use crate::fs::{Errno, Filesystem, Follow};
use crate::limits::EngineLimits;
use crate::output::OutputSink;

/// Why a host call ends the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    /// The guest called `proc_exit`.
    #[error("exited with code {0}")]
    Exit(u32),
    /// A limit that ends the guest was reached.
    #[error("limit reached: {0}")]
    Limit(LimitHit),
    /// The module has no memory to pass data through.
    #[error("the module calls WASI but exports no memory")]
    NoMemory,
}

/// Everything that one guest can reach.
pub(crate) struct Host {
    pub(crate) fs: Filesystem,
    pub(super) descriptors: Descriptors,
    pub(super) clock: VirtualClock,
    pub(super) random: ChaCha8Rng,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) stdin: Vec<u8>,
    pub(super) stdin_at: usize,
    pub(crate) stdout: OutputSink,
    pub(crate) stderr: OutputSink,
    pub(crate) results: Vec<u8>,
    pub(crate) limits: EngineLimits,
    /// Fuel to charge for the host call under way.
    pub(super) charge: u64,
    pub(super) stop: Option<Stop>,
    pub(super) memory: Option<wasmtime::Memory>,
    meter: Meter,
    budget: Budget,
    deadline: Instant,
    started: Instant,
}

/// What a guest is given.
pub(crate) struct HostSetup {
    pub(crate) fs: Filesystem,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) stdin: Vec<u8>,
    /// Guest paths of the folders it may open things below.
    pub(crate) preopens: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) start_time: u64,
    /// Fuel that may be burned between two writes to the results channel.
    pub(crate) slice: Option<u64>,
}

/// How the fuel is dealt out. The engine holds one slice of it; whoever reports on the
/// results channel gets a full one again, so that a test that never ends cannot use up what
/// the others need.
#[derive(Debug, Clone, Copy)]
struct Meter {
    slice: u64,
    reserve: u64,
    renew: bool,
}

impl Host {
    pub(crate) fn new(setup: HostSetup, budget: &Budget) -> Result<Self, Errno> {
        let mut descriptors = Descriptors::new(budget.open_files);
        let stdio = rights::FD_SEEK | rights::FD_TELL;
        for (target, right) in [
            (Target::Stdin, rights::FD_READ),
            (Target::Stdout, rights::FD_WRITE),
            (Target::Stderr, rights::FD_WRITE),
        ] {
            descriptors.insert(Descriptor::new(target, right | stdio))?;
        }
        let mut fs = setup.fs;
        for path in setup.preopens {
            let below = path.trim_start_matches('/');
            let below = if below.is_empty() { "." } else { below };
            let node = fs.existing(crate::fs::NodeId::ROOT, below, Follow::No)?;
            fs.node_mut(node).opens = fs.node(node).opens.saturating_add(1);
            let mut descriptor = Descriptor::new(Target::Node(node), rights::DIRECTORY);
            descriptor.preopen = Some(path);
            descriptors.insert(descriptor)?;
        }
        let started = Instant::now();
        let slice = setup.slice.unwrap_or(u64::MAX);
        Ok(Self {
            meter: Meter {
                slice,
                reserve: budget.fuel.0.saturating_sub(slice),
                renew: false,
            },
            fs,
            descriptors,
            clock: VirtualClock::new(setup.start_time),
            random: ChaCha8Rng::seed_from_u64(setup.seed),
            args: setup.args,
            env: setup.env,
            stdin: setup.stdin,
            stdin_at: 0,
            stdout: OutputSink::new(budget.output.0),
            stderr: OutputSink::new(budget.output.0),
            results: Vec::new(),
            limits: EngineLimits::new(budget),
            charge: 0,
            stop: None,
            memory: None,
            deadline: started
                .checked_add(budget.wall_time.duration())
                .unwrap_or(started),
            started,
            budget: *budget,
        })
    }

    /// Adds to the fuel that the call under way costs.
    pub(super) fn charge(&mut self, amount: usize) {
        self.charge = self
            .charge
            .saturating_add(u64::try_from(amount).unwrap_or(u64::MAX));
    }

    /// Sets the clocks by the fuel that the engine has left.
    pub(super) fn tick(&mut self, fuel_left: u64) {
        self.clock.set_burned(self.burned(fuel_left));
        self.fs.now = self.clock.realtime();
    }

    /// The fuel burned so far, by what the engine has left.
    pub(crate) fn burned(&self, fuel_left: u64) -> u64 {
        let left = self.meter.reserve.saturating_add(fuel_left);
        self.budget.fuel.0.saturating_sub(left)
    }

    /// The fuel that the engine gets at the start.
    pub(crate) fn first_slice(&self) -> u64 {
        self.budget.fuel.0.min(self.meter.slice)
    }

    /// What the engine may hold after a call that left `fuel_left`.
    pub(super) fn deal(&mut self, fuel_left: u64) -> u64 {
        if !std::mem::take(&mut self.meter.renew) {
            return fuel_left;
        }
        let total = self.meter.reserve.saturating_add(fuel_left);
        let slice = total.min(self.meter.slice);
        self.meter.reserve = total.saturating_sub(slice);
        slice
    }

    /// The limit that was met when the engine had no fuel left.
    pub(crate) fn fuel_hit(&self) -> LimitHit {
        let (limit, cap) = if self.meter.reserve > 0 {
            (Limit::TestFuel, self.meter.slice)
        } else {
            (Limit::Fuel, self.budget.fuel.0)
        };
        LimitHit {
            limit,
            cap,
            used: cap,
        }
    }

    pub(super) fn fill_random(&mut self, into: &mut [u8]) {
        self.random.fill_bytes(into);
    }

    /// Takes bytes for the results channel; past its cap the guest ends.
    pub(super) fn write_results(&mut self, bytes: &[u8]) {
        let wanted = self.results.len().saturating_add(bytes.len());
        if wanted > self.budget.results.as_usize() {
            self.stop = Some(Stop::Limit(LimitHit {
                limit: Limit::Results,
                cap: self.budget.results.0,
                used: u64::try_from(wanted).unwrap_or(u64::MAX),
            }));
            return;
        }
        self.results.extend_from_slice(bytes);
        self.meter.renew = true;
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
        hits.extend(self.descriptors.hit);
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

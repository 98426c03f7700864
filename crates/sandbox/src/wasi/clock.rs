//! Virtual time: it advances with the fuel that a guest burns and with its sleeps, and
//! never with the host's clock.

use super::Call;
use crate::fs::Errno;

/// Clock ids of WASI 0.1.
const REALTIME: u32 = 0;
const MONOTONIC: u32 = 1;
const PROCESS_CPU: u32 = 2;
const THREAD_CPU: u32 = 3;

/// The clock of one instance. One unit of fuel lasts a nanosecond.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VirtualClock {
    /// Nanoseconds since the Unix epoch at which the guest starts.
    start: u64,
    slept: u64,
    burned: u64,
}

impl VirtualClock {
    pub(crate) const fn new(start: u64) -> Self {
        Self {
            start,
            slept: 0,
            burned: 0,
        }
    }

    /// Tells the clock how much fuel was burned since the start.
    pub(crate) const fn set_burned(&mut self, fuel: u64) {
        self.burned = fuel;
    }

    /// Lets `nanoseconds` pass.
    pub(crate) const fn sleep(&mut self, nanoseconds: u64) {
        self.slept = self.slept.saturating_add(nanoseconds);
    }

    pub(crate) const fn monotonic(&self) -> u64 {
        self.slept.saturating_add(self.burned)
    }

    pub(crate) const fn realtime(&self) -> u64 {
        self.start.saturating_add(self.monotonic())
    }

    pub(super) const fn read(&self, id: u32) -> Result<u64, Errno> {
        match id {
            REALTIME => Ok(self.realtime()),
            MONOTONIC => Ok(self.monotonic()),
            PROCESS_CPU | THREAD_CPU => Ok(self.burned),
            _ => Err(Errno::Inval),
        }
    }
}

pub(super) fn clock_res_get(call: &mut Call<'_>, id: u32, out: u32) -> Result<(), Errno> {
    call.host.clock.read(id)?;
    call.memory.write_u64(out, 1)
}

pub(super) fn clock_time_get(
    call: &mut Call<'_>,
    id: u32,
    _precision: u64,
    out: u32,
) -> Result<(), Errno> {
    let now = call.host.clock.read(id)?;
    call.memory.write_u64(out, now)
}

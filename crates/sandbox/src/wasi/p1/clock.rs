//! The clocks of WASI 0.1, by number.

use super::super::clock::VirtualClock;
use super::Call;
use crate::fs::Errno;

/// Clock ids of WASI 0.1.
const REALTIME: u32 = 0;
const MONOTONIC: u32 = 1;
const PROCESS_CPU: u32 = 2;
const THREAD_CPU: u32 = 3;

pub(super) const fn read(clock: &VirtualClock, id: u32) -> Result<u64, Errno> {
    match id {
        REALTIME => Ok(clock.realtime()),
        MONOTONIC => Ok(clock.monotonic()),
        PROCESS_CPU | THREAD_CPU => Ok(clock.worked()),
        _ => Err(Errno::Inval),
    }
}

pub(super) fn clock_res_get(call: &mut Call<'_>, id: u32, out: u32) -> Result<(), Errno> {
    read(&call.host.clock, id)?;
    call.memory.write_u64(out, 1)
}

pub(super) fn clock_time_get(
    call: &mut Call<'_>,
    id: u32,
    _precision: u64,
    out: u32,
) -> Result<(), Errno> {
    let now = read(&call.host.clock, id)?;
    call.memory.write_u64(out, now)
}

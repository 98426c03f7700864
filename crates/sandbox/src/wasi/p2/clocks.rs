//! `wasi:clocks`: virtual time.

use wasmtime::component::Resource;

use super::super::host::{Host, Stop};
use super::handles::Pollable;
use super::types::Datetime;

pub(super) fn monotonic_now(host: &mut Host) -> Result<u64, Stop> {
    Ok(host.clock.monotonic())
}

pub(super) fn monotonic_resolution(_: &mut Host) -> Result<u64, Stop> {
    Ok(1)
}

pub(super) fn subscribe_instant(host: &mut Host, when: u64) -> Result<Resource<Pollable>, Stop> {
    host.handles.push(Pollable::At(when))
}

pub(super) fn subscribe_duration(host: &mut Host, span: u64) -> Result<Resource<Pollable>, Stop> {
    let when = host.clock.monotonic().saturating_add(span);
    host.handles.push(Pollable::At(when))
}

pub(super) fn wall_now(host: &mut Host) -> Result<Datetime, Stop> {
    Ok(Datetime::from_nanoseconds(host.clock.realtime()))
}

pub(super) fn wall_resolution(_: &mut Host) -> Result<Datetime, Stop> {
    Ok(Datetime::from_nanoseconds(1))
}

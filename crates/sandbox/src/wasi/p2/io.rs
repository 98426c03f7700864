//! `wasi:io`: streams, what may be waited for, and errors.
//!
//! A stream moves at most [`MAX_TRANSFER`] bytes a call and is always ready: a read gives
//! what there is, and a write is done when the call returns. The end of a file is where
//! the file ends at the moment, as for a descriptor; a file that grows can be read on.

use wasmtime::component::Resource;

use super::super::host::{Host, Stop};
use super::super::nodes::MAX_TRANSFER;
use super::handles::{InputStream, IoError, OutputStream, Pollable, Sink};
use super::reply::Blocked;
use super::types::ErrorCode;

/// Most bytes that may be written without asking for a permit first.
const MAX_UNASKED: usize = 4096;
/// Most pollables in one list.
const MAX_POLLABLES: usize = 4096;
/// Fuel for each pollable.
const CHARGE: usize = 100;
/// Zeros are written in pieces of this many bytes.
const ZEROS: [u8; 4096] = [0; 4096];

const TOO_LONG: Stop = Stop::Misuse("it writes more to a stream than is permitted");

pub(super) fn to_debug_string(host: &mut Host, error: Resource<IoError>) -> Result<String, Stop> {
    Ok(host.handles.get(&error)?.0.to_string())
}

pub(super) fn filesystem_error_code(
    host: &mut Host,
    error: Resource<IoError>,
) -> Result<Option<ErrorCode>, Stop> {
    Ok(Some(host.handles.get(&error)?.0.into()))
}

pub(super) fn drop_error(host: &mut Host, error: Resource<IoError>) -> Result<(), Stop> {
    host.handles.delete(error).map(|_| ())
}

pub(super) fn ready(host: &mut Host, pollable: Resource<Pollable>) -> Result<bool, Stop> {
    let now = host.clock.monotonic();
    Ok(host.handles.get(&pollable)?.due() <= now)
}

pub(super) fn block(host: &mut Host, pollable: Resource<Pollable>) -> Result<(), Stop> {
    poll(host, vec![pollable]).map(|_| ())
}

/// The places of those in the list that are ready. If none is, the clock jumps to the
/// first that will be.
pub(super) fn poll(host: &mut Host, list: Vec<Resource<Pollable>>) -> Result<Vec<u32>, Stop> {
    if list.is_empty() {
        return Err(Stop::Misuse("it waits for nothing"));
    }
    host.charge(list.len().saturating_mul(CHARGE));
    if list.len() > MAX_POLLABLES {
        return Err(Stop::Misuse("it waits for too many things at once"));
    }
    let mut due = Vec::with_capacity(list.len());
    for pollable in &list {
        due.push(host.handles.get(pollable)?.due());
    }
    let first = due.iter().copied().min().unwrap_or(0);
    host.clock
        .sleep(first.saturating_sub(host.clock.monotonic()));
    let now = host.clock.monotonic();
    let places = (0_u32..).zip(&due);
    Ok(places
        .filter(|(_, due)| **due <= now)
        .map(|(place, _)| place)
        .collect())
}

pub(super) fn drop_pollable(host: &mut Host, pollable: Resource<Pollable>) -> Result<(), Stop> {
    host.handles.delete(pollable).map(|_| ())
}

impl Pollable {
    /// When it is ready, on the monotonic clock.
    const fn due(self) -> u64 {
        match self {
            Self::Ready => 0,
            Self::At(time) => time,
        }
    }
}

pub(super) fn read(
    host: &mut Host,
    stream: Resource<InputStream>,
    length: u64,
) -> Result<Vec<u8>, Blocked> {
    let mut source = host.handles.get(&stream)?;
    let bytes = take(host, &mut source, length)?;
    *host.handles.get_mut(&stream)? = source;
    Ok(bytes)
}

pub(super) fn skip(
    host: &mut Host,
    stream: Resource<InputStream>,
    length: u64,
) -> Result<u64, Blocked> {
    let skipped = read(host, stream, length)?;
    Ok(u64::try_from(skipped.len()).unwrap_or(u64::MAX))
}

pub(super) fn subscribe_input(
    host: &mut Host,
    _: Resource<InputStream>,
) -> Result<Resource<Pollable>, Stop> {
    host.handles.push(Pollable::Ready)
}

pub(super) fn drop_input(host: &mut Host, stream: Resource<InputStream>) -> Result<(), Stop> {
    match host.handles.delete(stream)? {
        InputStream::Stdin => {}
        InputStream::File { node, .. } => host.fs.close(node),
    }
    Ok(())
}

/// Takes at most `length` bytes from a source. The buffer is never larger than what the
/// source can give.
fn take(host: &mut Host, source: &mut InputStream, length: u64) -> Result<Vec<u8>, Blocked> {
    let wanted = length.min(u64::from(MAX_TRANSFER));
    let there = match source {
        InputStream::Stdin => u64::try_from(host.stdin_left()).unwrap_or(u64::MAX),
        InputStream::File { node, at } => host.readable(*node, *at),
    };
    let size = usize::try_from(wanted.min(there)).unwrap_or(0);
    let mut bytes = vec![0; size];
    let count = match source {
        InputStream::Stdin => host.read_stdin(&mut bytes),
        InputStream::File { node, at } => {
            let count = host.read_node(*node, *at, &mut bytes)?;
            *at = at.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
            count
        }
    };
    if count == 0 && wanted > 0 {
        return Err(Blocked::Closed);
    }
    bytes.truncate(count);
    Ok(bytes)
}

pub(super) fn check_write(host: &mut Host, stream: Resource<OutputStream>) -> Result<u64, Blocked> {
    open(host, &stream)?;
    Ok(u64::from(MAX_TRANSFER))
}

pub(super) fn write(
    host: &mut Host,
    stream: Resource<OutputStream>,
    contents: Vec<u8>,
) -> Result<(), Blocked> {
    // It was copied, whatever becomes of it.
    host.charge(contents.len());
    if contents.len() > MAX_TRANSFER as usize {
        return Err(TOO_LONG.into());
    }
    give(host, &stream, &contents)
}

pub(super) fn blocking_write_and_flush(
    host: &mut Host,
    stream: Resource<OutputStream>,
    contents: Vec<u8>,
) -> Result<(), Blocked> {
    host.charge(contents.len());
    if contents.len() > MAX_UNASKED {
        return Err(TOO_LONG.into());
    }
    give(host, &stream, &contents)
}

pub(super) fn flush(host: &mut Host, stream: Resource<OutputStream>) -> Result<(), Blocked> {
    open(host, &stream).map(|_| ())
}

pub(super) fn subscribe_output(
    host: &mut Host,
    _: Resource<OutputStream>,
) -> Result<Resource<Pollable>, Stop> {
    host.handles.push(Pollable::Ready)
}

pub(super) fn write_zeroes(
    host: &mut Host,
    stream: Resource<OutputStream>,
    length: u64,
) -> Result<(), Blocked> {
    give_zeros(host, &stream, length, MAX_TRANSFER as usize)
}

pub(super) fn blocking_write_zeroes_and_flush(
    host: &mut Host,
    stream: Resource<OutputStream>,
    length: u64,
) -> Result<(), Blocked> {
    give_zeros(host, &stream, length, MAX_UNASKED)
}

pub(super) fn splice(
    host: &mut Host,
    stream: Resource<OutputStream>,
    from: Resource<InputStream>,
    length: u64,
) -> Result<u64, Blocked> {
    open(host, &stream)?;
    let bytes = read(host, from, length)?;
    give(host, &stream, &bytes)?;
    Ok(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
}

pub(super) fn drop_output(host: &mut Host, stream: Resource<OutputStream>) -> Result<(), Stop> {
    match host.handles.delete(stream)?.sink {
        Sink::Standard(_) => {}
        Sink::File { node, .. } | Sink::Append { node } => host.fs.close(node),
    }
    Ok(())
}

/// A stream that still takes something.
fn open(host: &Host, stream: &Resource<OutputStream>) -> Result<OutputStream, Blocked> {
    let found = host.handles.get(stream)?;
    if found.closed {
        return Err(Blocked::Closed);
    }
    Ok(found)
}

fn give(host: &mut Host, stream: &Resource<OutputStream>, bytes: &[u8]) -> Result<(), Blocked> {
    let mut found = open(host, stream)?;
    let given = match &mut found.sink {
        Sink::Standard(to) => {
            host.print(*to, bytes);
            Ok(())
        }
        Sink::File { node, at } => {
            let start = *at;
            *at = at.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            host.write_node(*node, start, bytes)
        }
        Sink::Append { node } => {
            let end = host.fs.node(*node).size();
            host.write_node(*node, end, bytes)
        }
    };
    found.closed = given.is_err();
    *host.handles.get_mut(stream)? = found;
    given.map_err(Blocked::Failed)
}

fn give_zeros(
    host: &mut Host,
    stream: &Resource<OutputStream>,
    length: u64,
    most: usize,
) -> Result<(), Blocked> {
    let mut left = usize::try_from(length).unwrap_or(usize::MAX);
    if left > most {
        return Err(TOO_LONG.into());
    }
    open(host, stream)?;
    while let Some(piece) = ZEROS.get(..left.min(ZEROS.len())).filter(|p| !p.is_empty()) {
        give(host, stream, piece)?;
        left = left.saturating_sub(piece.len());
    }
    Ok(())
}

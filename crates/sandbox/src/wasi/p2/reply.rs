//! What a function answers, and how that reaches the guest.

use wasmtime::component::Resource;

use super::super::host::{Host, Stop};
use super::handles::IoError;
use super::types::{ErrorCode, StreamError};
use crate::fs::Errno;

/// A function of the filesystem did nothing.
#[derive(Debug, Clone, Copy)]
pub(super) enum Refusal {
    /// The guest is told why.
    Errno(Errno),
    /// The guest ends.
    Stop(Stop),
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl From<Stop> for Refusal {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// A stream gave or took nothing.
#[derive(Debug, Clone, Copy)]
pub(super) enum Blocked {
    /// It is at its end.
    Closed,
    /// It failed, and the guest is told why.
    Failed(Errno),
    /// The guest ends.
    Stop(Stop),
}

impl From<Errno> for Blocked {
    fn from(errno: Errno) -> Self {
        Self::Failed(errno)
    }
}

impl From<Stop> for Blocked {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// For a function without a result.
pub(super) fn nothing(_: &mut Host, result: Result<(), Stop>) -> Result<(), Stop> {
    result
}

/// For a function that cannot fail.
pub(super) fn plain<T>(_: &mut Host, result: Result<T, Stop>) -> Result<(T,), Stop> {
    result.map(|value| (value,))
}

/// For a function that fails with an `error-code`.
#[allow(
    clippy::type_complexity,
    reason = "the engine wants a tuple of the one result, which is itself a result"
)]
pub(super) fn coded<T>(
    _: &mut Host,
    result: Result<T, Refusal>,
) -> Result<(Result<T, ErrorCode>,), Stop> {
    match result {
        Ok(value) => Ok((Ok(value),)),
        Err(Refusal::Errno(errno)) => Ok((Err(errno.into()),)),
        Err(Refusal::Stop(stop)) => Err(stop),
    }
}

/// For a function that fails with a `stream-error`.
#[allow(
    clippy::type_complexity,
    reason = "the engine wants a tuple of the one result, which is itself a result"
)]
pub(super) fn streamed<T>(
    host: &mut Host,
    result: Result<T, Blocked>,
) -> Result<(Result<T, StreamError>,), Stop> {
    match result {
        Ok(value) => Ok((Ok(value),)),
        Err(Blocked::Closed) => Ok((Err(StreamError::Closed),)),
        Err(Blocked::Failed(errno)) => {
            let error: Resource<IoError> = host.handles.push(IoError(errno))?;
            Ok((Err(StreamError::LastOperationFailed(error)),))
        }
        Err(Blocked::Stop(stop)) => Err(stop),
    }
}

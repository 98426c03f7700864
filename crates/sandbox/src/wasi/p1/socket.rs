//! Sockets: none can exist, so every call on one is refused.

use super::Call;
use crate::fs::Errno;

fn refuse(call: &Call<'_>, fd: u32) -> Result<(), Errno> {
    call.host.descriptors.get(fd)?;
    Err(Errno::Notsock)
}

pub(super) fn sock_accept(
    call: &mut Call<'_>,
    fd: u32,
    _flags: u32,
    _out: u32,
) -> Result<(), Errno> {
    refuse(call, fd)
}

pub(super) fn sock_recv(
    call: &mut Call<'_>,
    fd: u32,
    _vectors: u32,
    _count: u32,
    _flags: u32,
    _out: u32,
    _out_flags: u32,
) -> Result<(), Errno> {
    refuse(call, fd)
}

pub(super) fn sock_send(
    call: &mut Call<'_>,
    fd: u32,
    _vectors: u32,
    _count: u32,
    _flags: u32,
    _out: u32,
) -> Result<(), Errno> {
    refuse(call, fd)
}

pub(super) fn sock_shutdown(call: &mut Call<'_>, fd: u32, _how: u32) -> Result<(), Errno> {
    refuse(call, fd)
}

//! `wasi:random`: seeded, and the same source for all three interfaces.

use super::super::host::{Host, Stop};
use super::super::nodes::MAX_TRANSFER;

/// Exactly `length` bytes, as the interface promises; it has no way to give fewer.
pub(super) fn bytes(host: &mut Host, length: u64) -> Result<Vec<u8>, Stop> {
    let length = u32::try_from(length)
        .ok()
        .filter(|length| *length <= MAX_TRANSFER)
        .ok_or(Stop::Misuse("it asks for too many random bytes at once"))?;
    let mut bytes = vec![0; length as usize];
    host.charge(bytes.len());
    host.fill_random(&mut bytes);
    Ok(bytes)
}

pub(super) fn number(host: &mut Host) -> Result<u64, Stop> {
    let mut bytes = [0; 8];
    host.fill_random(&mut bytes);
    Ok(u64::from_le_bytes(bytes))
}

pub(super) fn seed(host: &mut Host) -> Result<(u64, u64), Stop> {
    Ok((number(host)?, number(host)?))
}

//! Seeded randomness.

use super::Call;
use crate::fs::Errno;

pub(super) fn random_get(call: &mut Call<'_>, buffer: u32, length: u32) -> Result<(), Errno> {
    let into = call.memory.bytes_mut(buffer, length)?;
    call.host.charge(into.len());
    call.host.fill_random(into);
    Ok(())
}

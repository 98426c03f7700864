//! Seeded randomness.

use super::Call;
use crate::fs::Errno;

pub(super) fn random_get(call: &mut Call<'_>, buffer: u32, length: u32) -> Result<(), Errno> {
    let into = call.memory.bytes_mut(buffer, length)?;
    call.host.charge(into.len());
    // Whoever cannot pay for it ends with this call, and needs none of it.
    if u64::from(length) <= call.host.fuel_left {
        call.host.fill_random(into);
    }
    Ok(())
}

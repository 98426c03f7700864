//! Waiting without blocking: sleeps pass on the virtual clock.
//!
//! Files and standard streams are always ready. If nothing but clocks is subscribed, the
//! clock jumps to the earliest timeout.

use super::{Call, clock};
use crate::fs::Errno;

/// Most subscriptions in one call.
const MAX_SUBSCRIPTIONS: u32 = 4096;
/// Bytes of a `subscription` and an `event`.
const SUBSCRIPTION: u32 = 48;
const EVENT: u32 = 32;
/// Fuel for each subscription.
const CHARGE: usize = 100;

const TAG_CLOCK: u8 = 0;
const TAG_FD_READ: u8 = 1;
const TAG_FD_WRITE: u8 = 2;
/// The timeout is a point in time rather than a span.
const FLAG_ABSOLUTE: u16 = 1;

#[derive(Debug, Clone, Copy)]
struct Event {
    user_data: [u8; 8],
    tag: u8,
    errno: u16,
    bytes: u64,
}

pub(super) fn poll_oneoff(
    call: &mut Call<'_>,
    subscriptions: u32,
    events: u32,
    count: u32,
    out: u32,
) -> Result<(), Errno> {
    if count == 0 || count > MAX_SUBSCRIPTIONS {
        return Err(Errno::Inval);
    }
    call.host.charge((count as usize).saturating_mul(CHARGE));
    let mut ready = Vec::new();
    let mut clocks = Vec::new();
    for index in 0..count {
        let at = index
            .checked_mul(SUBSCRIPTION)
            .and_then(|offset| subscriptions.checked_add(offset))
            .ok_or(Errno::Fault)?;
        let field = |offset: u32| at.checked_add(offset).ok_or(Errno::Fault);
        let user_data: [u8; 8] = call.memory.array(at)?;
        let [tag] = call.memory.array(field(8)?)?;
        let event = |errno: u16, bytes: u64| Event {
            user_data,
            tag,
            errno,
            bytes,
        };
        match tag {
            TAG_CLOCK => {
                let id = call.memory.u32(field(16)?)?;
                let timeout = u64::from_le_bytes(call.memory.array(field(24)?)?);
                let flags = u16::from_le_bytes(call.memory.array(field(40)?)?);
                match clock::read(&call.host.clock, id) {
                    Ok(now) if flags & FLAG_ABSOLUTE != 0 => {
                        clocks.push((timeout.saturating_sub(now), event(0, 0)));
                    }
                    Ok(_) => clocks.push((timeout, event(0, 0))),
                    Err(errno) => ready.push(event(errno as u16, 0)),
                }
            }
            TAG_FD_READ | TAG_FD_WRITE => {
                let fd = call.memory.u32(field(16)?)?;
                ready.push(match call.host.descriptors.get(fd) {
                    Ok(_) => event(0, if tag == TAG_FD_READ { 1 } else { 65_536 }),
                    Err(errno) => event(errno as u16, 0),
                });
            }
            _ => return Err(Errno::Inval),
        }
    }
    let wait = if ready.is_empty() {
        clocks.iter().map(|(span, _)| *span).min().unwrap_or(0)
    } else {
        0
    };
    call.host.clock.sleep(wait);
    ready.extend(
        clocks
            .iter()
            .filter(|(span, _)| *span <= wait)
            .map(|(_, event)| *event),
    );
    let mut at = events;
    for event in &ready {
        call.memory.write(at, &[0; EVENT as usize])?;
        call.memory.write(at, &event_head(event))?;
        call.memory
            .write_u64(at.checked_add(16).ok_or(Errno::Fault)?, event.bytes)?;
        at = at.checked_add(EVENT).ok_or(Errno::Fault)?;
    }
    let number = u32::try_from(ready.len()).map_err(|_| Errno::Overflow)?;
    call.memory.write_u32(out, number)
}

/// User data, error number and type of an event: its first 16 bytes.
fn event_head(event: &Event) -> [u8; 16] {
    let [a, b, c, d, e, f, g, h] = event.user_data;
    let [low, high] = event.errno.to_le_bytes();
    [a, b, c, d, e, f, g, h, low, high, event.tag, 0, 0, 0, 0, 0]
}

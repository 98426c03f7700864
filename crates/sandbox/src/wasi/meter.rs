//! How fuel is dealt out and charged, the same for every call of either adapter.

use probity_core::budget::{Limit, LimitHit};
use wasmtime::{AsContextMut, Trap};

use super::host::{Host, Stop};

/// Fuel that every host call costs, before what it touches: about what crossing the
/// border and a lookup cost in guest instructions.
const BASE_CHARGE: u64 = 200;

/// The fuel of one guest. The engine holds one slice of it; whoever reports on the results
/// channel gets a full one again, so that a test that never ends cannot use up what the
/// others need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meter {
    total: u64,
    slice: u64,
    reserve: u64,
    renew: bool,
    /// What the host call under way costs.
    charge: u64,
}

impl Meter {
    /// `total` fuel in all, of which at most `slice` may be burned between two reports.
    pub(super) fn new(total: u64, slice: Option<u64>) -> Self {
        let slice = slice.unwrap_or(u64::MAX);
        Self {
            total,
            slice,
            reserve: total.saturating_sub(slice),
            renew: false,
            charge: 0,
        }
    }

    /// The fuel that the engine gets at the start.
    pub(super) fn first_slice(&self) -> u64 {
        self.total.min(self.slice)
    }

    /// The fuel burned so far, by what the engine has left.
    pub(super) const fn burned(&self, fuel_left: u64) -> u64 {
        let left = self.reserve.saturating_add(fuel_left);
        self.total.saturating_sub(left)
    }

    /// Adds to the fuel that the call under way costs.
    pub(super) fn charge(&mut self, amount: usize) {
        self.charge = self
            .charge
            .saturating_add(u64::try_from(amount).unwrap_or(u64::MAX));
    }

    /// The same for a count that is fuel already.
    const fn add(&mut self, fuel: u64) {
        self.charge = self.charge.saturating_add(fuel);
    }

    /// Lets the engine hold a full slice again after the call under way.
    pub(super) const fn renew(&mut self) {
        self.renew = true;
    }

    /// The limit that is met when the engine has no fuel left.
    pub(super) const fn hit(&self) -> LimitHit {
        let (limit, cap) = if self.reserve > 0 {
            (Limit::TestFuel, self.slice)
        } else {
            (Limit::Fuel, self.total)
        };
        LimitHit {
            limit,
            cap,
            used: cap,
        }
    }

    const fn begin(&mut self) {
        self.charge = BASE_CHARGE;
    }

    /// What the engine may hold after the call under way, or nothing if it could not be
    /// paid.
    fn settle(&mut self, fuel_left: u64) -> Option<u64> {
        let left = fuel_left.checked_sub(self.charge)?;
        if !std::mem::take(&mut self.renew) {
            return Some(left);
        }
        let total = self.reserve.saturating_add(left);
        let slice = total.min(self.slice);
        self.reserve = total.saturating_sub(slice);
        Some(slice)
    }
}

/// Begins a host call: sets the clocks by the fuel that the engine has left.
pub(super) fn begin(host: &mut Host, fuel_left: u64) {
    host.tick(fuel_left);
    host.fuel_left = fuel_left;
    host.meter.begin();
}

/// Ends a host call that began with `fuel_left`: takes what it cost, and ends the guest
/// where it has to end.
pub(super) fn settle(
    mut store: impl AsContextMut<Data = Host>,
    fuel_left: u64,
) -> wasmtime::Result<()> {
    let mut store = store.as_context_mut();
    let host = store.data_mut();
    if let Some(stop) = host.stop.take() {
        return Err(stop.into());
    }
    if let Some(hit) = host.overdue_now_and_then() {
        return Err(Stop::Limit(hit).into());
    }
    let walked = host.fs.take_walked();
    host.meter.add(walked);
    let settled = host.meter.settle(fuel_left);
    store.set_fuel(settled.unwrap_or(0))?;
    match settled {
        Some(_) => Ok(()),
        None => Err(Trap::OutOfFuel.into()),
    }
}

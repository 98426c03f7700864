//! Virtual time: it advances with the fuel that a guest burns and with its sleeps, and
//! never with the host's clock.

/// The clock of one instance. One unit of fuel lasts a nanosecond.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VirtualClock {
    /// Nanoseconds since the Unix epoch at which the guest starts.
    start: u64,
    /// What had passed before, where the guest began in a snapshot.
    before: u64,
    slept: u64,
    burned: u64,
    /// What the guest itself had worked before.
    worked_before: u64,
}

impl VirtualClock {
    pub(crate) const fn new(start: u64, before: u64) -> Self {
        Self {
            start,
            before,
            slept: 0,
            burned: 0,
            worked_before: 0,
        }
    }

    /// Tells the clock how much fuel was burned since the start.
    pub(crate) const fn set_burned(&mut self, fuel: u64) {
        self.burned = fuel;
    }

    /// Lets `nanoseconds` pass.
    pub(crate) const fn sleep(&mut self, nanoseconds: u64) {
        self.slept = self.slept.saturating_add(nanoseconds);
    }

    /// Nanoseconds since the guest started, or the one whose state it began in.
    pub(crate) const fn monotonic(&self) -> u64 {
        self.before
            .saturating_add(self.slept)
            .saturating_add(self.burned)
    }

    /// Nanoseconds since the Unix epoch.
    pub(crate) const fn realtime(&self) -> u64 {
        self.start
            .saturating_add(self.slept)
            .saturating_add(self.burned)
    }

    /// Nanoseconds that the guest itself worked.
    pub(crate) const fn worked(&self) -> u64 {
        self.worked_before.saturating_add(self.burned)
    }

    /// The clock of a guest that goes on from here with its own count of fuel.
    pub(crate) const fn going_on(self) -> Self {
        Self {
            slept: self.slept.saturating_add(self.burned),
            burned: 0,
            worked_before: self.worked(),
            ..self
        }
    }

    /// Fuel that the guest burned, as far as the clock was told.
    pub(crate) const fn burned(&self) -> u64 {
        self.burned
    }
}

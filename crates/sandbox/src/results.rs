//! What a guest reports on the results channel: when it did, and who hears of it meanwhile.
//!
//! Marks tell how much work and virtual time lay behind a guest at each report. They are the
//! host's own, so that a guest's word is not needed for what its tests took. A listener hears
//! the bytes as they come, for display only.

use std::sync::Arc;
use std::time::{Duration, Instant};

use probity_core::quantity::Fuel;
use serde::{Deserialize, Serialize};

/// Most marks of one run. Later reports share the last one.
pub const MAX_MARKS: usize = 1 << 20;
/// Least time between two pieces that a listener hears, unless they grow large.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);
/// Bytes that are not held back any longer.
pub(crate) const PIECE: usize = 256 << 10;

/// How far a guest was when it had written so much to the results channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Mark {
    /// Bytes on the channel.
    pub end: u64,
    /// Fuel burned.
    pub fuel: Fuel,
    /// Virtual time since the guest's start, in nanoseconds.
    pub time_ns: u64,
}

/// The marks of a guest that runs: one for each write, the last one for its end.
#[derive(Debug, Default)]
pub(crate) struct Marks(Vec<Mark>);

impl Marks {
    pub(crate) fn note(&mut self, mark: Mark) {
        if self.0.len() >= MAX_MARKS {
            self.0.pop();
        }
        self.0.push(mark);
    }

    pub(crate) fn finish(self) -> Vec<Mark> {
        self.0
    }
}

/// Whether marks that came from a worker are such as a host makes: not too many, in order,
/// within the results and the fuel of the run.
#[cfg(target_os = "linux")]
pub(crate) fn are_sound(marks: &[Mark], results: usize, fuel: Fuel) -> bool {
    let ordered =
        marks.is_sorted_by(|a, b| a.end <= b.end && a.fuel <= b.fuel && a.time_ns <= b.time_ns);
    let results = u64::try_from(results).unwrap_or(u64::MAX);
    marks.len() <= MAX_MARKS
        && ordered
        && marks
            .last()
            .is_none_or(|last| last.end <= results && last.fuel <= fuel)
}

/// Hears what a guest writes to the results channel while it runs, in pieces that need not
/// end where records do: every 50 ms at most, or whenever 256 KiB have come together. It is
/// called on the thread that runs or awaits the guest and must not take long.
#[derive(Clone)]
pub struct Listener(Arc<Hear>);

type Hear = dyn Fn(&[u8]) + Send + Sync;

impl Listener {
    /// A listener that calls `hear`.
    #[must_use]
    pub fn new(hear: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }

    /// Passes on a piece.
    pub(crate) fn hear(&self, piece: &[u8]) {
        (self.0)(piece);
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

/// Gathers what a listener has not heard yet.
#[derive(Debug)]
pub(crate) struct Feed {
    listener: Listener,
    waiting: Vec<u8>,
    last: Option<Instant>,
}

impl Feed {
    pub(crate) const fn new(listener: Listener) -> Self {
        Self {
            listener,
            waiting: Vec::new(),
            last: None,
        }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= PIECE {
            self.flush();
        } else {
            self.flush_if_due();
        }
    }

    /// Passes on what waits, unless something was passed on just before.
    pub(crate) fn flush_if_due(&mut self) {
        if !self.waiting.is_empty() && self.last.is_none_or(|last| last.elapsed() >= PAUSE) {
            self.flush();
        }
    }

    pub(crate) fn flush(&mut self) {
        if !self.waiting.is_empty() {
            self.listener.hear(&self.waiting);
            self.waiting.clear();
            self.last = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn mark(end: u64, fuel: u64) -> Mark {
        Mark {
            end,
            fuel: Fuel(fuel),
            time_ns: fuel,
        }
    }

    #[test]
    fn marks_are_bounded_and_the_last_one_stays_true() {
        let mut marks = Marks::default();
        for at in 0..=u64::try_from(MAX_MARKS).unwrap() {
            marks.note(mark(at, at));
        }
        let marks = marks.finish();
        assert_eq!(marks.len(), MAX_MARKS);
        assert_eq!(marks.last().unwrap().end, u64::try_from(MAX_MARKS).unwrap());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn marks_of_a_worker_are_looked_at() {
        assert!(are_sound(&[], 0, Fuel(0)));
        assert!(are_sound(&[mark(1, 2), mark(1, 3)], 1, Fuel(3)));
        assert!(!are_sound(&[mark(2, 2)], 1, Fuel(9)));
        assert!(!are_sound(&[mark(1, 9)], 1, Fuel(3)));
        assert!(!are_sound(&[mark(1, 3), mark(1, 2)], 1, Fuel(3)));
        assert!(!are_sound(&vec![mark(0, 0); MAX_MARKS + 1], 0, Fuel(0)));
    }

    #[test]
    fn a_listener_hears_all_in_few_pieces() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let pieces = Arc::clone(&heard);
        let mut feed = Feed::new(Listener::new(move |piece| {
            pieces.lock().unwrap().push(piece.to_vec());
        }));
        for _ in 0..1000 {
            feed.take(b"abc");
        }
        feed.take(&vec![b'x'; PIECE]);
        feed.take(b"end");
        feed.flush();
        feed.flush();
        let heard = heard.lock().unwrap();
        assert_eq!(heard.first().unwrap(), b"abc");
        assert_eq!(heard.last().unwrap(), b"end");
        assert_eq!(heard.concat().len(), 3000 + PIECE + 3);
        assert!(heard.len() < 100, "{} pieces", heard.len());
    }
}

//! A bounded sink for what a guest prints: head and tail are kept, the rest is counted.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Keeps the first and the last bytes written to it.
#[derive(Debug, Clone)]
pub struct OutputSink {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: u64,
}

/// What a sink kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The kept bytes; where some were dropped, a line that says how many stands between
    /// head and tail.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
    /// How many bytes were written in all.
    pub total: u64,
    /// How many of them were dropped.
    pub dropped: u64,
}

impl OutputSink {
    /// A sink that keeps `cap` bytes, half from the head and half from the tail.
    #[must_use]
    pub fn new(cap: u64) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            half: usize::try_from(cap / 2).unwrap_or(usize::MAX / 4),
            total: 0,
        }
    }

    /// Gives away what was taken; an empty sink stays.
    pub(crate) fn take(&mut self) -> Self {
        let empty = Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            half: self.half,
            total: 0,
        };
        std::mem::replace(self, empty)
    }

    /// Takes `bytes`. Costs no more than the kept part of them.
    pub fn write(&mut self, bytes: &[u8]) {
        self.total = self
            .total
            .saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let room = self.half.saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let rest = rest
            .get(rest.len().saturating_sub(self.half)..)
            .unwrap_or(rest);
        let excess = self
            .tail
            .len()
            .saturating_add(rest.len())
            .saturating_sub(self.half);
        self.tail.drain(..excess.min(self.tail.len()));
        self.tail.extend(rest);
    }

    /// How many bytes were written in all.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// How many bytes were not kept.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        let kept = self.head.len().saturating_add(self.tail.len());
        self.total
            .saturating_sub(u64::try_from(kept).unwrap_or(u64::MAX))
    }

    /// What was kept.
    #[must_use]
    pub fn finish(self) -> Output {
        let dropped = self.dropped();
        let mut bytes = self.head;
        if dropped > 0 {
            bytes.extend_from_slice(format!("\n[… {dropped} bytes dropped …]\n").as_bytes());
        }
        bytes.extend(self.tail);
        Output {
            bytes,
            total: self.total,
            dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_output_is_kept_whole() {
        let mut sink = OutputSink::new(10);
        sink.write(b"abc");
        sink.write(b"defghij");
        let output = sink.finish();
        assert_eq!(output.bytes, b"abcdefghij");
        assert_eq!((output.total, output.dropped), (10, 0));
    }

    #[test]
    fn head_and_tail_survive_a_flood() {
        let mut sink = OutputSink::new(8);
        for chunk in [&b"first"[..], b"xxxxxxxxxxxxxxxxxxxx", b"y", b"last"] {
            sink.write(chunk);
        }
        let output = sink.finish();
        assert_eq!(output.total, 30);
        assert_eq!(output.dropped, 22);
        assert_eq!(
            String::from_utf8(output.bytes).unwrap(),
            "firs\n[… 22 bytes dropped …]\nlast"
        );
    }
}

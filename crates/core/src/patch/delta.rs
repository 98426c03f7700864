//! Deltas of git: instructions that make one content from another (gitformat-pack,
//! "Deltified representation").
//!
//! Two sizes, then copies from the source and literal bytes. All of it is untrusted: a
//! delta is walked once to learn what it makes before a byte of the result is allocated.

use std::ops::Range;

/// One instruction.
enum Step<'a> {
    Copy(Range<usize>),
    Insert(&'a [u8]),
}

/// A delta whose header has been read.
#[derive(Clone, Copy)]
pub(super) struct Delta<'a> {
    /// The size of the source.
    pub(super) source: usize,
    /// The size of the result.
    pub(super) result: usize,
    steps: &'a [u8],
}

impl<'a> Delta<'a> {
    /// Reads the header and checks that the instructions are whole, copy nothing from
    /// outside the source and make as many bytes as stated.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut rest = bytes;
        let delta = Self {
            source: size(&mut rest)?,
            result: size(&mut rest)?,
            steps: rest,
        };
        let mut made = 0_usize;
        while let Some(step) = next(&mut rest)? {
            let len = match step {
                Step::Copy(range) if range.end <= delta.source => range.len(),
                Step::Copy(_) => return None,
                Step::Insert(bytes) => bytes.len(),
            };
            made = made.checked_add(len)?;
            if made > delta.result {
                return None;
            }
        }
        (made == delta.result).then_some(delta)
    }

    /// The result of the delta on `source`; `None` if that has another size than stated.
    pub(super) fn apply(&self, source: &[u8]) -> Option<Vec<u8>> {
        if source.len() != self.source {
            return None;
        }
        let mut out = Vec::with_capacity(self.result);
        let mut rest = self.steps;
        while let Some(step) = next(&mut rest)? {
            match step {
                Step::Copy(range) => out.extend_from_slice(source.get(range)?),
                Step::Insert(bytes) => out.extend_from_slice(bytes),
            }
        }
        Some(out)
    }
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}

/// Reads a size: seven bits a byte, the lowest first.
fn size(rest: &mut &[u8]) -> Option<usize> {
    let mut value = 0_usize;
    let mut shift = 0_u32;
    loop {
        let next = byte(rest)?;
        let bits = usize::from(next & 0x7f);
        let shifted = bits.checked_shl(shift)?;
        if shifted >> shift != bits {
            return None;
        }
        value |= shifted;
        if next & 0x80 == 0 {
            return Some(value);
        }
        shift = shift.checked_add(7)?;
    }
}

/// Reads an instruction. The outer `None` means that it is broken, the inner that the
/// delta ends here.
fn next<'a>(rest: &mut &'a [u8]) -> Option<Option<Step<'a>>> {
    let Some(command) = byte(rest) else {
        return Some(None);
    };
    if command == 0 {
        return None;
    }
    if command & 0x80 == 0 {
        let (bytes, after) = rest.split_at_checked(usize::from(command))?;
        *rest = after;
        return Some(Some(Step::Insert(bytes)));
    }
    let mut number = |bits: Range<u32>| -> Option<usize> {
        let mut value = 0_usize;
        for (place, bit) in bits.enumerate() {
            if command & (1 << bit) != 0 {
                let shift = u32::try_from(place).ok()?.checked_mul(8)?;
                value |= usize::from(byte(rest)?) << shift;
            }
        }
        Some(value)
    };
    let start = number(0..4)?;
    let len = match number(4..7)? {
        0 => 0x1_0000,
        len => len,
    };
    Some(Some(Step::Copy(start..start.checked_add(len)?)))
}

/// A delta that keeps what `source` and `result` have in common at both ends.
pub(super) fn between(source: &[u8], result: &[u8]) -> Vec<u8> {
    let same =
        |pairs: &mut dyn Iterator<Item = (&u8, &u8)>| pairs.take_while(|(a, b)| a == b).count();
    let head = same(&mut source.iter().zip(result));
    let (old, new) = (
        source.get(head..).unwrap_or_default(),
        result.get(head..).unwrap_or_default(),
    );
    let tail = same(&mut old.iter().rev().zip(new.iter().rev()));
    let middle = new
        .get(..new.len().saturating_sub(tail))
        .unwrap_or_default();
    let mut out = Vec::new();
    write_size(&mut out, source.len());
    write_size(&mut out, result.len());
    write_copies(&mut out, 0..head);
    for bytes in middle.chunks(0x7f) {
        out.extend(u8::try_from(bytes.len()));
        out.extend_from_slice(bytes);
    }
    write_copies(&mut out, source.len().saturating_sub(tail)..source.len());
    out
}

fn write_size(out: &mut Vec<u8>, mut value: usize) {
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or(0);
        value >>= 7;
        if value == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

fn write_copies(out: &mut Vec<u8>, range: Range<usize>) {
    let mut start = range.start;
    while start < range.end {
        let len = range.end.saturating_sub(start).min(0x1_0000);
        let mut command = 0x80_u8;
        let mut numbers = Vec::new();
        // A length of 0x10000 is written as none at all.
        let places = [(start, 0..4_u32), (len & 0xffff, 4..6)];
        for (value, bits) in places {
            for (place, bit) in bits.enumerate() {
                let part = value
                    .checked_shr(u32::try_from(place * 8).unwrap_or(0))
                    .unwrap_or(0);
                let part = u8::try_from(part & 0xff).unwrap_or(0);
                if part != 0 {
                    command |= 1 << bit;
                    numbers.push(part);
                }
            }
        }
        out.push(command);
        out.extend(numbers);
        start = start.saturating_add(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_round_trip() {
        let long: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
        let mut changed = long.clone();
        changed.splice(100_000..100_003, *b"other");
        for (source, result) in [
            (&b""[..], &b""[..]),
            (b"", b"new"),
            (b"old", b""),
            (b"abcabc", b"abc"),
            (&long, &changed),
            (&long, &long),
        ] {
            let bytes = between(source, result);
            let delta = Delta::parse(&bytes).unwrap();
            assert_eq!((delta.source, delta.result), (source.len(), result.len()));
            assert_eq!(delta.apply(source).unwrap(), result);
            assert!(delta.apply(b"of another size").is_none());
        }
    }

    #[test]
    fn broken_deltas_are_refused() {
        for bytes in [
            &b""[..],
            b"\x03",
            b"\x03\x01",
            b"\x03\x01\x00",
            b"\x03\x02\x01a",
            b"\x03\x01\x02a",
            b"\x03\x02\x03abc",
            b"\x03\x04\x90\x04",
            b"\x03\x01\x91\x03\x01",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x01a",
        ] {
            assert!(Delta::parse(bytes).is_none(), "{bytes:?}");
        }
        assert!(Delta::parse(b"\x03\x02\x90\x02").is_some());
    }
}

//! Whether a record came from the runner: the guest signs each, the host checks.
//!
//! A line is the first half of HMAC-SHA-256 over the record's number and the record, in
//! hexadecimal, a space and the record. A line that was added, changed, dropped or repeated
//! shows in its own digits or in the next line's, since the number is signed too. The key
//! follows from the check, the tree and the seed: the same inputs give the same run, and who
//! does not know what is checked does not know the key.

use probity_core::spec::Check;
use probity_core::{Digest, Repo};

/// Bytes of a block of SHA-256.
const BLOCK: usize = 64;
/// Hexadecimal digits of a signature.
const DIGITS: usize = 32;

/// The secret of one session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key([u8; 32]);

impl Key {
    /// The secret for sessions of `check` on `repo` with this seed, whatever the budget.
    pub(super) fn of(check: &Check, repo: &Repo, seed: u64) -> Self {
        let wanted = serde_json::to_vec(&(&check.name, &check.kind)).unwrap_or_default();
        let check = Digest::of(&wanted);
        let tree = repo.digest();
        let parts: [&[u8]; 4] = [
            b"probity records 1",
            check.as_bytes(),
            tree.as_bytes(),
            &seed.to_be_bytes(),
        ];
        Self(*Digest::of_parts(parts).as_bytes())
    }

    /// As hexadecimal digits.
    pub(super) fn to_hex(self) -> String {
        Digest::from_bytes(self.0).to_hex()
    }

    fn padded(self, with: u8) -> [u8; BLOCK] {
        let mut block = [with; BLOCK];
        for (byte, key) in block.iter_mut().zip(self.0) {
            *byte ^= key;
        }
        block
    }

    fn digits(self, number: u64, record: &[u8]) -> String {
        let inner = Digest::of_parts([&self.padded(0x36)[..], &number.to_be_bytes(), record]);
        let mut digits = Digest::of_parts([&self.padded(0x5c)[..], inner.as_bytes()]).to_hex();
        digits.truncate(DIGITS);
        digits
    }
}

/// Follows the records of one guest.
pub(super) struct Seal {
    /// `None` for sessions in which only trusted code runs: they sign nothing.
    key: Option<Key>,
    /// Records before the next one.
    number: u64,
}

impl Seal {
    /// For a guest that signs with `key` and has written `number` records before.
    pub(super) const fn new(key: Option<Key>, number: u64) -> Self {
        Self { key, number }
    }

    /// The record of a line, if it is the next one that the runner signed.
    pub(super) fn open<'a>(&mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        let Some(key) = self.key else {
            return Some(line);
        };
        let (digits, rest) = line.split_at_checked(DIGITS)?;
        let record = rest.strip_prefix(b" ")?;
        if digits != key.digits(self.number, record).as_bytes() {
            return None;
        }
        self.number = self.number.saturating_add(1);
        Some(record)
    }
}

/// How many records a guest wrote.
pub(super) fn count(results: &[u8]) -> u64 {
    let lines = results.iter().filter(|byte| **byte == b'\n').count();
    u64::try_from(lines).unwrap_or(u64::MAX)
}

/// The record of a line, for display only.
pub(super) fn unchecked(line: &[u8]) -> &[u8] {
    match line.first() {
        Some(b'{') => line,
        _ => line.get(DIGITS.saturating_add(1)..).unwrap_or_default(),
    }
}

/// Signs records as a runner does.
#[cfg(test)]
pub(super) fn signed(key: Key, first: u64, lines: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, line) in (first..).zip(lines.split_inclusive(|byte| *byte == b'\n')) {
        let record = line.strip_suffix(b"\n").unwrap_or(line);
        out.extend_from_slice(key.digits(number, record).as_bytes());
        out.push(b' ');
        out.extend_from_slice(line);
    }
    out
}

#[cfg(test)]
pub(super) const TEST_KEY: Key = Key([7; 32]);

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2, with the number's eight bytes as the beginning of its message.
    #[test]
    fn it_is_hmac() {
        let mut key = [0; 32];
        key.iter_mut()
            .zip(*b"Jefe")
            .for_each(|(to, from)| *to = from);
        let number = u64::from_be_bytes(*b"what do ");
        assert_eq!(
            Key(key).digits(number, b"ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c7"
        );
    }

    #[test]
    fn what_was_not_signed_in_turn_is_refused() {
        let text = signed(TEST_KEY, 0, b"{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n");
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let opened = |order: &[usize]| {
            let mut seal = Seal::new(Some(TEST_KEY), 0);
            order
                .iter()
                .take_while(|index| seal.open(lines[**index]).is_some())
                .count()
        };
        assert_eq!(opened(&[0, 1, 2]), 3);
        for (order, good) in [
            (&[0, 0, 1][..], 1),
            (&[0, 2], 1),
            (&[1], 0),
            (&[0, 1, 1], 2),
            (&[0, 3], 1),
        ] {
            assert_eq!(opened(order), good, "{order:?}");
        }
        let forged: Vec<u8> = lines[0]
            .iter()
            .map(|b| if *b == b'1' { b'2' } else { *b })
            .collect();
        assert!(Seal::new(Some(TEST_KEY), 0).open(&forged).is_none());
        assert!(
            Seal::new(Some(TEST_KEY), 1).open(lines[1]).is_some(),
            "it goes on after a pause"
        );
        assert!(Seal::new(Some(TEST_KEY), 0).open(b"{\"a\":1}").is_none());
        assert!(Seal::new(Some(TEST_KEY), 0).open(b"").is_none());
    }
}

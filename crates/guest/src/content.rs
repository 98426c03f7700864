//! The bytes of one file, with the line arithmetic that checks need.
//!
//! Lines are counted from 1 and end at LF; a CR before it belongs to the line's ending.
//! A last line without LF counts; the empty rest after a final LF does not.

use std::borrow::Cow;
use std::cell::OnceCell;

/// How far into a file a NUL byte makes it binary.
const BINARY_PROBE: usize = 8 * 1024;

/// How many bytes lie between two entries of the count of line breaks.
const BLOCK: usize = 4 * 1024;

/// Bytes of one file of the tree.
#[derive(Clone, Debug)]
pub struct Content {
    bytes: Vec<u8>,
    breaks: OnceCell<Vec<u64>>,
}

impl Content {
    /// Wraps bytes, for instance in a test.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: bytes.into(),
            breaks: OnceCell::new(),
        }
    }

    /// The bytes as they are in the tree.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Tells whether a NUL byte occurs in the first 8 KiB.
    pub fn is_binary(&self) -> bool {
        self.bytes.iter().take(BINARY_PROBE).any(|byte| *byte == 0)
    }

    /// The text, with every malformed sequence replaced by U+FFFD.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }

    /// The text, if it is UTF-8.
    ///
    /// # Errors
    /// The line, counted from 1, of the first byte that is not UTF-8.
    pub fn utf8(&self) -> Result<&str, u64> {
        std::str::from_utf8(&self.bytes).map_err(|error| self.line_at(error.valid_up_to()))
    }

    /// Every line with its number from 1, without its line ending (LF or CRLF).
    pub fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.raw_lines().map(|(number, line)| {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            (number, line.strip_suffix(b"\r").unwrap_or(line))
        })
    }

    /// Every line with its number from 1, with its line ending.
    pub fn raw_lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        (1_u64..).zip(self.bytes.split_inclusive(|byte| *byte == b'\n'))
    }

    /// The number, from 1, of the line that holds the byte at `offset`.
    ///
    /// An offset past the end counts as the end. The first call counts the line breaks
    /// of the whole file; later ones read at most one block of it.
    pub fn line_at(&self, offset: usize) -> u64 {
        let offset = offset.min(self.bytes.len());
        let before = self
            .breaks()
            .get(offset / BLOCK)
            .copied()
            .unwrap_or_default();
        let block = self
            .bytes
            .iter()
            .take(offset)
            .skip((offset / BLOCK).saturating_mul(BLOCK));
        before.saturating_add(count_breaks(block)).saturating_add(1)
    }

    /// For every block of the file, the number of line breaks before it.
    fn breaks(&self) -> &[u64] {
        self.breaks.get_or_init(|| {
            let mut total = 0_u64;
            let mut before = vec![total];
            for block in self.bytes.chunks(BLOCK) {
                total = total.saturating_add(count_breaks(block));
                before.push(total);
            }
            before
        })
    }
}

fn count_breaks<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u64 {
    let breaks = bytes.into_iter().filter(|byte| **byte == b'\n').count();
    u64::try_from(breaks).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(bytes: &str) -> Vec<(u64, String)> {
        let content = Content::new(bytes);
        content
            .lines()
            .map(|(n, line)| (n, String::from_utf8_lossy(line).into_owned()))
            .collect()
    }

    #[test]
    fn lines_are_counted_from_one_without_an_empty_rest() {
        assert_eq!(numbered(""), vec![]);
        assert_eq!(
            numbered("a\r\n\nb"),
            vec![(1, "a".into()), (2, String::new()), (3, "b".into())]
        );
        assert_eq!(numbered("a\n"), vec![(1, "a".into())]);
    }

    #[test]
    fn line_of_an_offset() {
        let content = Content::new("ab\ncd\n");
        let lines: Vec<u64> = [0, 2, 3, 5, 6, 99]
            .map(|offset| content.line_at(offset))
            .into();
        assert_eq!(lines, [1, 1, 2, 2, 3, 3]);

        let long = Content::new("abc\n".repeat(BLOCK));
        let lines = [BLOCK - 1, BLOCK, BLOCK + 3, 3 * BLOCK + 5].map(|offset| long.line_at(offset));
        let quarter = BLOCK as u64 / 4;
        assert_eq!(lines, [quarter, quarter + 1, quarter + 1, 3 * quarter + 2]);
    }

    #[test]
    fn a_nul_byte_in_the_first_8_kib_makes_it_binary() {
        let mut bytes = vec![b'a'; BINARY_PROBE];
        bytes.push(0);
        assert!(!Content::new(bytes.clone()).is_binary());
        bytes.insert(0, 0);
        assert!(Content::new(bytes).is_binary());
    }

    #[test]
    fn malformed_text_names_its_line() {
        let content = Content::new(*b"ok\nno \xff\n");
        assert_eq!(content.utf8(), Err(2));
        assert_eq!(content.text(), "ok\nno \u{fffd}\n");
    }
}

//! The view of a file in which text edits are matched.
//!
//! A byte order mark at the start is set aside and CRLF reads as LF. A lone CR, a form
//! feed and U+2028 are content. Every offset of the view maps back to the file, so that
//! an edit touches exactly the bytes it names.

use std::borrow::Cow;
use std::ops::Range;

use super::error::ordinal;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Lf,
    CrLf,
}

impl Ending {
    pub(super) const fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
        }
    }
}

/// A file as text edits see it.
pub(super) struct TextView<'a> {
    text: Cow<'a, [u8]>,
    bom: usize,
    /// Offsets in `text` of the newlines that are CRLF in the file, ascending.
    crlf: Vec<usize>,
    /// Offsets in `text` of all newlines, ascending.
    newlines: Vec<usize>,
}

impl<'a> TextView<'a> {
    pub(super) fn new(file: &'a [u8]) -> Self {
        let (bom, body) = match file.strip_prefix(BOM) {
            Some(body) => (BOM.len(), body),
            None => (0, file),
        };
        let mut crlf = Vec::new();
        let text = to_lf(body, |offset| crlf.push(offset));
        let newlines = memchr::memchr_iter(b'\n', &text).collect();
        Self {
            text,
            bom,
            crlf,
            newlines,
        }
    }

    /// The text: no byte order mark, LF only.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether the file starts with a byte order mark.
    pub(super) const fn has_bom(&self) -> bool {
        self.bom > 0
    }

    /// Where the unit at `offset` of the text starts in the file. A CRLF is one unit.
    pub(super) fn file_offset(&self, offset: usize) -> usize {
        let skipped = self.crlf.partition_point(|at| *at < offset);
        self.bom.saturating_add(offset).saturating_add(skipped)
    }

    /// How the newline at `offset` of the text ends its line in the file.
    pub(super) fn ending(&self, offset: usize) -> Ending {
        match self.crlf.binary_search(&offset) {
            Ok(_) => Ending::CrLf,
            Err(_) => Ending::Lf,
        }
    }

    /// The line, from 1, in which `offset` of the text lies.
    pub(super) fn line(&self, offset: usize) -> u32 {
        let before = self.newlines.partition_point(|at| *at < offset);
        ordinal(before)
    }

    /// Where the newlines in `range` of the text are.
    pub(super) fn newlines(&self, range: Range<usize>) -> &[usize] {
        let from = self.newlines.partition_point(|at| *at < range.start);
        let to = self.newlines.partition_point(|at| *at < range.end);
        self.newlines.get(from..to).unwrap_or_default()
    }
}

/// The line, from 1, in which `offset` of `text` lies.
pub(super) fn line_at(text: &[u8], offset: usize) -> u32 {
    let before = text.get(..offset).unwrap_or(text);
    ordinal(memchr::memchr_iter(b'\n', before).count())
}

/// `bytes` with every CRLF turned to LF; `crlf` is told where those are in the result.
pub(super) fn to_lf(bytes: &[u8], mut crlf: impl FnMut(usize)) -> Cow<'_, [u8]> {
    if memchr::memmem::find(bytes, b"\r\n").is_none() {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((before, after)) =
        memchr::memmem::find(rest, b"\r\n").and_then(|at| rest.split_at_checked(at))
    {
        out.extend_from_slice(before);
        crlf(out.len());
        out.push(b'\n');
        rest = after.get(2..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

/// `bytes` without a byte order mark at the start.
pub(super) fn without_bom(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_prefix(BOM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_map_back_to_the_file() {
        let file = b"\xef\xbb\xbfa\r\nb\n\rc\r\r\nd";
        let view = TextView::new(file);
        assert_eq!(view.text(), b"a\nb\n\rc\r\nd");
        let offsets: Vec<usize> = (0..=view.text().len())
            .map(|at| view.file_offset(at))
            .collect();
        assert_eq!(offsets, [3, 4, 6, 7, 8, 9, 10, 11, 13, 14]);
        assert_eq!(view.ending(1), Ending::CrLf);
        assert_eq!(view.ending(3), Ending::Lf);
        assert_eq!(view.ending(7), Ending::CrLf);
        assert_eq!((view.line(0), view.line(2), view.line(8)), (1, 2, 4));
    }
}

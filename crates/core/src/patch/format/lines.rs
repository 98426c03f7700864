//! Reading a text format line by line. Only LF ends a line.

/// A position in the text of a patch.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    number: u32,
}

/// One line of a patch.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    /// The line without its LF.
    pub(super) bytes: &'a [u8],
    /// Whether the line ends in LF; false only of the last line of a cut-off text.
    pub(super) terminated: bool,
    /// The number of the line in the patch, from 1.
    pub(super) number: u32,
}

impl<'a> Line<'a> {
    /// The line without a CR at its end, for formats in which CRLF counts as LF.
    pub(super) fn text(&self) -> &'a [u8] {
        self.bytes.strip_suffix(b"\r").unwrap_or(self.bytes)
    }
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(text: &'a [u8]) -> Self {
        Self {
            rest: text,
            number: 0,
        }
    }

    pub(super) fn peek(&self) -> Option<Line<'a>> {
        let mut ahead = *self;
        ahead.next()
    }

    /// The line after the next one.
    pub(super) fn peek_second(&self) -> Option<Line<'a>> {
        let mut ahead = *self;
        ahead.next()?;
        ahead.next()
    }

    pub(super) fn next(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        self.number = self.number.saturating_add(1);
        let number = self.number;
        match memchr::memchr(b'\n', self.rest).and_then(|at| self.rest.split_at_checked(at)) {
            Some((bytes, rest)) => {
                self.rest = rest.get(1..).unwrap_or_default();
                Some(Line {
                    bytes,
                    terminated: true,
                    number,
                })
            }
            None => {
                let bytes = self.rest;
                self.rest = &[];
                Some(Line {
                    bytes,
                    terminated: false,
                    number,
                })
            }
        }
    }

    /// Whether the file header of a diff without a `diff --git` line stands here.
    pub(super) fn at_file_header(&self) -> bool {
        self.rest.starts_with(b"--- ")
            && self
                .peek_second()
                .is_some_and(|line| line.bytes.starts_with(b"+++ "))
    }
}

//! How deeply JavaScript or TypeScript is nested, told without a parser.
//!
//! Reads over strings, templates, comments and, as far as can be told from the byte
//! before, regular expressions. A wrong guess ends with the line, so it costs a level or
//! two and not the measure. Elements of JSX do not count.

use crate::nesting::Depth;

/// Bytes after which a slash begins a regular expression and does not divide.
const BEFORE_REGEX: &[u8] = b"(,=:[!&|?{;+-*%<>~^";

/// Measures brackets and runs of prefix operators.
pub(crate) fn measure(source: &str) -> Depth {
    let mut scanner = Scanner {
        rest: source.as_bytes(),
        line: 1,
        before: b';',
        braces: Vec::new(),
        depth: Depth::default(),
    };
    while let Some(byte) = scanner.next() {
        scanner.scan(byte);
    }
    scanner.depth
}

/// What an open brace belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brace {
    Block,
    Template,
}

struct Scanner<'a> {
    rest: &'a [u8],
    line: u64,
    /// The last byte that was neither blank nor part of a comment.
    before: u8,
    braces: Vec<Brace>,
    depth: Depth,
}

impl Scanner<'_> {
    fn scan(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => return,
            b'/' if self.peek() == Some(b'/') => return self.skip_line(),
            b'/' if self.peek() == Some(b'*') => return self.skip_comment(),
            b'/' if BEFORE_REGEX.contains(&self.before) => self.skip_quoted(b'/'),
            b'\'' | b'"' => self.skip_quoted(byte),
            b'`' => self.skip_template(),
            b'(' | b'[' => self.depth.open(Some(self.line)),
            b'{' => {
                self.braces.push(Brace::Block);
                self.depth.open(Some(self.line));
            }
            b'}' => {
                self.depth.close();
                if self.braces.pop() == Some(Brace::Template) {
                    self.skip_template();
                }
            }
            b')' | b']' => self.depth.close(),
            b'!' | b'~' | b'+' | b'-' | b'<' => self.depth.prefix(Some(self.line)),
            _ => self.depth.operand(),
        }
        self.before = byte;
    }

    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn next(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        self.line = self.line.saturating_add(u64::from(*byte == b'\n'));
        Some(*byte)
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.next();
        }
    }

    fn skip_comment(&mut self) {
        self.next();
        let mut last = b' ';
        while let Some(byte) = self.next() {
            if (last, byte) == (b'*', b'/') {
                return;
            }
            last = byte;
        }
    }

    /// Skips to the closing quote or the end of the line.
    fn skip_quoted(&mut self, quote: u8) {
        self.depth.operand();
        while self.peek().is_some_and(|byte| byte != b'\n') {
            match self.next() {
                Some(b'\\') => drop(self.next()),
                Some(byte) if byte == quote => return,
                Some(_) | None => {}
            }
        }
    }

    /// Skips to the end of a template or to its next substitution.
    fn skip_template(&mut self) {
        self.depth.operand();
        while let Some(byte) = self.next() {
            match byte {
                b'\\' => drop(self.next()),
                b'`' => return,
                b'$' if self.peek() == Some(b'{') => {
                    self.next();
                    self.braces.push(Brace::Template);
                    return self.depth.open(Some(self.line));
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused_at(source: &str) -> Option<u64> {
        measure(source).judge().err().and_then(|fault| fault.line)
    }

    #[test]
    fn brackets_in_texts_do_not_count() {
        for text in [
            "x = '(((\\'((';\n",
            "x = \"[[[\";\n",
            "x = `((( ${f(`{{{ ${1} ((`)} [[\n((`;\n",
            "// (((\n",
            "/* ((( \n ((( * / */\n",
            "x = /[(\\/[(]/;\n",
            "f(/(\\(/);\n",
        ] {
            assert_eq!(refused_at(&text.repeat(500)), None, "{text}");
        }
    }

    #[test]
    fn a_wrong_guess_ends_with_the_line() {
        let jsx = "a = <p>don't (do) that</p>;\nb = c / (d / e);\n".repeat(500);
        assert_eq!(refused_at(&jsx), None);
    }

    #[test]
    fn real_nesting_has_the_line_of_its_excess() {
        assert_eq!(refused_at(&format!("\n{}", "{\n".repeat(101))), Some(102));
        assert_eq!(refused_at(&"`${".repeat(101)), Some(1));
        assert_eq!(
            refused_at(&format!("x = 1{};", " + -1".repeat(10_000))),
            None
        );
        assert_eq!(refused_at(&format!("x = {}1;", "- ".repeat(101))), Some(1));
    }
}

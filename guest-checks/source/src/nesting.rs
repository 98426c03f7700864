//! How deeply source code is nested, measured before a recursive parser sees it.
//!
//! Brackets, indented blocks and runs of prefix operators are what lets a short hostile
//! file exhaust a parser's stack. Long chains that a parser reads in a loop do not count.

use crate::symbol::SyntaxFault;

/// The deepest nesting that is handed to a parser.
pub const MAX_LEVELS: usize = 100;

/// Longest statement, in tokens, whose syntax tree is dropped; see [`Depth::has_long_statements`].
const LONG_STATEMENT: usize = 1000;

/// Follows the nesting of a stream of tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Depth {
    levels: usize,
    prefixes: usize,
    statement: usize,
    longest: usize,
    deepest: usize,
    line: Option<u64>,
}

impl Depth {
    /// A bracket or a block opens, on `line` if that is known.
    pub(crate) fn open(&mut self, line: Option<u64>) {
        self.levels = self.levels.saturating_add(1);
        self.measure(line);
    }

    /// A bracket or a block closes.
    pub(crate) fn close(&mut self) {
        self.levels = self.levels.saturating_sub(1);
        self.operand();
    }

    /// An operator that may stand before an operand or another such operator.
    pub(crate) fn prefix(&mut self, line: Option<u64>) {
        self.prefixes = self.prefixes.saturating_add(1);
        self.measure(line);
    }

    /// Anything else, which ends a run of prefix operators.
    pub(crate) fn operand(&mut self) {
        self.prefixes = 0;
        self.statement = self.statement.saturating_add(1);
        self.longest = self.longest.max(self.statement);
    }

    /// A statement ends.
    pub(crate) fn end_statement(&mut self) {
        self.prefixes = 0;
        self.statement = 0;
    }

    /// Tells whether a chain may be so long that dropping its syntax tree, which nests
    /// once per link, exhausts the stack. Such a tree has to be leaked.
    pub(crate) fn has_long_statements(&self) -> bool {
        self.longest > LONG_STATEMENT
    }

    /// Refuses what is nested too deeply.
    pub(crate) fn judge(&self) -> Result<(), SyntaxFault> {
        if self.deepest <= MAX_LEVELS {
            return Ok(());
        }
        let message = format!("is nested deeper than {MAX_LEVELS} levels, so it is not parsed");
        Err(SyntaxFault {
            line: self.line,
            message,
        })
    }

    fn measure(&mut self, line: Option<u64>) {
        let depth = self.levels.saturating_add(self.prefixes);
        if depth > MAX_LEVELS && self.deepest <= MAX_LEVELS {
            self.line = line;
        }
        self.deepest = self.deepest.max(depth);
    }
}

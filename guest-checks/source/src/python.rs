//! Definitions in Python.
//!
//! A class opens a scope, a function does not: what is inside a function cannot be
//! reached from outside. Blocks (`if`, `try`, `with`, loops, `match`) belong to the scope
//! around them, whether or not they would ever run.

use probity_guest::Content;
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{ExceptHandler, Stmt};
use ruff_python_parser::{Mode, lexer, parse_module};
use ruff_text_size::{Ranged, TextRange};

use crate::nesting::Depth;
use crate::symbol::{Symbol, SymbolKind, SyntaxFault, qualified};

/// Lists the classes and functions of a module.
pub(crate) fn symbols(content: &Content, source: &str) -> Result<Vec<Symbol>, SyntaxFault> {
    let depth = measure(source);
    depth.judge()?;
    let module = parse_module(source).map_err(|error| SyntaxFault {
        line: Some(content.line_at(start(error.location))),
        message: format!("does not parse as Python: {}", error.error),
    })?;
    let symbols = collect(content, module.suite());
    if depth.has_long_statements() {
        std::mem::forget(module);
    }
    Ok(symbols)
}

/// The lexer does not tell where a token is, so an excess has no line.
fn measure(source: &str) -> Depth {
    let mut depth = Depth::default();
    let mut tokens = lexer::lex(source, Mode::Module);
    loop {
        match tokens.next_token() {
            TokenKind::EndOfFile => return depth,
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace | TokenKind::Indent => {
                depth.open(None)
            }
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace | TokenKind::Dedent => {
                depth.close()
            }
            TokenKind::Not
            | TokenKind::Plus
            | TokenKind::Minus
            | TokenKind::Tilde
            | TokenKind::Star
            | TokenKind::Await
            | TokenKind::Yield
            | TokenKind::Lambda => depth.prefix(None),
            TokenKind::Newline => depth.end_statement(),
            TokenKind::Comment | TokenKind::NonLogicalNewline => {}
            _ => depth.operand(),
        }
    }
}

fn collect(content: &Content, module: &[Stmt]) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    let mut open: Vec<(String, &[Stmt])> = vec![(String::new(), module)];
    while let Some((scope, body)) = open.pop() {
        for statement in body {
            match statement {
                Stmt::FunctionDef(function) => symbols.push(Symbol {
                    name: qualified(&scope, function.name.as_str()),
                    kind: SymbolKind::Function,
                    line: content.line_at(start(function.name.range())),
                }),
                Stmt::ClassDef(class) => {
                    let name = qualified(&scope, class.name.as_str());
                    let line = content.line_at(start(class.name.range()));
                    open.push((name.clone(), &class.body));
                    symbols.push(Symbol {
                        name,
                        kind: SymbolKind::Class,
                        line,
                    });
                }
                block => open.extend(blocks(block).into_iter().map(|body| (scope.clone(), body))),
            }
        }
    }
    symbols
}

/// The bodies of a statement that opens no scope.
fn blocks(statement: &Stmt) -> Vec<&[Stmt]> {
    match statement {
        Stmt::If(branch) => {
            let others = branch
                .elif_else_clauses
                .iter()
                .map(|clause| clause.body.as_slice());
            std::iter::once(branch.body.as_slice())
                .chain(others)
                .collect()
        }
        Stmt::For(each) => vec![&each.body, &each.orelse],
        Stmt::While(repeat) => vec![&repeat.body, &repeat.orelse],
        Stmt::With(with) => vec![&with.body],
        Stmt::Match(select) => select
            .cases
            .iter()
            .map(|case| case.body.as_slice())
            .collect(),
        Stmt::Try(attempt) => {
            let handlers = attempt.handlers.iter().map(|handler| match handler {
                ExceptHandler::ExceptHandler(handler) => handler.body.as_slice(),
            });
            [&attempt.body, &attempt.orelse, &attempt.finalbody]
                .into_iter()
                .map(|body| body.as_slice())
                .chain(handlers)
                .collect()
        }
        _ => Vec::new(),
    }
}

fn start(range: TextRange) -> usize {
    range.start().to_usize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(source: &str) -> Vec<String> {
        let found = symbols(&Content::new(source), source).expect("it parses");
        let mut lines: Vec<String> = found
            .iter()
            .map(|symbol| format!("{} {} {:?}", symbol.line, symbol.name, symbol.kind))
            .collect();
        lines.sort();
        lines
    }

    fn fault(source: &str) -> (Option<u64>, String) {
        let fault = symbols(&Content::new(source), source).expect_err("it does not parse");
        (fault.line, fault.message)
    }

    #[test]
    fn classes_open_scopes_and_functions_do_not() {
        let source = "\
import os

@decorated
class Shape(Base):
    def area(self):
        def inner(): ...

    class Meta:
        async def load(self): ...

async def main(): ...
";
        assert_eq!(
            listed(source),
            [
                "11 main Function",
                "4 Shape Class",
                "5 Shape.area Function",
                "8 Shape.Meta Class",
                "9 Shape.Meta.load Function"
            ]
        );
    }

    #[test]
    fn blocks_belong_to_the_scope_around_them() {
        let source = "\
if a:
    def one(): ...
elif b:
    def two(): ...
else:
    def three(): ...
try:
    def four(): ...
except E:
    def five(): ...
else:
    def six(): ...
finally:
    def seven(): ...
with a:
    for x in y:
        def eight(): ...
while a:
    class nine: ...
match a:
    case 1:
        def ten(): ...
";
        assert_eq!(listed(source).len(), 10);
        assert!(listed(source).contains(&"19 nine Class".to_owned()));
    }

    #[test]
    fn faults_have_a_line() {
        assert_eq!(fault("x = 1\ndef f(:\n    pass\n").0, Some(2));
        assert_eq!(fault("print 'old'\n").0, Some(1));
        assert!(
            fault("if a:\nx = 1\n")
                .1
                .starts_with("does not parse as Python: ")
        );
    }

    #[test]
    fn deep_nesting_is_refused_before_parsing() {
        let brackets = format!("x = 1\ny = {}1{}\n", "[".repeat(50_000), "]".repeat(50_000));
        assert_eq!(
            fault(&brackets),
            (
                None,
                "is nested deeper than 100 levels, so it is not parsed".to_owned()
            )
        );
        let prefixes = format!("x = {}1\n", "not -".repeat(50_000));
        assert!(fault(&prefixes).1.contains("nested deeper"));
        let blocks: String = (0..300)
            .map(|level| format!("{}if a:\n", " ".repeat(level)))
            .collect();
        assert!(fault(&blocks).1.contains("nested deeper"));
    }

    #[test]
    fn long_chains_and_strings_of_brackets_are_fine() {
        let chain = format!("def f(): return {}1\n", "1 + -".repeat(20_000));
        assert_eq!(listed(&chain), ["1 f Function"]);
        let quoted = "x = '(((('\n# ((((\n".repeat(1000);
        assert!(listed(&quoted).is_empty());
    }
}

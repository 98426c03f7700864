//! What parsing a file yields: its definitions, or why it does not parse.

/// What a definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function or a method.
    Function,
    /// A class, or what takes its place in the language: struct, enum, union, trait, interface.
    Class,
}

impl SymbolKind {
    /// The kind with its article, for messages.
    pub fn words(self) -> &'static str {
        match self {
            Self::Function => "a function",
            Self::Class => "a class",
        }
    }
}

/// One definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name, after the names of the classes and modules around it, joined by dots.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// The line of its name, from 1.
    pub line: u64,
}

/// Why a file does not parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxFault {
    /// The line, from 1, if the parser knows it.
    pub line: Option<u64>,
    /// What is wrong.
    pub message: String,
}

/// The name of a definition within a scope.
pub(crate) fn qualified(scope: &str, name: &str) -> String {
    if scope.is_empty() {
        name.to_owned()
    } else {
        format!("{scope}.{name}")
    }
}

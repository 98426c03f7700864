//! Which language a file is in, and the parser for it.

use oxc_span::SourceType;
use probity_guest::{Content, ParamError, Params};

use crate::symbol::{Symbol, SyntaxFault};
use crate::{javascript, python, rust};

/// A language that can be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Python, in its newest grammar.
    Python,
    /// Rust, in its newest edition.
    Rust,
    /// JavaScript or TypeScript, with the goal and the extensions to it.
    Script(SourceType),
}

/// Describes the parameter that [`Language::from_params`] reads.
pub(crate) const ABOUT: &str = "python, rust, javascript (with JSX), typescript or tsx; default: what the file name's extension says";

impl Language {
    /// Largest source that is parsed, in bytes.
    pub const MAX_SOURCE: usize = 4 * 1024 * 1024;

    /// The language that the parameter `language` names, if it was given.
    ///
    /// # Errors
    /// When it is not one of the known names.
    pub fn from_params(params: &Params) -> Result<Option<Self>, ParamError> {
        let known = [
            ("python", Self::Python),
            ("rust", Self::Rust),
            (
                "javascript",
                Self::Script(SourceType::unambiguous().with_jsx(true)),
            ),
            ("typescript", Self::Script(SourceType::ts())),
            ("tsx", Self::Script(SourceType::tsx())),
        ];
        params.choice("language", &known)
    }

    /// The language that the extension of a path says, if it is a known one.
    pub fn from_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, extension) = name.rsplit_once('.')?;
        match extension {
            "py" | "pyi" => Some(Self::Python),
            "rs" => Some(Self::Rust),
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => {
                let kind = SourceType::from_path(name).ok()?;
                // JSX in plain `.js` files is common and takes nothing away from JavaScript.
                let jsx = kind.is_jsx() || kind.is_javascript();
                Some(Self::Script(kind.with_jsx(jsx)))
            }
            _ => None,
        }
    }

    /// Parses a file and lists what it defines, in the order of lines.
    ///
    /// # Errors
    /// Why it does not parse: not UTF-8, too large, nested too deeply, or a fault of syntax.
    pub fn symbols(self, content: &Content) -> Result<Vec<Symbol>, SyntaxFault> {
        let size = content.bytes().len();
        if size > Self::MAX_SOURCE {
            let message = format!(
                "has {size} bytes, more than the {} that are parsed",
                Self::MAX_SOURCE
            );
            return Err(SyntaxFault {
                line: None,
                message,
            });
        }
        let source = content.utf8().map_err(|line| SyntaxFault {
            line: Some(line),
            message: "is not UTF-8".to_owned(),
        })?;
        let mut symbols = match self {
            Self::Python => python::symbols(content, source),
            Self::Rust => rust::symbols(source),
            Self::Script(kind) => javascript::symbols(content, source, kind),
        }?;
        symbols.sort_by_key(|symbol| symbol.line);
        Ok(symbols)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_decide() {
        assert_eq!(Language::from_path("a/b.pyi"), Some(Language::Python));
        assert_eq!(Language::from_path("b.rs"), Some(Language::Rust));
        for (path, typescript, jsx) in [
            ("a.js", false, true),
            ("a.cjs", false, true),
            ("a.ts", true, false),
            ("a.d.ts", true, false),
            ("a.tsx", true, true),
        ] {
            let Some(Language::Script(kind)) = Language::from_path(path) else {
                panic!("{path} is a script");
            };
            assert_eq!(
                (!kind.is_javascript(), kind.is_jsx()),
                (typescript, jsx),
                "{path}"
            );
        }
        for path in ["Makefile", "a.py/b", "a.PY", "a.rb", ""] {
            assert_eq!(Language::from_path(path), None, "{path}");
        }
    }

    #[test]
    fn oversized_and_malformed_text_is_a_fault() {
        let big = Content::new(vec![b'#'; Language::MAX_SOURCE + 1]);
        assert!(
            Language::Python
                .symbols(&big)
                .is_err_and(|fault| fault.message.contains("bytes"))
        );
        let bad = Content::new(*b"x = 1\n# \xe4\n");
        let fault = SyntaxFault {
            line: Some(2),
            message: "is not UTF-8".to_owned(),
        };
        assert_eq!(Language::Python.symbols(&bad), Err(fault));
    }
}

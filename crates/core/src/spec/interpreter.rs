//! The Python that a check runs on, and names in it.

use serde::Serialize;

use super::error::Sink;
use super::fields::{Fields, Located};
use super::kinds::{plain_name, spec_path};
use super::suite::python_path;

/// Longest dotted name, in bytes.
const MAX_NAME: usize = 200;

/// An interpreter with packages, and where it imports the repository's modules from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Interpreter {
    /// The language implementation, by name. Default `python`.
    pub runtime: String,
    /// A lock of the packages that are needed, relative to the folder of the spec. Default:
    /// that of suites.
    pub lock: Option<String>,
    /// Folders of the repository on the import path, `.` being its root. Default `["."]`.
    pub python_path: Vec<String>,
}

impl Default for Interpreter {
    fn default() -> Self {
        Self {
            runtime: "python".to_owned(),
            lock: None,
            python_path: vec![".".to_owned()],
        }
    }
}

/// Reads `runtime`, `lock` and `python-path`.
pub(super) fn read(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<Interpreter> {
    let runtime = match fields.text(sink, "runtime") {
        None => Some("python".to_owned()),
        Some(text) => plain_name(&text, "runtime", sink),
    };
    let lock = fields
        .text(sink, "lock")
        .and_then(|text| spec_path(&text, sink));
    let python_path = python_path(fields, sink);
    Some(Interpreter {
        runtime: runtime?,
        lock,
        python_path,
    })
}

/// A function of a module, written `package.module:function` or `package.module:Class.method`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Function {
    /// The module's dotted name.
    pub module: String,
    /// The function's name in it; dots lead through attributes.
    pub name: String,
}

impl std::fmt::Display for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.module, self.name)
    }
}

/// Reads a function, or reports that the text is none.
pub(super) fn function(text: &Located<&str>, sink: &mut Sink<'_>) -> Option<Function> {
    if let Some((module, name)) = text.value.split_once(':')
        && is_dotted(module)
        && is_dotted(name)
    {
        return Some(Function {
            module: module.to_owned(),
            name: name.to_owned(),
        });
    }
    let message = format!("`{}` is not a function", text.value.escape_debug());
    let hint = "write `package.module:function`";
    sink.report(text.at, text.path.clone(), message, Some(hint.to_owned()));
    None
}

/// Whether `name` is one or more identifiers with dots between them.
pub(super) fn is_dotted(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.split('.').all(|part| {
            !part.is_empty()
                && !part.starts_with(|c: char| c.is_ascii_digit())
                && part.chars().all(|c| c == '_' || c.is_alphanumeric())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_with_dots_between() {
        for good in ["a", "a.b_2", "Größe", "_x"] {
            assert!(is_dotted(good), "{good}");
        }
        for bad in ["", "a.", ".a", "a..b", "2a", "a b", "a-b", "a:b", "a()"] {
            assert!(!is_dotted(bad), "{bad}");
        }
        assert!(!is_dotted(&"a".repeat(MAX_NAME + 1)));
    }
}

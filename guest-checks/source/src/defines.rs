//! `defines`: a source file defines a function or a class of a given name.
//!
//! The name is that of the definition after those of the classes, modules and
//! namespaces around it, joined by dots (or `::`): `main`, `Shape.area`, `geo.Shape.area`.
//! A file that does not parse defines nothing, and the finding says where it stops.

use probity_guest::{CheckDef, CheckError, ParamError, Params, Place, Report, Tree, nearest};

use crate::language::{self, Language};
use crate::symbol::{Symbol, SymbolKind};

/// Name, summary and parameters.
pub fn def() -> CheckDef {
    CheckDef::new(
        "defines",
        "the source file parses and defines the name; nothing is executed",
    )
    .required("path", "path of the file, from the root of the repository")
    .required(
        "name",
        "name of the definition, after the classes and modules around it: Class.method",
    )
    .optional("kind", "function, class or any; default any")
    .optional("language", language::ABOUT)
}

/// The check.
///
/// # Errors
/// When a parameter is malformed or the tree cannot be read.
pub fn check(tree: &Tree, params: &Params, report: &mut Report) -> Result<(), CheckError> {
    let path = params.text("path")?;
    let name = params.text("name")?.replace("::", ".");
    let kinds = [
        ("function", Some(SymbolKind::Function)),
        ("class", Some(SymbolKind::Class)),
        ("any", None),
    ];
    let kind = params.choice("kind", &kinds)?.flatten();
    let language = Language::from_params(params)?.or_else(|| Language::from_path(path));
    let language = language.ok_or_else(|| {
        ParamError::invalid(
            "path",
            format!("is {path:?}, whose extension names no known language; give `language`"),
        )
    })?;
    let Some(content) = tree.read_or_report(path, report)? else {
        return Ok(());
    };
    match language.symbols(&content) {
        Err(fault) => report.error(Place::at(path, fault.line), fault.message),
        Ok(symbols) => look_up(path, &name, kind, &symbols, report),
    }
    Ok(())
}

fn look_up(
    path: &str,
    name: &str,
    kind: Option<SymbolKind>,
    symbols: &[Symbol],
    report: &mut Report,
) {
    let named: Vec<&Symbol> = symbols
        .iter()
        .filter(|symbol| symbol.name == name)
        .collect();
    let fits = named
        .iter()
        .find(|symbol| kind.is_none_or(|kind| kind == symbol.kind));
    match (fits, named.first()) {
        (Some(symbol), _) => {
            report.note(
                Place::line(path, symbol.line),
                format!("`{name}` is {}", symbol.kind.words()),
            );
        }
        (None, Some(other)) => {
            let wanted = kind.map(SymbolKind::words).unwrap_or_default();
            let message = format!("`{name}` is {}, not {wanted}", other.kind.words());
            report.error(Place::line(path, other.line), message);
        }
        (None, None) => {
            let close = nearest(name, symbols.iter().map(|symbol| symbol.name.as_str()));
            let hint = close
                .map(|close| format!("; the nearest name is `{close}`"))
                .unwrap_or_default();
            report.error(Place::file(path), format!("does not define `{name}`{hint}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::harness::findings;

    const TREE: &[(&str, &str)] = &[
        (
            "shape.py",
            "import os\n\nclass Shape:\n    def area(self):\n        return 1\n",
        ),
        ("shape.rs", "struct Shape;\nimpl Shape { fn area() {} }\n"),
        (
            "shape.ts",
            "export class Shape {\n  area(): number { return 1 }\n}\n",
        ),
        ("broken.py", "def ok(): ...\nclass (:\n"),
        ("tool", "def main(): ...\n"),
    ];

    fn run(params: &str) -> String {
        findings(TREE, "defines", params).join("\n")
    }

    #[test]
    fn methods_are_found_in_every_language() {
        assert_eq!(
            run(r#"{"path": "shape.py", "name": "Shape.area"}"#),
            "note shape.py:4 `Shape.area` is a function"
        );
        assert_eq!(
            run(r#"{"path": "shape.rs", "name": "Shape::area", "kind": "function"}"#),
            "note shape.rs:2 `Shape.area` is a function"
        );
        assert_eq!(
            run(r#"{"path": "shape.ts", "name": "Shape", "kind": "class"}"#),
            "note shape.ts:1 `Shape` is a class"
        );
    }

    #[test]
    fn a_wrong_name_or_kind_is_explained() {
        assert_eq!(
            run(r#"{"path": "shape.py", "name": "Shape.aera"}"#),
            "error shape.py does not define `Shape.aera`; the nearest name is `Shape.area`"
        );
        assert_eq!(
            run(r#"{"path": "shape.py", "name": "os"}"#),
            "error shape.py does not define `os`"
        );
        assert_eq!(
            run(r#"{"path": "shape.py", "name": "Shape", "kind": "function"}"#),
            "error shape.py:3 `Shape` is a class, not a function"
        );
    }

    #[test]
    fn a_file_that_does_not_parse_defines_nothing() {
        let found = run(r#"{"path": "broken.py", "name": "ok"}"#);
        assert!(
            found.starts_with("error broken.py:2 does not parse as Python: "),
            "{found}"
        );
        assert_eq!(
            run(r#"{"path": "gone.py", "name": "ok"}"#),
            "error gone.py does not exist"
        );
    }

    #[test]
    fn the_language_is_the_extensions_or_the_given_one() {
        assert_eq!(
            run(r#"{"path": "tool", "name": "main", "language": "python"}"#),
            "note tool:1 `main` is a function"
        );
        assert_eq!(
            run(r#"{"path": "tool", "name": "main"}"#),
            r#"refused: parameter `path` is "tool", whose extension names no known language; give `language`"#
        );
        let wrong = run(r#"{"path": "shape.py", "name": "main", "kind": "method"}"#);
        assert_eq!(
            wrong,
            r#"refused: parameter `kind` is "method", not one of function, class, any"#
        );
    }
}

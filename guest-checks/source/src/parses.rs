//! `parses`: every selected source file parses.
//!
//! Files whose extension names no known language are left out, unless `language` is
//! given. No source file at all is an error finding, as for every selection.

use probity_guest::{CheckDef, CheckError, Params, Place, Report, Selection, Tree};

use crate::language::{self, Language};

/// Name, summary and parameters.
pub fn def() -> CheckDef {
    CheckDef::new(
        "parses",
        "every selected source file parses; nothing is executed",
    )
    .selects_files()
    .optional("language", language::ABOUT)
}

/// The check.
///
/// # Errors
/// When a parameter is malformed or the tree cannot be read.
pub fn check(tree: &Tree, params: &Params, report: &mut Report) -> Result<(), CheckError> {
    let given = Language::from_params(params)?;
    let selection = Selection::from_params(params)?;
    let mut sources = 0_usize;
    for path in selection.paths(tree)? {
        let Some(language) = given.or_else(|| Language::from_path(path)) else {
            continue;
        };
        sources = sources.saturating_add(1);
        if let Some(content) = tree.read_or_report(path, report)?
            && let Err(fault) = language.symbols(&content)
        {
            report.error(Place::at(path, fault.line), fault.message);
        }
    }
    selection.report_empty(sources, "source file", report);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::harness::findings;

    const TREE: &[(&str, &str)] = &[
        ("a.py", "x = 1\ny = = 2\n"),
        ("b.rs", "fn main() {}\n"),
        ("c.ts", "let x: = 1;\n"),
        ("d.md", "# (\n"),
        ("script", "def f(:\n"),
        ("z.js", "let x = <p>a</p>;\n"),
    ];

    #[test]
    fn faults_are_named_by_file_and_line() {
        let found = findings(TREE, "parses", r#"{"paths": "**"}"#);
        let starts: Vec<&str> = found
            .iter()
            .filter_map(|line| line.split(": ").next())
            .collect();
        assert_eq!(
            starts,
            [
                "error a.py:2 does not parse as Python",
                "error c.ts:1 does not parse as TypeScript"
            ]
        );
        assert!(findings(TREE, "parses", r#"{"paths": ["*.rs", "*.js"]}"#).is_empty());
    }

    #[test]
    fn a_given_language_applies_to_every_selected_file() {
        let found = findings(
            TREE,
            "parses",
            r#"{"paths": "script", "language": "python"}"#,
        );
        assert!(
            found
                .concat()
                .starts_with("error script:1 does not parse as Python: "),
            "{found:?}"
        );
        assert_eq!(
            findings(TREE, "parses", r#"{"paths": "script", "language": "perl"}"#),
            [
                r#"refused: parameter `language` is "perl", not one of python, rust, javascript, typescript, tsx"#
            ]
        );
    }

    #[test]
    fn no_source_file_fails() {
        assert_eq!(
            findings(TREE, "parses", r#"{"paths": "*.md"}"#),
            ["error no source file matches `paths` (*.md), so nothing was checked"]
        );
    }
}

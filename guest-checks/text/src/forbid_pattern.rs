//! `forbid-pattern`: none of the selected text files holds a match of a pattern.

use probity_guest::{CheckDef, CheckError, Params, Place, Report, Selection, Tree};

use crate::pattern;

/// Name, summary and parameters.
pub fn def() -> CheckDef {
    CheckDef::new(
        "forbid-pattern",
        "no selected text file holds a match of the pattern",
    )
    .selects_files()
    .required(
        "pattern",
        "regular expression; `^` and `$` match at the ends of lines",
    )
    .optional(
        "message",
        "what to say about a match; default: quotes the pattern",
    )
}

/// The check.
///
/// # Errors
/// When a parameter is malformed or the tree cannot be read.
pub fn check(tree: &Tree, params: &Params, report: &mut Report) -> Result<(), CheckError> {
    let regex = pattern::required(params, "pattern")?;
    let message = match params.optional_text("message")? {
        Some(message) => message.to_owned(),
        None => format!("matches the forbidden pattern `{}`", regex.as_str()),
    };
    Selection::from_params(params)?.each_text(tree, report, |file, report| {
        let mut last = None;
        for found in regex.find_iter(file.content.bytes()) {
            let line = file.content.line_at(found.start());
            if last != Some(line) {
                report.error(Place::line(file.path, line), message.clone());
                last = Some(line);
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::harness::findings;

    const TREE: &[(&str, &str)] = &[
        ("src/a.py", "x = 1\nprint(x); print(x)\n\nprint (x)\n"),
        ("src/b.py", "import sys\n"),
        ("vendor/c.py", "print(1)\n"),
        ("src/d.bin", "\0print(1)\n"),
    ];

    fn run(params: &str) -> Vec<String> {
        findings(TREE, "forbid-pattern", params)
    }

    #[test]
    fn every_line_with_a_match_is_one_finding() {
        assert_eq!(
            run(r#"{"paths": "**", "pattern": "\\bprint\\s*\\(", "exclude": ["vendor/**"]}"#),
            [
                r"error src/a.py:2 matches the forbidden pattern `\bprint\s*\(`",
                r"error src/a.py:4 matches the forbidden pattern `\bprint\s*\(`",
            ]
        );
        assert_eq!(
            run(r#"{"paths": "vendor/*", "pattern": "^print", "message": "use the logger"}"#),
            ["error vendor/c.py:1 use the logger"]
        );
    }

    #[test]
    fn no_match_passes_but_no_file_does_not() {
        assert!(run(r#"{"paths": "src/b.py", "pattern": "print"}"#).is_empty());
        assert_eq!(
            run(r#"{"paths": ["source/**", "src/*.bin"], "pattern": "print"}"#),
            ["error no text file matches `paths` (source/**, src/*.bin), so nothing was checked"]
        );
        assert!(
            run(r#"{"paths": "source/**", "pattern": "print", "allow-empty": true}"#).is_empty()
        );
    }

    #[test]
    fn a_flood_of_matches_is_bounded() {
        let flood = "a\n".repeat(100_000);
        let found = findings(
            &[("f", &flood)],
            "forbid-pattern",
            r#"{"paths": "f", "pattern": "a"}"#,
        );
        assert_eq!(found.len(), 200);
    }
}

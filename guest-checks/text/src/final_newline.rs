//! `final-newline`: every selected text file that is not empty ends in a line ending.

use probity_guest::{CheckDef, CheckError, Params, Place, Report, Selection, Tree};

/// Name, summary and parameters.
pub fn def() -> CheckDef {
    CheckDef::new(
        "final-newline",
        "every selected text file that is not empty ends in a newline",
    )
    .selects_files()
}

/// The check.
///
/// # Errors
/// When a parameter is malformed or the tree cannot be read.
pub fn check(tree: &Tree, params: &Params, report: &mut Report) -> Result<(), CheckError> {
    Selection::from_params(params)?.each_text(tree, report, |file, report| {
        if let Some((number, line)) = file.content.raw_lines().last()
            && !line.ends_with(b"\n")
        {
            report.error(
                Place::line(file.path, number),
                "the last line does not end in a newline",
            );
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::harness::findings;

    #[test]
    fn the_last_line_is_named() {
        let tree = [
            ("bad", "a\nb"),
            ("crlf", "a\r\n"),
            ("empty", ""),
            ("good", "a\n"),
            ("old-mac", "a\r"),
        ];
        assert_eq!(
            findings(&tree, "final-newline", r#"{"paths": "*"}"#),
            [
                "error bad:2 the last line does not end in a newline",
                "error old-mac:1 the last line does not end in a newline",
            ]
        );
    }
}

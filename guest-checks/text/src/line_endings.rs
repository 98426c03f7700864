//! `line-endings`: every line of the selected text files ends in one style.
//!
//! A CR that no LF follows is not a line ending and is left alone. A last line without
//! an ending is the business of `final-newline`.

use probity_guest::{CheckDef, CheckError, Params, Place, Report, Selection, Tree};

/// Name, summary and parameters.
pub fn def() -> CheckDef {
    CheckDef::new(
        "line-endings",
        "every line of the selected text files ends in the same style",
    )
    .selects_files()
    .optional("style", "lf or crlf; default lf")
}

#[derive(Clone, Copy)]
enum Style {
    Lf,
    Crlf,
}

/// The check.
///
/// # Errors
/// When a parameter is malformed or the tree cannot be read.
pub fn check(tree: &Tree, params: &Params, report: &mut Report) -> Result<(), CheckError> {
    let style = params
        .choice("style", &[("lf", Style::Lf), ("crlf", Style::Crlf)])?
        .unwrap_or(Style::Lf);
    Selection::from_params(params)?.each_text(tree, report, |file, report| {
        let mut wrong = file.content.raw_lines().filter(|(_, line)| match style {
            Style::Lf => line.ends_with(b"\r\n"),
            Style::Crlf => line.ends_with(b"\n") && !line.ends_with(b"\r\n"),
        });
        if let Some((number, _)) = wrong.next() {
            let lines = wrong.count().saturating_add(1);
            let (found, wanted) = match style {
                Style::Lf => ("CRLF", "LF"),
                Style::Crlf => ("LF", "CRLF"),
            };
            let message = format!(
                "ends in {found} instead of {wanted}; so many lines do in this file: {lines}"
            );
            report.error(Place::line(file.path, number), message);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::harness::findings;

    const TREE: &[(&str, &str)] = &[
        ("lf", "a\nb\rc\n"),
        ("crlf", "a\r\nb\r\n"),
        ("mixed", "a\nb\r\nc\r\nd"),
        ("empty", ""),
    ];

    #[test]
    fn the_first_wrong_line_is_named_and_all_are_counted() {
        assert_eq!(
            findings(TREE, "line-endings", r#"{"paths": "*"}"#),
            [
                "error crlf:1 ends in CRLF instead of LF; so many lines do in this file: 2",
                "error mixed:2 ends in CRLF instead of LF; so many lines do in this file: 2",
            ]
        );
        assert_eq!(
            findings(TREE, "line-endings", r#"{"paths": "*", "style": "crlf"}"#),
            [
                "error lf:1 ends in LF instead of CRLF; so many lines do in this file: 2",
                "error mixed:1 ends in LF instead of CRLF; so many lines do in this file: 1",
            ]
        );
    }

    #[test]
    fn an_unknown_style_is_refused() {
        assert_eq!(
            findings(TREE, "line-endings", r#"{"paths": "*", "style": "cr"}"#),
            [r#"refused: parameter `style` is "cr", not one of lf, crlf"#]
        );
    }
}

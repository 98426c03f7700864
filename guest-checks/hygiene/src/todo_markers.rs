//! `todo-markers`: no selected text file holds a marker of unfinished work.
//!
//! A marker counts as a whole word, in the case in which it is given. With
//! `require-ticket` a marker is fine on a line that the expression matches.

use probity_guest::{CheckDef, CheckError, ParamError, Params, Place, Report, Selection, Tree};
use regex::bytes::{Regex, RegexBuilder};

/// The markers that are looked for unless the caller names others.
const MARKERS: [&str; 4] = ["TODO", "FIXME", "XXX", "HACK"];

/// Largest compiled expression, in bytes.
const SIZE_LIMIT: usize = 4 * 1024 * 1024;

/// Name, summary and parameters.
pub fn def() -> CheckDef {
    CheckDef::new(
        "todo-markers",
        "no selected text file holds a marker of unfinished work",
    )
    .selects_files()
    .optional(
        "markers",
        "one word or a list of words, in their exact case; default TODO, FIXME, XXX, HACK",
    )
    .optional(
        "require-ticket",
        "regular expression; a marker is allowed on a line that it matches",
    )
}

/// The check.
///
/// # Errors
/// When a parameter is malformed or the tree cannot be read.
pub fn check(tree: &Tree, params: &Params, report: &mut Report) -> Result<(), CheckError> {
    let given = params.texts("markers")?;
    let words = if given.is_empty() {
        MARKERS.to_vec()
    } else {
        given
    };
    let markers = any_word(&words)?;
    let ticket = match params.optional_text("require-ticket")? {
        Some(source) => Some(compile("require-ticket", source)?),
        None => None,
    };
    Selection::from_params(params)?.each_text(tree, report, |file, report| {
        for (number, line) in file.content.lines() {
            let Some(found) = markers.find(line) else {
                continue;
            };
            let marker = String::from_utf8_lossy(found.as_bytes());
            match &ticket {
                None => report.error(
                    Place::line(file.path, number),
                    format!("holds the marker {marker}"),
                ),
                Some(ticket) if ticket.is_match(line) => {}
                Some(_) => {
                    let message = format!("holds the marker {marker} without a ticket");
                    report.error(Place::line(file.path, number), message);
                }
            }
        }
        Ok(())
    })
}

/// An expression for any of the words, each bounded by non-word characters where it
/// begins or ends in a word character itself (so `@todo` works too).
fn any_word(words: &[&str]) -> Result<Regex, ParamError> {
    let is_word = |end: Option<char>| end.is_some_and(|end| end.is_alphanumeric() || end == '_');
    let bounded: Vec<String> = words
        .iter()
        .map(|word| {
            let before = if is_word(word.chars().next()) {
                r"\b"
            } else {
                ""
            };
            let after = if is_word(word.chars().next_back()) {
                r"\b"
            } else {
                ""
            };
            format!("{before}{}{after}", regex::escape(word))
        })
        .collect();
    compile("markers", &bounded.join("|"))
}

fn compile(name: &str, source: &str) -> Result<Regex, ParamError> {
    RegexBuilder::new(source)
        .size_limit(SIZE_LIMIT)
        .build()
        .map_err(|error| ParamError::invalid(name, format!("is not a regular expression: {error}")))
}

#[cfg(test)]
mod tests {
    use crate::harness::findings;

    const TREE: &[(&str, &str)] = &[(
        "a.py",
        "# TODO: one\n# TODOS and todo are no markers\n# FIXME(PROJ-7): two\nx = 'HACK' # XXX\n# @todo three\n",
    )];

    #[test]
    fn markers_are_whole_words_and_one_per_line_is_enough() {
        assert_eq!(
            findings(TREE, "todo-markers", r#"{"paths": "*"}"#),
            [
                "error a.py:1 holds the marker TODO",
                "error a.py:3 holds the marker FIXME",
                "error a.py:4 holds the marker HACK",
            ]
        );
        assert_eq!(
            findings(
                TREE,
                "todo-markers",
                r#"{"paths": "*", "markers": ["@todo", "TODOS"]}"#
            ),
            [
                "error a.py:2 holds the marker TODOS",
                "error a.py:5 holds the marker @todo"
            ]
        );
    }

    #[test]
    fn a_ticket_on_the_line_makes_a_marker_fine() {
        assert_eq!(
            findings(
                TREE,
                "todo-markers",
                r#"{"paths": "*", "require-ticket": "\\bPROJ-\\d+"}"#
            ),
            [
                "error a.py:1 holds the marker TODO without a ticket",
                "error a.py:4 holds the marker HACK without a ticket",
            ]
        );
    }
}

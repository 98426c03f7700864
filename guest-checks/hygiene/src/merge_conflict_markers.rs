//! `merge-conflict-markers`: no selected text file holds the marks of an unresolved merge.
//!
//! `<<<<<<<`, `|||||||` and `>>>>>>>` offend when they start a line and a space or the
//! line's end follows. `=======` alone on a line underlines headings in some formats, so
//! it offends only between an opening and a closing mark.

use probity_guest::{CheckDef, CheckError, Params, Place, Report, Selection, Tree};

/// Length of every mark.
const LENGTH: usize = 7;

/// Name, summary and parameters.
pub fn def() -> CheckDef {
    CheckDef::new(
        "merge-conflict-markers",
        "no selected text file holds the marks of an unresolved merge",
    )
    .selects_files()
}

/// The check.
///
/// # Errors
/// When a parameter is malformed or the tree cannot be read.
pub fn check(tree: &Tree, params: &Params, report: &mut Report) -> Result<(), CheckError> {
    Selection::from_params(params)?.each_text(tree, report, |file, report| {
        let mut inside = false;
        for (number, line) in file.content.lines() {
            let Some(mark) = mark_of(line) else {
                continue;
            };
            match mark {
                b'<' => inside = true,
                b'=' if !inside => continue,
                b'>' => inside = false,
                _ => {}
            }
            let mark = char::from(mark).to_string().repeat(LENGTH);
            report.error(
                Place::line(file.path, number),
                format!("starts with the merge conflict mark {mark}"),
            );
        }
        Ok(())
    })
}

/// The character of the mark with which a line starts, if it does.
fn mark_of(line: &[u8]) -> Option<u8> {
    let (mark, rest) = line.split_at_checked(LENGTH)?;
    let first = *mark.first()?;
    let uniform =
        matches!(first, b'<' | b'|' | b'=' | b'>') && mark.iter().all(|byte| *byte == first);
    let ends = match first {
        b'=' => rest.is_empty(),
        _ => matches!(rest.first(), None | Some(b' ')),
    };
    (uniform && ends).then_some(first)
}

#[cfg(test)]
mod tests {
    use crate::harness::findings;

    #[test]
    fn every_mark_of_a_conflict_is_named() {
        let conflict =
            "a\n<<<<<<< HEAD\nb\n||||||| base\nc\n=======\r\nd\n>>>>>>> topic\ne\n=======\n";
        let found = findings(
            &[("f", conflict)],
            "merge-conflict-markers",
            r#"{"paths": "f"}"#,
        );
        assert_eq!(
            found,
            [
                "error f:2 starts with the merge conflict mark <<<<<<<",
                "error f:4 starts with the merge conflict mark |||||||",
                "error f:6 starts with the merge conflict mark =======",
                "error f:8 starts with the merge conflict mark >>>>>>>",
            ]
        );
    }

    #[test]
    fn headings_quotes_and_longer_runs_are_fine() {
        let text =
            "Heading\n=======\n\n >>>>>>> quoted\n>>>>>>>> eight\n<<<<<<<x\n======= x\n<<<<<<\n";
        assert!(
            findings(
                &[("f.rst", text)],
                "merge-conflict-markers",
                r#"{"paths": "*"}"#
            )
            .is_empty()
        );
    }
}

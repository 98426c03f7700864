//! `license-header`: every selected text file starts with a given header.
//!
//! The header's lines have to be found one after another, each within one line of the
//! file, so that a comment's own marks (`//`, `#`, ` *`) may stand around them. Empty
//! files need no header.

use probity_guest::{
    CheckDef, CheckError, Content, ParamError, Params, Place, Report, Selection, Tree,
};

/// Lines in which the header has to be, unless the caller says otherwise.
const WITHIN_LINES: u64 = 20;

/// Name, summary and parameters.
pub fn def() -> CheckDef {
    CheckDef::new(
        "license-header",
        "every selected text file that is not empty starts with the header",
    )
    .selects_files()
    .required(
        "text",
        "the header without comment marks; each of its lines has to be part of a line of the file",
    )
    .optional(
        "within-lines",
        "lines from the file's start in which the whole header has to be; default 20",
    )
}

/// The check.
///
/// # Errors
/// When a parameter is malformed or the tree cannot be read.
pub fn check(tree: &Tree, params: &Params, report: &mut Report) -> Result<(), CheckError> {
    let header: Vec<&str> = params
        .text("text")?
        .trim_end()
        .lines()
        .map(str::trim)
        .collect();
    if header.is_empty() {
        return Err(ParamError::invalid("text", "is blank").into());
    }
    let within = params.count("within-lines")?.unwrap_or(WITHIN_LINES);
    Selection::from_params(params)?.each_text(tree, report, |file, report| {
        if !file.content.bytes().is_empty() && !starts_with(&file.content, &header, within) {
            let message = format!("the license header is not in the first {within} lines");
            report.error(Place::line(file.path, 1), message);
        }
        Ok(())
    })
}

fn starts_with(content: &Content, header: &[&str], within: u64) -> bool {
    let top: Vec<&[u8]> = content
        .lines()
        .take_while(|(number, _)| *number <= within)
        .map(|(_, line)| line)
        .collect();
    top.windows(header.len()).any(|lines| {
        lines
            .iter()
            .zip(header)
            .all(|(line, wanted)| holds(line, wanted.as_bytes()))
    })
}

fn holds(line: &[u8], wanted: &[u8]) -> bool {
    wanted.is_empty() || line.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use crate::harness::findings;

    const HEADER: &str =
        r#"{"paths": "*", "text": "Copyright The Authors\nSPDX-License-Identifier: MIT\n"}"#;

    #[test]
    fn comment_marks_may_stand_around_the_lines() {
        let tree = [
            (
                "a.rs",
                "// Copyright The Authors\n// SPDX-License-Identifier: MIT\nfn main() {}\n",
            ),
            (
                "b.py",
                "#!/usr/bin/env python\r\n# Copyright The Authors\r\n# SPDX-License-Identifier: MIT\r\n",
            ),
            (
                "c.css",
                "/* Copyright The Authors\n * SPDX-License-Identifier: MIT */\n",
            ),
            ("empty.py", ""),
        ];
        assert!(findings(&tree, "license-header", HEADER).is_empty());
    }

    #[test]
    fn the_lines_have_to_follow_each_other_near_the_start() {
        let late = format!(
            "{}# Copyright The Authors\n# SPDX-License-Identifier: MIT\n",
            "x\n".repeat(19)
        );
        let tree = [
            (
                "apart",
                "# Copyright The Authors\n\n# SPDX-License-Identifier: MIT\n",
            ),
            ("late", late.as_str()),
            ("none", "x"),
            (
                "swapped",
                "SPDX-License-Identifier: MIT\nCopyright The Authors\n",
            ),
        ];
        let expected =
            |path| format!("error {path}:1 the license header is not in the first 20 lines");
        assert_eq!(
            findings(&tree, "license-header", HEADER),
            ["apart", "late", "none", "swapped"].map(expected)
        );
        assert!(
            findings(
                &[("late", late.as_str())],
                "license-header",
                r#"{"paths": "*", "text": "Copyright The Authors\nSPDX", "within-lines": 21}"#
            )
            .is_empty()
        );
    }

    #[test]
    fn a_blank_header_is_refused() {
        assert_eq!(
            findings(&[], "license-header", r#"{"paths": "*", "text": " \n"}"#),
            ["refused: parameter `text` is blank"]
        );
    }
}

//! `file-contains`: one file holds a text or a match of a pattern, perhaps exactly so often.
//!
//! Occurrences do not overlap. `count` of 0 means that the text must not be there.

use probity_guest::{CheckDef, CheckError, Content, ParamError, Params, Place, Report, Tree};
use regex::bytes::Regex;

use crate::pattern;

/// How many of the lines with an occurrence a message lists.
const LISTED: usize = 10;

/// Name, summary and parameters.
pub fn def() -> CheckDef {
    CheckDef::new(
        "file-contains",
        "the file holds the text or a match of the pattern",
    )
    .required("path", "path of the file, from the root of the repository")
    .optional(
        "text",
        "text to find, literally; either this or `pattern` has to be given",
    )
    .optional(
        "pattern",
        "regular expression to find; `^` and `$` match at the ends of lines",
    )
    .optional(
        "count",
        "exact number of occurrences that do not overlap; default: one or more",
    )
}

/// The check.
///
/// # Errors
/// When a parameter is malformed or the tree cannot be read.
pub fn check(tree: &Tree, params: &Params, report: &mut Report) -> Result<(), CheckError> {
    let path = params.text("path")?;
    let (wanted, regex) = match (
        params.optional_text("text")?,
        pattern::optional(params, "pattern")?,
    ) {
        (Some(text), None) => (format!("the text {text:?}"), literal(text)?),
        (None, Some(regex)) => (format!("the pattern `{}`", regex.as_str()), regex),
        (Some(_), Some(_)) => return Err(ParamError::invalid("text", "excludes `pattern`").into()),
        (None, None) => {
            return Err(ParamError::invalid("text", "or `pattern` has to be given").into());
        }
    };
    let count = params.count("count")?;
    if let Some(content) = tree.read_or_report(path, report)? {
        let found = Occurrences::of(&regex, &content);
        let right = count.map_or(found.count > 0, |count| found.count == count);
        if !right {
            let message = match count {
                None => format!("does not hold {wanted}"),
                Some(count) => format!(
                    "holds {wanted} {} instead of {count}{}",
                    times(found.count),
                    found.lines()
                ),
            };
            report.error(Place::file(path), message);
        }
    }
    Ok(())
}

struct Occurrences {
    count: u64,
    lines: Vec<u64>,
}

impl Occurrences {
    fn of(regex: &Regex, content: &Content) -> Self {
        let mut found = Self {
            count: 0,
            lines: Vec::new(),
        };
        for occurrence in regex.find_iter(content.bytes()) {
            found.count = found.count.saturating_add(1);
            if found.lines.len() < LISTED {
                found.lines.push(content.line_at(occurrence.start()));
            }
        }
        found.lines.dedup();
        found
    }

    /// The end of a message that says where they are.
    fn lines(&self) -> String {
        let numbers: Vec<String> = self.lines.iter().map(u64::to_string).collect();
        let more = if self.count > LISTED as u64 {
            ", …"
        } else {
            ""
        };
        match numbers.len() {
            0 => String::new(),
            1 => format!(" (line {}{more})", numbers.join(", ")),
            _ => format!(" (lines {}{more})", numbers.join(", ")),
        }
    }
}

fn literal(text: &str) -> Result<Regex, ParamError> {
    Regex::new(&regex::escape(text)).map_err(|error| ParamError::invalid("text", error.to_string()))
}

fn times(count: u64) -> String {
    match count {
        0 => "0 times".to_owned(),
        1 => "once".to_owned(),
        more => format!("{more} times"),
    }
}

#[cfg(test)]
mod tests {
    use crate::harness::findings;

    const TREE: &[(&str, &str)] = &[
        ("a.py", "import os\r\n\r\nx = (1)\r\nx = (1) + (1)\r\n"),
        ("bin", "\0needle"),
    ];

    fn run(params: &str) -> Vec<String> {
        findings(TREE, "file-contains", params)
    }

    #[test]
    fn a_text_is_taken_literally() {
        assert!(run(r#"{"path": "a.py", "text": "x = (1)"}"#).is_empty());
        assert!(run(r#"{"path": "bin", "text": "needle"}"#).is_empty());
        assert!(run(r#"{"path": "a.py", "text": "\r\n\r\nx"}"#).is_empty());
        assert_eq!(
            run(r#"{"path": "a.py", "text": "x = [1]"}"#),
            [r#"error a.py does not hold the text "x = [1]""#]
        );
        assert_eq!(
            run(r#"{"path": "b.py", "text": "x"}"#),
            ["error b.py does not exist"]
        );
    }

    #[test]
    fn a_count_is_exact() {
        assert!(run(r#"{"path": "a.py", "text": "(1)", "count": 3}"#).is_empty());
        assert!(run(r#"{"path": "a.py", "text": "eval", "count": 0}"#).is_empty());
        assert_eq!(
            run(r#"{"path": "a.py", "text": "(1)", "count": 2}"#),
            [r#"error a.py holds the text "(1)" 3 times instead of 2 (lines 3, 4)"#]
        );
        assert_eq!(
            run(r#"{"path": "a.py", "pattern": "^import", "count": 0}"#),
            ["error a.py holds the pattern `^import` once instead of 0 (line 1)"]
        );
    }

    #[test]
    fn anchors_match_at_line_ends_with_or_without_cr() {
        assert!(run(r#"{"path": "a.py", "pattern": "^x = \\(1\\)$"}"#).is_empty());
        assert_eq!(
            run(r#"{"path": "a.py", "pattern": "^import$"}"#),
            ["error a.py does not hold the pattern `^import$`"]
        );
    }

    #[test]
    fn exactly_one_of_text_and_pattern() {
        assert_eq!(
            run(r#"{"path": "a.py"}"#),
            ["refused: parameter `text` or `pattern` has to be given"]
        );
        assert_eq!(
            run(r#"{"path": "a.py", "text": "a", "pattern": "a"}"#),
            ["refused: parameter `text` excludes `pattern`"]
        );
        let bad = run(r#"{"path": "a.py", "pattern": "("}"#).concat();
        assert!(
            bad.starts_with("refused: parameter `pattern` is not a regular expression: "),
            "{bad}"
        );
        let huge = run(r#"{"path": "a.py", "pattern": "((a{1000}){1000}){1000}"}"#).concat();
        assert!(huge.contains("size limit"), "{huge}");
    }
}

//! The search/replace format: JSON with exact edits.
//!
//! Text is UTF-8 since JSON is; the files need not be. Unknown and repeated keys are
//! refused, and so is a missing `new`: a dropped argument must not delete text.

use serde::Deserialize;

use super::base::{Bases, check_count, json_error, operation_path};
use crate::patch::error::ordinal;
use crate::patch::{Action, Edit, Occurrence, Operation, Patch, PatchError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    edits: Vec<Entry>,
    #[serde(default)]
    base: Bases,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    replace_all: bool,
}

const SHAPE: &str =
    r#"{"edits": [{"path": …, "old": …, "new": …, "replace_all": false}], "base": {…}}"#;

pub(super) fn parse(bytes: &[u8]) -> Result<Patch, PatchError> {
    let request: Request =
        serde_json::from_slice(bytes).map_err(|error| json_error(&error, SHAPE))?;
    check_count("edits", request.edits.len())?;
    for (index, entry) in request.edits.iter().enumerate() {
        if entry.old.is_empty() {
            return Err(PatchError::syntax("the old text is empty")
                .with_path(&entry.path)
                .with_operation(ordinal(index))
                .with_hint(
                    "quote the text to replace; to make a new file, use the whole-file format with `create`",
                ));
        }
    }
    let operations = request
        .edits
        .into_iter()
        .enumerate()
        .map(|(index, entry)| {
            Ok(Operation {
                path: operation_path(&entry.path, index)?,
                action: Action::Edit(Edit {
                    old: entry.old.into_bytes(),
                    new: entry.new.into_bytes(),
                    occurrence: if entry.replace_all {
                        Occurrence::All
                    } else {
                        Occurrence::Once
                    },
                }),
            })
        })
        .collect::<Result<_, PatchError>>()?;
    Ok(Patch {
        operations,
        bases: request.base.resolve()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::PatchErrorKind;

    fn kind(text: &str) -> PatchErrorKind {
        parse(text.as_bytes()).unwrap_err().kind
    }

    #[test]
    fn requests_are_strict() {
        use PatchErrorKind::*;
        for (text, expected) in [
            (r#"{"edits":[{"path":"a","old":"x"}]}"#, Syntax),
            (r#"{"edits":[{"path":"a","old":"x","new":null}]}"#, Syntax),
            (
                r#"{"edits":[{"path":"a","old":"x","new":"y","all":true}]}"#,
                Syntax,
            ),
            (
                r#"{"edits":[{"path":"a","old":"x","old":"z","new":"y"}]}"#,
                Syntax,
            ),
            (
                r#"{"edits":[{"path":"a","old":"x","new":"y"}],"base":{"a":"sha256:1"}}"#,
                Syntax,
            ),
            (
                r#"{"edits":[{"path":"a/..","old":"x","new":"y"}]}"#,
                PathDenied,
            ),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn a_base_named_twice_is_refused() {
        let digest = "0".repeat(64);
        let text = format!(
            r#"{{"edits":[{{"path":"a","old":"x","new":"y"}}],"base":{{"a":"{digest}","a":"{digest}"}}}}"#
        );
        assert_eq!(kind(&text), PatchErrorKind::Syntax);
    }

    #[test]
    fn too_many_edits_are_refused() {
        let edit = r#"{"path":"a","old":"x","new":"y"}"#;
        let text = format!("{{\"edits\":[{}]}}", vec![edit; 10_001].join(","));
        assert_eq!(kind(&text), PatchErrorKind::Budget);
    }
}

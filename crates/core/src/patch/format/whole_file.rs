//! The whole-file format: JSON that creates, replaces and deletes files.
//!
//! Content is text or base64 and taken verbatim; it has to be there even when it is empty,
//! so that a dropped argument cannot empty a file.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::base::{Bases, check_count, json_error, operation_path};
use crate::patch::error::ordinal;
use crate::patch::{Action, Operation, Patch, PatchError};
use crate::repo::FileMode;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    files: Vec<Entry>,
    #[serde(default)]
    base: Bases,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    path: String,
    op: Op,
    content: Option<String>,
    content_b64: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Op {
    Create,
    Replace,
    Delete,
}

const SHAPE: &str =
    r#"{"files": [{"path": …, "op": "create" | "replace" | "delete", "content": …}], "base": {…}}"#;

pub(super) fn parse(bytes: &[u8]) -> Result<Patch, PatchError> {
    let request: Request =
        serde_json::from_slice(bytes).map_err(|error| json_error(&error, SHAPE))?;
    check_count("files", request.files.len())?;
    let entries = request
        .files
        .into_iter()
        .enumerate()
        .map(|(index, entry)| {
            let refuse =
                |error: PatchError| error.with_path(&entry.path).with_operation(ordinal(index));
            let action = action(entry.op, entry.content, entry.content_b64).map_err(refuse)?;
            Ok((entry.path, action))
        })
        .collect::<Result<Vec<_>, PatchError>>()?;
    let operations = entries
        .into_iter()
        .enumerate()
        .map(|(index, (path, action))| {
            Ok(Operation {
                path: operation_path(&path, index)?,
                action,
            })
        })
        .collect::<Result<_, PatchError>>()?;
    Ok(Patch {
        operations,
        bases: request.base.resolve()?,
    })
}

fn action(op: Op, text: Option<String>, encoded: Option<String>) -> Result<Action, PatchError> {
    let content = match (text, encoded) {
        (Some(text), None) => Some(text.into_bytes()),
        (None, Some(encoded)) => Some(STANDARD.decode(encoded).map_err(|error| {
            PatchError::syntax(format!("`content_b64` is not base64: {error}"))
                .with_hint("use the standard alphabet with padding and no line breaks")
        })?),
        (None, None) => None,
        (Some(_), Some(_)) => {
            return Err(
                PatchError::syntax("the entry has both `content` and `content_b64`")
                    .with_hint("keep one of them"),
            );
        }
    };
    let content = match op {
        Op::Delete => match content {
            None => {
                return Ok(Action::Delete {
                    expected: None,
                    mode: None,
                });
            }
            Some(_) => {
                return Err(PatchError::syntax("a deletion has no content")
                    .with_hint("leave the content out, or use `replace`"));
            }
        },
        Op::Create | Op::Replace => content.ok_or_else(|| {
            PatchError::syntax("the content is missing").with_hint(
                "give the whole file in `content`; an empty file needs an explicit empty text",
            )
        })?,
    };
    let content: Arc<[u8]> = Arc::from(content);
    Ok(match op {
        Op::Create => Action::Create {
            content,
            mode: FileMode::Regular,
        },
        Op::Replace | Op::Delete => Action::Replace { content },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_text_or_base64() {
        let patch = parse(
            br#"{"files":[{"path":"a","op":"create","content_b64":"AP8="},{"path":"b","op":"replace","content":""}]}"#,
        )
        .unwrap();
        assert_eq!(
            patch.operations[0].action,
            Action::Create {
                content: Arc::from([0, 255]),
                mode: FileMode::Regular
            }
        );
        assert_eq!(
            patch.operations[1].action,
            Action::Replace {
                content: Arc::from([])
            }
        );
    }

    #[test]
    fn broken_entries_are_syntax_errors() {
        for text in [
            r#"{"files":[]}"#,
            r#"{"files":[{"path":"a","op":"create"}]}"#,
            r#"{"files":[{"path":"a","op":"append","content":""}]}"#,
            r#"{"files":[{"path":"a","op":"delete","content":""}]}"#,
            r#"{"files":[{"path":"a","op":"create","content":"","content_b64":""}]}"#,
            r#"{"files":[{"path":"a","op":"create","content_b64":"%"}]}"#,
            r#"{"files":[{"path":"a","op":"create","content":"","mode":1}]}"#,
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.kind, crate::patch::PatchErrorKind::Syntax, "{text}");
        }
    }
}

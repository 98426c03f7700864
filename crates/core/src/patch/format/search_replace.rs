//! The search/replace format: JSON with exact edits.
//!
//! Besides its own keys it reads the argument objects of common text-editor tools, so that
//! a tool call can be handed on as it is. What those tools do differently does not carry
//! over: every edit is placed on the original, nothing is unescaped or folded, and a text
//! that is missing is an error, since a dropped argument must not delete anything.
//!
//! Text is UTF-8 since JSON is; the files need not be. Unknown and repeated keys are
//! refused, and so are keys of two tools in one entry.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::base::{Bases, check_count, json_error, operation_path};
use crate::patch::error::ordinal;
use crate::patch::plan::MAX_OPERATIONS;
use crate::patch::{
    Action, Edit, Insert, Occurrence, Operation, Patch, PatchError, PatchErrorKind, Unit,
};
use crate::repo::FileMode;

/// Keys that only this format has; one of them at the top tells it from the others.
pub(super) const KEYS: [&str; 14] = [
    "edits",
    "path",
    "file_path",
    "command",
    "old",
    "old_str",
    "old_string",
    "oldText",
    "new",
    "new_str",
    "new_string",
    "newText",
    "insert_line",
    "file_text",
];

/// The request, or one edit of it, under the names of any tool.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default, deserialize_with = "entries")]
    edits: Option<Vec<Entry>>,
    base: Option<Bases>,
    path: Option<String>,
    file_path: Option<String>,
    command: Option<String>,
    old: Option<String>,
    old_str: Option<String>,
    old_string: Option<String>,
    #[serde(rename = "oldText")]
    old_text: Option<String>,
    new: Option<String>,
    new_str: Option<String>,
    new_string: Option<String>,
    #[serde(rename = "newText")]
    new_text: Option<String>,
    insert_text: Option<String>,
    insert_line: Option<u32>,
    file_text: Option<String>,
    replace_all: Option<bool>,
}

/// Reads a list of edits, or null. One more than a patch may have are kept, so that the
/// count can be refused; what is behind them is only skipped.
fn entries<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Entry>>, D::Error> {
    struct Entries;
    impl<'de> Visitor<'de> for Entries {
        type Value = Option<Vec<Entry>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of edits")
        }

        fn visit_none<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Self::Value, D::Error> {
            inner.deserialize_seq(self)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while entries.len() <= MAX_OPERATIONS {
                match list.next_element()? {
                    Some(entry) => entries.push(entry),
                    None => return Ok(Some(entries)),
                }
            }
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Some(entries))
        }
    }
    deserializer.deserialize_option(Entries)
}

const SHAPE: &str =
    r#"{"edits": [{"path": …, "old": …, "new": …, "replace_all": false}], "base": {…}}"#;

pub(super) fn parse(bytes: &[u8]) -> Result<Patch, PatchError> {
    let mut request: Entry =
        serde_json::from_slice(bytes).map_err(|error| json_error(&error, SHAPE))?;
    let bases = request.base.take().unwrap_or_default();
    let (shared_path, entries) = split(request.edits.take(), request)?;
    let shared_path: Option<Rc<str>> = shared_path.map(Rc::from);
    check_count("edits", entries.len())?;
    let drafts = entries
        .into_iter()
        .enumerate()
        .map(|(index, entry)| {
            entry
                .draft(shared_path.as_ref())
                .map_err(|error| error.with_operation(ordinal(index)))
        })
        .collect::<Result<Vec<_>, PatchError>>()?;
    for (index, (path, draft)) in drafts.iter().enumerate() {
        if let Draft::Unsupported(command) = draft {
            return Err(PatchError::new(
                PatchErrorKind::Unsupported,
                format!(
                    "the command `{}` changes no file by itself",
                    command.escape_debug()
                ),
            )
            .with_path(path)
            .with_operation(ordinal(index))
            .with_hint("send `str_replace`, `insert` or `create`"));
        }
    }
    let operations = drafts
        .into_iter()
        .enumerate()
        .filter_map(|(index, (path, draft))| match draft {
            Draft::Change(action) => Some((index, path, action)),
            Draft::Unsupported(_) => None,
        })
        .map(|(index, path, action)| {
            Ok(Operation {
                path: operation_path(&path, index)?,
                action,
            })
        })
        .collect::<Result<_, PatchError>>()?;
    Ok(Patch {
        operations,
        bases: bases.resolve()?,
    })
}

/// The path that all edits share, if one is given beside them, and the edits.
fn split(
    edits: Option<Vec<Entry>>,
    single: Entry,
) -> Result<(Option<String>, Vec<Entry>), PatchError> {
    let Some(edits) = edits else {
        return Ok((None, vec![single]));
    };
    let Entry {
        path, file_path, ..
    } = &single;
    let path = match (path, file_path) {
        (Some(path), None) | (None, Some(path)) => Some(path.clone()),
        (None, None) => None,
        (Some(_), Some(_)) => return Err(two_paths()),
    };
    let beside = Entry {
        path: None,
        file_path: None,
        ..single
    };
    if beside.has_change() {
        return Err(
            PatchError::syntax("the request has `edits` and an edit beside them")
                .with_hint("put every edit into `edits`"),
        );
    }
    Ok((path, edits))
}

fn two_paths() -> PatchError {
    PatchError::syntax("the path is given twice").with_hint("keep one of `path` and `file_path`")
}

/// What an entry asks for.
enum Draft {
    Change(Action),
    Unsupported(String),
}

impl Entry {
    /// Whether any key but the path is there.
    fn has_change(&self) -> bool {
        self.texts().iter().any(|(_, text)| text.is_some())
            || self.command.is_some()
            || self.insert_line.is_some()
            || self.replace_all.is_some()
    }

    fn texts(&self) -> [(&'static str, &Option<String>); 10] {
        [
            ("old", &self.old),
            ("old_str", &self.old_str),
            ("old_string", &self.old_string),
            ("oldText", &self.old_text),
            ("new", &self.new),
            ("new_str", &self.new_str),
            ("new_string", &self.new_string),
            ("newText", &self.new_text),
            ("insert_text", &self.insert_text),
            ("file_text", &self.file_text),
        ]
    }

    fn draft(mut self, shared: Option<&Rc<str>>) -> Result<(Rc<str>, Draft), PatchError> {
        if self.edits.is_some() || self.base.is_some() {
            return Err(PatchError::syntax("an edit has neither `edits` nor `base`")
                .with_hint(format!("the format is {SHAPE}")));
        }
        let own = match (self.path.take(), self.file_path.take()) {
            (Some(_), Some(_)) => return Err(two_paths()),
            (path, file_path) => path.or(file_path),
        };
        let path = match (own, shared) {
            (Some(path), None) => Rc::from(path),
            (None, Some(path)) => Rc::clone(path),
            (Some(path), Some(_)) => {
                return Err(PatchError::syntax(
                    "the path is given beside `edits` and in an edit of them",
                )
                .with_path(path)
                .with_hint("give the path once"));
            }
            (None, None) => {
                return Err(PatchError::syntax("the edit names no file")
                    .with_hint(format!("the format is {SHAPE}")));
            }
        };
        let draft = self.action().map_err(|error| error.with_path(&path))?;
        Ok((path, draft))
    }

    fn action(self) -> Result<Draft, PatchError> {
        let command = self.command.clone();
        let replaces = self.texts().iter().take(4).any(|(_, text)| text.is_some());
        let change = match command.as_deref() {
            Some("create") => self.create()?,
            Some("insert") => self.insert()?,
            Some("str_replace") => self.edit()?,
            Some(other) => return Ok(Draft::Unsupported(other.to_owned())),
            None if self.insert_line.is_some() && !replaces => self.insert()?,
            None => self.edit()?,
        };
        Ok(Draft::Change(change))
    }

    /// Refuses keys that do not belong to what the entry asks for.
    fn only(&self, allowed: &[&str]) -> Result<(), PatchError> {
        let stray = self
            .texts()
            .iter()
            .find(|(key, text)| text.is_some() && !allowed.contains(key))
            .map(|(key, _)| *key)
            .or_else(|| {
                (self.insert_line.is_some() && !allowed.contains(&"insert_line"))
                    .then_some("insert_line")
            })
            .or_else(|| {
                (self.replace_all.is_some() && !allowed.contains(&"replace_all"))
                    .then_some("replace_all")
            });
        match stray {
            None => Ok(()),
            Some(key) => Err(PatchError::syntax(format!(
                "the key `{key}` does not belong to this edit"
            ))
            .with_hint(format!("it may have `{}`", allowed.join("`, `")))),
        }
    }

    fn create(self) -> Result<Action, PatchError> {
        self.only(&["file_text"])?;
        let text = self.file_text.ok_or_else(|| missing("file_text"))?;
        Ok(Action::Create {
            content: Arc::from(text.into_bytes()),
            mode: FileMode::Regular,
        })
    }

    fn insert(self) -> Result<Action, PatchError> {
        const TEXTS: [&str; 3] = ["new", "new_str", "insert_text"];
        self.only(&["new", "new_str", "insert_text", "insert_line"])?;
        let after_line = self.insert_line.ok_or_else(|| missing("insert_line"))?;
        let mut texts = [self.new, self.new_str, self.insert_text]
            .into_iter()
            .flatten();
        let text = match (texts.next(), texts.next()) {
            (Some(text), None) => text,
            (None, _) => return Err(missing("new")),
            (Some(_), Some(_)) => {
                return Err(PatchError::syntax("the text to insert is given twice")
                    .with_hint(format!("keep one of `{}`", TEXTS.join("`, `"))));
            }
        };
        let mut text = text.into_bytes();
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        Ok(Action::Insert(Insert { after_line, text }))
    }

    fn edit(self) -> Result<Action, PatchError> {
        const NAMES: [(&str, &str); 4] = [
            ("old", "new"),
            ("old_str", "new_str"),
            ("old_string", "new_string"),
            ("oldText", "newText"),
        ];
        let used = self
            .texts()
            .iter()
            .find(|(_, text)| text.is_some())
            .map(|(key, _)| *key);
        let (old_key, new_key) = NAMES
            .into_iter()
            .find(|(old, new)| used == Some(*old) || used == Some(*new))
            .unwrap_or(("old", "new"));
        self.only(&[old_key, new_key, "replace_all"])?;
        let replace_all = self.replace_all.unwrap_or(false);
        let first = |texts: [Option<String>; 4]| texts.into_iter().flatten().next();
        let old = first([self.old, self.old_str, self.old_string, self.old_text])
            .ok_or_else(|| missing(old_key))?;
        let new = first([self.new, self.new_str, self.new_string, self.new_text])
            .ok_or_else(|| missing(new_key))?;
        if old.is_empty() {
            return Err(PatchError::syntax("the old text is empty").with_hint(
                "quote the text to replace; to make a new file, use the whole-file format with `create`",
            ));
        }
        Ok(Action::Edit(Edit {
            old: old.into_bytes(),
            new: new.into_bytes(),
            occurrence: if replace_all {
                Occurrence::All
            } else {
                Occurrence::Once
            },
            unit: Unit::Text,
        }))
    }
}

fn missing(key: &str) -> PatchError {
    PatchError::syntax(format!("the edit has no `{key}`")).with_hint(format!(
        "give `{key}`, if need be as an empty text; the format is {SHAPE}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (r#"{"edits":[{"old":"x","new":"y"}]}"#, Syntax),
            (r#"{"path":"a","old":"x","new_str":"y"}"#, Syntax),
            (r#"{"path":"a","old_str":"x"}"#, Syntax),
            (r#"{"path":"a","old_str":"","new_str":"x"}"#, Syntax),
            (
                r#"{"path":"a","file_path":"a","old_str":"x","new_str":"y"}"#,
                Syntax,
            ),
            (
                r#"{"path":"a","edits":[{"path":"a","old":"x","new":"y"}]}"#,
                Syntax,
            ),
            (
                r#"{"path":"a","edits":[{"old":"x","new":"y"}],"new":"z"}"#,
                Syntax,
            ),
            (r#"{"path":"a","edits":[{"edits":[]}]}"#, Syntax),
            (
                r#"{"path":"a","insert_line":1,"new":"x","insert_text":"y"}"#,
                Syntax,
            ),
            (r#"{"path":"a","insert_line":-1,"new":"x"}"#, Syntax),
            (r#"{"path":"a","insert_line":1.5,"new":"x"}"#, Syntax),
            (
                r#"{"path":"a","insert_line":1,"old":"x","new":"y"}"#,
                Syntax,
            ),
            (r#"{"command":"create","path":"a"}"#, Syntax),
            (
                r#"{"command":"create","path":"a","file_text":"x","old_str":"y"}"#,
                Syntax,
            ),
            (r#"{"command":"view","path":"a"}"#, Unsupported),
            (r#"{"command":"undo_edit","path":"a"}"#, Unsupported),
            (
                r#"{"command":"str_replace","path":"/a","old_str":"x","new_str":"y"}"#,
                PathDenied,
            ),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn the_shapes_of_common_tools_mean_the_same() {
        let wanted = parse(br#"{"edits":[{"path":"a","old":"x","new":"y"}]}"#).unwrap();
        for text in [
            r#"{"path":"a","old":"x","new":"y"}"#,
            r#"{"command":"str_replace","path":"a","old_str":"x","new_str":"y"}"#,
            r#"{"path":"a","old_str":"x","new_str":"y"}"#,
            r#"{"file_path":"a","old_string":"x","new_string":"y"}"#,
            r#"{"file_path":"a","old_string":"x","new_string":"y","replace_all":false}"#,
            r#"{"file_path":"a","edits":[{"old_string":"x","new_string":"y"}]}"#,
            r#"{"path":"a","edits":[{"oldText":"x","newText":"y"}]}"#,
            r#"{"edits":[{"path":"a","oldText":"x","newText":"y"}]}"#,
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap(), wanted, "{text}");
        }
        let insert = parse(br#"{"path":"a","insert_line":2,"new":"x"}"#).unwrap();
        for text in [
            r#"{"edits":[{"path":"a","insert_line":2,"new":"x\n"}]}"#,
            r#"{"command":"insert","path":"a","insert_line":2,"new_str":"x"}"#,
            r#"{"command":"insert","path":"a","insert_line":2,"insert_text":"x\n"}"#,
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap(), insert, "{text}");
        }
        let create = parse(br#"{"command":"create","path":"a","file_text":"x"}"#).unwrap();
        assert!(matches!(create.operations[0].action, Action::Create { .. }));
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

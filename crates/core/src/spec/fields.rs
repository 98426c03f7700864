//! Takes the keys of one table with their expected types.
//!
//! A key that was never asked for is unknown, so the list of known keys cannot disagree
//! with the code that reads them. A value of the wrong type is reported and then absent.

use std::str::FromStr;

use super::document::{Entry, Node, Value};
use super::error::{Sink, did_you_mean};
use crate::quantity::ParseQuantityError;

/// A value with its place.
#[derive(Debug, Clone)]
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) at: usize,
    pub(super) path: String,
}

/// One table, and the keys that were asked for so far.
#[derive(Debug)]
pub(super) struct Fields<'n> {
    entries: &'n [Entry],
    at: usize,
    path: String,
    /// Names the table in messages: `in [guard]`.
    place: String,
    known: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// Opens the table at `node`. `title` names it in messages, such as `[guard]`.
    pub(super) fn open(
        node: &'n Node,
        path: impl Into<String>,
        title: impl Into<String>,
        sink: &mut Sink<'_>,
    ) -> Option<Self> {
        let (path, title) = (path.into(), title.into());
        match &node.value {
            Value::Table(entries) => Some(Self {
                entries,
                at: node.at,
                place: if path.is_empty() {
                    "at the top level".to_owned()
                } else {
                    format!("in {title}")
                },
                path,
                known: Vec::new(),
            }),
            other => {
                let message = format!("{title} must be a table, not {}", other.describe());
                sink.report(node.at, path, message, None);
                None
            }
        }
    }

    /// The place of the table.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    /// The path of `key`.
    pub(super) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// The value of `key`, of any type.
    pub(super) fn node(&mut self, key: &'static str) -> Option<&'n Node> {
        self.known.push(key);
        self.entries
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.node)
    }

    /// A value that `read` turns into `T`, or reports as not being `expected`.
    fn typed<T>(
        &mut self,
        sink: &mut Sink<'_>,
        key: &'static str,
        expected: &str,
        read: impl FnOnce(&'n Value) -> Option<T>,
    ) -> Option<Located<T>> {
        let node = self.node(key)?;
        let path = self.path_of(key);
        match read(&node.value) {
            Some(value) => Some(Located {
                value,
                at: node.at,
                path,
            }),
            None => {
                let message = format!("`{key}` must be {expected}, not {}", node.value.describe());
                sink.report(node.at, path, message, None);
                None
            }
        }
    }

    /// A string.
    pub(super) fn text(
        &mut self,
        sink: &mut Sink<'_>,
        key: &'static str,
    ) -> Option<Located<&'n str>> {
        self.typed(sink, key, "a string", |value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// A string that must be there.
    pub(super) fn required_text(
        &mut self,
        sink: &mut Sink<'_>,
        key: &'static str,
    ) -> Option<Located<&'n str>> {
        if self.node(key).is_none() {
            self.missing(sink, key, None);
        }
        self.text(sink, key)
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, sink: &mut Sink<'_>, key: &'static str) -> Option<Located<bool>> {
        self.typed(sink, key, "`true` or `false`", |value| match value {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        })
    }

    /// An integer that is not negative.
    pub(super) fn count(&mut self, sink: &mut Sink<'_>, key: &'static str) -> Option<Located<u64>> {
        self.typed(sink, key, "a whole number from 0", |value| match value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        })
    }

    /// A quantity: a string in its text form or, where its text form may go without a unit,
    /// an integer.
    pub(super) fn quantity<T>(
        &mut self,
        sink: &mut Sink<'_>,
        key: &'static str,
    ) -> Option<Located<T>>
    where
        T: FromStr<Err = ParseQuantityError>,
    {
        let node = self.node(key)?;
        let path = self.path_of(key);
        let text = match &node.value {
            Value::Text(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            other => other.describe(),
        };
        match text.parse() {
            Ok(value) => Some(Located {
                value,
                at: node.at,
                path,
            }),
            Err(error) => {
                let message = match &node.value {
                    Value::Text(_) | Value::Integer(_) => format!(
                        "`{key}`: `{}` is not {}",
                        text.escape_debug(),
                        error.expected
                    ),
                    other => format!(
                        "`{key}` must be {}, not {}",
                        error.expected,
                        other.describe()
                    ),
                };
                sink.report(node.at, path, message, None);
                None
            }
        }
    }

    /// A list of strings.
    pub(super) fn texts(
        &mut self,
        sink: &mut Sink<'_>,
        key: &'static str,
    ) -> Option<Vec<Located<&'n str>>> {
        let list = self.typed(sink, key, "a list of strings", |value| match value {
            Value::List(items) => Some(items),
            _ => None,
        })?;
        let mut texts = Vec::with_capacity(list.value.len());
        for (index, item) in list.value.iter().enumerate() {
            let path = format!("{}[{index}]", list.path);
            match &item.value {
                Value::Text(text) => texts.push(Located {
                    value: text.as_str(),
                    at: item.at,
                    path,
                }),
                other => {
                    let message =
                        format!("`{key}` must hold strings only, not {}", other.describe());
                    sink.report(item.at, path, message, None);
                }
            }
        }
        Some(texts)
    }

    /// A table.
    pub(super) fn table(
        &mut self,
        sink: &mut Sink<'_>,
        key: &'static str,
        title: &str,
    ) -> Option<Fields<'n>> {
        let node = self.node(key)?;
        let path = self.path_of(key);
        Fields::open(node, path, title, sink)
    }

    /// Reports that `key` is not there.
    pub(super) fn missing(&self, sink: &mut Sink<'_>, key: &str, hint: Option<&str>) {
        let message = format!("key `{key}` is missing {}", self.place);
        sink.report(self.at, self.path_of(key), message, hint.map(str::to_owned));
    }

    /// Reports every key that was not asked for.
    pub(super) fn finish(self, sink: &mut Sink<'_>) {
        let mut known = self.known.clone();
        known.sort_unstable();
        known.dedup();
        for entry in self.entries {
            if known.contains(&entry.key.as_str()) {
                continue;
            }
            let message = format!("unknown key `{}` {}", entry.key.escape_debug(), self.place);
            let hint = did_you_mean(&entry.key, known.iter().copied())
                .unwrap_or_else(|| format!("known here: {}", known.join(", ")));
            sink.report(entry.at, self.path_of(&entry.key), message, Some(hint));
        }
    }
}

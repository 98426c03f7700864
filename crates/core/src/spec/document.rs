//! A document that keeps the place of every key and value, read from TOML or JSON.
//!
//! Both forms become one tree of [`Node`]s, so that a spec means the same in either.
//! Bounds: nesting is limited by the readers (80 levels), size by the caller.

use toml::de::{DeTable, DeValue};

use super::error::{Sink, Source, SpecErrors};
use super::json;

/// A value and the byte at which it starts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: usize,
    pub(crate) value: Value,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Only JSON has it.
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    /// Only TOML has it; its text form.
    Time(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// One key of a table with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: usize,
    pub(crate) node: Node,
}

impl Value {
    /// What the value is, for messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => format!("`{value}`"),
            Self::Integer(value) => format!("the integer {value}"),
            Self::Float(value) => format!("the float {value}"),
            Self::Text(_) => "a string".to_owned(),
            Self::Time(_) => "a date or time".to_owned(),
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }

    /// The value as JSON, keys sorted. Times become strings.
    ///
    /// # Errors
    /// When a number has no JSON form (`inf`, `nan`).
    pub(crate) fn to_json(&self) -> Result<serde_json::Value, &'static str> {
        use serde_json::Value as Json;
        Ok(match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Integer(value) => Json::from(*value),
            Self::Float(value) => serde_json::Number::from_f64(*value)
                .map(Json::Number)
                .ok_or("`inf` and `nan` have no JSON form")?,
            Self::Text(value) | Self::Time(value) => Json::String(value.clone()),
            Self::List(items) => Json::Array(
                items
                    .iter()
                    .map(|node| node.value.to_json())
                    .collect::<Result<_, _>>()?,
            ),
            Self::Table(entries) => Json::Object(object(entries)?),
        })
    }
}

/// A table as a JSON object, keys sorted whatever order `serde_json` was built to keep.
pub(crate) fn object(
    entries: &[Entry],
) -> Result<serde_json::Map<String, serde_json::Value>, &'static str> {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by(|a, b| a.key.cmp(&b.key));
    sorted
        .into_iter()
        .map(|entry| Ok((entry.key.clone(), entry.node.value.to_json()?)))
        .collect()
}

/// Reads a document, for the commands' templates.
///
/// # Errors
/// Every problem found, with its place.
pub(crate) fn parse_document(source: Source<'_>) -> Result<Node, SpecErrors> {
    let mut sink = Sink::new(source);
    let node = parse(source, &mut sink);
    sink.finish(node)
}

/// Reads a document: JSON if its first character that is not white space is `{`, which no
/// TOML document starts with; else TOML. Reports what is wrong with it to `sink`.
pub(super) fn parse(source: Source<'_>, sink: &mut Sink<'_>) -> Option<Node> {
    if source.text.trim_start().starts_with('{') {
        match json::parse(source.text) {
            Ok(node) => Some(node),
            Err(error) => {
                sink.report(error.at, "", error.message, None);
                None
            }
        }
    } else {
        let (table, errors) = DeTable::parse_recoverable(source.text);
        for error in &errors {
            let at = error.span().map_or(0, |span| span.start);
            sink.report(at, "", format!("not valid TOML: {}", error.message()), None);
        }
        if !errors.is_empty() {
            return None;
        }
        let at = table.span().start;
        from_toml(&DeValue::Table(table.into_inner()), at, sink)
    }
}

fn from_toml(value: &DeValue<'_>, at: usize, sink: &mut Sink<'_>) -> Option<Node> {
    let value = match value {
        DeValue::String(text) => Value::Text(text.clone().into_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => {
                sink.report(at, "", "the integer does not fit into 64 bits", None);
                return None;
            }
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(number) => Value::Float(number),
            Err(_) => {
                sink.report(at, "", "the float has no value", None);
                return None;
            }
        },
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(value) => Value::Time(value.to_string()),
        DeValue::Array(items) => Value::List(
            items
                .iter()
                .map(|item| from_toml(item.get_ref(), item.span().start, sink))
                .collect::<Option<_>>()?,
        ),
        DeValue::Table(entries) => Value::Table(
            entries
                .iter()
                .map(|(key, value)| {
                    Some(Entry {
                        key: key.get_ref().clone().into_owned(),
                        at: key.span().start,
                        node: from_toml(value.get_ref(), value.span().start, sink)?,
                    })
                })
                .collect::<Option<_>>()?,
        ),
    };
    Some(Node { at, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Node, String> {
        let source = Source { file: "f", text };
        let mut sink = Sink::new(source);
        let node = parse(source, &mut sink);
        sink.finish(node).map_err(|errors| errors.to_string())
    }

    fn json(text: &str) -> serde_json::Value {
        read(text).unwrap().value.to_json().unwrap()
    }

    #[test]
    fn toml_and_json_read_alike() {
        let toml = "a = 1\nb = [true, 'x', 1.5]\n[c]\nd.e = 0x10\n[[f]]\ng = ''\n";
        let same = r#" {"a": 1, "b": [true, "x", 1.5], "c": {"d": {"e": 16}}, "f": [{"g": ""}]}"#;
        assert_eq!(json(toml), json(same));
        assert_eq!(
            json(same),
            serde_json::from_str::<serde_json::Value>(same).unwrap()
        );
    }

    #[test]
    fn keys_and_values_know_their_place() {
        let text = "x = 1\n[t]\nkey = 'v'\n";
        let Value::Table(entries) = read(text).unwrap().value else {
            unreachable!("a document is a table")
        };
        let table = entries.iter().find(|entry| entry.key == "t").unwrap();
        let Value::Table(inner) = &table.node.value else {
            unreachable!("[t] is a table")
        };
        assert_eq!((inner[0].at, inner[0].node.at), (10, 16));
    }

    #[test]
    fn broken_documents_say_where() {
        assert!(
            read("a = \n")
                .unwrap_err()
                .starts_with("f:1:5: not valid TOML"),
            "{:?}",
            read("a = \n")
        );
        assert!(read("a = 1\na = 2\n").unwrap_err().contains("2:1"));
        assert!(
            read("a = 99999999999999999999")
                .unwrap_err()
                .contains("64 bits")
        );
        assert!(
            read("{\"a\": 1,\n \"a\": 2}")
                .unwrap_err()
                .contains("f:2:2: key `a` is there twice")
        );
        let deep = format!("a = {}1{}", "[".repeat(5000), "]".repeat(5000));
        assert!(read(&deep).is_err());
    }
}

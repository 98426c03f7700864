//! What the output of a program must be.

use serde::Serialize;
use serde_json::Value as Json;

use super::Pattern;
use super::document::{Node, Value};
use super::error::Sink;
use super::fields::{Fields, Located};
use super::kinds::{Context, spec_path};

/// Longest name of a case, in characters.
const MAX_NAME: usize = 200;

/// What a text must be.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedText {
    /// Exactly this.
    Text(String),
    /// Something that the pattern matches somewhere.
    Pattern(Pattern),
    /// A JSON document that equals this value.
    Json {
        /// The value.
        value: Json,
        /// How far numbers may be away, see
        /// [`difference`](crate::verify::difference).
        tolerance: f64,
    },
    /// The same words, of which those that are numbers may differ a little.
    Numbers {
        /// The text.
        text: String,
        /// How far numbers may be away, as in JSON.
        tolerance: f64,
    },
}

/// The name of a case in reports; `None` stands for its number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CaseName(pub Option<String>);

impl CaseName {
    /// The name, or the number of the case, counted from 1.
    #[must_use]
    pub fn or_number(&self, index: usize) -> String {
        self.0
            .clone()
            .unwrap_or_else(|| format!("case {}", index.saturating_add(1)))
    }

    /// Reads `name`.
    pub(super) fn read(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Self {
        let Some(text) = fields.text(sink, "name") else {
            return Self(None);
        };
        let length = text.value.chars().count();
        if length == 0 || length > MAX_NAME || text.value.chars().any(char::is_control) {
            let message = format!("`name` must have 1 to {MAX_NAME} printable characters");
            sink.report(text.at, text.path, message, None);
            return Self(None);
        }
        Self(Some(text.value.to_owned()))
    }
}

/// Compiles a pattern, or reports why it is none.
pub(super) fn pattern(text: &Located<&str>, sink: &mut Sink<'_>) -> Option<Pattern> {
    Pattern::new(text.value)
        .map_err(|error| sink.report(text.at, text.path.clone(), error.to_string(), None))
        .ok()
}

/// Reads `tolerance`: a number that is finite and not negative.
pub(super) fn tolerance(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<f64> {
    let node = fields.node("tolerance")?;
    let number = match node.value {
        Value::Float(number) => Some(number),
        // Whole tolerances are small.
        Value::Integer(number) => i32::try_from(number).ok().map(f64::from),
        _ => None,
    };
    let found = number.filter(|number| number.is_finite() && *number >= 0.0);
    if found.is_none() {
        let message = format!(
            "`tolerance` must be a number from 0, not {}",
            node.value.describe()
        );
        sink.report(node.at, fields.path_of("tolerance"), message, None);
    }
    found
}

/// Reads a text: a string, or `{ file = "…" }` for one that stands in a file.
pub(super) fn text_of(
    node: &Node,
    path: &str,
    context: &Context<'_>,
    sink: &mut Sink<'_>,
) -> Option<String> {
    if let Value::Text(text) = &node.value {
        return Some(text.clone());
    }
    let mut fields = Fields::open(node, path, "a text that is no string", sink)?;
    let text = fields
        .required_text(sink, "file")
        .and_then(|file| text_of_file(&file, context, sink));
    fields.finish(sink);
    text
}

fn text_of_file(
    file: &Located<&str>,
    context: &Context<'_>,
    sink: &mut Sink<'_>,
) -> Option<String> {
    let path = spec_path(file, sink)?;
    let read = (context.resolve)(&path)
        .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned()));
    read.map_err(|reason| {
        let message = format!("`{}`: {reason}", path.escape_debug());
        sink.report(file.at, file.path.clone(), message, None);
    })
    .ok()
}

/// Reads what a text must be: a string for exactly that, or a table with one of `text`,
/// `file`, `pattern` and `json`, and `tolerance`.
pub(super) fn expected_of(
    node: &Node,
    path: &str,
    context: &Context<'_>,
    sink: &mut Sink<'_>,
) -> Option<ExpectedText> {
    if let Value::Text(text) = &node.value {
        return Some(ExpectedText::Text(text.clone()));
    }
    let mut fields = Fields::open(node, path, "what a text must be", sink)?;
    let expected = in_table(&mut fields, context, sink);
    fields.finish(sink);
    expected
}

fn in_table(
    fields: &mut Fields<'_>,
    context: &Context<'_>,
    sink: &mut Sink<'_>,
) -> Option<ExpectedText> {
    let problems = sink.count();
    let text = fields.text(sink, "text").map(|text| text.value.to_owned());
    let file = fields
        .text(sink, "file")
        .and_then(|file| text_of_file(&file, context, sink));
    let pattern = fields
        .text(sink, "pattern")
        .and_then(|text| pattern(&text, sink));
    let json = fields.node("json").and_then(|node| {
        node.value
            .to_json()
            .map_err(|message| sink.report(node.at, fields.path_of("json"), message, None))
            .ok()
    });
    let tolerance = tolerance(fields, sink);
    if sink.count() > problems {
        return None;
    }
    match (text.or(file), pattern, json, tolerance) {
        (Some(text), None, None, None) => Some(ExpectedText::Text(text)),
        (Some(text), None, None, Some(tolerance)) => {
            Some(ExpectedText::Numbers { text, tolerance })
        }
        (None, Some(pattern), None, None) => Some(ExpectedText::Pattern(pattern)),
        (None, None, Some(value), tolerance) => Some(ExpectedText::Json {
            value,
            tolerance: tolerance.unwrap_or(0.0),
        }),
        _ => {
            let message = "give one of `text`, `file`, `pattern` and `json`; `tolerance` goes with \
                `json`, and with a text that holds numbers";
            sink.report(fields.at(), fields.path_of("text"), message, None);
            None
        }
    }
}

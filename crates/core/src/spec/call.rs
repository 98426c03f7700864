//! Calls of a function that must return, or raise, what is expected.

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::cases;
use super::document::{Value, object};
use super::error::Sink;
use super::expected::{pattern, tolerance};
use super::fields::{Fields, Located};
use super::interpreter::{self, Function, Interpreter, is_dotted};
use super::kinds::Context;
use super::suite::choice;
use super::{CaseName, Pattern};

/// A function returns what is expected, call by call. The calls are made in guests that hold
/// the repository and never an expected value; answers are compared outside.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CallCheck {
    /// What it runs on.
    #[serde(flatten)]
    pub interpreter: Interpreter,
    /// The function.
    pub function: Function,
    /// Which calls share an instance. Default: none do.
    pub instance: Instance,
    /// Whether reports keep arguments and expected values to themselves. Default `false`.
    pub hidden: bool,
    /// The calls; at least one.
    pub cases: Vec<CallCase>,
}

/// Which calls share an instance of the interpreter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Instance {
    /// Each call gets one of its own, in which the module was imported and nothing else
    /// happened.
    #[default]
    Each,
    /// All calls are made in one, in order.
    Shared,
}

impl Instance {
    /// Every choice.
    pub const ALL: [Self; 2] = [Self::Each, Self::Shared];

    /// The name used in specs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::Shared => "shared",
        }
    }
}

/// One call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CallCase {
    /// Its name in reports; `None` for its number.
    pub name: CaseName,
    /// Arguments by place.
    pub args: Vec<Json>,
    /// Arguments by name.
    pub kwargs: Map<String, Json>,
    /// What must come of it.
    pub expected: CallExpectation,
}

/// What must come of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallExpectation {
    /// A value whose JSON form equals this one.
    Returns {
        /// The value.
        value: Json,
        /// How far numbers may be away, see
        /// [`difference`](crate::verify::difference). Default 0.
        tolerance: f64,
    },
    /// An exception.
    Raises {
        /// The name of its class or of one of that class's bases.
        exception: String,
        /// What its message must match.
        message: Option<Pattern>,
    },
}

/// Reads the keys of `kind = "call"`.
pub(super) fn read(
    fields: &mut Fields<'_>,
    context: &mut Context<'_>,
    sink: &mut Sink<'_>,
) -> Option<CallCheck> {
    let interpreter = interpreter::read(fields, sink);
    let function = fields
        .required_text(sink, "function")
        .and_then(|text| interpreter::function(&text, sink));
    let instance = instance(fields, sink);
    let hidden = fields
        .flag(sink, "hidden")
        .is_some_and(|hidden| hidden.value);
    let tolerance = tolerance(fields, sink).unwrap_or(0.0);
    let cases = cases::read(fields, context, sink, &mut |fields, _, sink| {
        case(fields, tolerance, sink)
    });
    Some(CallCheck {
        interpreter: interpreter?,
        function: function?,
        instance: instance?,
        hidden,
        cases: cases?,
    })
}

/// Reads `instance`.
pub(super) fn instance(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<Instance> {
    match fields.text(sink, "instance") {
        None => Some(Instance::default()),
        Some(text) => choice("instance", Instance::ALL, Instance::name, text, sink),
    }
}

fn case(fields: &mut Fields<'_>, shared: f64, sink: &mut Sink<'_>) -> Option<CallCase> {
    let problems = sink.count();
    let name = CaseName::read(fields, sink);
    let args = match fields.node("args") {
        None => Vec::new(),
        Some(node) => match &node.value {
            Value::List(_) => match json(fields, "args", sink)? {
                Json::Array(items) => items,
                _ => return None,
            },
            other => {
                let message = format!("`args` must be a list, not {}", other.describe());
                sink.report(node.at, fields.path_of("args"), message, None);
                return None;
            }
        },
    };
    let kwargs = match fields.node("kwargs") {
        None => Map::new(),
        Some(node) => match &node.value {
            Value::Table(entries) => object(entries)
                .map_err(|message| sink.report(node.at, fields.path_of("kwargs"), message, None))
                .ok()?,
            other => {
                let message = format!("`kwargs` must be a table, not {}", other.describe());
                sink.report(node.at, fields.path_of("kwargs"), message, None);
                return None;
            }
        },
    };
    let own = tolerance(fields, sink);
    let returns = fields
        .node("returns")
        .is_some()
        .then(|| json(fields, "returns", sink));
    let raises = fields.text(sink, "raises");
    let message = fields
        .text(sink, "message")
        .map(|text| pattern(&text, sink));
    let expected = match (returns, raises) {
        (Some(value), None) => CallExpectation::Returns {
            value: value?,
            tolerance: own.unwrap_or(shared),
        },
        (None, Some(exception)) => CallExpectation::Raises {
            exception: exception_name(&exception, sink)?,
            message: match message {
                None => None,
                Some(pattern) => Some(pattern?),
            },
        },
        (None, None) => {
            let hint = "or name the exception that must come as `raises`";
            fields.missing(sink, "returns", Some(hint));
            return None;
        }
        (Some(_), Some(raises)) => {
            let message = "`returns` and `raises` exclude each other";
            sink.report(raises.at, raises.path, message, None);
            return None;
        }
    };
    (sink.count() == problems).then_some(CallCase {
        name,
        args,
        kwargs,
        expected,
    })
}

fn exception_name(text: &Located<&str>, sink: &mut Sink<'_>) -> Option<String> {
    if is_dotted(text.value) {
        return Some(text.value.to_owned());
    }
    let message = format!("`{}` is not the name of a class", text.value.escape_debug());
    let hint = "write `KeyError` or `package.module.Error`";
    sink.report(text.at, text.path.clone(), message, Some(hint.to_owned()));
    None
}

/// The value of `key` as JSON.
fn json(fields: &mut Fields<'_>, key: &'static str, sink: &mut Sink<'_>) -> Option<Json> {
    let node = fields.node(key)?;
    node.value
        .to_json()
        .map_err(|message| sink.report(node.at, fields.path_of(key), message, None))
        .ok()
}

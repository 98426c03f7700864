//! A function that must agree with a trusted one on generated arguments.

use serde::Serialize;

use super::call::{Instance, instance};
use super::cases::MAX_CASES;
use super::error::Sink;
use super::expected::tolerance;
use super::fields::Fields;
use super::interpreter::{self, Function, Interpreter, is_dotted};
use super::kinds::{Context, spec_path};

/// How many arguments lists are generated where nothing is said.
const CASES: u64 = 100;

/// A function agrees with a trusted reference on arguments that the reference generates. The
/// two run in separate instances, and their answers are compared outside of both.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct OracleCheck {
    /// What both run on.
    #[serde(flatten)]
    pub interpreter: Interpreter,
    /// The function under test.
    pub function: Function,
    /// A Python file with the reference, relative to the folder of the spec.
    pub reference: String,
    /// The trusted function in it. Default: the name of the one under test.
    pub reference_function: String,
    /// The function in it that makes arguments of a `random.Random` and the number of the
    /// case: a list, or a table with `args` and `kwargs`. Default `generate`.
    pub generate: String,
    /// How many cases, 1 to 100,000. Default 100.
    pub cases: u64,
    /// How far numbers may be away, see [`difference`](crate::verify::difference). Default 0.
    pub tolerance: f64,
    /// Which calls share an instance. Default: none do.
    pub instance: Instance,
    /// Whether reports keep arguments and expected values to themselves. Default `false`.
    pub hidden: bool,
}

/// Reads the keys of `kind = "oracle"`.
pub(super) fn read(
    fields: &mut Fields<'_>,
    context: &mut Context<'_>,
    sink: &mut Sink<'_>,
) -> Option<OracleCheck> {
    let interpreter = interpreter::read(fields, sink);
    let function = fields
        .required_text(sink, "function")
        .and_then(|text| interpreter::function(&text, sink));
    let reference = fields.required_text(sink, "reference").and_then(|text| {
        let path = spec_path(&text, sink)?;
        // Read now, so that a file that is missing is found before anything runs.
        if let Err(reason) = (context.resolve)(&path) {
            let message = format!("`{}`: {reason}", path.escape_debug());
            sink.report(text.at, text.path, message, None);
            return None;
        }
        Some(path)
    });
    let reference_function = name(fields, "reference-function", sink);
    let generate = name(fields, "generate", sink);
    let cases = match fields.count(sink, "cases") {
        None => CASES,
        Some(cases) if (1..=MAX_CASES as u64).contains(&cases.value) => cases.value,
        Some(cases) => {
            let message = format!("`cases` must be 1 to {MAX_CASES}");
            sink.report(cases.at, cases.path, message, None);
            return None;
        }
    };
    let tolerance = tolerance(fields, sink).unwrap_or(0.0);
    let instance = instance(fields, sink);
    let hidden = fields
        .flag(sink, "hidden")
        .is_some_and(|hidden| hidden.value);
    let function = function?;
    Some(OracleCheck {
        interpreter: interpreter?,
        reference: reference?,
        reference_function: reference_function?.unwrap_or_else(|| function.name.clone()),
        generate: generate?.unwrap_or_else(|| "generate".to_owned()),
        function,
        cases,
        tolerance,
        instance: instance?,
        hidden,
    })
}

/// A dotted name, if there is one; the outer `None` says that it is wrong.
fn name(fields: &mut Fields<'_>, key: &'static str, sink: &mut Sink<'_>) -> Option<Option<String>> {
    match fields.text(sink, key) {
        None => Some(None),
        Some(text) if is_dotted(text.value) => Some(Some(text.value.to_owned())),
        Some(text) => {
            let message = format!("`{}` is not a name", text.value.escape_debug());
            sink.report(text.at, text.path, message, None);
            None
        }
    }
}

//! Cases of a check: listed in the spec as `[[check.case]]`, or in files of the same form.

use super::document::{Node, Value, parse};
use super::error::{Sink, Source, SpecErrors};
use super::fields::Fields;
use super::kinds::{Context, spec_path};

/// Most cases in one spec, in all checks together.
pub const MAX_CASES: usize = 100_000;

/// Reads each case by `read`: those of the spec first, then those of the files that
/// `cases-from` names, in order. None at all is reported.
pub(super) fn read<T>(
    fields: &mut Fields<'_>,
    context: &mut Context<'_>,
    sink: &mut Sink<'_>,
    read: &mut dyn FnMut(&mut Fields<'_>, &mut Context<'_>, &mut Sink<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let problems = sink.count();
    let mut cases = Vec::new();
    if let Some(node) = fields.node("case") {
        let path = fields.path_of("case");
        list(node, &path, &mut cases, context, sink, read);
    }
    for text in fields.texts(sink, "cases-from").unwrap_or_default() {
        let Some(path) = spec_path(&text, sink) else {
            continue;
        };
        match (context.resolve)(&path)
            .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned()))
        {
            Ok(text) => {
                let source = Source {
                    file: &path,
                    text: &text,
                };
                if let Err(errors) = file(source, &mut cases, context, read) {
                    sink.adopt(errors);
                }
            }
            Err(reason) => {
                let message = format!("`{}`: {reason}", path.escape_debug());
                sink.report(text.at, text.path, message, None);
            }
        }
    }
    if sink.count() > problems {
        return None;
    }
    if cases.is_empty() {
        let hint = "write `[[check.case]]`, or name a file with cases as `cases-from`";
        fields.missing(sink, "case", Some(hint));
        return None;
    }
    Some(cases)
}

/// Reads the cases of a file: a document in TOML or JSON with a list `case`.
fn file<T>(
    source: Source<'_>,
    cases: &mut Vec<T>,
    context: &mut Context<'_>,
    read: &mut dyn FnMut(&mut Fields<'_>, &mut Context<'_>, &mut Sink<'_>) -> Option<T>,
) -> Result<(), SpecErrors> {
    let mut sink = Sink::new(source);
    if let Some(node) = parse(source, &mut sink)
        && let Some(mut fields) = Fields::open(&node, "", "the file", &mut sink)
    {
        match fields.node("case") {
            None => fields.missing(&mut sink, "case", Some("write `[[case]]`")),
            Some(node) => list(node, "case", cases, context, &mut sink, read),
        }
        fields.finish(&mut sink);
    }
    sink.finish(Some(()))
}

fn list<T>(
    node: &Node,
    path: &str,
    cases: &mut Vec<T>,
    context: &mut Context<'_>,
    sink: &mut Sink<'_>,
    read: &mut dyn FnMut(&mut Fields<'_>, &mut Context<'_>, &mut Sink<'_>) -> Option<T>,
) {
    let Value::List(items) = &node.value else {
        let message = format!(
            "`case` must be a list of tables, not {}",
            node.value.describe()
        );
        sink.report(node.at, path, message, None);
        return;
    };
    context.cases = context.cases.saturating_add(items.len());
    if context.cases > MAX_CASES {
        let message = format!("the spec has more than {MAX_CASES} cases");
        sink.report(node.at, path, message, None);
        return;
    }
    for (index, item) in items.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Some(mut fields) = Fields::open(item, path, "[[check.case]]", sink) else {
            continue;
        };
        let case = read(&mut fields, context, sink);
        fields.finish(sink);
        cases.extend(case);
    }
}

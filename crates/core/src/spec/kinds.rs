//! Reads what a check asks for, kind by kind.

use super::document::{Value, object};
use super::error::{Sink, did_you_mean};
use super::fields::{Fields, Located};
use super::read::Resolve;
use super::{
    BudgetOverrides, CheckKind, DiffCheck, FileContains, FileExists, PackCheck, PackRef, Pattern,
    call, oracle, program, suite,
};
use crate::RepoPath;
use crate::budget::Budget;

/// The kinds of a spec; `defines` is short for a check of the pack `source`.
const KINDS: [&str; 9] = [
    "file-exists",
    "file-contains",
    "diff",
    "pack",
    "defines",
    "suite",
    "call",
    "oracle",
    "program",
];
/// Longest text of `file-contains`, in bytes.
const MAX_TEXT: usize = 16 << 10;

/// What all checks of a spec share while they are read.
pub(super) struct Context<'a> {
    budget: &'a BudgetOverrides,
    pub(super) resolve: &'a Resolve<'a>,
    /// Test ids read so far, in all lists.
    pub(super) ids: usize,
    /// Cases read so far, of all checks.
    pub(super) cases: usize,
}

impl<'a> Context<'a> {
    pub(super) fn new(budget: &'a BudgetOverrides, resolve: &'a Resolve<'a>) -> Self {
        Self {
            budget,
            resolve,
            ids: 0,
            cases: 0,
        }
    }
}

/// Reads the kind with its keys, and the check's budget. Takes the fields to their end, so
/// that keys which no one asked for are reported.
pub(super) fn read(
    mut fields: Fields<'_>,
    context: &mut Context<'_>,
    sink: &mut Sink<'_>,
) -> Option<(CheckKind, Budget)> {
    let name = fields.required_text(sink, "kind")?;
    let f = &mut fields;
    let kind = match name.value {
        "file-exists" => file_exists(f, sink).map(CheckKind::FileExists),
        "file-contains" => file_contains(f, sink).map(CheckKind::FileContains),
        "diff" => diff(f, sink).map(CheckKind::Diff),
        "pack" => pack(f, sink).map(CheckKind::Pack),
        "defines" => defines(f, sink).map(CheckKind::Pack),
        "suite" => suite::read(f, context, sink).map(CheckKind::Suite),
        "call" => call::read(f, context, sink).map(CheckKind::Call),
        "oracle" => oracle::read(f, context, sink).map(CheckKind::Oracle),
        "program" => program::read(f, context, sink).map(CheckKind::Program),
        other => {
            let message = format!("unknown kind `{}`", other.escape_debug());
            let hint = did_you_mean(other, KINDS)
                .unwrap_or_else(|| format!("known kinds: {}", KINDS.join(", ")));
            sink.report(name.at, name.path, message, Some(hint));
            return None;
        }
    };
    let guest = !matches!(name.value, "file-exists" | "file-contains" | "diff");
    let own = guest
        .then(|| fields.table(sink, "budget", "[check.budget]"))
        .flatten()
        .map(|table| BudgetOverrides::read(table, sink))
        .unwrap_or_default();
    fields.finish(sink);
    let kind = kind?;
    let budget = own.apply(context.budget.apply(kind.default_budget()));
    Some((kind, budget))
}

pub(super) fn repo_path(text: &Located<&str>, sink: &mut Sink<'_>) -> Option<RepoPath> {
    RepoPath::new(text.value)
        .map_err(|error| sink.report(text.at, text.path.clone(), error.to_string(), None))
        .ok()
}

/// A path relative to the folder of the spec.
pub(super) fn spec_path(text: &Located<&str>, sink: &mut Sink<'_>) -> Option<String> {
    let value = text.value;
    let drive = value.get(1..2) == Some(":");
    if value.is_empty()
        || value.starts_with('/')
        || drive
        || value.contains('\\')
        || value.chars().any(char::is_control)
    {
        let message = format!("`{}` is not a relative path", value.escape_debug());
        let hint = "it starts at the folder of the spec, with `/` between its parts";
        sink.report(text.at, text.path.clone(), message, Some(hint.to_owned()));
        return None;
    }
    Some(value.to_owned())
}

fn file_exists(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<FileExists> {
    let one = fields.text(sink, "path");
    let many = fields.texts(sink, "paths");
    let given = many.as_ref().map_or(0, Vec::len);
    let texts: Vec<_> = one.into_iter().chain(many.into_iter().flatten()).collect();
    if texts.is_empty() {
        fields.missing(sink, "path", Some("or list several as `paths`"));
        return None;
    }
    let paths: Vec<RepoPath> = texts
        .iter()
        .filter_map(|text| repo_path(text, sink))
        .collect();
    (paths.len() >= texts.len().max(given)).then_some(FileExists { paths })
}

fn file_contains(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<FileContains> {
    let path = fields.required_text(sink, "path");
    let text = fields.text(sink, "text");
    let pattern = fields.text(sink, "pattern");
    let count = fields.count(sink, "count").map(|count| count.value);
    let (compiled, wanted) = match (text, pattern) {
        (Some(text), None) => {
            if text.value.is_empty() || text.value.len() > MAX_TEXT {
                let message = format!("`text` must have 1 to {MAX_TEXT} bytes");
                sink.report(text.at, text.path, message, None);
                return None;
            }
            let compiled = Pattern::literal(text.value)
                .map_err(|error| sink.report(text.at, text.path, error.to_string(), None));
            (compiled.ok()?, format!("`{}`", text.value))
        }
        (None, Some(pattern)) => (
            compile(&pattern, sink)?,
            format!("the pattern `{}`", pattern.value),
        ),
        (None, None) => {
            fields.missing(
                sink,
                "text",
                Some("or give a regular expression as `pattern`"),
            );
            return None;
        }
        (Some(_), Some(pattern)) => {
            let message = "`text` and `pattern` exclude each other";
            sink.report(pattern.at, pattern.path, message, None);
            return None;
        }
    };
    Some(FileContains {
        path: repo_path(&path?, sink)?,
        pattern: compiled,
        wanted,
        count,
    })
}

fn compile(text: &Located<&str>, sink: &mut Sink<'_>) -> Option<Pattern> {
    Pattern::new(text.value)
        .map_err(|error| sink.report(text.at, text.path.clone(), error.to_string(), None))
        .ok()
}

fn diff(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<DiffCheck> {
    let max_files = fields.count(sink, "max-files").map(|count| count.value);
    let max_changed_lines = fields
        .count(sink, "max-changed-lines")
        .map(|count| count.value);
    let texts = fields.texts(sink, "forbid-added").unwrap_or_default();
    let forbid_added: Vec<Pattern> = texts
        .iter()
        .filter_map(|text| compile(text, sink))
        .collect();
    let no_trailing_whitespace = fields
        .flag(sink, "no-trailing-whitespace")
        .is_some_and(|flag| flag.value);
    if max_files.is_none()
        && max_changed_lines.is_none()
        && texts.is_empty()
        && !no_trailing_whitespace
    {
        let message = "the check `diff` asks for nothing";
        let hint = "give `max-files`, `max-changed-lines`, `forbid-added` or `no-trailing-whitespace = true`";
        sink.report(
            fields.at(),
            fields.path_of("kind"),
            message,
            Some(hint.to_owned()),
        );
        return None;
    }
    (forbid_added.len() == texts.len()).then_some(DiffCheck {
        max_files,
        max_changed_lines,
        forbid_added,
        no_trailing_whitespace,
    })
}

/// Whether `name` can be that of a pack, a check of a pack or a runtime.
fn is_plain_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.'))
}

pub(super) fn plain_name(text: &Located<&str>, key: &str, sink: &mut Sink<'_>) -> Option<String> {
    if is_plain_name(text.value) {
        return Some(text.value.to_owned());
    }
    let message = format!(
        "`{key}`: `{}` is not a name: 1 to 64 of a-z, 0-9, `-`, `_`, `.`, starting with a letter",
        text.value.escape_debug()
    );
    sink.report(text.at, text.path.clone(), message, None);
    None
}

fn pack(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<PackCheck> {
    let pack = fields.required_text(sink, "pack").and_then(|text| {
        if text.value.ends_with(".wasm") {
            spec_path(&text, sink).map(PackRef::File)
        } else if is_plain_name(text.value) {
            Some(PackRef::BuiltIn(text.value.to_owned()))
        } else {
            let message = format!("`{}` is not a pack", text.value.escape_debug());
            let hint = "give the name of a built-in pack, or a path that ends in `.wasm`";
            sink.report(text.at, text.path, message, Some(hint.to_owned()));
            None
        }
    });
    let check = fields
        .required_text(sink, "check")
        .and_then(|text| plain_name(&text, "check", sink));
    let params = match fields.node("params") {
        None => Some(serde_json::Map::new()),
        Some(node) => match &node.value {
            Value::Table(entries) => object(entries)
                .map_err(|message| sink.report(node.at, fields.path_of("params"), message, None))
                .ok(),
            other => {
                let message = format!("`params` must be a table, not {}", other.describe());
                sink.report(node.at, fields.path_of("params"), message, None);
                None
            }
        },
    };
    Some(PackCheck {
        pack: pack?,
        check: check?,
        params: params?,
    })
}

/// `defines` names its symbol under the key that says what it must be.
fn defines(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<PackCheck> {
    let path = fields
        .required_text(sink, "path")
        .and_then(|text| repo_path(&text, sink));
    let named: Vec<(&str, Located<&str>)> = [
        ("function", fields.text(sink, "function")),
        ("class", fields.text(sink, "class")),
        ("any", fields.text(sink, "symbol")),
    ]
    .into_iter()
    .filter_map(|(of, text)| Some((of, text?)))
    .collect();
    let language = fields.text(sink, "language");
    let (kind, name) = match named.as_slice() {
        [(kind, name)] => (*kind, name),
        [] => {
            let hint = "give the name as `function`, `class` or, for either, `symbol`";
            fields.missing(sink, "function", Some(hint));
            return None;
        }
        [_, (_, second), ..] => {
            let message = "only one of `function`, `class` and `symbol` can be given";
            sink.report(second.at, second.path.clone(), message, None);
            return None;
        }
    };
    if name.value.is_empty()
        || name
            .value
            .chars()
            .any(|c| c.is_whitespace() || c.is_control())
    {
        let message = format!("`{}` is not a name", name.value.escape_debug());
        sink.report(name.at, name.path.clone(), message, None);
        return None;
    }
    let mut params = serde_json::Map::new();
    params.insert("kind".to_owned(), kind.into());
    if let Some(language) = language {
        params.insert("language".to_owned(), language.value.into());
    }
    params.insert("name".to_owned(), name.value.into());
    params.insert("path".to_owned(), path?.to_string().into());
    Some(PackCheck {
        pack: PackRef::BuiltIn("source".to_owned()),
        check: "defines".to_owned(),
        params,
    })
}

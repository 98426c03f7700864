//! Reads a whole spec.
//!
//! The text is bounded before it is parsed, every list before it is used. Files that a
//! spec names are fetched by the caller's [`Resolve`]: nothing here opens one.

use std::collections::BTreeMap;

use serde::Serialize;

use super::document::{Node, Value, parse};
use super::error::{Sink, Source, SpecErrors};
use super::fields::Fields;
use super::kinds::{self, Context};
use super::suite::choice;
use super::{BudgetOverrides, Check, CheckKind, MAX_NAME};
use crate::guard::Guard;
use crate::{Assurance, Digest};

/// The version of the file format that this build reads.
pub const VERSION: i64 = 1;
/// Largest spec, in bytes.
pub const MAX_SPEC_BYTES: usize = 4 << 20;
/// Most checks in one spec.
pub const MAX_CHECKS: usize = 1000;

/// Fetches a file that a spec names, by its path relative to the folder of the spec.
///
/// The error is one line that continues "`path`: …".
pub type Resolve<'a> = dyn Fn(&str) -> Result<Vec<u8>, String> + 'a;

/// What must hold.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Spec {
    /// The goal in words, for people and planners. Default empty.
    pub description: String,
    /// What a patch may touch. Default: [`Guard::default`].
    #[serde(serialize_with = "super::guarding::write")]
    pub guard: Guard,
    /// What the spec changes of the default bounds; already part of every check's budget.
    #[serde(skip)]
    pub budget: BudgetOverrides,
    /// How far the result of each check must be trusted, unless the check itself says
    /// otherwise. Default: the weakest level.
    pub require: Assurance,
    /// The checks, in the order in which they run.
    pub checks: Vec<Check>,
}

impl Spec {
    /// Reads a spec, in TOML or JSON. `file` is its name in messages.
    ///
    /// ```
    /// use probity_core::spec::Spec;
    ///
    /// let text = "
    /// version = 1
    /// [[check]]
    /// name = 'readme'
    /// kind = 'file-exists'
    /// path = 'README.md'
    /// ";
    /// let spec = Spec::parse("probity.toml", text, &|_| Err("no files here".into())).unwrap();
    /// assert_eq!(spec.checks.len(), 1);
    /// ```
    ///
    /// # Errors
    /// Every problem found, with its place.
    pub fn parse(file: &str, text: &str, resolve: &Resolve<'_>) -> Result<Self, SpecErrors> {
        let source = Source { file, text };
        let mut sink = Sink::new(source);
        if text.len() > MAX_SPEC_BYTES {
            sink.report(0, "", format!("larger than {MAX_SPEC_BYTES} bytes"), None);
            return sink.finish(None);
        }
        let spec = parse(source, &mut sink).and_then(|node| read(&node, resolve, &mut sink));
        sink.finish(spec)
    }

    /// Reads a spec from a document whose texts may differ from `source`, which serves for
    /// places only.
    pub(crate) fn from_document(
        source: Source<'_>,
        node: &Node,
        resolve: &Resolve<'_>,
    ) -> Result<Self, SpecErrors> {
        let mut sink = Sink::new(source);
        let spec = read(node, resolve, &mut sink);
        sink.finish(spec)
    }

    /// A spec with a description, the default guard and no checks.
    #[must_use]
    pub fn new(description: impl Into<String>) -> Self {
        Self {
            description: description.into(),
            ..Self::default()
        }
    }

    /// The digest of all that the spec decides: guard, checks, budgets, expected tests, with
    /// every default and every named list written out, as compact JSON in a fixed order.
    ///
    /// Two spellings of one spec have one digest. A closure counts by its check's name only;
    /// packs and locks count by their paths (a host records their bytes).
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut bytes = b"probity.spec/1\n".to_vec();
        // Writing to memory does not fail, and no map here has keys that are not strings.
        let _ = serde_json::to_writer(&mut bytes, self);
        Digest::of(&bytes)
    }
}

/// What the top level says for all checks.
struct Shared<'a> {
    budget: &'a BudgetOverrides,
    resolve: &'a Resolve<'a>,
    require: Assurance,
}

fn read(document: &Node, resolve: &Resolve<'_>, sink: &mut Sink<'_>) -> Option<Spec> {
    let mut fields = Fields::open(document, "", "the top level", sink)?;
    version(&mut fields, sink);
    let description = fields
        .text(sink, "description")
        .map(|text| text.value.to_owned())
        .unwrap_or_default();
    let guard = fields
        .table(sink, "guard", "[guard]")
        .and_then(|table| super::guarding::read(table, sink))
        .unwrap_or_default();
    let budget = fields
        .table(sink, "budget", "[budget]")
        .map(|table| BudgetOverrides::read(table, sink))
        .unwrap_or_default();
    let require = require(&mut fields, sink).unwrap_or_default();
    let shared = Shared {
        budget: &budget,
        resolve,
        require,
    };
    let checks = checks(&mut fields, &shared, sink);
    fields.finish(sink);
    Some(Spec {
        description,
        guard,
        budget,
        require,
        checks,
    })
}

fn version(fields: &mut Fields<'_>, sink: &mut Sink<'_>) {
    match fields.node("version") {
        None => fields.missing(sink, "version", Some("write `version = 1`")),
        Some(node) if node.value == Value::Integer(VERSION) => {}
        Some(node) => sink.report(
            node.at,
            "version",
            format!("`version` must be {VERSION}, the only one that this build reads"),
            None,
        ),
    }
}

/// The level of `require`, of the spec or of a check.
fn require(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<Assurance> {
    let text = fields.text(sink, "require")?;
    choice("level", Assurance::ALL, Assurance::as_str, text, sink)
}

/// Reports a check that cannot reach what is required of it.
fn can_reach(kind: &CheckKind, required: Assurance, fields: (usize, String), sink: &mut Sink<'_>) {
    let reached = kind.assurance();
    if reached >= required {
        return;
    }
    let (at, path) = fields;
    let message = format!(
        "a check of kind `{}` is {reached}, but {required} is required",
        kind.name()
    );
    let hint = format!(
        "use `call`, `program` or `oracle`, or except this check by `require = \"{reached}\"`"
    );
    sink.report(at, path, message, Some(hint));
}

fn checks(fields: &mut Fields<'_>, shared: &Shared<'_>, sink: &mut Sink<'_>) -> Vec<Check> {
    let Some(node) = fields.node("check") else {
        return Vec::new();
    };
    let Value::List(items) = &node.value else {
        sink.report(
            node.at,
            "check",
            format!(
                "`check` must be a list of tables, not {}",
                node.value.describe()
            ),
            Some("write `[[check]]`".to_owned()),
        );
        return Vec::new();
    };
    if items.len() > MAX_CHECKS {
        let message = format!("{} checks; at most {MAX_CHECKS} are read", items.len());
        sink.report(node.at, "check", message, None);
        return Vec::new();
    }
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut context = Context::new(shared.budget, shared.resolve);
    let mut checks = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let path = format!("check[{index}]");
        let Some(mut fields) = Fields::open(item, path, "[[check]]", sink) else {
            continue;
        };
        let name = name(&mut fields, &mut names, index, sink);
        let require = require(&mut fields, sink).unwrap_or(shared.require);
        let place = (fields.at(), fields.path_of("kind"));
        let kind = kinds::read(fields, &mut context, sink);
        if let (Some(name), Some((kind, budget))) = (name, kind) {
            can_reach(&kind, require, place, sink);
            checks.push(Check {
                name,
                kind,
                require,
                budget,
            });
        }
    }
    checks
}

fn name(
    fields: &mut Fields<'_>,
    names: &mut BTreeMap<String, usize>,
    index: usize,
    sink: &mut Sink<'_>,
) -> Option<String> {
    let name = fields.required_text(sink, "name")?;
    let printable = !name.value.chars().any(char::is_control) && name.value.trim() == name.value;
    let length = name.value.chars().count();
    if !printable || length == 0 || length > MAX_NAME {
        let message =
            format!("`name` must have 1 to {MAX_NAME} printable characters, no space at the ends");
        sink.report(name.at, name.path, message, None);
        return None;
    }
    if let Some(first) = names.insert(name.value.to_owned(), index) {
        let message = format!(
            "the name `{}` is already that of check[{first}]",
            name.value
        );
        sink.report(
            name.at,
            name.path,
            message,
            Some("names are unique".to_owned()),
        );
        return None;
    }
    Some(name.value.to_owned())
}

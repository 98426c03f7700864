//! What people and machines are shown.

pub(crate) mod escape;
mod human;
mod junit;
mod page;
mod refusal;
mod standing;
mod tap;
mod trim;
mod write;

use std::fmt::Write as _;

use probity_core::verify::{Assurance, AssuranceSummary, Finding, VerdictDocument};

use crate::ui::Look;

pub(crate) use human::{check_text, verdict_text};
pub(crate) use refusal::{RefusalAnswer, refusal};
pub(crate) use write::write_whole;

/// A form of the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Human,
    /// The whole document, see `docs/verdict-schema.md`.
    Json,
    /// JUnit XML.
    Junit,
    /// TAP, version 14.
    Tap,
}

impl Format {
    /// Every form, by name.
    pub(crate) const ALL: [(&'static str, Self); 4] = [
        ("human", Self::Human),
        ("json", Self::Json),
        ("junit", Self::Junit),
        ("tap", Self::Tap),
    ];
}

/// The verdict in a form; `look` is for people only.
///
/// # Errors
/// Never in practice: everything is written to memory.
pub(crate) fn render(
    document: &VerdictDocument,
    format: Format,
    look: Look,
) -> anyhow::Result<String> {
    Ok(match format {
        Format::Human => verdict_text(look, document),
        Format::Json => json(document)?,
        Format::Junit => junit::junit(document)?,
        Format::Tap => tap::tap(document),
    })
}

/// The document, with everything escaped in its strings that could harm a terminal or a log.
fn json(document: &VerdictDocument) -> anyhow::Result<String> {
    let text = document.to_json()?;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if (c.is_control() && c != '\n') || escape::misleads(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    // A line of it starts with white space and a quote, never with a colon.
    Ok(escape::disarmed(&out, ":", "\\u0023"))
}

/// How far the checks can be trusted, on one line.
fn assurance(summary: &AssuranceSummary) -> String {
    let required = match summary.required {
        Assurance::InGuest => "",
        Assurance::Isolated => "; isolated is required",
    };
    let total = summary.isolated.saturating_add(summary.in_guest);
    format!("{} of {total} checks isolated{required}", summary.isolated)
}

/// A finding on one line.
fn finding_line(finding: &Finding) -> String {
    let place = match (&finding.path, finding.line) {
        (Some(path), Some(line)) => format!("{}:{line}: ", escape::line(path)),
        (Some(path), None) => format!("{}: ", escape::line(path)),
        (None, _) => String::new(),
    };
    let message = escape::line(&finding.message);
    format!("{}: {place}{message}", finding.level)
}

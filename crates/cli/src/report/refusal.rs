//! A patch that was refused, for people and for machines.

use probity_core::patch::{Format, PatchError};
use serde::Serialize;

use super::escape;

/// The refusal as JSON: `{"ok": false, "format": …, "error": {…}}`.
#[derive(Serialize)]
pub(crate) struct RefusalAnswer<'a> {
    ok: bool,
    /// The format in which the patch was read, if it was clear.
    format: Option<&'static str>,
    error: &'a PatchError,
}

impl<'a> RefusalAnswer<'a> {
    pub(crate) fn new(error: &'a PatchError, format: Option<Format>) -> Self {
        Self {
            ok: false,
            format: format.map(Format::as_str),
            error,
        }
    }
}

/// The refusal as text: what, where, and what to do next.
pub(crate) fn refusal(error: &PatchError) -> String {
    let mut text = format!("refused: {}", escape::lines(&error.message));
    if let Some(path) = &error.path
        && !error.message.contains(path.as_str())
    {
        text.push_str(&format!("\n  path: {}", escape::line(path)));
    }
    let mut place = Vec::new();
    if let Some(operation) = error.operation {
        place.push(format!("operation {operation}"));
    }
    if let Some(hunk) = error.hunk {
        place.push(format!("hunk {hunk}"));
    }
    if !place.is_empty() {
        text.push_str(&format!("\n  at: {}", place.join(", ")));
    }
    if !error.lines.is_empty() {
        let lines: Vec<String> = error.lines.iter().map(ToString::to_string).collect();
        text.push_str(&format!("\n  lines: {}", lines.join(", ")));
    }
    text.push_str(&format!("\n  kind: {}", error.kind));
    if let Some(hint) = &error.hint {
        text.push_str(&format!("\n  hint: {}", escape::lines(hint)));
    }
    text.push_str("\nnothing was written");
    text
}

//! Regular expressions as parameters.
//!
//! `^` and `$` match at the ends of lines (LF or CRLF), `.` stops at them. The engine is
//! linear in the length of the text, and the size of a compiled expression is bounded.

use probity_guest::{ParamError, Params};
use regex::bytes::{Regex, RegexBuilder};

/// Largest compiled expression, in bytes.
const SIZE_LIMIT: usize = 4 * 1024 * 1024;

/// Compiles the parameter `name`, if it was given.
///
/// # Errors
/// When it is not a string, not a regular expression, or too large once compiled.
pub(crate) fn optional(params: &Params, name: &str) -> Result<Option<Regex>, ParamError> {
    let Some(source) = params.optional_text(name)? else {
        return Ok(None);
    };
    RegexBuilder::new(source)
        .multi_line(true)
        .crlf(true)
        .size_limit(SIZE_LIMIT)
        .build()
        .map(Some)
        .map_err(|error| ParamError::invalid(name, format!("is not a regular expression: {error}")))
}

/// Compiles the parameter `name`, which must be given.
///
/// # Errors
/// As [`optional`], and when it is missing.
pub(crate) fn required(params: &Params, name: &str) -> Result<Regex, ParamError> {
    optional(params, name)?.ok_or_else(|| ParamError::Missing {
        name: name.to_owned(),
    })
}

//! `[guard]`: what a patch may touch.

use serde::{Serialize, Serializer};

use super::error::Sink;
use super::fields::{Fields, Located};
use crate::guard::{DEFAULT_ALLOW, DEFAULT_PROTECT, Guard, Limits};
use crate::quantity::ByteSize;

/// Most patterns in one list.
const MAX_PATTERNS: usize = 1000;

/// Reads the table. `protect` adds to the default list, unless `protect-defaults = false`
/// takes that away.
pub(super) fn read(mut fields: Fields<'_>, sink: &mut Sink<'_>) -> Option<Guard> {
    let allow = patterns(&mut fields, "allow", sink);
    let protect = patterns(&mut fields, "protect", sink);
    let with_defaults = fields
        .flag(sink, "protect-defaults")
        .is_none_or(|flag| flag.value);
    let default = Limits::default();
    let mut count = |key, default| {
        fields
            .count(sink, key)
            .map_or(default, |count: Located<u64>| count.value)
    };
    let max_files = count("max-files", default.max_files);
    let max_changed_lines = count("max-changed-lines", default.max_changed_lines);
    let mut size = |key, default| {
        fields
            .quantity(sink, key)
            .map_or(default, |size: Located<ByteSize>| size.value)
    };
    let limits = Limits {
        max_files,
        max_changed_lines,
        max_patch_bytes: size("max-patch-bytes", default.max_patch_bytes),
        max_file_bytes: size("max-file-bytes", default.max_file_bytes),
    };
    let at = fields.at();
    fields.finish(sink);
    let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    let allow = allow.unwrap_or_else(|| owned(&DEFAULT_ALLOW));
    let defaults: Vec<String> = if with_defaults {
        owned(&DEFAULT_PROTECT)
    } else {
        Vec::new()
    };
    let protect: Vec<String> = defaults
        .into_iter()
        .chain(protect.unwrap_or_default())
        .collect();
    Guard::new(&allow, &protect, limits)
        .map_err(|error| sink.report(at, "guard", error.to_string(), None))
        .ok()
}

/// Reads a list of patterns and reports each that cannot be used, which is then left out.
fn patterns(
    fields: &mut Fields<'_>,
    key: &'static str,
    sink: &mut Sink<'_>,
) -> Option<Vec<String>> {
    let texts = fields.texts(sink, key)?;
    if texts.len() > MAX_PATTERNS {
        let message = format!(
            "`{key}` has {} patterns, more than {MAX_PATTERNS}",
            texts.len()
        );
        sink.report(fields.at(), fields.path_of(key), message, None);
        return None;
    }
    let mut patterns = Vec::with_capacity(texts.len());
    for text in texts {
        let alone = [text.value];
        let tried = if key == "allow" {
            Guard::new(&alone, &[], Limits::default())
        } else {
            Guard::new(&[], &alone, Limits::default())
        };
        match tried {
            Ok(_) => patterns.push(text.value.to_owned()),
            Err(error) => sink.report(text.at, text.path, error.to_string(), None),
        }
    }
    Some(patterns)
}

/// Writes a guard under the keys of a spec, every default written out.
pub(super) fn write<S: Serializer>(guard: &Guard, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "kebab-case")]
    struct Written<'a> {
        allow: &'a [String],
        protect: &'a [String],
        max_files: u64,
        max_changed_lines: u64,
        max_patch_bytes: ByteSize,
        max_file_bytes: ByteSize,
    }
    let Limits {
        max_files,
        max_changed_lines,
        max_patch_bytes,
        max_file_bytes,
    } = *guard.limits();
    Written {
        allow: guard.allow(),
        protect: guard.protect(),
        max_files,
        max_changed_lines,
        max_patch_bytes,
        max_file_bytes,
    }
    .serialize(serializer)
}

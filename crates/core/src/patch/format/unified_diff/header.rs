//! The lines of a file section before its hunks: `diff --git`, git's extended headers.
//!
//! A `diff --git` line is ambiguous when names hold spaces, so it is read only where no
//! other line names the files, and otherwise just has to agree with them.

use crate::patch::quoted_name::read_quoted;

/// A mode as a diff states it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StatedMode {
    Regular,
    Executable,
    /// A symbolic link, a submodule or a folder.
    Other,
}

/// Reads six octal digits.
pub(super) fn mode(text: &[u8]) -> Option<StatedMode> {
    let text = std::str::from_utf8(text).ok()?;
    let digits = text.len() == 6 && text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    let bits = digits
        .then(|| u32::from_str_radix(text, 8).ok())
        .flatten()?;
    Some(match (bits & 0o170_000, bits & 0o100) {
        (0o100_000, 0) => StatedMode::Regular,
        (0o100_000, _) => StatedMode::Executable,
        (_, _) => StatedMode::Other,
    })
}

/// Reads a name that fills the line, quoted or not.
pub(super) fn whole_name(text: &[u8]) -> Option<Vec<u8>> {
    if !text.starts_with(b"\"") {
        return Some(text.to_vec());
    }
    let (name, rest) = read_quoted(text)?;
    rest.is_empty().then_some(name)
}

/// Reads the name of a `---` or `+++` line, which a tab and a date may follow.
pub(super) fn file_name(text: &[u8]) -> Option<Vec<u8>> {
    if text.starts_with(b"\"") {
        let (name, rest) = read_quoted(text)?;
        return (rest.is_empty() || rest.starts_with(b"\t")).then_some(name);
    }
    text.split(|byte| *byte == b'\t').next().map(<[u8]>::to_vec)
}

/// The two names of a `diff --git` line.
pub(super) enum GitNames<'a> {
    /// At least one is quoted, so the line has one reading.
    Pair(Vec<u8>, Vec<u8>),
    /// Neither is quoted.
    Plain(&'a [u8]),
}

impl<'a> GitNames<'a> {
    /// Reads what follows `diff --git `.
    pub(super) fn read(text: &'a [u8]) -> Option<Self> {
        if text.starts_with(b"\"") {
            let (old, rest) = read_quoted(text)?;
            return Some(Self::Pair(old, whole_name(rest.strip_prefix(b" ")?)?));
        }
        if text.ends_with(b"\"") {
            let at = memchr::memmem::find(text, b" \"")?;
            let (old, new) = text.split_at_checked(at)?;
            return Some(Self::Pair(old.to_vec(), whole_name(new.get(1..)?)?));
        }
        Some(Self::Plain(text))
    }

    /// Whether the line can be read as these two names.
    pub(super) fn agree_with(&self, old: &[u8], new: &[u8]) -> bool {
        match self {
            Self::Pair(a, b) => a == old && b == new,
            Self::Plain(text) => text
                .strip_prefix(old)
                .and_then(|rest| rest.strip_prefix(b" "))
                .is_some_and(|rest| rest == new),
        }
    }

    /// The names when both stand for one file: of equal length, with one space between.
    pub(super) fn of_one_file(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (old, new) = match self {
            Self::Pair(old, new) => (old.as_slice(), new.as_slice()),
            Self::Plain(text) => {
                let (old, new) = text.split_at_checked(text.len() / 2)?;
                (old, new.strip_prefix(b" ")?)
            }
        };
        let bare = |name: &'_ [u8], prefix: &[u8]| name.strip_prefix(prefix).map(<[u8]>::to_vec);
        let same = old == new || {
            let stripped = bare(old, b"a/");
            stripped.is_some() && stripped == bare(new, b"b/")
        };
        same.then(|| (old.to_vec(), new.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Option<(Vec<u8>, Vec<u8>)> {
        GitNames::read(text.as_bytes())?.of_one_file()
    }

    #[test]
    fn one_file_is_found_despite_spaces() {
        let pair = |a: &str, b: &str| Some((a.into(), b.into()));
        assert_eq!(one("a/x b/x"), pair("a/x", "b/x"));
        assert_eq!(one("a/x b/y b/x b/y"), pair("a/x b/y", "b/x b/y"));
        assert_eq!(one("\"a/\\303\\251\" \"b/\\303\\251\""), pair("a/é", "b/é"));
        assert_eq!(one("x x"), pair("x", "x"), "no prefix: refused later");
        assert_eq!(one("a/x b/y"), None);
        assert_eq!(one(""), None);
    }

    #[test]
    fn modes_are_six_octal_digits() {
        assert!(mode(b"100644") == Some(StatedMode::Regular));
        assert!(mode(b"100755") == Some(StatedMode::Executable));
        assert!(mode(b"100664") == Some(StatedMode::Regular));
        assert!(mode(b"120000") == Some(StatedMode::Other));
        assert!(mode(b"160000") == Some(StatedMode::Other));
        assert!(mode(b"644").is_none());
        assert!(mode(b"10064x").is_none());
    }
}

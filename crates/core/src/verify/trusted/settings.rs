//! The tables of a settings file that pytest reads.
//!
//! Two versions of a file steer alike if these tables are alike, so a new version number or
//! another tool's settings are no change. A file that cannot be read counts as its bytes.
//! Differences that do not matter may count; one that matters always does.

use crate::repo::{File, FileMode};

/// A settings file of which pytest reads a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// `pyproject.toml`: `[tool.pytest]`, with `[tool.pytest.ini_options]` in it.
    Toml,
    /// `tox.ini` and `setup.cfg`: `[pytest]` and `[tool:pytest]`.
    Ini,
}

/// Whether the two versions of a file steer pytest alike.
pub(super) fn alike(format: Format, before: Option<&File>, after: Option<&File>) -> bool {
    tables(format, before) == tables(format, after)
}

/// What pytest reads of a file.
#[derive(Debug, PartialEq)]
enum Tables {
    /// There is no such table.
    None,
    Toml(toml::Value),
    /// Lines of the sections, in their order.
    Ini(Vec<String>),
    /// It cannot be told: the file as it is.
    Unclear(FileMode, Vec<u8>),
}

fn tables(format: Format, file: Option<&File>) -> Tables {
    let Some(file) = file else {
        return Tables::None;
    };
    let unclear = || Tables::Unclear(file.mode(), file.bytes().to_vec());
    let text = match std::str::from_utf8(file.bytes()) {
        Ok(text) if file.mode() != FileMode::Symlink => text,
        Ok(_) | Err(_) => return unclear(),
    };
    match format {
        Format::Toml => match text.parse::<toml::Table>() {
            Ok(mut document) => match document.remove("tool") {
                Some(toml::Value::Table(mut tool)) => {
                    tool.remove("pytest").map_or(Tables::None, Tables::Toml)
                }
                Some(_) | None => Tables::None,
            },
            Err(_) => unclear(),
        },
        Format::Ini => match sections(text) {
            lines if lines.is_empty() => Tables::None,
            lines => Tables::Ini(lines),
        },
    }
}

/// The lines of the sections that pytest may read. A header counts wherever Python's line
/// ends put it; only one without space before it ends a section.
fn sections(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.split(is_line_end) {
        let bare = line.trim_start_matches('\u{feff}');
        if let Some(header) = bare.trim_start().strip_prefix('[') {
            let name = header.split(']').next().unwrap_or(header).trim();
            let starts = matches!(name, "pytest" | "tool:pytest");
            inside = starts || (inside && bare.starts_with(char::is_whitespace));
        }
        let is_remark = bare.starts_with(['#', ';']);
        if inside && !is_remark && !bare.trim().is_empty() {
            lines.push(bare.trim_end().to_owned());
        }
    }
    lines
}

/// Where Python's `str.splitlines` breaks.
const fn is_line_end(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(format: Format, before: &str, after: &str) -> bool {
        let file = |text: &str| File::regular(text.as_bytes());
        alike(format, Some(&file(before)), Some(&file(after)))
    }

    #[test]
    fn only_pytests_tables_count_in_toml() {
        let before = "[project]\nversion = '1'\n[tool.pytest.ini_options]\naddopts = '-q'\n";
        for (after, alike) in [
            (before.replace("'1'", "'2'"), true),
            (before.replace("'-q'", "\"-q\""), true),
            (before.replace("-q", "-p evil"), false),
            (format!("{before}[tool.black]\nx = 1\n"), true),
            (format!("{before}[tool.pytest.more]\nx = 1\n"), false),
            (format!("tool.pytest.ini_options.x = 1\n{before}"), false),
            (
                before.replace("[tool.pytest.ini_options]", "[tool.x]"),
                false,
            ),
            (format!("{before}]"), false),
        ] {
            assert_eq!(same(Format::Toml, before, &after), alike, "{after}");
        }
        assert!(!same(Format::Toml, "x = [", "x = [["));
        assert!(alike(
            Format::Toml,
            None,
            Some(&File::regular(*b"[project]\n"))
        ));
        assert!(!alike(
            Format::Toml,
            None,
            Some(&File::regular(*b"[tool.pytest]\n"))
        ));
    }

    #[test]
    fn only_pytests_sections_count_in_ini() {
        let before = "[tox]\nenvlist = py\n[pytest]\naddopts =\n  -q\n  -x\n\n[flake8]\na = 1\n";
        for (after, alike) in [
            (before.replace("envlist = py", "envlist = py3"), true),
            (before.replace("a = 1", "a = 2"), true),
            (before.replace("[flake8]", "# remark\n[flake8]"), true),
            (before.replace("  -x", "  -p evil"), false),
            // A line that only looks like a header goes on with the value before it.
            (before.replace("  -x\n", "  [a]\n  -p evil\n"), false),
            (
                before.replace("a = 1", "a = 1\n[tool:pytest]\nx = 1"),
                false,
            ),
            // Python breaks lines where others see none.
            (
                before.replace("a = 1", "# a\u{c}[pytest]\u{2028}addopts=-x"),
                false,
            ),
            (before.replace('\n', "\r\n"), true),
            (format!("\u{feff}{before}"), true),
        ] {
            assert_eq!(same(Format::Ini, before, &after), alike, "{after}");
        }
        assert!(!alike(Format::Ini, Some(&File::regular(before)), None));
        assert!(alike(Format::Ini, Some(&File::regular(*b"[tox]\n")), None));
    }

    #[test]
    fn what_cannot_be_read_counts_as_changed() {
        let bytes = |bytes: &[u8]| File::regular(bytes);
        assert!(!alike(
            Format::Ini,
            Some(&bytes(b"\xff")),
            Some(&bytes(b"\xfe"))
        ));
        let link = File::new(*b"other.cfg", FileMode::Symlink);
        assert!(!alike(Format::Ini, Some(&bytes(b"")), Some(&link)));
    }
}

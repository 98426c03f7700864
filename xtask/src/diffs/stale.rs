//! Trees in which a diff must not apply: one of the lines that a hunk expects is another, or
//! a binary file is not the one that the diff was made from.

use super::features::{Content, Section};
use super::history::Status;
use super::tree::Tree;

/// The base tree with one line altered that the diff expects, and which file that is in.
/// Nothing if no hunk expects a line. `turn` decides between the files.
pub(super) fn alter_line(
    base: &Tree,
    sections: &[Section<'_>],
    turn: usize,
) -> Option<(Tree, String)> {
    let expecting: Vec<(&str, usize)> = sections
        .iter()
        .filter(|section| {
            section.content() == Content::Hunks && section.change.status != Status::Added
        })
        .filter_map(|section| Some((section.change.old.as_str(), expected_line(&section.lines)?)))
        .collect();
    let (path, number) = expecting.get(turn.checked_rem(expecting.len())?)?;
    let mut tree = base.clone();
    let file = tree.files.get_mut(*path)?;
    file.bytes = altered(&file.bytes, *number)?;
    Some((tree, (*path).to_owned()))
}

/// The base tree with a byte added to a binary file that the diff changes or deletes, and
/// which file that is.
pub(super) fn alter_binary(base: &Tree, sections: &[Section<'_>]) -> Option<(Tree, String)> {
    let path = sections
        .iter()
        .filter(|section| section.change.status != Status::Added)
        .find(|section| section.content() == Content::Binary)
        .map(|section| &section.change.old)?;
    let mut tree = base.clone();
    tree.files.get_mut(path)?.bytes.push(0);
    Some((tree, path.clone()))
}

/// The number, from one, of a line before the change: the first that a hunk removes, or
/// else the first that it names.
fn expected_line(lines: &[&[u8]]) -> Option<usize> {
    let mut named = None;
    let mut next = 0_usize;
    for line in lines {
        if let Some(start) = hunk_start(line) {
            next = start;
            continue;
        }
        // Before the first hunk; a hunk that expects nothing starts at line 0, too.
        if next == 0 {
            continue;
        }
        match line.first() {
            Some(b'-') => return Some(next),
            Some(b' ') => {
                named = named.or(Some(next));
                next = next.saturating_add(1);
            }
            _ => {}
        }
    }
    named
}

/// The old start of `@@ -START[,COUNT] +… @@`.
fn hunk_start(line: &[u8]) -> Option<usize> {
    let rest = line.strip_prefix(b"@@ -")?;
    let digits = rest.split(|byte| !byte.is_ascii_digit()).next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The text with something put before the end of its line `number`.
fn altered(text: &[u8], number: usize) -> Option<Vec<u8>> {
    let index = number.checked_sub(1)?;
    let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let line = *lines.get(index)?;
    let body = line.strip_suffix(b"\n").unwrap_or(line);
    let body = body.strip_suffix(b"\r").unwrap_or(body);
    let mut other = body.to_vec();
    other.extend_from_slice(b" (altered)");
    other.extend_from_slice(line.get(body.len()..)?);
    *lines.get_mut(index)? = &other;
    Some(lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<&[u8]> {
        text.as_bytes()
            .split_inclusive(|byte| *byte == b'\n')
            .collect()
    }

    #[test]
    fn a_removed_line_is_preferred_over_context() {
        let removing = "--- a/x\n+++ b/x\n@@ -3,3 +3,2 @@ f\n a\n+n\n b\n-c\n";
        assert_eq!(expected_line(&lines(removing)), Some(5));
        let adding = "--- a/x\n+++ b/x\n@@ -7 +7,2 @@\n a\n+n\n";
        assert_eq!(expected_line(&lines(adding)), Some(7));
        let creating = "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+n\n";
        assert_eq!(expected_line(&lines(creating)), None);
        let later = "@@ -1 +1,2 @@\n a\n+n\n@@ -9 +10 @@\n-x\n+y\n";
        assert_eq!(expected_line(&lines(later)), Some(9));
    }

    #[test]
    fn one_line_is_altered_and_keeps_its_end() {
        assert_eq!(altered(b"a\r\nb\r\n", 2).unwrap(), b"a\r\nb (altered)\r\n");
        assert_eq!(altered(b"a\nb", 2).unwrap(), b"a\nb (altered)");
        assert_eq!(altered(b"a\n", 2), None);
    }
}

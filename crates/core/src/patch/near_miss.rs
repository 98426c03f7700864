//! Explaining why a text was not found. Nothing here is ever applied.
//!
//! Each attempt folds file and text in one way and searches again, so the cost is linear
//! in their size; above [`MAX_DIAGNOSIS_BYTES`] there is no explanation at all.

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;

use super::PatchError;
use super::text_view::line_at;

/// The largest file and text that are examined: 8 MiB.
const MAX_DIAGNOSIS_BYTES: usize = 8 << 20;
/// How many places that share the first line are compared.
const MAX_NEAREST: usize = 16;
/// How many characters of a file or text a hint shows.
const MAX_SHOWN: usize = 60;

/// Why a text that was not found is nearly there, for programs. Never applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NearMiss {
    /// What the texts differ in.
    pub difference: Difference,
    /// The file in which it is, if it is another than the patch names.
    pub path: Option<String>,
    /// The line of the file, from 1, in which the difference is.
    pub line: u32,
    /// What the file has there (at most 60 characters, lossily decoded).
    pub found: Option<String>,
    /// What the patch has instead.
    pub expected: Option<String>,
    /// The code points of what is not ASCII in `found` and `expected`, such as `U+00A0`.
    pub code_points: Vec<String>,
}

/// What a text that was not found differs in from one that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// Only in the ends of lines.
    LineEnds,
    /// Only in tabs and spaces within lines.
    TabsOrSpaces,
    /// Only in white space, line breaks included.
    WhiteSpace,
    /// Only in characters that look alike or are invisible.
    LookAlikes,
    /// Only in upper and lower case, or one of the above as well.
    Case,
    /// The text has `\n`, `\t` or `\"` where the file has what they stand for.
    Escaped,
    /// The new text is there already.
    AlreadyApplied,
    /// The first line is there, but one that follows differs.
    OneLine,
    /// The text is exactly there, in another file.
    OtherFile,
}

/// A near miss with the sentence that says it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Explanation {
    pub(super) near: NearMiss,
    pub(super) hint: String,
}

impl Explanation {
    pub(super) fn new(difference: Difference, line: u32, hint: String) -> Self {
        Self {
            near: NearMiss {
                difference,
                path: None,
                line,
                found: None,
                expected: None,
                code_points: Vec::new(),
            },
            hint,
        }
    }

    fn with_texts(mut self, found: &[u8], expected: &[u8]) -> Self {
        let text = |piece: &[u8]| -> String {
            String::from_utf8_lossy(piece)
                .chars()
                .take(MAX_SHOWN)
                .collect()
        };
        let (found, expected) = (text(found), text(expected));
        for c in found
            .chars()
            .chain(expected.chars())
            .filter(|c| !c.is_ascii())
        {
            let code_point = format!("U+{:04X}", u32::from(c));
            if !self.near.code_points.contains(&code_point) {
                self.near.code_points.push(code_point);
            }
        }
        self.near.found = Some(found);
        self.near.expected = Some(expected);
        self
    }
}

impl PatchError {
    /// Adds the explanation, or `otherwise` as the hint if there is none.
    pub(super) fn with_near(self, explanation: Option<Explanation>, otherwise: &str) -> Self {
        match explanation {
            Some(Explanation { near, hint }) => {
                let lines = match near.path {
                    Some(_) => Vec::new(),
                    None => vec![near.line],
                };
                let mut error = self.with_lines(lines).with_hint(hint);
                error.near = Some(Box::new(near));
                error
            }
            None => self.with_hint(otherwise),
        }
    }
}

/// Ways in which a near miss may differ, the closest first.
#[derive(Clone, Copy)]
enum Fold {
    LineEnds,
    Spaces,
    Whitespace,
    Lookalikes,
    Case,
}

impl Fold {
    const ALL: [Self; 5] = [
        Self::LineEnds,
        Self::Spaces,
        Self::Whitespace,
        Self::Lookalikes,
        Self::Case,
    ];

    const fn difference(self) -> Difference {
        match self {
            Self::LineEnds => Difference::LineEnds,
            Self::Spaces => Difference::TabsOrSpaces,
            Self::Whitespace => Difference::WhiteSpace,
            Self::Lookalikes => Difference::LookAlikes,
            Self::Case => Difference::Case,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::LineEnds => "line ends",
            Self::Spaces => "spaces and tabs",
            Self::Whitespace => "white space and line breaks",
            Self::Lookalikes => "characters that look alike",
            Self::Case => "upper and lower case",
        }
    }

    fn push(self, c: char, out: &mut Vec<char>) {
        match self {
            Self::LineEnds if c == '\r' => {}
            Self::Spaces if matches!(c, ' ' | '\t' | '\r' | '\u{b}' | '\u{c}') => {}
            Self::Whitespace | Self::Lookalikes | Self::Case if c.is_ascii_whitespace() => {}
            Self::LineEnds | Self::Spaces | Self::Whitespace => out.push(c),
            Self::Lookalikes | Self::Case if c.is_whitespace() || invisible(c) => {}
            Self::Lookalikes => out.extend(std::iter::once(c).nfkd().map(plain)),
            Self::Case => out.extend(
                std::iter::once(c)
                    .nfkd()
                    .map(plain)
                    .flat_map(char::to_lowercase),
            ),
        }
    }
}

const fn invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// The ASCII character that `c` is taken for.
const fn plain(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{2032}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        _ => c,
    }
}

/// A text folded to fewer distinctions; `origin` says where each byte comes from.
struct Folded {
    bytes: Vec<u8>,
    origin: Vec<usize>,
}

fn fold(text: &[u8], fold: Fold) -> Folded {
    let mut folded = Folded {
        bytes: Vec::with_capacity(text.len()),
        origin: Vec::with_capacity(text.len()),
    };
    let mut at = 0;
    let mut chars = Vec::new();
    for chunk in text.utf8_chunks() {
        for (offset, c) in chunk.valid().char_indices() {
            chars.clear();
            fold.push(c, &mut chars);
            for c in &chars {
                let mut buffer = [0; 4];
                for byte in c.encode_utf8(&mut buffer).bytes() {
                    folded.bytes.push(byte);
                    folded.origin.push(at + offset);
                }
            }
        }
        at += chunk.valid().len();
        for (offset, byte) in chunk.invalid().iter().enumerate() {
            folded.bytes.push(*byte);
            folded.origin.push(at + offset);
        }
        at += chunk.invalid().len();
    }
    folded
}

/// Says where `old` is nearly found in `text`, and how it differs there.
pub(super) fn explain(text: &[u8], old: &[u8], new: &[u8]) -> Option<Explanation> {
    if text
        .len()
        .saturating_add(old.len())
        .saturating_add(new.len())
        > MAX_DIAGNOSIS_BYTES
    {
        return None;
    }
    let telling = new.trim_ascii().len() >= 4;
    telling
        .then(|| already_applied(text, new))
        .flatten()
        .or_else(|| {
            Fold::ALL
                .into_iter()
                .find_map(|by| folded_match(text, old, by))
        })
        .or_else(|| escaped_match(text, old))
        .or_else(|| (!telling).then(|| already_applied(text, new)).flatten())
        .or_else(|| nearest_lines(text, old))
}

fn already_applied(text: &[u8], new: &[u8]) -> Option<Explanation> {
    if new.trim_ascii().is_empty() {
        return None;
    }
    let line = line_at(text, memchr::memmem::find(text, new)?);
    Some(Explanation::new(
        Difference::AlreadyApplied,
        line,
        format!("the new text is already there, at line {line}: perhaps the change has been made"),
    ))
}

fn folded_match(text: &[u8], old: &[u8], by: Fold) -> Option<Explanation> {
    let folded_old = fold(old, by);
    if folded_old.bytes.is_empty() {
        return None;
    }
    let folded_text = fold(text, by);
    let at = memchr::memmem::find(&folded_text.bytes, &folded_old.bytes)?;
    let places = folded_text
        .origin
        .get(at..at.saturating_add(folded_old.origin.len()))?;
    let pieces = first_difference(text, places, old, &folded_old.origin)?;
    let (there, here, offset) = without_common_start(pieces);
    let line = line_at(text, offset);
    Some(
        Explanation::new(
            by.difference(),
            line,
            format!(
                "the old text differs only in {}: line {line} has {} where the old text has {}",
                by.name(),
                shown(there),
                shown(here)
            ),
        )
        .with_texts(there, here),
    )
}

type Pieces<'a> = (&'a [u8], &'a [u8], usize);

/// The first piece in which the two texts differ, given where equal folded bytes come from.
fn first_difference<'a>(
    text: &'a [u8],
    text_at: &[usize],
    old: &'a [u8],
    old_at: &[usize],
) -> Option<Pieces<'a>> {
    let (first_text, first_old) = (*text_at.first()?, *old_at.first()?);
    let lead = old.get(..first_old)?;
    if !text.get(..first_text)?.ends_with(lead) {
        let line_start = memchr::memrchr(b'\n', text.get(..first_text)?).map_or(0, |at| at + 1);
        let there = text.get(line_start..first_text.saturating_add(1))?;
        return Some((there, old.get(..first_old.saturating_add(1))?, line_start));
    }
    let ends = |at: &[usize], last: usize| -> Vec<usize> {
        at.iter().skip(1).copied().chain([last]).collect()
    };
    let old_ends = ends(old_at, old.len());
    let tail = old.len().saturating_sub(*old_at.last()?);
    let text_end = text_at.last()?.saturating_add(tail).min(text.len());
    let text_ends = ends(text_at, text_end);
    for (((from, to), old_from), old_to) in
        text_at.iter().zip(&text_ends).zip(old_at).zip(&old_ends)
    {
        let (there, here) = (text.get(*from..*to)?, old.get(*old_from..*old_to)?);
        if there != here {
            return Some((there, here, *from));
        }
    }
    None
}

/// The pieces without what they start with both, so that the place is the one where they
/// differ. If one has nothing more, the character before it shows where that is.
fn without_common_start((there, here, offset): Pieces<'_>) -> Pieces<'_> {
    let inside = |at: usize| {
        [there, here]
            .iter()
            .any(|piece| piece.get(at).is_some_and(|byte| byte & 0xc0 == 0x80))
    };
    let mut same = there.iter().zip(here).take_while(|(a, b)| a == b).count();
    while same > 0 && inside(same) {
        same = same.saturating_sub(1);
    }
    let ends = same == there.len() || same == here.len();
    let before = same.checked_sub(1).and_then(|at| there.get(at));
    if ends && before.is_some_and(|byte| *byte != b'\n') {
        same = same.saturating_sub(1);
        while same > 0 && inside(same) {
            same = same.saturating_sub(1);
        }
    }
    (
        there.get(same..).unwrap_or_default(),
        here.get(same..).unwrap_or_default(),
        offset.saturating_add(same),
    )
}

/// A piece of text between quotes, escaped and cut, with the code points of what is not
/// ASCII.
fn shown(piece: &[u8]) -> String {
    if piece.is_empty() {
        return "nothing".to_owned();
    }
    let text = String::from_utf8_lossy(piece);
    let cut: String = text.chars().take(MAX_SHOWN).collect();
    let mut out = format!("\"{}\"", cut.escape_debug().to_string().replace("\\'", "'"));
    if cut.len() < text.len() {
        out.push('…');
    }
    if let Some(c) = cut.chars().find(|c| !c.is_ascii()) {
        out.push_str(&format!(" (U+{:04X})", u32::from(c)));
    }
    out
}

/// Whether the text is there once `\n`, `\t` and `\"` are read as escapes.
fn escaped_match(text: &[u8], old: &[u8]) -> Option<Explanation> {
    memchr::memchr(b'\\', old)?;
    let mut plain = Vec::with_capacity(old.len());
    let mut bytes = old.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let escape = match (byte, bytes.peek()) {
            (b'\\', Some(b'n')) => Some(b'\n'),
            (b'\\', Some(b't')) => Some(b'\t'),
            (b'\\', Some(b'"')) => Some(b'"'),
            (_, _) => None,
        };
        match escape {
            Some(escape) => {
                bytes.next();
                plain.push(escape);
            }
            None => plain.push(byte),
        }
    }
    let line = line_at(text, memchr::memmem::find(text, &plain)?);
    Some(Explanation::new(
        Difference::Escaped,
        line,
        format!("the old text is escaped once too often: unescaped it is at line {line}"),
    ))
}

/// The place that shares the first line and most of the following ones.
fn nearest_lines(text: &[u8], old: &[u8]) -> Option<Explanation> {
    let wanted: Vec<&[u8]> = old.split(|byte| *byte == b'\n').collect();
    let first = wanted.iter().find(|line| !line.trim_ascii().is_empty())?;
    let skipped = wanted
        .iter()
        .take_while(|line| line.trim_ascii().is_empty())
        .count();
    let rest = wanted.get(skipped..)?;
    if first.trim_ascii().len() < 3 || rest.len() < 2 {
        return None;
    }
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let same = |a: &[u8], b: &[u8]| a.trim_ascii() == b.trim_ascii();
    let starts = (0..lines.len()).filter(|at| lines.get(*at).is_some_and(|line| same(line, first)));
    let (at, agreed) = starts
        .take(MAX_NEAREST)
        .map(|at| {
            let here = lines.get(at..).unwrap_or_default();
            (
                at,
                here.iter()
                    .zip(rest)
                    .take_while(|(a, b)| same(a, b))
                    .count(),
            )
        })
        .max_by_key(|(at, agreed)| (*agreed, std::cmp::Reverse(*at)))?;
    let line = |index: usize| u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1);
    let (start, differs) = (line(at), line(at.saturating_add(agreed)));
    let there = lines.get(at.saturating_add(agreed)).copied();
    let here = rest.get(agreed).copied()?;
    Some(
        Explanation::new(
            Difference::OneLine,
            differs,
            format!(
                "the text starting at line {start} is close, but line {differs} {} where the old text has {}",
                there.map_or_else(
                    || "is behind the end of the file".to_owned(),
                    |line| format!("has {}", shown(line))
                ),
                shown(here)
            ),
        )
        .with_texts(there.unwrap_or_default(), here),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(text: &str, old: &str, new: &str) -> (u32, String) {
        let found = explain(text.as_bytes(), old.as_bytes(), new.as_bytes()).unwrap();
        (found.near.line, found.hint)
    }

    #[test]
    fn each_near_miss_is_named() {
        for (text, old, line, expected) in [
            (
                "f\n\trun()\n",
                "    run()",
                2,
                "line 2 has \"\\tr\" where the old text has \"    r\"",
            ),
            (
                "first  \nsecond\n",
                "first\nsecond",
                1,
                "only in spaces and tabs: line 1 has \"t  \" where the old text has \"t\"",
            ),
            (
                "a\r\nb\r\n",
                "a\nb\n",
                1,
                "only in line ends: line 1 has \"a\\r\"",
            ),
            (
                "prix\u{a0}: 9",
                "prix : 9",
                1,
                "look alike: line 1 has \"\\u{a0}\" (U+00A0)",
            ),
            (
                "it\u{2019}s\n",
                "it's",
                1,
                "has \"\u{2019}\" (U+2019) where the old text has \"'\"",
            ),
            (
                "a\nbb\n\tcc\n",
                "a\nbb\n    cc",
                3,
                "line 3 has \"\\t\" where the old text has \"    \"",
            ),
            ("cafe\u{301}\n", "caf\u{e9}", 1, "look alike"),
            (
                "Hop()\n",
                "hop()",
                1,
                "upper and lower case: line 1 has \"H\"",
            ),
            ("x\n\na b\n", "x\na b", 2, "white space and line breaks"),
            ("left\nright\n", "left\\nright", 1, "escaped once too often"),
            (
                "open();\nx = 1;\nclose();\n",
                "open();\nx = 2;\nclose();",
                2,
                "line 2 has \"x = 1;\" where the old text has \"x = 2;\"",
            ),
        ] {
            let (found, text) = hint(text, old, "");
            assert!(text.contains(expected), "{old:?}: {text}");
            assert_eq!(found, line, "{old:?}: {text}");
        }
    }

    #[test]
    fn a_change_already_made_is_recognised() {
        let (line, text) = hint("a\nb = 2\n", "b = 1", "b = 2");
        assert!(text.contains("already there, at line 2"), "{text}");
        assert_eq!(line, 2);
    }

    #[test]
    fn nothing_near_gives_nothing() {
        assert_eq!(explain(b"abc\n", b"xyz", b"q"), None);
        let large = vec![b'a'; MAX_DIAGNOSIS_BYTES + 1];
        assert_eq!(explain(&large, b"A", b""), None);
    }

    #[test]
    fn bytes_that_are_not_text_do_no_harm() {
        let found = explain(b"\xff\xfe a\tb\n", b"\xfe a b", b"").unwrap();
        assert_eq!(found.near.line, 1);
    }

    #[test]
    fn programs_are_told_the_same() {
        let found = explain("prix\u{a0}: 9".as_bytes(), b"prix : 9", b"").unwrap();
        assert_eq!(
            serde_json::to_value(found.near).unwrap(),
            serde_json::json!({
                "difference": "look_alikes",
                "path": null,
                "line": 1,
                "found": "\u{a0}",
                "expected": " ",
                "code_points": ["U+00A0"],
            })
        );
    }
}

//! Untrusted text, made safe for a terminal and for the log of a CI service.
//!
//! Control characters, among them the escape that starts terminal commands, and characters
//! that reorder text are shown by their code points. So are the beginnings of what CI
//! services take for commands when they see it in a log: `::` at the start of a line
//! (GitHub), `##[`, `##vso[`, `##teamcity[` (GitHub, Azure Pipelines, TeamCity).

/// Longest name between `##` and `[` that is looked for.
const MAX_SERVICE: usize = 16;

/// The text on one line: line breaks are shown, too.
pub(crate) fn line(text: &str) -> String {
    let shown: String = text.chars().map(|c| shown(c, false)).collect();
    disarmed(&shown, "\\u{3a}", "\\u{23}")
}

/// The text with its line breaks and tabs.
pub(crate) fn lines(text: &str) -> String {
    let shown: String = text.chars().map(|c| shown(c, true)).collect();
    disarmed(&shown, "\\u{3a}", "\\u{23}")
}

/// The text without commands to a CI service: the first colon of `::` at the start of a line
/// is replaced by `colon`, the second hash of `##…[` by `hash`.
pub(super) fn disarmed(text: &str, colon: &str, hash: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at_start = true;
    let mut before = '\n';
    for (at, c) in text.char_indices() {
        let rest = text.get(at..).unwrap_or_default();
        if at_start && rest.starts_with("::") {
            out.push_str(colon);
        } else if before == '#' && is_service(rest) {
            out.push_str(hash);
        } else {
            out.push(c);
        }
        at_start = matches!(c, '\n' | '\r') || (at_start && c.is_whitespace());
        before = c;
    }
    out
}

/// Whether the text goes on as `#name[`, or with no name.
fn is_service(rest: &str) -> bool {
    rest.strip_prefix('#').is_some_and(|rest| {
        let name = rest.chars().take(MAX_SERVICE);
        let length = name.take_while(char::is_ascii_alphabetic).count();
        rest.as_bytes().get(length) == Some(&b'[')
    })
}

/// Whether a character shows as nothing, or makes others show in another order or on
/// another line.
pub(super) const fn misleads(c: char) -> bool {
    matches!(
        c,
        '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}'
    )
}

fn shown(c: char, keep_layout: bool) -> String {
    match c {
        '\n' | '\t' if keep_layout => c.to_string(),
        c if misleads(c) => c.escape_unicode().to_string(),
        c if c.is_control() => c.escape_default().to_string(),
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_commands_lose_their_power() {
        assert_eq!(line("a\u{1b}[2Jb\r\nc"), "a\\u{1b}[2Jb\\r\\nc");
        assert_eq!(lines("a\n\tb\u{7}"), "a\n\tb\\u{7}");
        assert_eq!(line("x\u{202e}y\u{2028}"), "x\\u{202e}y\\u{2028}");
        assert_eq!(line("grün → ok"), "grün → ok");
    }

    #[test]
    fn commands_to_a_ci_service_lose_theirs() {
        assert_eq!(lines("a::b\n  ::error::x"), "a::b\n  \\u{3a}:error::x");
        assert_eq!(line("::set-env"), "\\u{3a}:set-env");
        assert_eq!(line("x ##[error]y"), "x #\\u{23}[error]y");
        assert_eq!(
            line("##vso[task] ###teamcity["),
            "#\\u{23}vso[task] ##\\u{23}teamcity["
        );
        assert_eq!(lines("## heading\n#[derive]"), "## heading\n#[derive]");
        assert_eq!(disarmed("a\r::b", "&#58;", "&#35;"), "a\r&#58;:b");
    }
}

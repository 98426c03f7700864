//! Untrusted text, made safe for a terminal.
//!
//! Control characters, among them the escape that starts terminal commands, and characters
//! that reorder text are shown by their code points.

/// The text on one line: line breaks are shown, too.
pub(crate) fn line(text: &str) -> String {
    text.chars().map(|c| shown(c, false)).collect()
}

/// The text with its line breaks and tabs.
pub(crate) fn lines(text: &str) -> String {
    text.chars().map(|c| shown(c, true)).collect()
}

fn shown(c: char, keep_layout: bool) -> String {
    match c {
        '\n' | '\t' if keep_layout => c.to_string(),
        '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}' => c.escape_unicode().to_string(),
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
        assert_eq!(line("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(line("grün → ok"), "grün → ok");
    }
}

//! What a guest's names and messages may contribute to ours.

/// One line of at most 500 characters without control, direction or invisible characters.
pub(crate) fn clean(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or("")
        .chars()
        .filter(|c| !c.is_control() && !misleads(*c))
        .take(500)
        .collect()
}

/// Whether a character shows as nothing, or makes others show in another order.
pub(crate) const fn misleads(c: char) -> bool {
    matches!(
        c,
        '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_one_plain_line() {
        assert_eq!(clean("a\u{1b}[2Jb\u{202e}c\u{200b}d\nsecond"), "a[2Jbcd");
        assert_eq!(clean(&"x".repeat(600)).len(), 500);
        assert_eq!(clean("gr\u{fc}n \u{2192} ok"), "gr\u{fc}n \u{2192} ok");
    }
}

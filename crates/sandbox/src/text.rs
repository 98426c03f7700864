//! What a guest's names and messages may contribute to ours.

/// One line of at most 500 characters without control characters.
pub(crate) fn clean(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or("")
        .chars()
        .filter(|c| !c.is_control())
        .take(500)
        .collect()
}

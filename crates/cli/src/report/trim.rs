//! Texts for reports that cannot be arbitrarily large.
//!
//! GitLab reads JUnit files of 30 MB and gives up on huge nodes; the JSON report has all.

/// Bytes that all texts of one report may take together.
const ROOM: usize = 16 << 20;
/// Bytes that a text may take however little room is left.
const LEAST: usize = 200;

/// What is left for the texts of one report.
#[derive(Debug)]
pub(super) struct Room {
    left: usize,
}

impl Room {
    pub(super) const fn new() -> Self {
        Self { left: ROOM }
    }

    /// The text, or of a longer one head and tail, so that `cap` bytes remain, or less when
    /// the report has grown large. A note counts what is left out.
    pub(super) fn take(&mut self, text: &str, cap: usize) -> String {
        let cap = cap.min(self.left / 16).max(LEAST);
        let kept = trimmed(text, cap);
        // What XML and YAML escape grows; most text does not.
        self.left = self.left.saturating_sub(kept.len());
        kept
    }
}

/// Head and tail of the text, at most `cap` bytes beside a note in the middle.
pub(super) fn trimmed(text: &str, cap: usize) -> String {
    if text.len() <= cap {
        return text.to_owned();
    }
    let half = cap / 2;
    let head = text
        .get(..text.floor_char_boundary(half))
        .unwrap_or_default();
    let from = text.ceil_char_boundary(text.len().saturating_sub(half));
    let tail = text.get(from..).unwrap_or_default();
    let dropped = text
        .len()
        .saturating_sub(head.len())
        .saturating_sub(tail.len());
    format!("{head}\n[… {dropped} bytes left out; the JSON report has them …]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_both_ends_and_say_what_is_left_out() {
        assert_eq!(trimmed("short", 5), "short");
        let cut = trimmed(&"ä".repeat(100), 9);
        assert!(cut.starts_with("ää\n[… 192 bytes left out"), "{cut}");
        assert!(cut.ends_with("\nää"), "{cut}");
    }

    #[test]
    fn many_texts_never_fill_the_report() {
        let mut room = Room::new();
        let text = "x".repeat(1 << 20);
        let total: usize = (0..1000).map(|_| room.take(&text, 1 << 20).len()).sum();
        assert!(total < ROOM + 1000 * 300, "{total}");
        assert_eq!(Room::new().take("short", 100), "short");
    }
}

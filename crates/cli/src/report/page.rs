//! Text that fits the reader's terminal: prose is wrapped at words, evidence is cut. Where
//! there is no terminal, nothing is.

use std::fmt::Write as _;

use console::{measure_text_width, truncate_str};

use super::escape;
use crate::ui::{Look, Style};

/// A text in the making. What it is given is untrusted, unless it says otherwise.
pub(super) struct Page {
    text: String,
    look: Look,
}

impl Page {
    pub(super) const fn new(look: Look) -> Self {
        Self {
            text: String::new(),
            look,
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// A line of our own, painted already.
    pub(super) fn own(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    pub(super) fn paint(&self, style: Style, text: &str) -> String {
        self.look.paint(style, text)
    }

    /// An empty line, unless there is one or nothing stands above.
    pub(super) fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Prose after `first`, which is our own; further lines begin below the prose.
    pub(super) fn prose(&mut self, first: &str, text: &str) {
        let indent = measure_text_width(first);
        let mut at = 0_usize;
        let _ = write!(self.text, "{first}");
        for word in escape::line(text).split(' ') {
            let width = measure_text_width(word);
            let end = at.saturating_add(width).saturating_add(1);
            let full = self
                .look
                .width
                .is_some_and(|most| indent.saturating_add(end) > most);
            if at > 0 && full {
                let _ = write!(self.text, "\n{:indent$}{word}", "");
                at = width;
            } else if at > 0 {
                let _ = write!(self.text, " {word}");
                at = end;
            } else {
                let _ = write!(self.text, "{word}");
                at = width;
            }
        }
        self.text.push('\n');
    }

    /// A name on one line after `first`, which is our own. Of one that does not fit, both
    /// ends are shown.
    pub(super) fn name(&mut self, first: &str, name: &str) {
        let name = escape::line(name);
        let room = |width: usize| width.saturating_sub(measure_text_width(first));
        let shown = match self.look.width.map(room) {
            Some(room) if measure_text_width(&name) > room => {
                let head = truncate_str(&name, room.saturating_mul(2) / 3, "…").into_owned();
                let left = room.saturating_sub(measure_text_width(&head));
                // By characters, then fewer of them as long as they are wide.
                let mut tail: String = {
                    let skip = name.chars().count().saturating_sub(left);
                    name.chars().skip(skip).collect()
                };
                while measure_text_width(&tail) > left && !tail.is_empty() {
                    tail.remove(0);
                }
                format!("{head}{tail}")
            }
            Some(_) | None => name,
        };
        let _ = writeln!(self.text, "{first}{shown}");
    }

    /// One line of evidence after `first`, which is our own. What does not fit is cut off.
    pub(super) fn evidence(&mut self, first: &str, style: Style, line: &str) {
        let line = escape::line(&line.replace('\t', "    "));
        let room = |width: usize| width.saturating_sub(measure_text_width(first));
        let line = match self.look.width.map(room) {
            Some(room) => truncate_str(&line, room, "…").into_owned(),
            None => line,
        };
        let line = self.look.paint(style, &line);
        let _ = writeln!(self.text, "{}", format!("{first}{line}").trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(width: Option<usize>, fill: impl FnOnce(&mut Page)) -> String {
        let mut page = Page::new(Look {
            width,
            ..Look::PLAIN
        });
        fill(&mut page);
        page.finish()
    }

    #[test]
    fn prose_is_wrapped_below_its_start() {
        let text = "one two three four";
        let fill = |page: &mut Page| page.prose("  a: ", text);
        assert_eq!(
            page(Some(14), fill),
            "  a: one two\n     three\n     four\n"
        );
        assert_eq!(page(None, fill), "  a: one two three four\n");
        let long = |page: &mut Page| page.prose("", "averylongword x");
        assert_eq!(page(Some(5), long), "averylongword\nx\n");
    }

    #[test]
    fn evidence_is_cut_at_the_width_and_never_elsewhere() {
        let fill = |page: &mut Page| page.evidence("| ", Style::Plain, "0123\t456789");
        assert_eq!(page(Some(8), fill), "| 0123 …\n");
        assert_eq!(page(None, fill), "| 0123    456789\n");
        let wide = |page: &mut Page| page.evidence("| ", Style::Plain, "語語語語");
        assert_eq!(page(Some(8), wide), "| 語語…\n");
    }

    #[test]
    fn of_a_long_name_both_ends_are_shown() {
        let fill = |page: &mut Page| page.name("- ", "tests/test_a.py::test_long_name[12]");
        assert_eq!(page(Some(22), fill), "- tests/test_a…ame[12]\n");
        assert_eq!(page(None, fill), "- tests/test_a.py::test_long_name[12]\n");
        assert_eq!(
            page(Some(80), fill),
            "- tests/test_a.py::test_long_name[12]\n"
        );
        let wide = |page: &mut Page| page.name("", &"語".repeat(20));
        assert_eq!(page(Some(13), wide), "語語語…語語語\n");
    }

    #[test]
    fn gaps_do_not_pile_up() {
        let text = page(None, |page| {
            page.gap();
            page.own("a");
            page.gap();
            page.gap();
            page.own("b");
        });
        assert_eq!(text, "a\n\nb\n");
    }
}

//! How far a verdict is, on a terminal: the check that runs, a bar for its tests, failures as
//! they come. Nothing of it where standard error is no terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use probity_core::verify::{Event, SuiteProgress};

use crate::report::escape;
use crate::ui::Ui;

/// Failures that are printed as they come; the report has all.
const MAX_FAILURES: u64 = 20;
/// While nothing is known of tests, and once it is.
const WAITING: &str = "{spinner} {prefix} {elapsed} {wide_msg}";
const COUNTING: &str = "{spinner} {prefix} {bar:16} {pos}/{len} {elapsed} {wide_msg}";

/// The display of one verdict.
pub(crate) struct Progress<'a> {
    ui: &'a Ui,
    bar: ProgressBar,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(ui: &'a Ui) -> Self {
        let bar = ui.spinner("judging");
        Self { ui, bar }
    }

    pub(crate) fn show(&self, event: Event<'_>) {
        if !self.ui.is_interactive() {
            return;
        }
        match event {
            Event::CheckStarted {
                index,
                total,
                check,
            } => {
                self.style(WAITING);
                self.bar.set_message("");
                let number = index.saturating_add(1);
                let name = escape::line(&check.name);
                self.bar.set_prefix(format!("[{number}/{total}] {name}"));
            }
            Event::SuiteProgressed { progress, .. } => self.suite(progress),
            Event::CheckFinished { .. } => {}
        }
    }

    fn suite(&self, progress: SuiteProgress<'_>) {
        if let Some((id, outcome)) = progress.failure
            && progress.failed <= MAX_FAILURES
        {
            let and_more = if progress.failed == MAX_FAILURES {
                "\n(more failures are in the report)"
            } else {
                ""
            };
            self.print(&format!("{outcome}: {}{and_more}", escape::line(id)));
        }
        if progress.collected == 0 {
            return;
        }
        if self.bar.length() != Some(progress.collected) {
            self.style(COUNTING);
            self.bar.set_length(progress.collected);
        }
        self.bar.set_position(progress.done);
        let running = progress.running.map(escape::line).unwrap_or_default();
        self.bar.set_message(match progress.failed {
            0 => running,
            failed => format!("{failed} failed  {running}"),
        });
    }

    /// Prints a line above the bar, or where the bar will be.
    fn print(&self, line: &str) {
        if self.bar.is_hidden() {
            self.ui.note(line);
        } else {
            self.bar.println(line);
        }
    }

    fn style(&self, template: &str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
        if template == WAITING {
            self.bar.set_length(0);
        }
        self.bar.enable_steady_tick(Duration::from_millis(120));
    }

    /// Takes it off the terminal.
    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}

//! The one place that prints and that knows what the terminal is like.
//!
//! Results go to standard output, everything else to standard error. A closed pipe is no
//! error. Colour is used only on a terminal, honours `NO_COLOR`, and never carries
//! meaning alone.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::failure::{Failure, HOST, INTERRUPTED};
use crate::report::escape;

/// How long work may take before its progress is shown.
const PATIENCE: Duration = Duration::from_millis(300);
/// Fewer columns are taken for a terminal that does not know its own.
const MIN_WIDTH: usize = 40;

/// Set while files are being put in place: an interrupt then waits for the end.
static COMMITTING: AtomicBool = AtomicBool::new(false);
static INTERRUPT_SEEN: AtomicBool = AtomicBool::new(false);

/// Ends the process with code 130 at the first interrupt, unless files are being put in
/// place, which is finished first.
#[allow(clippy::exit, reason = "an interrupt ends the process, wherever it is")]
pub(crate) fn on_interrupt() {
    // Without the handler an interrupt still ends the process, only with another code.
    let _ = ctrlc::set_handler(|| {
        INTERRUPT_SEEN.store(true, Ordering::SeqCst);
        if !COMMITTING.load(Ordering::SeqCst) {
            std::process::exit(i32::from(INTERRUPTED));
        }
    });
}

/// Runs `work` to its end even if an interrupt arrives; the process then ends after it.
#[allow(
    clippy::exit,
    reason = "an interrupt that arrived meanwhile ends the process"
)]
pub(crate) fn uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    COMMITTING.store(true, Ordering::SeqCst);
    let result = work();
    COMMITTING.store(false, Ordering::SeqCst);
    if INTERRUPT_SEEN.load(Ordering::SeqCst) {
        std::process::exit(i32::from(INTERRUPTED));
    }
    result
}

/// How a piece of text is set.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    Plain,
    Good,
    Bad,
    Doubtful,
    Faint,
    Strong,
}

/// What the reader of a text can see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Whether it shows colours.
    pub(crate) colour: bool,
    /// Columns of the terminal; `None` where lines may be as long as they like.
    pub(crate) width: Option<usize>,
}

impl Look {
    /// For files: no colour, no width.
    pub(crate) const PLAIN: Self = Self {
        colour: false,
        width: None,
    };

    /// `text` in `style`, if the terminal shows it.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => return text.to_owned(),
            Style::Good => "32",
            Style::Bad => "31;1",
            Style::Doubtful => "33",
            Style::Faint => "2",
            Style::Strong => "1",
        };
        if self.colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Standard streams and what they can show.
pub(crate) struct Ui {
    look: Look,
    terminal: bool,
}

impl Ui {
    pub(crate) fn new() -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let output = io::stdout().is_terminal();
        let columns = || console::Term::stdout().size_checked();
        Self {
            look: Look {
                colour: output && !no_colour,
                width: if output {
                    columns().map(|(_, width)| usize::from(width).max(MIN_WIDTH))
                } else {
                    None
                },
            },
            terminal: io::stderr().is_terminal(),
        }
    }

    /// Prints a result. A reader that went away changes nothing of what comes of it.
    pub(crate) fn out(&self, text: &str) {
        self.out_bytes(text.as_bytes());
    }

    /// Prints a result that need not be text, as it is.
    #[allow(clippy::exit, reason = "a result that cannot be written is lost")]
    pub(crate) fn out_bytes(&self, bytes: &[u8]) {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                std::process::exit(i32::from(HOST));
            }
            // The exit code tells the outcome to those who read no more.
            Ok(()) | Err(_) => {}
        }
    }

    /// Prints a result as indented JSON.
    pub(crate) fn out_json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(value).map_err(Failure::host)?;
        text.push('\n');
        self.out(&text);
        Ok(())
    }

    /// Prints something that is not a result.
    pub(crate) fn note(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        // Whoever closed standard error does not want to know.
        let _ = stderr.write_all(text.as_bytes());
        let _ = stderr.write_all(b"\n");
    }

    /// `text` in `style`, if the terminal shows it.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        self.look.paint(style, text)
    }

    /// What standard output shows.
    pub(crate) const fn look(&self) -> Look {
        self.look
    }

    /// Explains a failure, with what to do next.
    pub(crate) fn failure(&self, failure: &Failure) {
        match failure {
            Failure::Request(error) | Failure::Host(error) => {
                self.note(&format!("error: {}", escape::lines(&format!("{error:#}"))));
            }
            Failure::Refused { printed: true, .. } => {}
            Failure::Refused {
                error,
                printed: false,
            } => self.note(&crate::report::refusal(error)),
        }
    }

    /// A spinner on a terminal, nothing elsewhere. It appears only if the work takes long
    /// enough to wonder.
    pub(crate) fn spinner(&self, message: &str) -> ProgressBar {
        if !self.terminal {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::hidden();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(message.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        let shown_later = bar.downgrade();
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            if let Some(bar) = shown_later.upgrade().filter(|bar| !bar.is_finished()) {
                bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            }
        });
        bar
    }

    /// Whether standard error is a terminal.
    pub(crate) const fn is_interactive(&self) -> bool {
        self.terminal
    }
}

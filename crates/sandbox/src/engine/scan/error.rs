//! Why a module was refused, in one line that names the place and the next step.
//!
//! Everything that came from the module passes [`clean`] first.

use std::fmt;

use super::shape::Shape;
use crate::text::misleads;

/// Characters of foreign text that a message may hold.
const TEXT: usize = 300;

/// Where in the input something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The index of the function in its module, imports counted; `None` outside of bodies.
    pub function: Option<u32>,
    /// Bytes from the start of the input.
    pub offset: usize,
}

impl Place {
    /// A place outside of any function body.
    #[must_use]
    pub const fn at(offset: usize) -> Self {
        Self {
            function: None,
            offset,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = self.function {
            write!(f, "in function {function} ")?;
        }
        write!(f, "at offset {:#x}", self.offset)
    }
}

/// The input was refused. Always the fault of whoever made the module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// The bytes are not a valid binary module or component.
    #[error("not valid WebAssembly: {message} (at offset {offset:#x})")]
    Invalid {
        /// What is wrong, cleaned and cut.
        message: String,
        /// Bytes from the start of the input.
        offset: usize,
    },
    /// The module uses something that the engine does not offer.
    #[error("{what} is not supported (at offset {offset:#x}); {hint}")]
    Unsupported {
        /// The proposal or construct by name.
        what: &'static str,
        /// What its maker can do.
        hint: &'static str,
        /// Bytes from the start of the input.
        offset: usize,
    },
    /// The module exceeds a cap.
    #[error("too much to compile: {used} {} {place}, at most {cap} (limit `{}`); {}", shape.unit(), shape.name(), shape.hint())]
    TooMuch {
        /// The measured shape.
        shape: Shape,
        /// The cap, in the shape's unit.
        cap: u64,
        /// The use that exceeded the cap. Counting stops there, so the module may hold more.
        used: u64,
        /// Where the cap was exceeded.
        place: Place,
    },
}

/// One line of foreign text: without control, direction or invisible characters, and cut.
pub(super) fn clean(text: &str) -> String {
    let mut line = String::new();
    for (at, c) in text.chars().enumerate() {
        if at >= TEXT {
            line.push('…');
            break;
        }
        line.push(match c {
            c if c.is_control() => ' ',
            c if misleads(c) => '\u{fffd}',
            c => c,
        });
    }
    line
}

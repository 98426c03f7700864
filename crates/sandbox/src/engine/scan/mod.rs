//! The scan that a module passes before anything is compiled.
//!
//! Compiling is the one step that neither fuel nor a deadline inside the guest bounds, and
//! small inputs can make it slow or large: deep nesting, large jump tables, many values
//! that live across many blocks, components that contain each other many times over. The
//! scan validates the bytes fully, measures each such shape and refuses what exceeds its
//! cap or uses a proposal that the engine does not offer.
//!
//! - **Nothing is compiled, and nothing is allocated by a number that the input names**
//!   before that number met its cap.
//! - **Time and memory are linear in the input**: every count is capped before the
//!   validator acts on it, and what one instruction may move is charged by its arity.
//! - Text from the input reaches a message only after it was cut and cleaned.
//!
//! Deliberately absent: text modules (`.wat`), which the engine would otherwise accept,
//! and any look at what imports mean; linking refuses unknown ones.

mod body;
mod component;
mod error;
mod shape;
mod support;
mod walk;

#[cfg(test)]
mod tests;

pub use error::{Place, ScanError};
pub use shape::{ModuleLimits, Shape};
pub use walk::{Facts, scan};

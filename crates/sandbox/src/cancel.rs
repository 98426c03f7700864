//! Ending guests early, on the embedder's word.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A word that ends every guest that was given a clone of it. Once given it holds.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    cancelled: Arc<AtomicBool>,
}

impl Cancel {
    /// Ends the guests: within some 20 ms they are gone, and their runs end as
    /// [`RunError::Cancelled`](crate::guest::RunError::Cancelled).
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    /// Whether the word was given.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }
}

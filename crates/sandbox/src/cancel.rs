//! Ending guests early, on the embedder's word.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A word that ends every guest that was given a clone of it. Once given it holds.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    cancelled: Arc<AtomicBool>,
    /// Another word that ends them, too.
    outer: Option<Arc<Self>>,
}

impl Cancel {
    /// Ends the guests: within some 20 ms they are gone, and their runs end as
    /// [`RunError::Cancelled`](crate::guest::RunError::Cancelled).
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    /// A word of its own that this one implies, but not the other way round.
    pub(crate) fn inner(&self) -> Self {
        Self {
            cancelled: Arc::default(),
            outer: Some(Arc::new(self.clone())),
        }
    }

    /// Whether the word was given.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
            || self
                .outer
                .as_ref()
                .is_some_and(|outer| outer.is_cancelled())
    }
}

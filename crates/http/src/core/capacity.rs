//! The limits on what is in progress in the whole service at once.

use crate::core::{ConcurrencyLimit, LoadLimits, MemoryBudget};

/// The limits on connections, on requests in flight and on the memory of large bodies, each with its current use.
pub(crate) struct Capacity {
    pub(crate) limits: LoadLimits,
    pub(crate) connections: ConcurrencyLimit,
    pub(crate) requests: ConcurrencyLimit,
    pub(crate) uploads: MemoryBudget,
    pub(crate) answers: MemoryBudget,
}

impl Capacity {
    /// Creates unused capacity with these limits.
    pub(crate) fn new(limits: LoadLimits) -> Self {
        Self {
            limits,
            connections: ConcurrencyLimit::new(limits.connections, "connections: AGORA_MAX_CONNECTIONS"),
            requests: ConcurrencyLimit::new(limits.requests, "requests: AGORA_MAX_REQUESTS"),
            uploads: MemoryBudget::new(limits.upload_bytes, "uploads at once: AGORA_UPLOAD_MEMORY"),
            answers: MemoryBudget::new(limits.answer_bytes, "answers at once: AGORA_ANSWER_MEMORY"),
        }
    }
}

//! Whether what the service depends on answers.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::Result;

/// Asks something that the service depends on for a sign of life.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Probe: Send + Sync {
    /// Asks once. It MUST change nothing, cost little, and go the way that requests go, so that what it meets is what
    /// they would meet. Whoever asks bounds the time, and may give up at any moment.
    ///
    /// # Errors
    /// What requests would fail with.
    async fn probe(&self) -> Result<()>;
}

/// A probe of each thing that the service depends on.
#[derive(Clone)]
pub struct Probes {
    /// The database answers.
    pub database: Arc<dyn Probe>,
    /// The store of images answers, as far as can be told without an image.
    pub images: Arc<dyn Probe>,
    /// The database has the schema that this program works on, or a newer one.
    pub migrations: Arc<dyn Probe>,
}

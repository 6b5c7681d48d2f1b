//! Health checks of the dependencies of the service.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::Result;

/// A health check of one dependency of the service.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Probe: Send + Sync {
    /// Checks the dependency once. MUST change nothing, be cheap, and take the same path as requests, so that it fails when
    /// they would. The caller bounds the time, and may drop the future at any moment.
    ///
    /// # Errors
    /// The error that requests would fail with.
    async fn probe(&self) -> Result<()>;
}

/// The probes of all dependencies.
#[derive(Clone)]
pub struct Probes {
    /// The database answers.
    pub database: Arc<dyn Probe>,
    /// The image store answers, as far as that can be checked without an image.
    pub images: Arc<dyn Probe>,
    /// The database has the schema that this version of the program needs, or a newer one.
    pub migrations: Arc<dyn Probe>,
}

//! The leases of background jobs that one node at a time runs.

use std::sync::Arc;

use agora_domain::Result;
use tokio::task::AbortHandle;
use tokio::time::interval;

use super::database::Postgres;
use super::lease::{RENEWAL_INTERVAL, release, renew, try_acquire};
use crate::exclusive_job::ExclusiveJob;

/// A lease, which is renewed until it is dropped, and then released.
pub(crate) struct Lease {
    database: Arc<Postgres>,
    name: &'static str,
    renewal: AbortHandle,
}

impl Lease {
    /// Acquires the lease of a job, or returns `None` if another node has it.
    pub(crate) async fn try_acquire(database: &Arc<Postgres>, job: ExclusiveJob) -> Result<Option<Self>> {
        let name = job.name();
        let holder = database.holder;
        if !database.statement(move |conn| Box::pin(try_acquire(conn, name, holder))).await? {
            return Ok(None);
        }
        let renewing = Arc::clone(database);
        let renewal = database.runtime().spawn(async move {
            let mut interval = interval(RENEWAL_INTERVAL);
            loop {
                interval.tick().await;
                match renewing.statement(move |conn| Box::pin(renew(conn, name, holder))).await {
                    Ok(true) => {}
                    Ok(false) => tracing::warn!(name, "a lease expired, and another node acquired it"),
                    Err(error) => tracing::warn!(name, cause = error.cause(), "could not renew a lease"),
                }
            }
        });
        Ok(Some(Self { database: Arc::clone(database), name, renewal: renewal.abort_handle() }))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewal.abort();
        let (database, name, holder) = (Arc::clone(&self.database), self.name, self.database.holder);
        self.database.runtime().spawn(async move {
            // If this fails, the lease expires by itself.
            let _ = database.statement(move |conn| Box::pin(release(conn, name, holder))).await;
        });
    }
}

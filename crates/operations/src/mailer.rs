//! Sends the mails of the outbox in the background.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use agora_database::{Database, ExclusiveJob};
use agora_domain::Result;
use agora_domain::mail::{Delivery, MailDelivery};
use tokio::time::sleep;

use crate::progress::Interrupt;
use crate::sweep::warn;

/// The time between two polls for mails that are due: the longest delay that polling adds.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time until a retry after the database failed.
const RETRY: Duration = Duration::from_secs(10);

/// Counters of mails since the start of this node.
#[derive(Debug, Default)]
pub struct MailRecord {
    sent: AtomicU64,
    failed: AtomicU64,
    dead: AtomicU64,
}

impl MailRecord {
    /// Returns how many mails the mail server accepted.
    pub fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    /// Returns how many attempts to send a mail failed.
    pub fn failed(&self) -> u64 {
        self.failed.load(Relaxed)
    }

    /// Returns how many mails were given up after their last attempt.
    pub fn dead(&self) -> u64 {
        self.dead.load(Relaxed)
    }
}

/// Sends the mails of the outbox. Of several nodes on one database, only one sends at a time.
pub struct Mailer {
    /// The database, whose lock allows one node to send at a time.
    pub database: Arc<Database>,
    /// The use case that sends the next mail.
    pub delivery: MailDelivery,
    /// The counters that it adds to.
    pub record: Arc<MailRecord>,
}

impl Mailer {
    /// Runs until it is interrupted; then the mail in flight is still sent and recorded as sent. A failure is logged and retried
    /// later.
    pub async fn run(&self, interrupt: Interrupt) {
        while !interrupt.is_cancelled() {
            let pause = match self.deliver(&interrupt).await {
                Ok(()) => INTERVAL,
                Err(error) => {
                    warn("could not process the outbox", &error);
                    RETRY
                }
            };
            interrupt.run_until_cancelled(sleep(pause)).await;
        }
    }

    /// Sends the mails that are due, unless another node is sending.
    async fn deliver(&self, interrupt: &Interrupt) -> Result<()> {
        if !self.delivery.is_due().await? {
            return Ok(());
        }
        let Some(_lock) = self.database.lock(ExclusiveJob::Mail).await? else { return Ok(()) };
        while !interrupt.is_cancelled() {
            let Some(delivery) = self.delivery.deliver_next().await? else { break };
            self.note(&delivery);
        }
        Ok(())
    }

    fn note(&self, delivery: &Delivery) {
        match delivery {
            Delivery::Dropped => {}
            Delivery::Sent => _ = self.record.sent.fetch_add(1, Relaxed),
            Delivery::Failed { id, kind, attempts, is_dead } => {
                self.record.failed.fetch_add(1, Relaxed);
                let kind = kind.as_str();
                // Logs neither the address nor the server's reply, which may contain it: `agora mail list` shows both.
                if *is_dead {
                    self.record.dead.fetch_add(1, Relaxed);
                    tracing::error!(%id, kind, attempts, "gave up sending a mail; see `agora mail list`");
                } else {
                    tracing::warn!(%id, kind, attempts, "could not send a mail, and will try again; see `agora mail list`");
                }
            }
        }
    }
}

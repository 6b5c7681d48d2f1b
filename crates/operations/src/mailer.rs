//! Sends mail in the background.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use agora_database::{Database, Turn};
use agora_domain::Result;
use agora_domain::mail::{Delivery, MailDelivery};
use tokio::time::sleep;

use crate::progress::Interrupt;
use crate::sweep::warn;

/// The time between two looks at whether a mail is due: so long it waits at most.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time until it is tried again after the database failed.
const RETRY: Duration = Duration::from_secs(10);

/// What was sent since the start, on this node.
#[derive(Debug, Default)]
pub struct MailRecord {
    sent: AtomicU64,
    failed: AtomicU64,
    dead: AtomicU64,
}

impl MailRecord {
    /// Returns how many mails the server took.
    pub fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    /// Returns how often it did not.
    pub fn failed(&self) -> u64 {
        self.failed.load(Relaxed)
    }

    /// Returns how many mails were given up.
    pub fn dead(&self) -> u64 {
        self.dead.load(Relaxed)
    }
}

/// Sends what is in the outbox; of several nodes on one database, one at a time.
pub struct Mailer {
    /// The database, of which one node sends at a time.
    pub database: Arc<Database>,
    /// Sends mails.
    pub delivery: MailDelivery,
    /// What was done.
    pub record: Arc<MailRecord>,
}

impl Mailer {
    /// Runs until it is interrupted, and ends then once what is on its way is sent and said to be. A failure is logged, and tried
    /// again later.
    pub async fn run(&self, interrupt: Interrupt) {
        while !interrupt.is_cancelled() {
            let pause = match self.deliver(&interrupt).await {
                Ok(()) => INTERVAL,
                Err(error) => {
                    warn("could not look after the outbox", &error);
                    RETRY
                }
            };
            interrupt.run_until_cancelled(sleep(pause)).await;
        }
    }

    /// Sends what is due, unless another node does.
    async fn deliver(&self, interrupt: &Interrupt) -> Result<()> {
        if !self.delivery.is_due().await? {
            return Ok(());
        }
        let Some(_lock) = self.database.lock(Turn::Mail).await? else { return Ok(()) };
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
                // Neither the address nor what the server says, in which that may stand: `agora mail list` shows both.
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

//! Sending what is in the outbox.

use std::sync::Arc;

use super::{
    Claim, ClaimedMail, MailKind, MailStatus, MailTokens, MailTransport, MailView, NotTaken, Outbox, OutgoingMail,
};
use crate::accounts::Admin;
use crate::clock::Clock;
use crate::error::{Error, Resource, Result};
use crate::id::MailId;

/// Sends mails, one after the other.
pub struct MailDelivery {
    /// Where they are.
    pub outbox: Arc<dyn Outbox>,
    /// Draws the tokens in them.
    pub tokens: Arc<dyn MailTokens>,
    /// Where they go.
    pub transport: Arc<dyn MailTransport>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// What became of something in the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// It was a request that makes no mail.
    Dropped,
    /// The server took the mail.
    Sent,
    /// It did not.
    Failed {
        /// Which mail.
        id: MailId,
        /// What it is about.
        kind: MailKind,
        /// How often it was tried.
        attempts: u32,
        /// Whether it was given up.
        is_dead: bool,
    },
}

impl MailDelivery {
    /// Returns whether there is something to do.
    ///
    /// # Errors
    /// Those of the outbox.
    pub async fn is_due(&self) -> Result<bool> {
        self.outbox.is_due(self.clock.now()).await
    }

    /// Sends the mail that has been due for longest; nothing when none is due. Whoever is ended on the way leaves it to be sent
    /// again: a mail may arrive twice, and is never lost.
    ///
    /// # Errors
    /// Those of the outbox. A mail that the server did not take is no error.
    pub async fn deliver_next(&self) -> Result<Option<Delivery>> {
        let token = self.tokens.draw()?;
        let claimed = match self.outbox.claim(&self.tokens.digest(&token), self.clock.now()).await? {
            Claim::Nothing => return Ok(None),
            Claim::Dropped => return Ok(Some(Delivery::Dropped)),
            Claim::Mail(claimed) => claimed,
        };
        let ClaimedMail { id, kind, address, username, attempts, give_up_at } = claimed;
        let token = kind.token_millis().map(|_| token);
        let sent = self.transport.send(&OutgoingMail { id, kind, address, username, token }).await;
        let now = self.clock.now();
        match sent {
            Ok(()) => {
                self.outbox.set_sent(id, now).await?;
                Ok(Some(Delivery::Sent))
            }
            Err(NotTaken(failure)) => {
                let is_dead = now >= give_up_at;
                self.outbox.set_failed(id, &failure, is_dead, now).await?;
                Ok(Some(Delivery::Failed { id, kind, attempts, is_dead }))
            }
        }
    }
}

/// How many mails an administrator is shown at most.
pub const MAILS_LISTED: usize = 100;

/// What the operator and administrators see of the outbox, and do about it.
pub struct OutboxCare {
    /// Where mails are.
    pub outbox: Arc<dyn Outbox>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl OutboxCare {
    /// Returns the first [`MAILS_LISTED`] mails with a status, those that are due first before others.
    ///
    /// # Errors
    /// Those of the outbox.
    pub async fn list(&self, _: &Admin, status: MailStatus) -> Result<Vec<MailView>> {
        self.outbox.list(status, MAILS_LISTED).await
    }

    /// Has a mail that was not sent tried again at once.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none of that id, or it was sent.
    pub async fn retry(&self, _: &Admin, id: MailId) -> Result<()> {
        let retried = self.outbox.retry(Some(id), self.clock.now()).await?;
        if retried > 0 { Ok(()) } else { Err(Error::NotFound(Resource::Mail)) }
    }

    /// Returns mails with a status, so many, those that are due first before others: for the operator, not for clients.
    ///
    /// # Errors
    /// Those of the outbox.
    pub async fn list_for_operator(&self, status: MailStatus, limit: usize) -> Result<Vec<MailView>> {
        self.outbox.list(status, limit).await
    }

    /// Has a mail that was not sent tried again at once, or all of these; returns how many: for the operator, not for clients.
    ///
    /// # Errors
    /// Those of the outbox.
    pub async fn retry_for_operator(&self, id: Option<MailId>) -> Result<usize> {
        self.outbox.retry(id, self.clock.now()).await
    }

    /// Deletes mails that are kept no longer, and tokens that have expired; returns how many of both.
    ///
    /// # Errors
    /// Those of the outbox.
    pub async fn sweep(&self) -> Result<usize> {
        self.outbox.delete_outdated(self.clock.now()).await
    }
}

//! Sending the mails in the outbox, and administering it.

use std::sync::Arc;

use super::{
    Claim, ClaimedMail, MailKind, MailStatus, MailTokens, MailTransport, MailView, Outbox, OutgoingMail, SendError,
};
use crate::accounts::Admin;
use crate::clock::Clock;
use crate::error::{Error, Resource, Result};
use crate::id::MailId;

/// Sends mails, one after another.
pub struct MailDelivery {
    /// Stores the mails.
    pub outbox: Arc<dyn Outbox>,
    /// Generates the tokens in the mails.
    pub tokens: Arc<dyn MailTokens>,
    /// Passes the mails to a mail server.
    pub transport: Arc<dyn MailTransport>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// The outcome of processing one entry of the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// It was a request that results in no mail.
    Dropped,
    /// The mail server accepted the mail.
    Sent,
    /// The mail server did not accept the mail.
    Failed {
        /// The id of the mail.
        id: MailId,
        /// The kind of mail.
        kind: MailKind,
        /// How often it was tried so far.
        attempts: u32,
        /// Whether no further attempt will be made.
        is_dead: bool,
    },
}

impl MailDelivery {
    /// Returns whether a mail is due.
    ///
    /// # Errors
    /// Those of the outbox.
    pub async fn is_due(&self) -> Result<bool> {
        self.outbox.is_due(self.clock.now()).await
    }

    /// Sends the mail that has been due for longest; returns `None` when none is due. If the process stops in between, the mail
    /// is sent again: a mail may arrive twice, but is never lost.
    ///
    /// # Errors
    /// Those of the outbox. A mail that the server does not accept is not an error.
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
            Err(SendError(failure)) => {
                let is_dead = self.outbox.set_failed(id, &failure, now >= give_up_at, now).await?;
                Ok(Some(Delivery::Failed { id, kind, attempts, is_dead }))
            }
        }
    }
}

/// The most mails in an administrator's list.
pub const MAILS_LISTED: usize = 100;

/// Administration of the outbox, by the operator and by administrators.
pub struct OutboxAdmin {
    /// Stores the mails.
    pub outbox: Arc<dyn Outbox>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl OutboxAdmin {
    /// Returns the first [`MAILS_LISTED`] mails with a status, in the order in which they are due.
    ///
    /// # Errors
    /// Those of the outbox.
    pub async fn list(&self, _: &Admin, status: MailStatus) -> Result<Vec<MailView>> {
        self.outbox.list(status, MAILS_LISTED).await
    }

    /// Makes a mail that was not sent due now.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is no mail of that id, or it was sent.
    pub async fn retry(&self, _: &Admin, id: MailId) -> Result<()> {
        let retried = self.outbox.retry(Some(id), self.clock.now()).await?;
        if retried > 0 { Ok(()) } else { Err(Error::NotFound(Resource::Mail)) }
    }

    /// Returns at most `limit` mails with a status, in the order in which they are due: for the operator, not for clients.
    ///
    /// # Errors
    /// Those of the outbox.
    pub async fn list_for_operator(&self, status: MailStatus, limit: usize) -> Result<Vec<MailView>> {
        self.outbox.list(status, limit).await
    }

    /// Makes a mail that was not sent due now, or every such mail if `id` is `None`; returns how many: for the operator, not for
    /// clients.
    ///
    /// # Errors
    /// Those of the outbox.
    pub async fn retry_for_operator(&self, id: Option<MailId>) -> Result<usize> {
        self.outbox.retry(id, self.clock.now()).await
    }

    /// Deletes mails that are past their retention and tokens that have expired; returns how many of both together.
    ///
    /// # Errors
    /// Those of the outbox.
    pub async fn sweep(&self) -> Result<usize> {
        self.outbox.delete_outdated(self.clock.now()).await
    }
}

//! The use cases of users that go by mail: forgotten passwords, and addresses.

use std::sync::Arc;

use super::{MailKind, MailToken, MailTokens, NewMail, Outbox, TokenRedemption};
use crate::accounts::{
    Account, Email, InvalidateSessionsOnDrop, LoginIdentifier, Member, Password, PasswordAttempt, PasswordChecks,
    SessionRepository,
};
use crate::clock::Clock;
use crate::error::{Conflict, Disallowed, Error, Resource, Result};
use crate::id::{IdGenerator, MailId, UserId};
use crate::limits::{ClientAddress, Counted, Requester};

/// Resets passwords and verifies addresses.
pub struct AccountMail {
    /// Where sessions are kept.
    pub sessions: Arc<dyn SessionRepository>,
    /// Checks passwords.
    pub checks: PasswordChecks,
    /// Where mails wait.
    pub outbox: Arc<dyn Outbox>,
    /// What tokens of mails are good for.
    pub redemption: Arc<dyn TokenRedemption>,
    /// Digests tokens.
    pub tokens: Arc<dyn MailTokens>,
    /// Whether there is a server that mails can be handed to.
    pub is_mail_configured: bool,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes identifiers.
    pub ids: Arc<dyn IdGenerator>,
}

/// What became of a request to verify an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// A mail is on its way.
    Requested,
    /// The address is verified already.
    Done,
}

impl AccountMail {
    fn mail(&self, user: UserId, kind: MailKind, address: Email) -> NewMail {
        NewMail { id: MailId::new(self.ids.generate()), user, kind, address, created_at: self.clock.now() }
    }

    fn ensure_configured(&self) -> Result<()> {
        if self.is_mail_configured { Ok(()) } else { Err(Error::Disallowed(Disallowed::MailNotConfigured)) }
    }

    /// Has a token that resets its password mailed to the address of an account, if there is one of that name that is enabled and
    /// has not asked too often. Whoever asks does not learn any of that, nor whether mails can be sent.
    ///
    /// # Errors
    /// Those of the outbox.
    pub async fn forgot_password(&self, identifier: &LoginIdentifier) -> Result<()> {
        if !self.is_mail_configured {
            return Ok(());
        }
        self.outbox.request_reset(MailId::new(self.ids.generate()), identifier, self.clock.now()).await
    }

    /// Sets the password of the account that a token was mailed to, and ends every session of it.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the token when it is not good; [`Error::Unavailable`] when too many hashes wait.
    pub async fn reset_password(&self, client: ClientAddress, token: &MailToken, new: &Password) -> Result<()> {
        self.ensure_configured()?;
        let digest = self.tokens.digest(token);
        let user = self.redemption.find_reset(&digest, self.clock.now()).await?.ok_or_else(MailToken::refused)?;
        let requester = Requester { account: Some(user), address: client };
        let new = self.checks.passwords.hash(new, &requester).await?;
        let _invalidate = InvalidateSessionsOnDrop(self.sessions.as_ref(), user);
        let is_good = self.redemption.reset_password(&digest, &new, self.clock.now()).await?;
        if is_good { Ok(()) } else { Err(MailToken::refused()) }
    }

    /// Has a token mailed to the caller's address that verifies it, unless it is verified.
    ///
    /// # Errors
    /// [`Error::Disallowed`] where no mail is sent; [`Error::TooMany`] when it was asked for too often within an hour.
    pub async fn request_verification(&self, caller: &Member) -> Result<Verification> {
        self.ensure_configured()?;
        let account = self.checks.accounts.find(caller.id()).await?.ok_or(Error::NotFound(Resource::User))?;
        if account.email_verified {
            return Ok(Verification::Done);
        }
        self.outbox.create(&[self.mail(account.id, MailKind::EmailVerification, account.email)]).await?;
        Ok(Verification::Requested)
    }

    /// Takes a token as the proof that its address is that of the account's owner. An address that was asked for becomes that of
    /// the account.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the token when it is not good; [`Error::Conflict`] when another account has the address
    /// meanwhile.
    pub async fn verify_email(&self, token: &MailToken) -> Result<()> {
        self.ensure_configured()?;
        let is_good = self.redemption.verify_email(&self.tokens.digest(token), self.clock.now()).await?;
        if is_good { Ok(()) } else { Err(MailToken::refused()) }
    }

    /// Gives the caller's account another address: once that is verified, of which the present address is told; or at once, where
    /// no mail is sent. Returns the account as it is now.
    ///
    /// # Errors
    /// As for [`Authentication::change_password`](crate::accounts::Authentication::change_password), and [`Error::Conflict`] when
    /// another account has the address, or had it and was deleted; [`Error::TooMany`] also when other addresses, or this one by
    /// whichever accounts, were asked for too often within an hour.
    pub async fn change_email(
        &self,
        caller: &Member,
        client: ClientAddress,
        current: &PasswordAttempt,
        email: Email,
    ) -> Result<Account> {
        let user = caller.id();
        self.checks.limits.count(&Counted::PasswordChanges(user, client))?;
        let confirmed = self.checks.confirm(user, client, current).await?;
        let account = self.checks.accounts.find(user).await?.ok_or(Error::NotFound(Resource::User))?;
        if account.email == email {
            return Ok(account);
        }
        let owner = self.checks.accounts.find_id(&LoginIdentifier::Email(email.key())).await?;
        if owner.is_some_and(|owner| owner != user) {
            return Err(Error::Conflict(Conflict::Email));
        }
        if self.is_mail_configured {
            let counted = Counted::AddressChanges(email.key());
            self.checks.limits.check(&counted)?;
            let asked = self.mail(user, MailKind::EmailChange, email);
            let told = self.mail(user, MailKind::EmailChanged, account.email.clone());
            self.outbox.create_confirmed(&[asked, told], &confirmed).await?;
            // Only now: what the account itself may not ask for takes nothing from others.
            drop(self.checks.limits.count(&counted));
            return Ok(account);
        }
        self.redemption.set_email(&confirmed, &email, self.clock.now()).await?;
        Ok(Account { email, email_verified: false, ..account })
    }
}

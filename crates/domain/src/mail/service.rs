//! The use cases that users complete by mail: resetting a forgotten password, verifying and changing an address.

use std::sync::Arc;

use super::{MailKind, MailToken, MailTokens, NewMail, Outbox, TokenRedemption};
use crate::accounts::{
    Account, ConfirmedPassword, Email, InvalidateSessionsOnDrop, LoginIdentifier, Member, Password, PasswordAttempt,
    PasswordChecks, SessionRepository,
};
use crate::clock::Clock;
use crate::error::{Conflict, Disallowed, Error, Resource, Result};
use crate::id::{IdGenerator, MailId, UserId};
use crate::limits::{ClientAddress, Counted, Requester};

/// Resets passwords and verifies addresses.
pub struct AccountMail {
    /// Invalidates cached sessions.
    pub sessions: Arc<dyn SessionRepository>,
    /// Checks passwords.
    pub checks: PasswordChecks,
    /// Stores mails until they are sent.
    pub outbox: Arc<dyn Outbox>,
    /// Redeems the tokens in mails.
    pub redemption: Arc<dyn TokenRedemption>,
    /// Digests tokens.
    pub tokens: Arc<dyn MailTokens>,
    /// Whether a mail server is configured.
    pub is_mail_configured: bool,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Generates the ids of mails.
    pub ids: Arc<dyn IdGenerator>,
}

/// The outcome of a request to verify an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// A mail with a token will be sent.
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

    /// Requests a mail with a token that resets the password of the named account. It is sent only if the account exists, is
    /// enabled and has not requested too many; the caller learns none of this, nor whether a mail server is configured.
    ///
    /// # Errors
    /// Those of the outbox.
    pub async fn forgot_password(&self, identifier: &LoginIdentifier) -> Result<()> {
        if !self.is_mail_configured {
            return Ok(());
        }
        self.outbox.request_reset(MailId::new(self.ids.generate()), identifier, self.clock.now()).await
    }

    /// Sets the password of the account that a token was mailed to, and ends all its sessions.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the token when it is not valid; [`Error::Unavailable`] when too many hashes are waiting.
    pub async fn reset_password(&self, client: ClientAddress, token: &MailToken, new: &Password) -> Result<()> {
        self.ensure_configured()?;
        let digest = self.tokens.digest(token);
        let user = self.redemption.find_reset(&digest, self.clock.now()).await?.ok_or_else(MailToken::invalid)?;
        let requester = Requester { account: Some(user), address: client };
        let new = self.checks.passwords.hash(new, &requester).await?;
        let _invalidate = InvalidateSessionsOnDrop(self.sessions.as_ref(), user);
        let is_valid = self.redemption.reset_password(&digest, &new, self.clock.now()).await?;
        if is_valid { Ok(()) } else { Err(MailToken::invalid()) }
    }

    /// Requests a mail with a token that verifies the caller's address, unless it is verified already.
    ///
    /// # Errors
    /// [`Error::Disallowed`] if no mail server is configured; [`Error::TooMany`] when the account has requested too many within
    /// an hour.
    pub async fn request_verification(&self, caller: &Member) -> Result<Verification> {
        self.ensure_configured()?;
        let account = self.checks.accounts.find(caller.id()).await?.ok_or(Error::NotFound(Resource::User))?;
        if account.email_verified {
            return Ok(Verification::Done);
        }
        self.outbox.create(&[self.mail(account.id, MailKind::EmailVerification, account.email)]).await?;
        Ok(Verification::Requested)
    }

    /// Verifies the address that a token was mailed to. If the token is for a change of the address, the new one becomes that of
    /// the account.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the token when it is not valid; [`Error::Conflict`] when another account has taken the address
    /// meanwhile.
    pub async fn verify_email(&self, token: &MailToken) -> Result<()> {
        self.ensure_configured()?;
        let is_valid = self.redemption.verify_email(&self.tokens.digest(token), self.clock.now()).await?;
        if is_valid { Ok(()) } else { Err(MailToken::invalid()) }
    }

    /// Changes the address of the caller's account. The change takes effect once the new address is verified, and the present
    /// address is notified; if no mail server is configured, it takes effect at once. Returns the account as it is now.
    ///
    /// # Errors
    /// As for [`Authentication::change_password`](crate::accounts::Authentication::change_password), and [`Error::Conflict`] when
    /// another account has the address, or a deleted account had it; [`Error::TooMany`] also when, within an hour, this account
    /// requested too many changes, or all accounts together requested too many changes to this address.
    pub async fn change_email(
        &self,
        caller: &Member,
        client: ClientAddress,
        current: &PasswordAttempt,
        email: Email,
    ) -> Result<Account> {
        let user = caller.id();
        self.checks.limits.count(&Counted::PasswordChanges(user, client))?;
        let change = async |confirmed| self.change_confirmed_email(&confirmed, email.clone()).await;
        self.checks.change_with_password(user, client, current, change).await
    }

    async fn change_confirmed_email(&self, confirmed: &ConfirmedPassword, email: Email) -> Result<Account> {
        let user = confirmed.user;
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
            let verification = self.mail(user, MailKind::EmailChange, email);
            let notice = self.mail(user, MailKind::EmailChanged, account.email.clone());
            self.outbox.create_confirmed(&[verification, notice], confirmed).await?;
            // Counted only now, so that a request refused for this account does not use up the limit of the address for others.
            drop(self.checks.limits.count(&counted));
            return Ok(account);
        }
        self.redemption.set_email(confirmed, &email, self.clock.now()).await?;
        Ok(Account { email, email_verified: false, ..account })
    }
}

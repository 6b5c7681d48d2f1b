//! The use cases of logging in and staying so.

use std::sync::Arc;

use super::{
    AccountRepository, Caller, Credentials, Login, Member, Password, PasswordAttempt, PasswordChange, PasswordHasher,
    Session, SessionRepository, TokenClaims, TokenIssuer,
};
use crate::{
    clock::Clock,
    error::{Error, FieldErrors, Result},
    id::{IdGenerator, SessionId, UserId},
    limits::{ClientAddress, Counted, Limits},
};

const WRONG_PASSWORD: &str = "Current password is wrong";

/// Tells that an account was changed when it goes: whatever the outcome, since a change whose acknowledgement was lost,
/// or whose request was cancelled, may count all the same.
pub(super) struct Changed<'a>(pub(super) &'a dyn SessionRepository, pub(super) UserId);

impl Drop for Changed<'_> {
    fn drop(&mut self) {
        self.0.account_changed(self.1);
    }
}

/// Logs in and out and tells who calls.
pub struct Authentication {
    /// Where accounts are kept.
    pub accounts: Arc<dyn AccountRepository>,
    /// Where sessions are kept.
    pub sessions: Arc<dyn SessionRepository>,
    /// Hashes passwords.
    pub passwords: Arc<dyn PasswordHasher>,
    /// How often a password may be wrong.
    pub limits: Limits,
    /// Issues tokens.
    pub tokens: Arc<dyn TokenIssuer>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes session ids.
    pub ids: Arc<dyn IdGenerator>,
}

impl Authentication {
    /// Opens a session and returns its first token.
    ///
    /// # Errors
    /// [`Error::InvalidCredentials`] for an unknown account, a wrong password and a disabled account alike, after the
    /// same work; [`Error::TooMany`] when that has happened too often from this client, whatever the password is now.
    pub async fn login(&self, login: &Login, client: ClientAddress) -> Result<String> {
        let found = self.accounts.find_credentials(&login.identifier).await?;
        let failures = match &found {
            Some(account) => Counted::WrongPasswords(account.user, client),
            None => Counted::WrongNames(login.identifier.clone(), client),
        };
        self.limits.check(&failures)?;
        let outcome = self.verify(login, found).await;
        if matches!(outcome, Err(Error::InvalidCredentials)) {
            self.limits.count(&failures)?;
        }
        let account = outcome?;
        // Those who guess many at once learn no more than those who guess one by one.
        self.limits.check(&failures)?;
        let now = self.clock.now();
        let session = Session { id: SessionId::new(self.ids.generate()), user: account.user, opened_at: now };
        let opened = self.sessions.open(&session, &account.password).await?;
        opened.ok_or(Error::InvalidCredentials)?;
        self.tokens.issue(TokenClaims { user: session.user, session: session.id }, now)
    }

    async fn verify(&self, login: &Login, found: Option<Credentials>) -> Result<Credentials> {
        let hash = found.as_ref().map(|credentials| credentials.password.clone());
        let matches = self.passwords.verify(&login.password, hash).await?;
        found.filter(|account| matches && account.enabled).ok_or(Error::InvalidCredentials)
    }

    /// Who presents the token.
    ///
    /// # Errors
    /// [`Error::InvalidToken`] when the token is not valid, its session revoked or its account disabled.
    pub async fn authenticate(&self, token: &str) -> Result<Caller> {
        let claims = self.tokens.verify(token, self.clock.now()).ok_or(Error::InvalidToken)?;
        let state = self.sessions.find(claims.session).await?.ok_or(Error::InvalidToken)?;
        Caller::of(state).filter(|caller| caller.user == claims.user).ok_or(Error::InvalidToken)
    }

    /// A new token of the same session.
    ///
    /// # Errors
    /// [`Error::InvalidToken`] once the login is 30 days old.
    pub async fn refresh(&self, caller: &Member) -> Result<String> {
        let now = self.clock.now();
        let session = caller.session();
        if !session.is_renewable(now) {
            return Err(Error::InvalidToken);
        }
        self.tokens.issue(TokenClaims { user: session.user, session: session.id }, now)
    }

    /// Ends the session of the token.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn logout(&self, caller: &Caller) -> Result<()> {
        self.sessions.revoke(caller.session.id, self.clock.now()).await
    }

    /// Sets a new password and ends every other session of the account.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming `currentPassword` when it is wrong or missing and `newPassword` when it is no
    /// password; [`Error::TooMany`] when the current one was wrong too often from this client, here or at login.
    pub async fn change_password(
        &self,
        caller: &Member,
        client: ClientAddress,
        current: Option<&str>,
        new: Option<&str>,
    ) -> Result<()> {
        let failures = Counted::WrongPasswords(caller.id(), client);
        self.limits.check(&failures)?;
        let mut errors = FieldErrors::default();
        let new = errors.check("newPassword", Password::parse(new.unwrap_or_default()));
        let mut verified = None;
        if let Some(current) = errors.check("currentPassword", PasswordAttempt::parse(current.unwrap_or_default())) {
            let hash = self.accounts.find_password(caller.id()).await?;
            if self.passwords.verify(&current, hash.clone()).await? {
                self.limits.check(&failures)?;
                verified = hash;
            } else {
                self.limits.count(&failures)?;
                errors.add("currentPassword", WRONG_PASSWORD);
            }
        }
        let (Some(new), Some(verified)) = (new, verified) else { return Err(errors.into()) };
        let new = self.passwords.hash(&new).await?;
        let (user, keep, at) = (caller.id(), Some(caller.session().id), self.clock.now());
        let _told = Changed(self.sessions.as_ref(), user);
        let change = PasswordChange { user, verified, new, keep, at };
        let changed = self.accounts.change_password(&change).await?;
        // Meanwhile changed by somebody else: then what was verified is no longer the password.
        changed.ok_or_else(|| Error::field("currentPassword", WRONG_PASSWORD))
    }
}

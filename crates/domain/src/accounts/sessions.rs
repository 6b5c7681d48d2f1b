//! The use cases of logging in and staying so.

use std::sync::Arc;

use super::{
    AccountRepository, Caller, Confirmed, Credentials, Login, Member, Password, PasswordAttempt, PasswordChange,
    PasswordHash, PasswordHasher, Session, SessionRepository, SessionView, Ticket, TokenClaims, TokenIssuer,
    VerifiedToken,
};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, FieldName, Resource, Result, Violation, ViolationKind};
use crate::id::{IdGenerator, SessionId, UserId};
use crate::limits::{ClientAddress, Counted, Limits, Requester};
use crate::page::{Page, PageRequest};

/// Says that the current password is wrong, or was changed since it was verified.
pub fn wrong_password() -> Error {
    Error::field(FieldName::CurrentPassword, Violation::new(ViolationKind::Incorrect, "Current password is wrong"))
}

/// How often a password is verified for one request. The stored hash may be replaced while it is: by a new password, or by
/// another hash of the same one.
const ATTEMPTS: usize = 2;

/// A login that succeeded.
#[derive(Debug)]
pub struct LoggedIn {
    /// Who has logged in.
    pub user: UserId,
    /// The first token of the session.
    pub token: String,
    /// What remains to be done with [`Authentication::rehash`], if the stored hash cost less than those made now.
    pub rehash: Option<Rehash>,
}

/// How long a ticket can be used (contract: Live updates).
const TICKET_MILLIS: i64 = 30_000;

/// A caller whose token or ticket is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authenticated {
    /// Who it is.
    pub caller: Caller,
    /// Until when the token is valid.
    pub token_expires_at: Timestamp,
}

/// A password that was verified, to be hashed anew.
#[derive(Debug)]
pub struct Rehash {
    user: UserId,
    verified: PasswordHash,
    password: Password,
    requester: Requester,
}

/// Has cached sessions of an account forgotten when it is dropped: whatever the outcome of a change, since one whose
/// acknowledgement was lost, or whose request was cancelled, may have been made.
pub(crate) struct InvalidateSessionsOnDrop<'a>(pub(crate) &'a dyn SessionRepository, pub(crate) UserId);

impl Drop for InvalidateSessionsOnDrop<'_> {
    fn drop(&mut self) {
        self.0.account_changed(self.1);
    }
}

/// Checks the passwords of accounts, and counts the wrong ones.
#[derive(Clone)]
pub struct PasswordChecks {
    /// Where accounts are kept.
    pub accounts: Arc<dyn AccountRepository>,
    /// Hashes passwords.
    pub passwords: Arc<dyn PasswordHasher>,
    /// How often a password may be wrong.
    pub limits: Limits,
}

impl PasswordChecks {
    /// Checks that a caller knows the account's password.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the current password when it is wrong. [`Error::TooMany`] when it was wrong too often from this
    /// client, here or at login.
    pub(crate) async fn confirm(
        &self,
        user: UserId,
        client: ClientAddress,
        current: &PasswordAttempt,
    ) -> Result<Confirmed> {
        let failures = Counted::WrongPasswords(user, client);
        self.limits.check(&failures)?;
        let requester = Requester { account: Some(user), address: client };
        let verified = self.accounts.find_password(user).await?.ok_or(Error::NotFound(Resource::User))?;
        if !self.passwords.verify(current, Some(verified.clone()), &requester).await? {
            self.limits.count(&failures)?;
            return Err(wrong_password());
        }
        // Those who guess many at once learn no more than those who guess one by one.
        self.limits.check(&failures)?;
        Ok(Confirmed { user, password: verified })
    }
}

/// Logs in and out and tells who calls.
pub struct Authentication {
    /// Checks passwords.
    pub checks: PasswordChecks,
    /// Where sessions are kept.
    pub sessions: Arc<dyn SessionRepository>,
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
    pub async fn login(&self, login: &Login, client: ClientAddress) -> Result<LoggedIn> {
        for _ in 0..ATTEMPTS {
            if let Some(logged_in) = self.try_login(login, client).await? {
                return Ok(logged_in);
            }
        }
        Err(Error::InvalidCredentials)
    }

    /// Logs in; `None` when the hash was replaced, or the account disabled, after the hash was read.
    async fn try_login(&self, login: &Login, client: ClientAddress) -> Result<Option<LoggedIn>> {
        let found = self.checks.accounts.find_credentials(&login.identifier).await?;
        let failures = match &found {
            Some(account) => Counted::WrongPasswords(account.user, client),
            None => Counted::WrongNames(login.identifier.clone(), client),
        };
        self.checks.limits.check(&failures)?;
        let outcome = self.verify(login, found, client).await;
        if matches!(outcome, Err(Error::InvalidCredentials)) {
            self.checks.limits.count(&failures)?;
        }
        let account = outcome?;
        // Those who guess many at once learn no more than those who guess one by one.
        self.checks.limits.check(&failures)?;
        let now = self.clock.now();
        let session = Session { id: SessionId::new(self.ids.generate()), user: account.user, opened_at: now };
        if !self.sessions.open(&session, &account.password, login.user_agent.clone()).await? {
            return Ok(None);
        }
        let token = self.tokens.issue(TokenClaims { user: session.user, session: session.id }, now)?;
        Ok(Some(LoggedIn { user: session.user, token, rehash: self.prepare_rehash(login, account, client) }))
    }

    async fn verify(&self, login: &Login, found: Option<Credentials>, client: ClientAddress) -> Result<Credentials> {
        let hash = found.as_ref().map(|credentials| credentials.password.clone());
        // Not the account's share: whoever knows its name could use that up.
        let requester = Requester { account: None, address: client };
        let matches = self.checks.passwords.verify(&login.password, hash, &requester).await?;
        found.filter(|account| matches && account.enabled).ok_or(Error::InvalidCredentials)
    }

    /// Returns the verified password of a login if its hash is to be made anew.
    fn prepare_rehash(&self, login: &Login, account: Credentials, client: ClientAddress) -> Option<Rehash> {
        if !self.checks.passwords.needs_rehash(&account.password) {
            return None;
        }
        // One that was valid when it was stored may no longer be.
        let password = Password::parse(login.password.expose()).ok()?;
        let requester = Requester { account: Some(account.user), address: client };
        Some(Rehash { user: account.user, verified: account.password, password, requester })
    }

    /// Hashes a verified password at the present cost and stores the hash, unless the password was changed meanwhile.
    ///
    /// # Errors
    /// Those of the hasher and of the repository. The next login tries again.
    pub async fn rehash(&self, Rehash { user, verified, password, requester }: Rehash) -> Result<()> {
        let new = self.checks.passwords.hash(&password, &requester).await?;
        self.checks.accounts.renew_password_hash(user, &verified, &new).await
    }

    /// Who presents the token.
    ///
    /// # Errors
    /// [`Error::ExpiredToken`] when the token has expired; [`Error::InvalidToken`] when it is not valid, its session revoked
    /// or its account disabled.
    pub async fn authenticate(&self, token: &str) -> Result<Authenticated> {
        self.authenticated(self.tokens.verify(token, self.clock.now())?).await
    }

    async fn authenticated(&self, token: VerifiedToken) -> Result<Authenticated> {
        let state = self.sessions.find(token.claims.session).await?.ok_or(Error::InvalidToken)?;
        let caller = Caller::of(state).filter(|caller| caller.user == token.claims.user).ok_or(Error::InvalidToken)?;
        if let Some(hour) = state.seen_anew(self.clock.now()) {
            self.sessions.note_seen(state.session.id, hour);
        }
        Ok(Authenticated { caller, token_expires_at: token.expires_at })
    }

    /// Returns a ticket that opens one stream of events in the place of the caller's token, and until when.
    ///
    /// # Errors
    /// Those of the issuer.
    pub fn issue_ticket(&self, caller: &Member, token_expires_at: Timestamp) -> Result<(String, Timestamp)> {
        let session = caller.session();
        let expires_at = self.clock.now().plus_millis(TICKET_MILLIS);
        let claims = TokenClaims { user: session.user, session: session.id };
        let token = VerifiedToken { claims, expires_at: token_expires_at };
        let ticket = self.tokens.issue_ticket(Ticket { id: self.ids.generate().into(), token, expires_at })?;
        Ok((ticket, expires_at))
    }

    /// Who presents a ticket, which is used then.
    ///
    /// # Errors
    /// [`Error::InvalidToken`] when it is not valid, was used or has expired, its session revoked or its account disabled.
    pub async fn redeem_ticket(&self, ticket: &str) -> Result<Authenticated> {
        let now = self.clock.now();
        let Ticket { id, token, expires_at } = self.tokens.verify_ticket(ticket, now)?;
        let authenticated = self.authenticated(token).await?;
        if !self.sessions.use_ticket(id, expires_at, now).await? {
            return Err(Error::InvalidToken);
        }
        Ok(authenticated)
    }

    /// Returns a new token of the same session.
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

    /// Returns the caller's sessions that go on, newest first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list_sessions(&self, caller: &Caller, page: PageRequest) -> Result<Page<SessionView>> {
        let opened_after = self.clock.now().plus_millis(-Session::RENEWABLE_MILLIS);
        self.sessions.list(caller.user, opened_after, page).await
    }

    /// Ends one of the caller's sessions, which may be the one that asks.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the caller has none of that id, or it has ended.
    pub async fn end_session(&self, caller: &Caller, id: SessionId) -> Result<()> {
        let is_ended = self.sessions.revoke_of(caller.user, id, self.clock.now()).await?;
        if is_ended { Ok(()) } else { Err(Error::NotFound(Resource::Session)) }
    }

    /// Ends all of the caller's sessions but the one that asks.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn end_other_sessions(&self, caller: &Caller) -> Result<()> {
        self.sessions.revoke_others(caller.user, caller.session.id, self.clock.now()).await
    }

    /// Sets a new password and ends every other session of the account.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the current password when it is wrong. [`Error::TooMany`] when the current one was wrong too
    /// often from this client, here or at login, or when changes were tried too often, whatever became of them.
    pub async fn change_password(
        &self,
        caller: &Member,
        client: ClientAddress,
        current: &PasswordAttempt,
        new: &Password,
    ) -> Result<()> {
        self.checks.limits.count(&Counted::PasswordChanges(caller.id(), client))?;
        for _ in 0..ATTEMPTS {
            if self.try_change_password(caller, client, current, new).await? {
                return Ok(());
            }
        }
        Err(wrong_password())
    }

    /// Changes the password, unless the hash was replaced after it was read; returns whether it was changed.
    async fn try_change_password(
        &self,
        caller: &Member,
        client: ClientAddress,
        current: &PasswordAttempt,
        new: &Password,
    ) -> Result<bool> {
        let user = caller.id();
        let requester = Requester { account: Some(user), address: client };
        let verified = self.checks.confirm(user, client, current).await?.password;
        let is_same = current.expose() == new.expose() && !self.checks.passwords.needs_rehash(&verified);
        let new = if is_same { verified.clone() } else { self.checks.passwords.hash(new, &requester).await? };
        let _invalidate = InvalidateSessionsOnDrop(self.sessions.as_ref(), user);
        let (keep, at) = (Some(caller.session().id), self.clock.now());
        let change = PasswordChange { user, verified, new, keep, at, entry: None };
        self.checks.accounts.change_password(&change).await
    }
}

//! The use cases of logins, sessions, tokens and password changes.

use std::sync::Arc;

use super::{
    AccountRepository, Caller, ConfirmedPassword, Credentials, Login, Member, Password, PasswordAttempt,
    PasswordChange, PasswordHash, PasswordHasher, Session, SessionRepository, SessionView, Ticket, TokenClaims,
    TokenIssuer, TokenLifetime, VerifiedToken,
};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, FieldName, Resource, Result, Violation, ViolationKind};
use crate::id::{IdGenerator, SessionId, UserId};
use crate::limits::{ClientAddress, Counted, Limits, Requester};
use crate::page::{Page, PageRequest};

/// Returns the error for a current password that is wrong, or was changed since it was verified.
fn wrong_password() -> Error {
    Error::field(FieldName::CurrentPassword, Violation::new(ViolationKind::Incorrect, "Current password is wrong"))
}

/// How often one request verifies a password at most. It does so again if the stored hash was replaced meanwhile, by that of
/// a new password or by another hash of the same one.
const MAX_VERIFICATIONS: usize = 2;

/// A login that succeeded.
#[derive(Debug)]
pub struct LoggedIn {
    /// The account that has logged in.
    pub user: UserId,
    /// The first token of the session.
    pub token: String,
    /// The work left to [`Authentication::rehash`], if the stored hash has a lower cost than those that are made now.
    pub rehash: Option<Rehash>,
}

/// How long a ticket is valid (`contract`: Live updates).
const TICKET_LIFETIME_MILLIS: i64 = 30_000;

/// A caller whose token or ticket is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authenticated {
    /// The caller.
    pub caller: Caller,
    /// When the token expires.
    pub token_expires_at: Timestamp,
}

/// A verified password that is to be hashed again, at the present cost.
#[derive(Debug)]
pub struct Rehash {
    user: UserId,
    verified: PasswordHash,
    password: Password,
    requester: Requester,
}

/// Invalidates the cached sessions of an account when it is dropped, whatever the outcome of a change: a change whose
/// acknowledgement was lost, or whose request was cancelled, may have been made.
pub(crate) struct InvalidateSessionsOnDrop<'a>(pub(crate) &'a dyn SessionRepository, pub(crate) UserId);

impl Drop for InvalidateSessionsOnDrop<'_> {
    fn drop(&mut self) {
        self.0.invalidate_account(self.1);
    }
}

/// Checks the passwords of accounts, and counts the wrong ones.
#[derive(Clone)]
pub struct PasswordChecks {
    /// Stores accounts.
    pub accounts: Arc<dyn AccountRepository>,
    /// Hashes passwords.
    pub passwords: Arc<dyn PasswordHasher>,
    /// Limits how often a password may be wrong.
    pub limits: Limits,
}

impl PasswordChecks {
    /// Makes a change that requires the account's password. The change fails with [`Error::Stale`] if the stored hash is no longer
    /// the confirmed one; the password is then confirmed once more, since a login may have stored another hash of it.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the current password when it is wrong. [`Error::TooMany`] when it was wrong too often from this
    /// client, here or at login. Those of the change.
    pub(crate) async fn change_with_password<T>(
        &self,
        user: UserId,
        client: ClientAddress,
        current: &PasswordAttempt,
        change: impl AsyncFn(ConfirmedPassword) -> Result<T>,
    ) -> Result<T> {
        for _ in 0..MAX_VERIFICATIONS {
            let outcome = change(self.confirm(user, client, current).await?).await;
            if !matches!(outcome, Err(Error::Stale)) {
                return outcome;
            }
        }
        Err(wrong_password())
    }

    /// Checks that a caller knows the account's password.
    async fn confirm(
        &self,
        user: UserId,
        client: ClientAddress,
        current: &PasswordAttempt,
    ) -> Result<ConfirmedPassword> {
        let failures = Counted::WrongPasswords(user, client);
        self.limits.check(&failures)?;
        let requester = Requester { account: Some(user), address: client };
        let verified = self.accounts.find_password(user).await?.ok_or(Error::NotFound(Resource::User))?;
        if !self.passwords.verify(current, Some(verified.clone()), &requester).await? {
            self.limits.count(&failures)?;
            return Err(wrong_password());
        }
        // Checked again, so that concurrent guesses learn no more than sequential ones.
        self.limits.check(&failures)?;
        Ok(ConfirmedPassword { user, password: verified })
    }
}

/// Logs users in and out, and authenticates callers.
pub struct Authentication {
    /// Checks passwords.
    pub checks: PasswordChecks,
    /// Stores sessions.
    pub sessions: Arc<dyn SessionRepository>,
    /// Issues and verifies tokens and tickets.
    pub tokens: Arc<dyn TokenIssuer>,
    /// How long tokens are valid.
    pub token_lifetime: TokenLifetime,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes the ids of sessions and tickets.
    pub ids: Arc<dyn IdGenerator>,
}

impl Authentication {
    /// Opens a session and returns its first token.
    ///
    /// # Errors
    /// [`Error::InvalidCredentials`] for an unknown account, a wrong password and a disabled account alike, after the
    /// same work; [`Error::TooMany`] when that has happened too often from this client, whatever the password is now.
    pub async fn login(&self, login: &Login, client: ClientAddress) -> Result<LoggedIn> {
        for _ in 0..MAX_VERIFICATIONS {
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
        // Checked again, so that concurrent guesses learn no more than sequential ones.
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
        // Does not take up the account's share of the queue: anybody who knows its name could use that up.
        let requester = Requester { account: None, address: client };
        let matches = self.checks.passwords.verify(&login.password, hash, &requester).await?;
        found.filter(|account| matches && account.enabled).ok_or(Error::InvalidCredentials)
    }

    /// Returns the verified password of a login if it is to be hashed again.
    fn prepare_rehash(&self, login: &Login, account: Credentials, client: ClientAddress) -> Option<Rehash> {
        if !self.checks.passwords.needs_rehash(&account.password) {
            return None;
        }
        // A password that was valid when it was set may no longer be.
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

    /// Authenticates the caller who presents a token.
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
        if let Some(hour) = state.hour_to_record(self.clock.now()) {
            self.sessions.record_last_seen(state.session.id, hour);
        }
        Ok(Authenticated { caller, token_expires_at: token.expires_at })
    }

    /// Issues a ticket that opens one stream of events in place of the caller's token; returns it with its expiry.
    ///
    /// # Errors
    /// Those of the issuer.
    pub fn issue_ticket(&self, caller: &Member, token_expires_at: Timestamp) -> Result<(String, Timestamp)> {
        let session = caller.session();
        let expires_at = self.clock.now().plus_millis(TICKET_LIFETIME_MILLIS);
        let claims = TokenClaims { user: session.user, session: session.id };
        let token = VerifiedToken { claims, expires_at: token_expires_at };
        let ticket = self.tokens.issue_ticket(Ticket { id: self.ids.generate().into(), token, expires_at })?;
        Ok((ticket, expires_at))
    }

    /// Authenticates the caller who presents a ticket, and marks the ticket as used.
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

    /// Returns the caller's active sessions, newest first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list_sessions(&self, caller: &Caller, page: PageRequest) -> Result<Page<SessionView>> {
        let opened_after = self.token_lifetime.oldest_session(self.clock.now());
        self.sessions.list(caller.user, opened_after, page).await
    }

    /// Ends one of the caller's sessions, which may be the current one.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the caller has no session of that id, or it has ended already.
    pub async fn end_session(&self, caller: &Caller, id: SessionId) -> Result<()> {
        let is_ended = self.sessions.revoke_of(caller.user, id, self.clock.now()).await?;
        if is_ended { Ok(()) } else { Err(Error::NotFound(Resource::Session)) }
    }

    /// Ends all of the caller's sessions but the current one.
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
    /// often from this client, here or at login, or when changes were tried too often, whatever their outcome.
    pub async fn change_password(
        &self,
        caller: &Member,
        client: ClientAddress,
        current: &PasswordAttempt,
        new: &Password,
    ) -> Result<()> {
        let user = caller.id();
        self.checks.limits.count(&Counted::PasswordChanges(user, client))?;
        let requester = Requester { account: Some(user), address: client };
        let passwords = &self.checks.passwords;
        let change = async |ConfirmedPassword { password: verified, .. }| {
            let is_same = current.expose() == new.expose() && !passwords.needs_rehash(&verified);
            let new = if is_same { verified.clone() } else { passwords.hash(new, &requester).await? };
            let _invalidate = InvalidateSessionsOnDrop(self.sessions.as_ref(), user);
            let (keep, at) = (Some(caller.session().id), self.clock.now());
            let change = PasswordChange { user, verified, new, keep, at, entry: None };
            if self.checks.accounts.change_password(&change).await? { Ok(()) } else { Err(Error::Stale) }
        };
        self.checks.change_with_password(user, client, current, change).await
    }
}

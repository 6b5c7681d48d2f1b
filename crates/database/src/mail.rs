//! The outbox of mails, and the redemption of the tokens in them.

use agora_domain::Result;
use agora_domain::accounts::{ConfirmedPassword, Email, LoginIdentifier, PasswordHash};
use agora_domain::clock::Timestamp;
use agora_domain::id::{MailId, UserId};
use agora_domain::mail::{Claim, MailKind, MailStatus, MailView, NewMail, Outbox, TokenDigest, TokenRedemption};
use async_trait::async_trait;
use diesel::{Insertable, Queryable, Selectable};

use crate::batches::{BATCH, until_none};
use crate::codes::codes;
use crate::error::Outcome;
use crate::rows::count;
use crate::schema::mails;
use crate::sql_types::{DbId, DbInstant};
use crate::{Database, call};

/// The number of characters of a failure that are stored.
const MAX_FAILURE_CHARS: usize = 500;

codes! { kind_code, kind("kind of mail"): MailKind {
    PasswordReset = 0, EmailVerification = 1, EmailChange = 2, EmailChanged = 3,
} }

codes! { status_code: MailStatus { Waiting = 0, Sent = 1, Dead = 2 } }

/// A mail as it is stored.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = mails, treat_none_as_default_value = false)]
pub(crate) struct MailRow {
    pub(crate) id: DbId,
    pub(crate) created_at: DbInstant,
    pub(crate) user_id: Option<DbId>,
    pub(crate) kind: i16,
    pub(crate) address: String,
    pub(crate) status: i16,
    pub(crate) attempts: i64,
    pub(crate) due_at: DbInstant,
    pub(crate) give_up_at: DbInstant,
    pub(crate) failure: Option<String>,
}

impl MailRow {
    fn view(self) -> Outcome<MailView> {
        Ok(MailView {
            id: self.id.0.into(),
            kind: kind(self.kind)?,
            address: self.address,
            created_at: self.created_at.0,
            attempts: u32::try_from(count(self.attempts)).unwrap_or(u32::MAX),
            due_at: self.due_at.0,
            failure: self.failure,
        })
    }
}

#[async_trait]
impl Outbox for Database {
    async fn request_reset(&self, id: MailId, identifier: &LoginIdentifier, at: Timestamp) -> Result<()> {
        let (id, named, at) = (DbId(id.uuid()), identifier.key().to_owned(), DbInstant(at));
        call!(self, write mail::request_reset(id, named, at))
    }

    async fn create(&self, mails: &[NewMail]) -> Result<()> {
        let mails = mails.to_vec();
        call!(self, write mail::create(mails))
    }

    async fn create_confirmed(&self, mails: &[NewMail], confirmed: &ConfirmedPassword) -> Result<()> {
        let (mails, confirmed) = (mails.to_vec(), confirmed.clone());
        call!(self, write mail::create_confirmed(mails, confirmed))
    }

    async fn is_due(&self, now: Timestamp) -> Result<bool> {
        call!(self, read mail::is_due(DbInstant(now)))
    }

    async fn claim(&self, token: &TokenDigest, now: Timestamp) -> Result<Claim> {
        let token = token.as_str().to_owned();
        call!(self, write mail::claim(token, DbInstant(now)))
    }

    async fn set_sent(&self, id: MailId, at: Timestamp) -> Result<()> {
        call!(self, write mail::set_sent(DbId(id.uuid()), DbInstant(at)))
    }

    async fn set_failed(&self, id: MailId, failure: &str, is_dead: bool, at: Timestamp) -> Result<bool> {
        let failure: String = failure.chars().filter(|c| *c != '\0').take(MAX_FAILURE_CHARS).collect();
        call!(self, write mail::set_failed(DbId(id.uuid()), failure, is_dead, DbInstant(at)))
    }

    async fn list(&self, status: MailStatus, limit: usize) -> Result<Vec<MailView>> {
        let (status, limit) = (status_code(status), i64::try_from(limit).unwrap_or(i64::MAX));
        let rows = call!(self, list mail::list(status, limit))?;
        Ok(rows.into_iter().map(MailRow::view).collect::<Outcome<_>>()?)
    }

    async fn retry(&self, id: Option<MailId>, now: Timestamp) -> Result<usize> {
        let id = id.map(|id| DbId(id.uuid()));
        call!(self, write mail::retry(id, DbInstant(now)))
    }

    async fn delete_outdated(&self, now: Timestamp) -> Result<usize> {
        until_none(|| async move { call!(self, write mail::delete_outdated(DbInstant(now), BATCH)) }).await
    }
}

#[async_trait]
impl TokenRedemption for Database {
    async fn find_reset(&self, token: &TokenDigest, now: Timestamp) -> Result<Option<UserId>> {
        let token = token.as_str().to_owned();
        Ok(call!(self, read mail::find_reset(token, DbInstant(now)))?.map(|user| user.0.into()))
    }

    async fn reset_password(&self, token: &TokenDigest, new: &PasswordHash, now: Timestamp) -> Result<bool> {
        let (token, new) = (token.as_str().to_owned(), new.as_str().to_owned());
        call!(self, write mail::reset_password(token, new, DbInstant(now)))
    }

    async fn verify_email(&self, token: &TokenDigest, now: Timestamp) -> Result<bool> {
        let token = token.as_str().to_owned();
        call!(self, write mail::verify_email(token, DbInstant(now)))
    }

    async fn set_email(&self, account: &ConfirmedPassword, email: &Email, now: Timestamp) -> Result<()> {
        let (account, email) = (account.clone(), email.clone());
        call!(self, write mail::set_email(account, email, DbInstant(now)))
    }
}

//! The outbox of mails, and the redemption of the tokens in them.

use agora_domain::Error;
use agora_domain::accounts::{ConfirmedPassword, Email, Username};
use agora_domain::mail::{
    Claim, ClaimedMail, DEAD_KEPT_MILLIS, MAILS_AN_HOUR, MailKind, MailStatus, NewMail, RETRY_PERIOD_MILLIS,
    SENT_KEPT_MILLIS, retry_delay_millis,
};
use diesel::dsl::{case_when, exists};
use diesel::{BoolExpressionMethods, ExpressionMethods, IntoSql, OptionalExtension, QueryDsl, SelectableHelper};

use super::accounts::{lock_account, lock_confirmed, revoke_sessions};
use super::kept_names::{Name, ensure_free};
use super::mail_tokens::{delete_all, delete_reset_and_change};
use super::{Conn, RunQueryDsl, id_in, word_in};
use crate::error::{Failure, Outcome};
use crate::mail::{MailRow, kind, kind_code, status_code};
use crate::schema::{mail_tokens, mails, users};
use crate::sql_types::{DbId, DbInstant, Instant};

const WAITING: i16 = status_code(MailStatus::Waiting);
const SENT: i16 = status_code(MailStatus::Sent);
const DEAD: i16 = status_code(MailStatus::Dead);
const RESET: i16 = kind_code(MailKind::PasswordReset);
const VERIFICATION: i16 = kind_code(MailKind::EmailVerification);
const CHANGE: i16 = kind_code(MailKind::EmailChange);

const fn after(at: DbInstant, millis: i64) -> DbInstant {
    DbInstant(at.0.plus_millis(millis))
}

/// Returns the row of a new mail, which is due at once.
fn row(id: DbId, user_id: Option<DbId>, kind: i16, address: String, created_at: DbInstant) -> MailRow {
    let (due_at, give_up_at) = (created_at, after(created_at, RETRY_PERIOD_MILLIS));
    MailRow { id, created_at, user_id, kind, address, status: WAITING, attempts: 0, due_at, give_up_at, failure: None }
}

/// Stores a request to reset the password of the account with a username or email address. The account is looked up later.
pub(crate) async fn request_reset(conn: &mut Conn<'_>, id: DbId, named: String, at: DbInstant) -> Outcome<()> {
    diesel::insert_into(mails::table).values(row(id, None, RESET, named, at)).execute(conn).await?;
    Ok(())
}

/// Returns when the oldest mail was requested of those that exhaust an account's hourly limit for a kind; `None` if the limit is
/// not exhausted.
async fn oldest_in_exhausted_window(
    conn: &mut Conn<'_>,
    user: DbId,
    kind: i16,
    now: DbInstant,
) -> Outcome<Option<DbInstant>> {
    // Not those of a clock that was ahead by more, for which the account would have to wait until then.
    let (since, until) = (after(now, -MAILS_AN_HOUR.period_millis()), after(now, MAILS_AN_HOUR.period_millis()));
    let asked = mails::table.filter(mails::user_id.eq(user)).filter(mails::kind.eq(kind));
    let recent = asked.filter(mails::created_at.gt(since).and(mails::created_at.le(until)));
    let newest = recent.order(mails::created_at.desc());
    let oldest = newest.select(mails::created_at).offset(i64::from(MAILS_AN_HOUR.most) - 1).limit(1);
    Ok(oldest.get_result(conn).await.optional()?)
}

pub(crate) async fn create(conn: &mut Conn<'_>, asked: Vec<NewMail>) -> Outcome<()> {
    for mail in asked {
        let (user, kind, at) = (DbId(mail.user.uuid()), kind_code(mail.kind), DbInstant(mail.created_at));
        // Locks the account, so that no other mail of it is requested meanwhile.
        lock_account(conn, user).await?;
        if mail.kind.is_limited()
            && let Some(oldest) = oldest_in_exhausted_window(conn, user, kind, at).await?
        {
            return Err(Failure::Rule(NewMail::too_many(oldest.0, mail.created_at)));
        }
        if mail.kind == MailKind::EmailChange {
            ensure_free(conn, Name::Email(&mail.address.key()), at).await?;
        }
        let row = row(DbId(mail.id.uuid()), Some(user), kind, mail.address.as_str().to_owned(), at);
        diesel::insert_into(mails::table).values(row).execute(conn).await?;
    }
    Ok(())
}

pub(crate) async fn create_confirmed(
    conn: &mut Conn<'_>,
    asked: Vec<NewMail>,
    confirmed: ConfirmedPassword,
) -> Outcome<()> {
    lock_confirmed(conn, confirmed).await?;
    create(conn, asked).await
}

pub(crate) async fn is_due(conn: &mut Conn<'_>, now: DbInstant) -> Outcome<bool> {
    let due = mails::table.filter(mails::status.eq(WAITING).and(mails::due_at.le(now)));
    Ok(diesel::select(exists(due)).get_result(conn).await?)
}

/// Claims the mail that has been due for the longest time.
pub(crate) async fn claim(conn: &mut Conn<'_>, token: String, now: DbInstant) -> Outcome<Claim> {
    let due = mails::table.filter(mails::status.eq(WAITING).and(mails::due_at.le(now)));
    let due = due.order((mails::due_at, mails::id)).limit(1).select(MailRow::as_select());
    let Some(mail) = due.get_result(conn).await.optional()? else { return Ok(Claim::Nothing) };
    let (id, was_due_at) = (mail.id, mail.due_at);
    let Some((user, address, username)) = recipient(conn, &mail, now).await? else {
        diesel::delete(mails::table.find(id)).execute(conn).await?;
        return Ok(Claim::Dropped);
    };
    let attempts = mail.attempts.saturating_add(1);
    let tried = u32::try_from(attempts).unwrap_or(u32::MAX);
    let due_at = after(now, retry_delay_millis(tried));
    // Another node may have claimed it meanwhile, although only one at a time should send mail.
    let unclaimed = mails::table.filter(mails::id.eq(id).and(mails::due_at.eq(was_due_at)));
    let claimed = diesel::update(unclaimed)
        .set((
            mails::user_id.eq(Some(user)),
            mails::address.eq(address.clone()),
            mails::attempts.eq(attempts),
            mails::due_at.eq(due_at),
        ))
        .execute(conn)
        .await?;
    if claimed == 0 {
        return Ok(Claim::Dropped);
    }
    let kind = kind(mail.kind)?;
    if let Some(millis) = kind.token_millis() {
        let token = (
            mail_tokens::digest.eq(token),
            mail_tokens::user_id.eq(user),
            mail_tokens::kind.eq(mail.kind),
            mail_tokens::address.eq(address.clone()),
            mail_tokens::expires_at.eq(after(now, millis)),
        );
        diesel::insert_into(mail_tokens::table).values(token).execute(conn).await?;
    }
    let (address, username) = (Email::restore(address), Username::restore(username));
    let (id, give_up_at) = (id.0.into(), mail.give_up_at.0);
    Ok(Claim::Mail(ClaimedMail { id, kind, address, username, attempts: tried, give_up_at }))
}

/// Returns the account of a mail, its address and its username, or `None` if no mail is to be sent. Looks up the account of a
/// request to reset a password. The account is locked, so that cancelling its mails, disabling it or deleting it happens before
/// or after this.
async fn recipient(conn: &mut Conn<'_>, mail: &MailRow, now: DbInstant) -> Outcome<Option<(DbId, String, String)>> {
    let found = match mail.user_id {
        Some(user) => Some(user),
        None if mail.give_up_at.0 <= now.0 => None,
        None => find_by_key(conn, mail.address.clone()).await?,
    };
    let Some(user) = found else { return Ok(None) };
    let account = match lock_account(conn, user).await {
        Err(Failure::Rule(Error::NotFound(_))) => return Ok(None),
        account => account?,
    };
    if mail.user_id.is_some() {
        return Ok(Some((user, mail.address.clone(), account.username)));
    }
    let makes_mail = account.enabled && oldest_in_exhausted_window(conn, user, RESET, mail.created_at).await?.is_none();
    Ok(makes_mail.then_some((user, account.email, account.username)))
}

/// Returns the account with a username key or an email key. Only the latter contains an `@`.
async fn find_by_key(conn: &mut Conn<'_>, key: String) -> Outcome<Option<DbId>> {
    let found = if key.contains('@') {
        users::table.filter(users::email_key.eq(key)).select(users::id).get_result(conn).await
    } else {
        users::table.filter(users::username_key.eq(key)).select(users::id).get_result(conn).await
    };
    Ok(found.optional()?)
}

pub(crate) async fn set_sent(conn: &mut Conn<'_>, id: DbId, at: DbInstant) -> Outcome<()> {
    let delete_at = after(at, SENT_KEPT_MILLIS);
    diesel::update(mails::table.find(id))
        .set((mails::status.eq(SENT), mails::due_at.eq(delete_at), mails::failure.eq(None::<String>)))
        .execute(conn)
        .await?;
    Ok(())
}

pub(crate) async fn set_failed(
    conn: &mut Conn<'_>,
    id: DbId,
    failure: String,
    is_dead: bool,
    at: DbInstant,
) -> Outcome<bool> {
    let mail = mails::table.find(id);
    // A row is updated once: a second update would check whether its account exists, and wait for a deletion of that.
    if is_dead {
        let (failure, delete_at) = (mails::failure.eq(Some(failure.clone())), after(at, DEAD_KEPT_MILLIS));
        let dead = (failure, mails::status.eq(DEAD), mails::due_at.eq(delete_at));
        // Unless a retry was requested during the attempt: then the mail counts as not tried, and stays due.
        if diesel::update(mail.filter(mails::attempts.gt(0))).set(dead).execute(conn).await? > 0 {
            return Ok(true);
        }
    }
    // If the attempt took longer than its pause, the mail is queued after those that became due meanwhile.
    let due_at = case_when(mails::due_at.lt(at), at.into_sql::<Instant>()).otherwise(mails::due_at);
    diesel::update(mail).set((mails::failure.eq(Some(failure)), mails::due_at.eq(due_at))).execute(conn).await?;
    Ok(false)
}

pub(crate) async fn list(conn: &mut Conn<'_>, status: i16, limit: i64) -> Outcome<Vec<MailRow>> {
    let found = mails::table.filter(mails::status.eq(status)).order((mails::due_at, mails::id)).limit(limit);
    Ok(found.select(MailRow::as_select()).load(conn).await?)
}

/// Makes a mail that was not sent due now, or all such mails. Returns the number of these mails.
pub(crate) async fn retry(conn: &mut Conn<'_>, id: Option<DbId>, now: DbInstant) -> Outcome<usize> {
    let retry = (
        mails::status.eq(WAITING),
        mails::attempts.eq(0),
        mails::due_at.eq(now),
        mails::give_up_at.eq(after(now, RETRY_PERIOD_MILLIS)),
    );
    let mut retried = 0;
    for status in [WAITING, DEAD] {
        let unsent = mails::table.filter(mails::status.eq(status));
        retried += match id {
            Some(id) => diesel::update(unsent.filter(mails::id.eq(id))).set(retry).execute(conn).await?,
            None => diesel::update(unsent).set(retry).execute(conn).await?,
        };
    }
    Ok(retried)
}

/// Deletes a batch of outdated mails and of expired tokens. Returns the number of rows deleted.
pub(crate) async fn delete_outdated(conn: &mut Conn<'_>, now: DbInstant, limit: i64) -> Outcome<usize> {
    // Tokens before mails: the same order as when those of an account are deleted.
    let expired = mail_tokens::table.filter(mail_tokens::expires_at.le(now)).order(mail_tokens::expires_at);
    let expired: Vec<String> = expired.limit(limit).select(mail_tokens::digest).load(conn).await?;
    let expired = diesel::delete(mail_tokens::table.filter(word_in(mail_tokens::digest, expired)));
    let mut deleted = expired.execute(conn).await?;
    for status in [SENT, DEAD] {
        let is_outdated = mails::status.eq(status).and(mails::due_at.le(now));
        let first = mails::table.filter(is_outdated).order((mails::due_at, mails::id)).limit(limit).select(mails::id);
        let first: Vec<DbId> = first.load(conn).await?;
        // A mail may be retried meanwhile.
        let outdated = mails::table.filter(id_in(mails::id, first).and(is_outdated));
        deleted += diesel::delete(outdated).execute(conn).await?;
    }
    Ok(deleted)
}

pub(crate) async fn find_reset(conn: &mut Conn<'_>, digest: String, now: DbInstant) -> Outcome<Option<DbId>> {
    let good = mail_tokens::digest.eq(digest).and(mail_tokens::kind.eq(RESET)).and(mail_tokens::expires_at.gt(now));
    let good = mail_tokens::table.inner_join(users::table).filter(good).filter(users::enabled.eq(true));
    // A token is invalid if the account has another address by now.
    let good = good.filter(mail_tokens::address.eq(users::email));
    Ok(good.select(mail_tokens::user_id).get_result(conn).await.optional()?)
}

/// Uses up a token. Returns whether it existed.
async fn use_token(conn: &mut Conn<'_>, digest: &str) -> Outcome<bool> {
    Ok(diesel::delete(mail_tokens::table.find(digest.to_owned())).execute(conn).await? > 0)
}

pub(crate) async fn reset_password(conn: &mut Conn<'_>, digest: String, new: String, now: DbInstant) -> Outcome<bool> {
    let Some(user) = find_reset(conn, digest.clone(), now).await? else { return Ok(false) };
    lock_account(conn, user).await?;
    if !use_token(conn, &digest).await? {
        return Ok(false);
    }
    diesel::update(users::table.find(user)).set(users::password_hash.eq(new)).execute(conn).await?;
    revoke_sessions(conn, user, None, now).await?;
    delete_reset_and_change(conn, user).await?;
    Ok(true)
}

pub(crate) async fn verify_email(conn: &mut Conn<'_>, digest: String, now: DbInstant) -> Outcome<bool> {
    let good = mail_tokens::table.find(digest.clone()).filter(mail_tokens::expires_at.gt(now));
    let good = good.select((mail_tokens::user_id, mail_tokens::kind, mail_tokens::address));
    let found: Option<(DbId, i16, String)> = good.get_result(conn).await.optional()?;
    let Some((user, kind, address)) = found.filter(|(_, kind, _)| [VERIFICATION, CHANGE].contains(kind)) else {
        return Ok(false);
    };
    let account = lock_account(conn, user).await?;
    if !account.enabled || !use_token(conn, &digest).await? {
        return Ok(false);
    }
    if kind == CHANGE {
        store_email(conn, user, &Email::restore(address), true, now).await?;
    } else if account.email == address {
        diesel::update(users::table.find(user)).set(users::email_verified.eq(true)).execute(conn).await?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

pub(crate) async fn set_email(
    conn: &mut Conn<'_>,
    account: ConfirmedPassword,
    email: Email,
    now: DbInstant,
) -> Outcome<()> {
    let user = lock_confirmed(conn, account).await?.id;
    store_email(conn, user, &email, false, now).await
}

/// Changes the email address of an account. Tokens mailed to the previous address become invalid.
async fn store_email(conn: &mut Conn<'_>, user: DbId, email: &Email, is_verified: bool, now: DbInstant) -> Outcome<()> {
    let address = (users::email.eq(email.as_str().to_owned()), users::email_key.eq(email.key()));
    diesel::update(users::table.find(user)).set((address, users::email_verified.eq(is_verified))).execute(conn).await?;
    ensure_free(conn, Name::Email(&email.key()), now).await?;
    delete_all(conn, user).await
}

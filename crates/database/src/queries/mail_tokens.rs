//! Invalidation of the tokens mailed to an account.

use agora_domain::mail::{MailKind, MailStatus};
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl};

use super::{Conn, RunQueryDsl};
use crate::error::Outcome;
use crate::mail::{kind_code, status_code};
use crate::schema::{mail_tokens, mails};
use crate::sql_types::DbId;

/// Deletes an account's tokens of these kinds, and its mails of these kinds that were not sent.
async fn delete(conn: &mut Conn<'_>, user: DbId, kinds: &[MailKind]) -> Outcome<()> {
    for kind in kinds.iter().copied().map(kind_code) {
        let tokens = mail_tokens::table.filter(mail_tokens::user_id.eq(user).and(mail_tokens::kind.eq(kind)));
        diesel::delete(tokens).execute(conn).await?;
    }
    for kind in kinds.iter().copied().map(kind_code) {
        let unsent =
            mails::user_id.eq(user).and(mails::kind.eq(kind)).and(mails::status.ne(status_code(MailStatus::Sent)));
        diesel::delete(mails::table.filter(unsent)).execute(conn).await?;
    }
    Ok(())
}

/// Deletes the tokens and unsent mails that could change the password or the email address of an account.
pub(super) async fn delete_reset_and_change(conn: &mut Conn<'_>, user: DbId) -> Outcome<()> {
    delete(conn, user, &[MailKind::PasswordReset, MailKind::EmailChange]).await
}

/// Deletes all tokens of an account, and the unsent mails that would contain one.
pub(super) async fn delete_all(conn: &mut Conn<'_>, user: DbId) -> Outcome<()> {
    delete(conn, user, &[MailKind::PasswordReset, MailKind::EmailVerification, MailKind::EmailChange]).await
}

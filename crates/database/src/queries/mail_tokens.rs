//! What mails to an account are good for, taken back.

use agora_domain::mail::{MailKind, MailStatus};
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl};

use super::{Conn, RunQueryDsl};
use crate::error::Outcome;
use crate::mail::{kind_code, status_code};
use crate::schema::{mail_tokens, mails};
use crate::sql_types::DbId;

/// Ends what an account was mailed, or is going to be, of these kinds: tokens, and mails that were not sent.
async fn forget(conn: &mut Conn<'_>, user: DbId, kinds: &[MailKind]) -> Outcome<()> {
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

/// Ends what would change the password or the address of an account by mail.
pub(super) async fn forget_changes(conn: &mut Conn<'_>, user: DbId) -> Outcome<()> {
    forget(conn, user, &[MailKind::PasswordReset, MailKind::EmailChange]).await
}

/// Ends all that an account was mailed a token for.
pub(super) async fn forget_all(conn: &mut Conn<'_>, user: DbId) -> Outcome<()> {
    forget(conn, user, &[MailKind::PasswordReset, MailKind::EmailVerification, MailKind::EmailChange]).await
}

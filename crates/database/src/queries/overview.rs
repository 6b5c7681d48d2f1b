//! Totals for the overview. Each counts the entries of the narrowest suitable index.

use agora_domain::reports::ReportStatus;
use diesel::dsl::sql;
use diesel::sql_types::BigInt;
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl};

pub(crate) use super::database_bytes;
use super::{Conn, RunQueryDsl};
use crate::error::Outcome;
use crate::reports::status_code;
use crate::schema::{comments, erasures, mails, products, reports, sessions, user_counts, users};
use crate::sql_types::DbInstant;

/// The first of a user's counters that does not count posts.
const FOLLOWED_COUNTER: i16 = 3;

pub(crate) async fn count_accounts(conn: &mut Conn<'_>) -> Outcome<i64> {
    let stored: i64 = users::table.count().get_result(conn).await?;
    let deleted: i64 = erasures::table.count().get_result(conn).await?;
    Ok(stored.saturating_sub(deleted))
}

/// Returns the number of posts, as the sum of the counters of all authors.
pub(crate) async fn count_posts(conn: &mut Conn<'_>) -> Outcome<i64> {
    let kept = user_counts::table.filter(user_counts::counter.lt(FOLLOWED_COUNTER));
    // diesel cannot express the cast of the sum of `bigint` values.
    Ok(kept.select(sql::<BigInt>("CAST(COALESCE(sum(value), 0) AS bigint)")).get_result(conn).await?)
}

pub(crate) async fn count_comments(conn: &mut Conn<'_>) -> Outcome<i64> {
    Ok(comments::table.count().get_result(conn).await?)
}

pub(crate) async fn count_products(conn: &mut Conn<'_>) -> Outcome<i64> {
    Ok(products::table.count().get_result(conn).await?)
}

pub(crate) async fn count_sessions(conn: &mut Conn<'_>, opened_after: DbInstant) -> Outcome<i64> {
    let live = sessions::revoked_at.is_null().and(sessions::opened_at.gt(opened_after));
    Ok(sessions::table.filter(live).count().get_result(conn).await?)
}

pub(crate) async fn count_open_reports(conn: &mut Conn<'_>) -> Outcome<i64> {
    let open = reports::table.filter(reports::status.eq(status_code(ReportStatus::Open)));
    Ok(open.count().get_result(conn).await?)
}

pub(crate) async fn count_mails(conn: &mut Conn<'_>, status: i16) -> Outcome<i64> {
    Ok(mails::table.filter(mails::status.eq(status)).count().get_result(conn).await?)
}

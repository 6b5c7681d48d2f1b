//! Likes and follows that one notification tells of.

use diesel::dsl::{auto_type, case_when, exists};
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl};

use crate::schema::{notification_withdrawals, notifications};
use crate::sql_types::{DbId, DbInstant};

/// Whether somebody acts again who took the same act back on the same day.
#[auto_type]
fn is_again(actor: DbId) -> _ {
    let of_day = notification_withdrawals::notification_id.eq(notifications::id);
    exists(notification_withdrawals::table.filter(of_day).filter(notification_withdrawals::actor_id.eq(actor)))
}

/// What becomes of a gathered notification when somebody acts: who acts again changes its count alone.
#[auto_type]
pub(crate) fn with_one_more(at: DbInstant, actor: DbId) -> _ {
    let one: i64 = 1;
    let again: is_again = is_again(actor);
    let read_before: is_again = is_again(actor);
    let is_later = notifications::updated_at.gt(at);
    (
        notifications::count.eq(notifications::count + one),
        notifications::is_empty.eq(false),
        notifications::is_read.eq(notifications::is_read.and(read_before)),
        notifications::updated_at.eq(case_when(is_later.or(again), notifications::updated_at).otherwise(at)),
    )
}

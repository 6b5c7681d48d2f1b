//! What `user_counts` says of a user, as columns of the user's row.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::expression::ValidGrouping;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::BigInt;

use crate::expression::expression;
use crate::schema::users;

/// The sum of the counters of `users.id` from one to another, 0 without any. diesel's own sum is of another type on
/// PostgreSQL.
#[derive(Debug, Clone, Copy, QueryId, ValidGrouping)]
pub(crate) struct Counted<const FIRST: i16, const LAST: i16>;

/// How many posts the user has, by visibility, none that is marked as deleted.
pub(crate) type PostsCounted = (Counted<0, 0>, Counted<1, 1>, Counted<2, 2>);
/// How many the user follows.
pub(crate) type FollowedCounted = Counted<3, 3>;
/// How many follow the user.
pub(crate) type FollowersCounted = Counted<16, 31>;

expression! { [const FIRST: i16, const LAST: i16] Counted<FIRST, LAST>: BigInt, of users::id }

impl<const FIRST: i16, const LAST: i16, DB: Backend> QueryFragment<DB> for Counted<FIRST, LAST> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql(
            "COALESCE((SELECT CAST(sum(c.value) AS bigint) FROM user_counts c WHERE c.user_id = users.id AND ",
        );
        out.push_sql(&format!("c.counter BETWEEN {FIRST} AND {LAST}), 0)"));
        Ok(())
    }
}

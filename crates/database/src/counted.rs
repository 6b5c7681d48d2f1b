//! Counts of a user from `user_counts`, as columns of the user's row.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::expression::ValidGrouping;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::BigInt;

use crate::expression::expression;
use crate::schema::users;

/// The sum of the counters of `users.id` in a range of counter numbers, 0 if there are none. diesel's own `sum` has another type
/// on PostgreSQL.
#[derive(Debug, Clone, Copy, QueryId, ValidGrouping)]
pub(crate) struct CounterSum<const FIRST: i16, const LAST: i16>;

/// The numbers of posts of the user by visibility, without those marked as deleted.
pub(crate) type PostCounts = (CounterSum<0, 0>, CounterSum<1, 1>, CounterSum<2, 2>);
/// The number of accounts that the user follows.
pub(crate) type FollowedCount = CounterSum<3, 3>;
/// The number of followers of the user, kept in several counters.
pub(crate) type FollowerCount = CounterSum<16, 31>;

expression! { [const FIRST: i16, const LAST: i16] CounterSum<FIRST, LAST>: BigInt, of users::id }

impl<const FIRST: i16, const LAST: i16, DB: Backend> QueryFragment<DB> for CounterSum<FIRST, LAST> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql(
            "COALESCE((SELECT CAST(sum(c.value) AS bigint) FROM user_counts c WHERE c.user_id = users.id AND ",
        );
        out.push_sql(&format!("c.counter BETWEEN {FIRST} AND {LAST}), 0)"));
        Ok(())
    }
}

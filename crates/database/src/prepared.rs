//! Statements that stay prepared.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sqlite::SqliteConnection;

/// An UPDATE whose SQL depends on its type alone. diesel itself prepares an UPDATE again for each execution, since its values may
/// leave out columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prepared<Q>(Q);

/// Marks an UPDATE as one that stays prepared. It MUST set the same columns for all values.
pub(crate) fn prepared<Q>(update: Q) -> Prepared<Q> {
    Prepared(update)
}

impl<Q: 'static> QueryId for Prepared<Q> {
    type QueryId = Self;

    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<Q: Query> Query for Prepared<Q> {
    type SqlType = Q::SqlType;
}

impl<Q> diesel::RunQueryDsl<SqliteConnection> for Prepared<Q> {}

impl<DB: Backend, Q: QueryFragment<DB>> QueryFragment<DB> for Prepared<Q> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }

    fn to_sql(&self, out: &mut DB::QueryBuilder, backend: &DB) -> QueryResult<()> {
        self.0.to_sql(out, backend)
    }

    fn is_safe_to_cache_prepared(&self, _: &DB) -> QueryResult<bool> {
        Ok(true)
    }
}

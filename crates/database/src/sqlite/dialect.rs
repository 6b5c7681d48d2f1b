//! What the shared queries use on SQLite: the type of a connection, the methods that run a statement, and row locks.

use std::future::{Future, Ready, ready};

use agora_domain::Error;
use diesel::dsl::{auto_type, sql};
use diesel::query_dsl::LoadQuery;
use diesel::sql_types::{BigInt, Bool};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, SelectableHelper,
    SqliteConnection,
};
use futures_util::FutureExt;

pub(crate) use super::is_in::{id_in, number_in, post_in, word_in};
use crate::error::{Failure, Outcome};
use crate::rows::{PostRow, UserRow};
use crate::schema::{posts, search_tail, users};
use crate::search_index::BucketRow;
use crate::sql_types::{DbId, DbInstant};

/// The connection that the query functions run on. It has a lifetime for PostgreSQL, where it is shared.
pub(crate) type Conn<'c> = SqliteConnection;

/// The methods that run a query, with the signatures that they have in the asynchronous PostgreSQL driver. The returned
/// futures are ready.
pub(crate) trait RunQueryDsl: Sized {
    /// Runs the statement and returns how many rows it touched.
    fn execute(self, conn: &mut SqliteConnection) -> Ready<QueryResult<usize>>
    where
        Self: diesel::RunQueryDsl<SqliteConnection> + diesel::query_dsl::methods::ExecuteDsl<SqliteConnection>,
    {
        ready(diesel::RunQueryDsl::execute(self, conn))
    }

    /// Runs the query and returns all rows.
    fn load<'q, U>(self, conn: &mut SqliteConnection) -> Ready<QueryResult<Vec<U>>>
    where
        Self: diesel::RunQueryDsl<SqliteConnection> + LoadQuery<'q, SqliteConnection, U>,
    {
        ready(diesel::RunQueryDsl::load(self, conn))
    }

    /// Runs the query and returns its first row.
    fn get_result<'q, U>(self, conn: &mut SqliteConnection) -> Ready<QueryResult<U>>
    where
        Self: diesel::RunQueryDsl<SqliteConnection> + LoadQuery<'q, SqliteConnection, U>,
    {
        ready(diesel::RunQueryDsl::get_result(self, conn))
    }
}

impl<T> RunQueryDsl for T {}

/// Returns the query as it is: on SQLite its text is built only once anyway, when it is prepared.
pub(crate) fn built<Q>(query: Q) -> Q {
    query
}

// There is one writer at a time: what it reads is locked already.

/// Locks the accounts with ADMIN, and one that may get or lose it, against changes by others.
pub(crate) async fn lock_admins(_: &mut Conn<'_>, _: DbId) -> Outcome<()> {
    Ok(())
}

/// Returns the account, locked against changes by others, and whether it is deleted.
pub(crate) async fn lock_user(conn: &mut Conn<'_>, id: DbId) -> Outcome<Option<(UserRow, bool)>> {
    let row = users::table.find(id).select((UserRow::as_select(), users::is_deleted));
    Ok(RunQueryDsl::get_result(row, conn).await.optional()?)
}

/// Locks the account, if it is there, against changes by others and against new rows that refer to it.
pub(crate) async fn lock_whole_user(_: &mut Conn<'_>, _: DbId) -> Outcome<()> {
    Ok(())
}

/// Returns the post that is not deleted, locked against changes by others.
pub(crate) async fn lock_post(conn: &mut Conn<'_>, id: DbId) -> Outcome<Option<PostRow>> {
    Ok(RunQueryDsl::get_result(
        posts::table.find(id).filter(posts::deleted_at.is_null()).select(PostRow::as_select()),
        conn,
    )
    .await
    .optional()?)
}

/// Does nothing: there is one writer.
pub(crate) async fn no_lock(_: &mut Conn<'_>, _: DbId) -> Outcome<()> {
    Ok(())
}

/// Does nothing: there is one writer.
pub(crate) async fn no_locks(_: &mut Conn<'_>, _: Vec<DbId>) -> Outcome<()> {
    Ok(())
}

pub(crate) use self::{
    no_lock as lock_comment, no_lock as lock_counters, no_lock as lock_counters_of, no_lock as lock_product,
    no_lock as lock_report,
};
pub(crate) use self::{no_locks as lock_all_counters, no_locks as lock_comments};

/// Does nothing: SQLite changes rows in place, however often.
pub(crate) async fn counted_by_triggers(_: &mut Conn<'_>) -> Outcome<()> {
    Ok(())
}

pub(crate) use self::{counted_by_triggers as count_all, counted_by_triggers as count_later};

/// Takes the lock for work on the buckets of the search index, which is always free: there is one writer.
pub(crate) async fn try_lock_buckets(_: &mut Conn<'_>) -> Outcome<bool> {
    Ok(true)
}

/// Returns at most `most` of the oldest texts of a kind that are in no bucket.
pub(crate) async fn lock_oldest_unpacked(
    conn: &mut Conn<'_>,
    kind: i16,
    most: i64,
) -> Outcome<Vec<(DbInstant, DbId, String)>> {
    let tail = search_tail::table.filter(search_tail::kind.eq(kind));
    let oldest = tail.order((search_tail::created_at, search_tail::id)).limit(most);
    let columns = (search_tail::created_at, search_tail::id, search_tail::words);
    Ok(RunQueryDsl::load(oldest.select(columns), conn).await?)
}

#[auto_type]
fn up_to(at: DbInstant, id: DbId) -> _ {
    search_tail::created_at.lt(at).or(search_tail::id.le(id))
}

/// Returns the condition that a text in no bucket, not newer than the newest of a bucket, is to be moved there: all are, since
/// nobody else writes.
pub(crate) fn is_packed(bucket: &BucketRow, _: &[DbId]) -> up_to {
    up_to(bucket.newest_at, bucket.newest_id)
}

/// Returns whether migrations were ever applied.
pub(crate) async fn has_migrations(conn: &mut Conn<'_>) -> Outcome<bool> {
    let tables = sql::<Bool>("SELECT count(*) > 0 FROM sqlite_schema WHERE name = '__diesel_schema_migrations'");
    Ok(RunQueryDsl::get_result(tables, conn).await?)
}

/// Returns how many bytes the database takes.
pub(crate) async fn database_bytes(conn: &mut Conn<'_>) -> Outcome<Option<i64>> {
    let bytes = sql::<BigInt>("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    Ok(Some(RunQueryDsl::get_result(bytes, conn).await?))
}

/// Returns the result of a query function: on SQLite its future is ready when it is first polled.
pub(crate) fn complete<T>(query: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let waited = || Failure::Rule(Error::internal("a query function waited for something other than the database"));
    query.now_or_never().unwrap_or_else(|| Err(waited()))
}

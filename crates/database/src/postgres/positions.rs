//! How far the write-ahead log is, on the server that takes writes and on a replica, and up to where accounts have written.

use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamptz};
use diesel::upsert::excluded;
use diesel::{ExpressionMethods, QueryDsl, define_sql_function};
use uuid::Uuid;

use super::dialect::{Conn, RunQueryDsl, id_in};
use crate::error::Outcome;
use crate::schema::write_positions;
use crate::sql_types::DbId;

/// What holds for every account.
const NOBODY: DbId = DbId(Uuid::nil());

/// The place up to which the log holds what was committed, in bytes. What is acknowledged is on disk, unless the server is told not to
/// wait for that.
const WRITTEN: &str = "(CASE WHEN current_setting('synchronous_commit') = 'off' THEN pg_current_wal_insert_lsn() \
    ELSE pg_current_wal_flush_lsn() END - '0/0')::int8";

define_sql_function! {
    /// Returns the larger of two numbers.
    fn greatest(one: BigInt, other: BigInt) -> BigInt;
}

define_sql_function! {
    /// Returns the time when it is called.
    fn clock_timestamp() -> Timestamptz;
}

/// Records that an account has written up to now; for [`NOBODY`], that all have.
async fn record_of(conn: &mut Conn<'_>, account: DbId) -> Outcome<()> {
    use write_positions::{position, user_id, written_at};
    let record = (user_id.eq(account), position.eq(sql::<BigInt>(WRITTEN)));
    let record = diesel::insert_into(write_positions::table).values(record).on_conflict(user_id).do_update();
    let further = greatest(position, excluded(position));
    record.set((position.eq(further), written_at.eq(clock_timestamp()))).execute(conn).await?;
    Ok(())
}

/// Records that an account has written up to now.
pub(crate) async fn record(conn: &mut Conn<'_>, account: DbId) -> Outcome<()> {
    record_of(conn, account).await
}

/// Records that everybody has written up to now.
pub(crate) async fn record_all(conn: &mut Conn<'_>) -> Outcome<()> {
    record_of(conn, NOBODY).await
}

/// Returns up to where an account has written, at the most; nothing when the table has lost its rows.
pub(crate) async fn written(conn: &mut Conn<'_>, account: DbId) -> Outcome<Option<i64>> {
    let found = write_positions::table.filter(id_in(write_positions::user_id, vec![account, NOBODY]));
    let found: Vec<(DbId, i64)> =
        found.select((write_positions::user_id, write_positions::position)).load(conn).await?;
    let is_whole = found.iter().any(|(account, _)| account.0 == NOBODY.0);
    Ok(found.into_iter().map(|(_, position)| position).max().filter(|_| is_whole))
}

/// Returns the history of the log, which is another one after a failover, and up to where it is now. Where the table has lost its rows,
/// everybody has written up to here.
pub(crate) async fn now(conn: &mut Conn<'_>) -> Outcome<(String, i64)> {
    let everybody = write_positions::table.find(NOBODY).select(write_positions::position);
    if everybody.load::<i64>(conn).await?.is_empty() {
        record_all(conn).await?;
    }
    let history = sql::<Text>("left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)");
    Ok(diesel::select((history, sql::<BigInt>(WRITTEN))).get_result(conn).await?)
}

/// Deletes what is older than so many seconds.
pub(crate) async fn forget(conn: &mut Conn<'_>, seconds: i64) -> Outcome<()> {
    let begin = sql::<Timestamptz>(&format!("clock_timestamp() - make_interval(secs => {seconds})"));
    let old = write_positions::table.filter(write_positions::written_at.lt(begin));
    diesel::delete(old.filter(write_positions::user_id.ne(NOBODY))).execute(conn).await?;
    Ok(())
}

/// Returns up to where a replica shows the log; nothing when it is none.
pub(crate) async fn replayed(conn: &mut Conn<'_>) -> Outcome<Option<i64>> {
    let replayed = "CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::int8 END";
    Ok(diesel::select(sql::<Nullable<BigInt>>(replayed)).get_result(conn).await?)
}

//! Positions in the write-ahead log, in bytes: of the primary, of a replica, and up to which accounts have written.

use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamptz};
use diesel::upsert::excluded;
use diesel::{ExpressionMethods, QueryDsl, define_sql_function};
use uuid::Uuid;

use super::dialect::{Conn, RunQueryDsl, id_in};
use crate::error::Outcome;
use crate::schema::write_positions;
use crate::sql_types::DbId;

/// The id of the row that holds for every account.
const ALL_ACCOUNTS: DbId = DbId(Uuid::nil());

/// The position up to which the log holds what was committed. What is acknowledged is on disk, unless the server is told not
/// to wait for that.
const CURRENT_POSITION: &str = "(CASE WHEN current_setting('synchronous_commit') = 'off' THEN pg_current_wal_insert_lsn() \
    ELSE pg_current_wal_flush_lsn() END - '0/0')::int8";

define_sql_function! {
    /// Returns the larger of two numbers.
    fn greatest(one: BigInt, other: BigInt) -> BigInt;
}

define_sql_function! {
    /// Returns the time when it is called.
    fn clock_timestamp() -> Timestamptz;
}

/// Records that an account has written up to now; for [`ALL_ACCOUNTS`], that all have.
async fn record_position(conn: &mut Conn<'_>, account: DbId) -> Outcome<()> {
    use write_positions::{position, user_id, written_at};
    let record = (user_id.eq(account), position.eq(sql::<BigInt>(CURRENT_POSITION)));
    let record = diesel::insert_into(write_positions::table).values(record).on_conflict(user_id).do_update();
    let further = greatest(position, excluded(position));
    record.set((position.eq(further), written_at.eq(clock_timestamp()))).execute(conn).await?;
    Ok(())
}

/// Records that an account has written up to now.
pub(crate) async fn record(conn: &mut Conn<'_>, account: DbId) -> Outcome<()> {
    record_position(conn, account).await
}

/// Records that every account has written up to now.
pub(crate) async fn record_all(conn: &mut Conn<'_>) -> Outcome<()> {
    record_position(conn, ALL_ACCOUNTS).await
}

/// Returns the position up to which an account may have written; `None` if the table has lost its rows.
pub(crate) async fn written(conn: &mut Conn<'_>, account: DbId) -> Outcome<Option<i64>> {
    let found = write_positions::table.filter(id_in(write_positions::user_id, vec![account, ALL_ACCOUNTS]));
    let found: Vec<(DbId, i64)> =
        found.select((write_positions::user_id, write_positions::position)).load(conn).await?;
    let is_whole = found.iter().any(|(account, _)| account.0 == ALL_ACCOUNTS.0);
    Ok(found.into_iter().map(|(_, position)| position).max().filter(|_| is_whole))
}

/// Returns the timeline of the log, which is another one after a failover, and its current position. If the table has lost its
/// rows, every account is recorded as having written up to here.
pub(crate) async fn now(conn: &mut Conn<'_>) -> Outcome<(String, i64)> {
    let of_all = write_positions::table.find(ALL_ACCOUNTS).select(write_positions::position);
    if of_all.load::<i64>(conn).await?.is_empty() {
        record_all(conn).await?;
    }
    let timeline = sql::<Text>("left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)");
    Ok(diesel::select((timeline, sql::<BigInt>(CURRENT_POSITION))).get_result(conn).await?)
}

/// Deletes the positions of accounts that are older than this many seconds.
pub(crate) async fn delete_older_than(conn: &mut Conn<'_>, seconds: i64) -> Outcome<()> {
    let begin = sql::<Timestamptz>(&format!("clock_timestamp() - make_interval(secs => {seconds})"));
    let old = write_positions::table.filter(write_positions::written_at.lt(begin));
    diesel::delete(old.filter(write_positions::user_id.ne(ALL_ACCOUNTS))).execute(conn).await?;
    Ok(())
}

/// Returns the position up to which a replica has replayed the log; `None` if the server is no replica.
pub(crate) async fn replayed(conn: &mut Conn<'_>) -> Outcome<Option<i64>> {
    let replayed = "CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::int8 END";
    Ok(diesel::select(sql::<Nullable<BigInt>>(replayed)).get_result(conn).await?)
}

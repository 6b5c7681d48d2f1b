//! How far the write-ahead log is, on the server that takes writes and on a replica, and up to where accounts have written.

use diesel::QueryDsl;
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Nullable};
use uuid::Uuid;

use super::dialect::{Conn, RunQueryDsl, id_in};
use crate::error::Outcome;
use crate::schema::write_positions;
use crate::sql_types::{DbId, Id};

/// What holds for every account.
const NOBODY: DbId = DbId(Uuid::nil());

/// The place up to which the log holds what was committed, in bytes. What is acknowledged is on disk, unless the server is told not to
/// wait for that.
const WRITTEN: &str = "(CASE WHEN current_setting('synchronous_commit') = 'off' THEN pg_current_wal_insert_lsn() \
    ELSE pg_current_wal_flush_lsn() END - '0/0')::int8";

/// Records that an account has written up to now; for [`NOBODY`], that all have.
async fn record_of(conn: &mut Conn<'_>, account: DbId) -> Outcome<()> {
    let record = format!(
        "INSERT INTO write_positions (user_id, position) VALUES ($1, {WRITTEN}) ON CONFLICT (user_id) DO UPDATE \
            SET position = greatest(write_positions.position, excluded.position), written_at = clock_timestamp()"
    );
    diesel::sql_query(record).bind::<Id, _>(account).execute(conn).await?;
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

/// Returns up to where the log is now. Where the table has lost its rows, everybody has written up to here.
pub(crate) async fn now(conn: &mut Conn<'_>) -> Outcome<i64> {
    let everybody = write_positions::table.find(NOBODY).select(write_positions::position);
    if everybody.load::<i64>(conn).await?.is_empty() {
        record_all(conn).await?;
    }
    Ok(diesel::select(sql::<BigInt>(WRITTEN)).get_result(conn).await?)
}

/// Deletes what is older than so many seconds.
pub(crate) async fn forget(conn: &mut Conn<'_>, seconds: i64) -> Outcome<()> {
    let forget = "DELETE FROM write_positions WHERE written_at < clock_timestamp() - make_interval(secs => $1) AND user_id <> $2";
    let forget = diesel::sql_query(forget).bind::<BigInt, _>(seconds).bind::<Id, _>(NOBODY);
    forget.execute(conn).await?;
    Ok(())
}

/// Returns up to where a replica shows the log; nothing when it is none.
pub(crate) async fn replayed(conn: &mut Conn<'_>) -> Outcome<Option<i64>> {
    let replayed = "CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::int8 END";
    Ok(diesel::select(sql::<Nullable<BigInt>>(replayed)).get_result(conn).await?)
}

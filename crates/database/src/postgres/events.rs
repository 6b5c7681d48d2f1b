//! Events as rows, and the numbers by which every node reads them in the same order.

use std::time::Duration;

use agora_domain::events::Event;
use diesel::dsl::{max, sql};
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Double, Nullable};
use diesel::{
    ExpressionMethods, NullableExpressionMethods, OptionalExtension, QueryDsl, QueryResult, SelectableHelper,
};
use tokio::sync::Mutex;

use super::dialect::{Conn, RunQueryDsl};
use super::statement::statement;
use crate::error::Outcome;
use crate::event_rows::EventRow;
use crate::event_window::{MAX_AGE, Window};
use crate::schema::{event_log, events};

/// How many events one statement reads, numbers or deletes.
const BATCH: i64 = 5_000;

/// What a node has read of the events.
pub(crate) struct Events {
    pub(crate) window: Window,
    /// Held by the one task that reads new events.
    pub(super) refresh_lock: Mutex<()>,
}

impl Default for Events {
    fn default() -> Self {
        Self { window: Window::new(), refresh_lock: Mutex::default() }
    }
}

/// The state of the log.
#[derive(Debug, Clone, Copy, diesel::Queryable)]
pub(super) struct Head {
    pub(super) epoch: i64,
    /// The last number that was assigned.
    pub(super) last_number: i64,
    /// The number up to which events were deleted.
    pub(super) trimmed: i64,
    /// The id of the last event without a number.
    pub(super) unnumbered: Option<i64>,
}

/// Records an event, in the transaction of the write that it reports.
pub(crate) async fn record(conn: &mut Conn<'_>, event: Event) -> Outcome<()> {
    diesel::insert_into(events::table).values(EventRow::of(event)).execute(conn).await?;
    Ok(())
}

/// Returns the state of the log; `None` if there is no log yet.
pub(super) async fn head(conn: &mut Conn<'_>) -> Outcome<Option<Head>> {
    let unnumbered = events::table.filter(events::number.is_null()).select(max(events::id)).single_value();
    let head = event_log::table.select((event_log::epoch, event_log::last_number, event_log::trimmed, unnumbered));
    Ok(head.get_result(conn).await.optional()?)
}

// In the order in which events were recorded: if one was committed before the transaction of another began, it comes first.
statement! { AssignNumbers { last: i64, last_id: i64 } -> BigInt:
    "WITH next AS (\
        SELECT id, row_number() OVER (ORDER BY id) AS place FROM events WHERE number IS NULL \
            AND id <= " last_id as BigInt, " ORDER BY id LIMIT 5000\
    ), numbered AS (\
        UPDATE events e SET number = " last as BigInt, " + next.place FROM next WHERE e.id = next.id AND e.number IS NULL RETURNING 1\
    ) SELECT count(*) FROM numbered"
}

// Up to the last one that is old, so that the remaining numbers have no gap.
statement! { DeleteOld { kept: f64 } -> (BigInt, Nullable<BigInt>):
    "WITH first AS (\
        SELECT number, at FROM events WHERE number IS NOT NULL ORDER BY number LIMIT 5000\
    ), old AS (\
        SELECT max(number) AS last FROM first WHERE at < clock_timestamp() - make_interval(secs => " kept as Double, ")\
    ), deleted AS (\
        DELETE FROM events e USING old WHERE e.number <= old.last RETURNING 1\
    ) SELECT (SELECT count(*) FROM deleted), (SELECT last FROM old)"
}

statement! { DeleteUnnumbered { kept: f64 } -> BigInt:
    "WITH first AS (\
        SELECT id, at FROM events WHERE number IS NULL ORDER BY id LIMIT 5000\
    ), deleted AS (\
        DELETE FROM events e USING first f WHERE e.id = f.id AND e.number IS NULL \
            AND f.at < clock_timestamp() - make_interval(secs => " kept as Double, ") RETURNING 1\
    ) SELECT count(*) FROM deleted"
}

/// The seconds since an event was recorded.
const AGE: &str = "CAST(extract(epoch FROM clock_timestamp() - at) AS double precision)";

/// The id of the only row of `event_log`.
const LOG_ID: i16 = 1;

/// Makes the server end the transaction of a node that hangs, since all others would wait for it.
const LIMIT_IDLE_IN_TRANSACTION: &str = "SET LOCAL idle_in_transaction_session_timeout = '2s'";

/// Creates the log if there is none.
pub(super) async fn create_log(conn: &mut Conn<'_>) -> Outcome<()> {
    diesel::insert_into(event_log::table)
        .values(event_log::id.eq(LOG_ID))
        .on_conflict_do_nothing()
        .execute(conn)
        .await?;
    Ok(())
}

/// Numbers some of the events that have no number, up to an id, unless another node is doing so. Returns whether there may be
/// more.
pub(super) async fn assign_numbers(conn: &mut Conn<'_>, last_id: i64) -> Outcome<bool> {
    diesel::sql_query(LIMIT_IDLE_IN_TRANSACTION).execute(conn).await?;
    let last = event_log::table.select(event_log::last_number).for_update().skip_locked();
    let Some(last) = last.get_result::<i64>(conn).await.optional()? else { return Ok(false) };
    let count: i64 = AssignNumbers { last, last_id }.get_result(conn).await?;
    if count > 0 {
        diesel::update(event_log::table).set(event_log::last_number.eq(last + count)).execute(conn).await?;
    }
    Ok(count == BATCH)
}

/// Deletes some of the old events, unless another node has locked the log. Returns whether there may be more.
///
/// Nobody listened to those that have no number by then. One number, which counts as deleted, stands for all of them, so that
/// a client that has received only what comes before it cannot resume.
pub(super) async fn delete_old(conn: &mut Conn<'_>) -> Outcome<bool> {
    diesel::sql_query(LIMIT_IDLE_IN_TRANSACTION).execute(conn).await?;
    let log = event_log::table.select(event_log::last_number).for_update().skip_locked();
    let Some(last) = log.get_result::<i64>(conn).await.optional()? else { return Ok(false) };
    let kept = MAX_AGE.as_secs_f64();
    let (count, deleted): (i64, Option<i64>) = DeleteOld { kept }.get_result(conn).await?;
    if let Some(deleted) = deleted {
        let before = event_log::table.filter(event_log::trimmed.lt(deleted));
        diesel::update(before).set(event_log::trimmed.eq(deleted)).execute(conn).await?;
    }
    let unnumbered: i64 = DeleteUnnumbered { kept }.get_result(conn).await?;
    if unnumbered > 0 {
        let gap = last + 1;
        let skip = (event_log::last_number.eq(gap), event_log::trimmed.eq(gap));
        diesel::update(event_log::table).set(skip).execute(conn).await?;
    }
    Ok(count.max(unnumbered) == BATCH)
}

/// Returns the next events after a number, each with its age.
pub(super) async fn read(conn: &mut Conn<'_>, last: i64) -> Outcome<Vec<(Event, Duration)>> {
    let rows = events::table.filter(events::number.gt(last)).order(events::number).limit(BATCH);
    let rows = rows.select((events::number.assume_not_null(), EventRow::as_select(), sql::<Double>(AGE)));
    let rows: Vec<(i64, EventRow, f64)> = rows.load(conn).await?;
    // If the next event is already deleted, those after it would be taken for it, so only consecutive numbers are returned.
    let next = rows.into_iter().zip(last + 1..).take_while(|((number, ..), expected)| number == expected);
    let event = |((_, row, age), _): ((i64, EventRow, f64), i64)| {
        (row.event(), Duration::try_from_secs_f64(age).unwrap_or_default())
    };
    Ok(next.map(event).collect())
}

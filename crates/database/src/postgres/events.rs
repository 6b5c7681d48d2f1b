//! Events as rows, and the numbers by which every node reads them in the same order.

use std::time::Duration;

use agora_domain::Result;
use agora_domain::events::Event;
use diesel::dsl::exists;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Double, Nullable, SmallInt};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryResult};
use tokio::sync::Mutex;

use super::database::Postgres;
use super::dialect::{Conn, RunQueryDsl};
use super::statements::statement;
use crate::error::Outcome;
use crate::event_rows::EventRow;
use crate::event_window::{CAPACITY, KEPT, Window};
use crate::schema::{event_log, events};
use crate::sql_types::Id;

/// How many events are read, given numbers or deleted in one statement.
const BATCH: i64 = 5_000;

/// What a node has read of the events.
pub(crate) struct Events {
    pub(crate) window: Window,
    /// One reads at a time.
    turn: Mutex<()>,
}

impl Default for Events {
    fn default() -> Self {
        Self { window: Window::new(), turn: Mutex::default() }
    }
}

/// How far the log is.
#[derive(Debug, Clone, Copy, diesel::Queryable)]
struct Head {
    epoch: i64,
    last_number: i64,
    trimmed: i64,
    is_more: bool,
}

/// Records an event in the transaction of the write that it tells of.
pub(crate) async fn record(conn: &mut Conn<'_>, event: Event) -> Outcome<()> {
    diesel::insert_into(events::table).values(EventRow::of(event)).execute(conn).await?;
    Ok(())
}

async fn head(conn: &mut Conn<'_>) -> Outcome<Option<Head>> {
    let is_more = exists(events::table.filter(events::number.is_null()));
    let head = event_log::table.select((event_log::epoch, event_log::last_number, event_log::trimmed, is_more));
    Ok(head.get_result(conn).await.optional()?)
}

// By the order in which they were put there: of two, of which one was committed before the other began, the first.
statement! { GiveNumbers { last: i64 } -> BigInt:
    "WITH next AS (\
        SELECT id, row_number() OVER (ORDER BY id) AS place FROM events WHERE number IS NULL ORDER BY id LIMIT 5000\
    ), numbered AS (\
        UPDATE events e SET number = " last as BigInt, " + next.place FROM next WHERE e.id = next.id AND e.number IS NULL RETURNING 1\
    ) SELECT count(*) FROM numbered"
}

statement! { DeleteOld { kept: f64 } -> (BigInt, Nullable<BigInt>):
    "WITH old AS (\
        SELECT number FROM events WHERE number IS NOT NULL ORDER BY number LIMIT 5000\
    ), deleted AS (\
        DELETE FROM events e USING old WHERE e.number = old.number AND e.at < clock_timestamp() - make_interval(secs => "
    kept as Double, ") RETURNING e.number) SELECT count(*), max(number) FROM deleted"
}

statement! { ReadEvents { last: i64 } ->
    (BigInt, (SmallInt, Nullable<Id>, Nullable<Id>, Nullable<Id>, Nullable<Id>, Nullable<SmallInt>), Double):
    "SELECT number, kind, post_id, comment_id, user_id, notification_id, detail, \
        CAST(extract(epoch FROM clock_timestamp() - at) AS double precision) \
    FROM events WHERE number > " last as BigInt, " ORDER BY number LIMIT 5000"
}

/// Locks the log against others who give numbers; up to where there are some. One that is not there is made.
async fn lock(conn: &mut Conn<'_>) -> Outcome<i64> {
    loop {
        let last = event_log::table.select(event_log::last_number).for_update();
        if let Some(last) = last.get_result(conn).await.optional()? {
            return Ok(last);
        }
        diesel::sql_query("INSERT INTO event_log DEFAULT VALUES ON CONFLICT DO NOTHING").execute(conn).await?;
    }
}

/// Gives some of the events that have none numbers; whether there may be more.
async fn give_numbers(conn: &mut Conn<'_>) -> Outcome<bool> {
    let last = lock(conn).await?;
    let count: i64 = GiveNumbers { last }.get_result(conn).await?;
    if count > 0 {
        diesel::update(event_log::table).set(event_log::last_number.eq(last + count)).execute(conn).await?;
    }
    Ok(count == BATCH)
}

/// Deletes some of the events that are old; whether there may be more.
async fn delete_old(conn: &mut Conn<'_>) -> Outcome<bool> {
    lock(conn).await?;
    let (count, last): (i64, Option<i64>) = DeleteOld { kept: KEPT.as_secs_f64() }.get_result(conn).await?;
    if let Some(last) = last {
        diesel::update(event_log::table).set(event_log::trimmed.eq(last)).execute(conn).await?;
    }
    Ok(count == BATCH)
}

async fn read(conn: &mut Conn<'_>, last: i64) -> Outcome<Vec<(Event, Duration)>> {
    let rows: Vec<(i64, EventRow, f64)> = ReadEvents { last }.load(conn).await?;
    // Where the next one is deleted already, the others would be taken for those before them.
    let next = rows.into_iter().zip(last + 1..).take_while(|((number, ..), expected)| number == expected);
    let event = |((_, row, age), _): ((i64, EventRow, f64), i64)| {
        Ok((row.event()?, Duration::try_from_secs_f64(age).unwrap_or_default()))
    };
    next.map(event).collect()
}

fn number(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or_default()
}

fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Postgres {
    /// Takes in what was committed until now.
    pub(crate) async fn refresh_events(&self) -> Result<()> {
        let _turn = self.events.turn.lock().await;
        let mut head = self.read(|conn| Box::pin(head(conn))).await?;
        if head.is_none_or(|head| head.is_more) {
            while self.write(|conn| Box::pin(give_numbers(conn))).await? {}
            head = self.read(|conn| Box::pin(self::head(conn))).await?;
        }
        let Some(Head { epoch, last_number, trimmed, .. }) = head else { return Ok(()) };
        let (epoch, window) = (number(epoch), &self.events.window);
        let end = window.end();
        if end.epoch != epoch || end.number < number(trimmed) || end.number > number(last_number) {
            let oldest_kept = number(last_number).saturating_sub(CAPACITY as u64);
            window.restart(epoch, number(trimmed).max(oldest_kept));
        }
        while window.end().number < number(last_number) {
            let last = stored(window.end().number);
            let events = self.list(move |conn| Box::pin(read(conn, last))).await?;
            if events.is_empty() {
                // Deleted since the head was read: the next look begins behind them.
                return Ok(());
            }
            window.extend(events);
        }
        Ok(())
    }

    /// Deletes what is older than it has to be.
    pub(crate) async fn trim_events(&self) -> Result<()> {
        // Those without numbers could not be told from those that somebody has not been told.
        while self.write(|conn| Box::pin(give_numbers(conn))).await? {}
        while self.write(|conn| Box::pin(delete_old(conn))).await? {}
        Ok(())
    }
}

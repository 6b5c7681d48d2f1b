use agora_domain::Error;
use agora_domain::clock::Timestamp;
use agora_domain::error::Conflict;
use agora_domain::idempotency::{Begun, Fingerprint, Fingerprints, Outcome as Done, Record, RequestName};
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl};
use uuid::Uuid;

use super::{Conn, RunQueryDsl, id_in};
use crate::error::{Failure, Outcome};
use crate::feeds::limit;
use crate::prepared::prepared;
use crate::schema::idempotency;
use crate::sql_types::{DbId, DbInstant};

/// Records an attempt, unless there is a record of the same request already.
pub(crate) async fn begin(
    conn: &mut Conn<'_>,
    name: RequestName,
    fingerprints: Fingerprints,
    attempt: DbId,
    now: Timestamp,
) -> Outcome<Begun> {
    let caller = caller(&name);
    loop {
        let inserted = diesel::insert_into(idempotency::table)
            .values((
                idempotency::attempt.eq(attempt),
                idempotency::caller.eq(caller),
                idempotency::route.eq(name.route.clone()),
                idempotency::key.eq(name.key.as_str().to_owned()),
                idempotency::fingerprint.eq(fingerprints.own.0.to_vec()),
                idempotency::begun_at.eq(DbInstant(now)),
            ))
            .on_conflict((idempotency::caller, idempotency::key, idempotency::route))
            .do_nothing()
            .execute(conn)
            .await?;
        if inserted > 0 {
            delete_oldest(conn, caller).await?;
            return Ok(Begun::First);
        }
        // If the record was deleted meanwhile, this attempt can be recorded.
        let Some((recorded, record)) = find(conn, &name).await? else { continue };
        if recorded.0 == attempt.0 {
            // It was recorded before, and the acknowledgement was lost.
            return Ok(Begun::First);
        }
        let is_done = record.outcome.is_some();
        if let Some(lookup) = record.lookup(fingerprints, now) {
            return Ok(Begun::Found(lookup));
        }
        // An attempt that seems lost may complete at the last moment: then its record stays.
        let replaced = idempotency::table.filter(idempotency::attempt.eq(recorded));
        if is_done {
            diesel::delete(replaced).execute(conn).await?;
        } else {
            diesel::delete(replaced.filter(idempotency::outcome.is_null())).execute(conn).await?;
        }
    }
}

/// Deletes a few of the oldest records that an account has beyond its limit: only a few at a time, so that beginning an attempt
/// stays fast.
async fn delete_oldest(conn: &mut Conn<'_>, caller: DbId) -> Outcome<()> {
    const BATCH: i64 = 4;
    // Records without an account are limited by the rate limit of registrations for each address.
    if caller.0.is_nil() {
        return Ok(());
    }
    let beyond: Vec<DbId> = idempotency::table
        .filter(idempotency::caller.eq(caller).and(idempotency::outcome.is_not_null()))
        .order(idempotency::begun_at.desc())
        .select(idempotency::attempt)
        .limit(BATCH)
        .offset(limit(Record::MAX_PER_CALLER))
        .load(conn)
        .await?;
    if !beyond.is_empty() {
        diesel::delete(idempotency::table.filter(id_in(idempotency::attempt, beyond))).execute(conn).await?;
    }
    Ok(())
}

/// Returns the account that sends a request, or the nil id if there is none.
fn caller(name: &RequestName) -> DbId {
    DbId(name.caller.map_or(Uuid::nil(), |caller| caller.uuid()))
}

async fn find(conn: &mut Conn<'_>, name: &RequestName) -> Outcome<Option<(DbId, Record)>> {
    let is_named = idempotency::caller
        .eq(caller(name))
        .and(idempotency::key.eq(name.key.as_str().to_owned()))
        .and(idempotency::route.eq(name.route.clone()));
    let found = idempotency::table
        .filter(is_named)
        .select((idempotency::attempt, idempotency::fingerprint, idempotency::begun_at, idempotency::outcome))
        .get_result::<(DbId, Vec<u8>, DbInstant, Option<Vec<u8>>)>(conn)
        .await
        .optional()?;
    let Some((attempt, fingerprint, begun_at, outcome)) = found else { return Ok(None) };
    let fingerprint = fingerprint.try_into().map_err(|_| Error::internal("the database holds an invalid digest"))?;
    let outcome = outcome.map(|stored| decode(&stored)).transpose()?;
    Ok(Some((attempt, Record { fingerprint: Fingerprint(fingerprint), begun_at: begun_at.0, outcome })))
}

/// Stores the outcome of an attempt, in the transaction of its writes.
pub(crate) async fn complete(conn: &mut Conn<'_>, attempt: DbId, done: Done) -> Outcome<()> {
    let running = idempotency::table.filter(idempotency::attempt.eq(attempt).and(idempotency::outcome.is_null()));
    let completed = diesel::update(running).set(idempotency::outcome.eq(Some(encode(done))));
    let completed = prepared(completed).execute(conn).await?;
    if completed == 0 {
        return Err(Failure::Rule(Error::unavailable(
            "another attempt with the same idempotency key has replaced this one",
        )));
    }
    Ok(())
}

pub(crate) async fn abandon(conn: &mut Conn<'_>, attempt: DbId) -> Outcome<()> {
    let running = idempotency::table.filter(idempotency::attempt.eq(attempt).and(idempotency::outcome.is_null()));
    diesel::delete(running).execute(conn).await?;
    Ok(())
}

/// Deletes a batch of the records that began before an instant. Returns the number of deleted records.
pub(crate) async fn delete_begun_before(conn: &mut Conn<'_>, at: DbInstant, limit: i64) -> Outcome<usize> {
    let old = idempotency::table.filter(idempotency::begun_at.lt(at)).order(idempotency::begun_at).limit(limit);
    let attempts: Vec<DbId> = old.select(idempotency::attempt).load(conn).await?;
    Ok(diesel::delete(idempotency::table.filter(id_in(idempotency::attempt, attempts))).execute(conn).await?)
}

// An outcome is stored as one of these bytes, then whether the relation is on, or the id of what was created. An older release
// stored responses, which begin with 0: these no longer have an outcome.
const REGISTERED: u8 = b'R';
const POST_CREATED: u8 = b'P';
const LIKE_TOGGLED: u8 = b'L';
const COMMENT_CREATED: u8 = b'C';
const FOLLOW_TOGGLED: u8 = b'F';
const PRODUCT_CREATED: u8 = b'D';
const REPORT_CREATED: u8 = b'M';
const REPORT_FOUND: u8 = b'O';

fn encode(done: Done) -> Vec<u8> {
    let of = |kind: u8, id: Uuid| [&[kind], id.as_bytes().as_slice()].concat();
    match done {
        Done::Registered(id) => of(REGISTERED, id.uuid()),
        Done::PostCreated(id) => of(POST_CREATED, id.uuid()),
        Done::LikeToggled(is_on) => vec![LIKE_TOGGLED, is_on.into()],
        Done::CommentCreated(id) => of(COMMENT_CREATED, id.uuid()),
        Done::FollowToggled(is_on) => vec![FOLLOW_TOGGLED, is_on.into()],
        Done::ProductCreated(id) => of(PRODUCT_CREATED, id.uuid()),
        Done::ReportCreated(id) => of(REPORT_CREATED, id.uuid()),
        Done::ReportFound(id) => of(REPORT_FOUND, id.uuid()),
    }
}

fn decode(stored: &[u8]) -> Outcome<Done> {
    let done = stored.split_first().and_then(|(kind, value)| {
        let id = || Uuid::from_slice(value).ok();
        match *kind {
            REGISTERED => Some(Done::Registered(id()?.into())),
            POST_CREATED => Some(Done::PostCreated(id()?.into())),
            LIKE_TOGGLED => Some(Done::LikeToggled(value == [1])),
            // An earlier release stored no id, and had no path that shows it.
            COMMENT_CREATED if value.is_empty() => Some(Done::CommentCreated(Uuid::nil().into())),
            COMMENT_CREATED => Some(Done::CommentCreated(id()?.into())),
            FOLLOW_TOGGLED => Some(Done::FollowToggled(value == [1])),
            PRODUCT_CREATED => Some(Done::ProductCreated(id()?.into())),
            REPORT_CREATED => Some(Done::ReportCreated(id()?.into())),
            REPORT_FOUND => Some(Done::ReportFound(id()?.into())),
            _ => None,
        }
    });
    done.ok_or(Failure::Rule(Error::Conflict(Conflict::Unforeseen)))
}

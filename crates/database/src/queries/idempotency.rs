use agora_domain::Error;
use agora_domain::idempotency::{Answer, Begun, Fingerprint, Once, Record};
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl};

use super::{Conn, RunQueryDsl};
use crate::error::{Failure, Outcome};
use crate::feeds::limit;
use crate::schema::idempotency;
use crate::sql_types::{DbId, DbInstant};
use crate::values::{AttemptRow, NewAttempt};

/// Puts an attempt on record, unless it meets one there.
pub(crate) async fn begin(conn: &mut Conn, new: NewAttempt) -> Outcome<Begun> {
    loop {
        let inserted = diesel::insert_into(idempotency::table)
            .values((
                idempotency::attempt.eq(new.attempt),
                idempotency::caller.eq(new.caller),
                idempotency::route.eq(new.route.clone()),
                idempotency::key.eq(new.key.clone()),
                idempotency::fingerprint.eq(new.fingerprints.own.0.to_vec()),
                idempotency::begun_at.eq(DbInstant(new.now)),
            ))
            .on_conflict((idempotency::caller, idempotency::key, idempotency::route))
            .do_nothing()
            .execute(conn)
            .await?;
        if inserted > 0 {
            forget_oldest(conn, new.caller).await?;
            return Ok(Begun::First);
        }
        // If somebody else took it off the record meanwhile, its place is free.
        let Some((attempt, record)) = find(conn, &new).await? else { continue };
        let is_answered = record.answer.is_some();
        if let Some(met) = record.meet(new.fingerprints, new.now) {
            return Ok(Begun::Found(met));
        }
        // What was lost may be found at the last moment: then it stays.
        let replaced = idempotency::table.filter(idempotency::attempt.eq(attempt));
        if is_answered {
            diesel::delete(replaced).execute(conn).await?;
        } else {
            diesel::delete(replaced.filter(idempotency::answer.is_null())).execute(conn).await?;
        }
    }
}

/// Takes off the record what an account has beyond its bound: a few at a time, so that it ends as quickly as it begins.
async fn forget_oldest(conn: &mut Conn, caller: DbId) -> Outcome<()> {
    const AT_ONCE: i64 = 4;
    // Those of nobody are bounded by how often an address may register.
    if caller.0.is_nil() {
        return Ok(());
    }
    let beyond: Vec<DbId> = idempotency::table
        .filter(idempotency::caller.eq(caller).and(idempotency::answer.is_not_null()))
        .order(idempotency::begun_at.desc())
        .select(idempotency::attempt)
        .limit(AT_ONCE)
        .offset(limit(Record::MOST_PER_CALLER))
        .load(conn)
        .await?;
    if !beyond.is_empty() {
        diesel::delete(idempotency::table.filter(idempotency::attempt.eq_any(beyond))).execute(conn).await?;
    }
    Ok(())
}

async fn find(conn: &mut Conn, new: &NewAttempt) -> Outcome<Option<(DbId, Record)>> {
    let is_named = idempotency::caller
        .eq(new.caller)
        .and(idempotency::key.eq(new.key.clone()))
        .and(idempotency::route.eq(new.route.clone()));
    let found: Option<AttemptRow> = idempotency::table
        .filter(is_named)
        .select((idempotency::attempt, idempotency::fingerprint, idempotency::begun_at, idempotency::answer))
        .get_result(conn)
        .await
        .optional()?;
    let Some((attempt, fingerprint, begun_at, answer)) = found else { return Ok(None) };
    let fingerprint = fingerprint.try_into().map_err(|_| Error::internal("the database holds an invalid digest"))?;
    let answer = answer.map(|bytes| Answer(bytes.into()));
    Ok(Some((attempt, Record { fingerprint: Fingerprint(fingerprint), begun_at: begun_at.0, answer })))
}

/// Stores the answer to an attempt that has none; whether there was such an attempt.
pub(crate) async fn finish(conn: &mut Conn, attempt: DbId, answer: Vec<u8>) -> Outcome<bool> {
    let unanswered = idempotency::table.filter(idempotency::attempt.eq(attempt).and(idempotency::answer.is_null()));
    Ok(diesel::update(unanswered).set(idempotency::answer.eq(Some(answer))).execute(conn).await? > 0)
}

/// Makes what this transaction wrote part of an attempt, which is answered according to what the write gave.
pub(crate) async fn complete<T>(conn: &mut Conn, once: Option<Once<T>>, given: &T) -> Outcome<()> {
    let Some(once) = once else { return Ok(()) };
    let Answer(answer) = once.answer(given)?;
    if finish(conn, DbId(once.attempt().uuid()), answer.into()).await? {
        Ok(())
    } else {
        Err(Failure::Rule(Error::unavailable("another attempt has taken the place of this one")))
    }
}

pub(crate) async fn abandon(conn: &mut Conn, attempt: DbId) -> Outcome<()> {
    let unanswered = idempotency::table.filter(idempotency::attempt.eq(attempt).and(idempotency::answer.is_null()));
    diesel::delete(unanswered).execute(conn).await?;
    Ok(())
}

/// Deletes some of what began before an instant; how many records.
pub(crate) async fn delete_begun_before(conn: &mut Conn, at: DbInstant, limit: i64) -> Outcome<usize> {
    let old = idempotency::table.filter(idempotency::begun_at.lt(at)).order(idempotency::begun_at).limit(limit);
    let attempts: Vec<DbId> = old.select(idempotency::attempt).load(conn).await?;
    Ok(diesel::delete(idempotency::table.filter(idempotency::attempt.eq_any(attempts))).execute(conn).await?)
}

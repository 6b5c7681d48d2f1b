use std::sync::Arc;

use uuid::Uuid;

use super::*;
use crate::clock::Timestamp;
use crate::error::{Conflict, Error};
use crate::fixtures::{clock, ids};

const ONE: Fingerprints = Fingerprints::only(Fingerprint([1; 32]));
const OTHER: Fingerprints = Fingerprints::only(Fingerprint([2; 32]));
const NOW: Timestamp = Timestamp::from_unix_millis(1_000_000_000);
const ATTEMPT: AttemptId = AttemptId::new(Uuid::from_u128(9));

const DONE: Outcome = Outcome::LikeToggled(true);

fn record(age_millis: i64, outcome: Option<Outcome>) -> Record {
    Record { fingerprint: ONE.own, begun_at: NOW.plus_millis(-age_millis), outcome }
}

#[test]
fn a_key_is_1_to_255_visible_ascii_characters() {
    for good in ["x", "8e03978e-40d5-43e8-bc93-6894a57f9324", &"k".repeat(255), "\"quoted\""] {
        assert_eq!(IdempotencyKey::parse(good).unwrap().as_str(), good);
    }
    for bad in ["", " ", "a b", "tab\t", "é", "\u{7f}", &"k".repeat(256)] {
        assert_eq!(IdempotencyKey::parse(bad), None, "{bad:?}");
    }
}

#[test]
fn a_retry_finds_the_outcome_for_a_day() {
    let day = Record::RETENTION_MILLIS;
    for age in [0, 1, Record::ATTEMPT_TIMEOUT_MILLIS, day - 1] {
        assert_eq!(record(age, Some(DONE)).lookup(ONE, NOW), Some(Lookup::Done(DONE)), "{age}");
    }
    assert_eq!(record(day, Some(DONE)).lookup(ONE, NOW), None);
}

#[test]
fn a_different_request_under_the_name_is_detected_for_a_day_whatever_the_outcome_of_the_first() {
    for outcome in [None, Some(DONE)] {
        for age in [0, Record::ATTEMPT_TIMEOUT_MILLIS, Record::RETENTION_MILLIS - 1] {
            assert_eq!(record(age, outcome).lookup(OTHER, NOW), Some(Lookup::Differs), "{age}");
        }
        assert_eq!(record(Record::RETENTION_MILLIS, outcome).lookup(OTHER, NOW), None);
    }
}

#[test]
fn a_request_is_recognized_by_either_of_its_fingerprints() {
    let lookup = |own, accepted| {
        let fingerprints = Fingerprints { own: Fingerprint([own; 32]), accepted: Some(Fingerprint([accepted; 32])) };
        record(0, Some(DONE)).lookup(fingerprints, NOW)
    };
    assert_eq!(lookup(1, 2), Some(Lookup::Done(DONE)));
    assert_eq!(lookup(2, 1), Some(Lookup::Done(DONE)), "recorded before the key changed");
    assert_eq!(lookup(2, 3), Some(Lookup::Differs));
}

#[test]
fn an_attempt_without_an_outcome_runs_until_it_is_given_up_for_lost() {
    let lost = Record::ATTEMPT_TIMEOUT_MILLIS;
    assert_eq!(record(0, None).lookup(ONE, NOW), Some(Lookup::Running));
    assert_eq!(record(lost - 1, None).lookup(ONE, NOW), Some(Lookup::Running));
    assert_eq!(record(-5, None).lookup(ONE, NOW), Some(Lookup::Running), "begun by a node whose clock is ahead");
    assert_eq!(record(1 - lost, None).lookup(ONE, NOW), Some(Lookup::Running), "the furthest ahead");
    assert_eq!(record(-lost, None).lookup(ONE, NOW), None, "begun before the clock was put back");
    assert_eq!(record(-lost, None).lookup(OTHER, NOW), Some(Lookup::Differs));
    assert_eq!(record(-lost, Some(DONE)).lookup(ONE, NOW), Some(Lookup::Done(DONE)));
    assert_eq!(record(lost, None).lookup(ONE, NOW), None);
}

fn name() -> RequestName {
    RequestName { caller: None, route: "POST /".to_owned(), key: IdempotencyKey::parse("key").unwrap() }
}

fn idempotency(records: MockIdempotencyRepository) -> Idempotency {
    Idempotency { records: Arc::new(records), clock: clock(NOW), ids: ids(ATTEMPT.uuid()) }
}

async fn begin(begun: Begun) -> crate::Result<Attempt> {
    let mut records = MockIdempotencyRepository::new();
    records
        .expect_begin()
        .once()
        .withf(|named, digests, attempt, now| (named, *digests, *attempt, *now) == (&name(), ONE, ATTEMPT, NOW))
        .return_once(move |_, _, _, _| Ok(begun));
    let idempotency = idempotency(records);
    idempotency.begin(&name(), ONE).await
}

#[tokio::test]
async fn the_first_attempt_is_carried_out_and_later_ones_get_what_is_on_record() {
    assert_eq!(begin(Begun::First).await.unwrap(), Attempt::First(ATTEMPT));
    assert_eq!(begin(Begun::Found(Lookup::Done(DONE))).await.unwrap(), Attempt::Replay(DONE));
    assert!(matches!(begin(Begun::Found(Lookup::Differs)).await, Err(Error::KeyReused)));
    assert!(matches!(begin(Begun::Found(Lookup::Running)).await, Err(Error::Conflict(Conflict::Running))));
}

#[tokio::test]
async fn an_attempt_is_abandoned_when_recording_it_failed() {
    let mut records = MockIdempotencyRepository::new();
    records.expect_begin().once().returning(|_, _, _, _| Err(Error::unavailable("cut off")));
    records.expect_abandon().once().withf(|attempt| *attempt == ATTEMPT).returning(|_| Ok(()));
    let idempotency = idempotency(records);
    assert!(matches!(idempotency.begin(&name(), ONE).await, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn records_older_than_a_day_are_swept() {
    let mut records = MockIdempotencyRepository::new();
    let cutoff = NOW.plus_millis(-Record::RETENTION_MILLIS);
    records.expect_delete_begun_before().once().withf(move |at| *at == cutoff).returning(|_| Ok(3));
    assert_eq!(idempotency(records).sweep().await.unwrap(), 3);
}

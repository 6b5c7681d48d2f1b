//! Events that are recorded while others are read.

use super::tests::{HANG, fresh, write};

#[tokio::test(flavor = "multi_thread")]
async fn events_recorded_while_others_are_being_numbered_wait_for_the_next_refresh() {
    const BATCH: u64 = 5_000;
    let database = fresh(HANG).await;
    database.refresh_events().await.unwrap();
    let begin = database.events.window.end().number;
    let record =
        format!("INSERT INTO events (kind, post_id) SELECT 4, gen_random_uuid() FROM generate_series(1, {BATCH})");
    // Each time some events are numbered, as many new ones are recorded, until there are ten times as many.
    let more = format!(
        "CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF EXISTS (SELECT FROM numbered) AND (SELECT count(*) FROM events) < {BATCH} * 10 THEN {record}; END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER more AFTER UPDATE ON events REFERENCING NEW TABLE AS numbered
            FOR EACH STATEMENT EXECUTE FUNCTION more();"
    );
    write(&database, more).await.unwrap();
    write(&database, record).await.unwrap();
    for refreshes in 1..=2 {
        database.refresh_events().await.unwrap();
        assert_eq!(database.events.window.end().number, begin + refreshes * BATCH);
    }
}

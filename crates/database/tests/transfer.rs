//! Reading and filling whole databases, of the same kind and from one kind to the other.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::time::Duration;

use agora_database::{Database, Load, OpenError, Options, Rows, Snapshot, Table};
use agora_domain::Error;
use agora_domain::accounts::SessionRepository;
use agora_domain::clock::Timestamp;
use agora_domain::follows::FollowRepository;
use agora_domain::id::SessionId;
use agora_domain::idempotency::{
    AttemptId, Begun, Fingerprint, Fingerprints, IdempotencyKey, IdempotencyRepository, RequestName,
};
use agora_domain::media::{ImageKey, UnreferencedImages};
use agora_domain::people::{PeopleRepository, PostCounts};
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use futures_util::TryStreamExt;
use tempfile::TempDir;
use uuid::Uuid;

#[path = "../../../tests/support/postgres.rs"]
mod private_postgres;

/// A fresh database with its URL, and the directory of its file.
struct Fresh {
    url: String,
    database: Database,
    directory: TempDir,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Sqlite,
    Postgres,
}

const KINDS: [Kind; 2] = [Kind::Sqlite, Kind::Postgres];

async fn open(url: &str) -> Database {
    // Bounds how long a test waits for locks.
    let options = Options { statement_timeout: Duration::from_secs(6), ..Options::default() };
    Database::open(url, &options).await.unwrap()
}

async fn fresh(kind: Kind) -> Fresh {
    let directory = tempfile::tempdir().unwrap();
    let url = match kind {
        Kind::Sqlite => format!("sqlite:{}", directory.path().join("agora.db").display()),
        Kind::Postgres => tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap(),
    };
    Fresh { database: open(&url).await, url, directory }
}

fn id(n: usize) -> Uuid {
    Uuid::from_u128(u128::try_from(n).unwrap() << 64 | 7)
}

fn image(n: usize) -> String {
    format!("{n:032x}.png")
}

/// Returns rows for every table, in some tables more than a batch, with values at the limits of columns.
fn sample() -> Vec<(Table, String)> {
    const USERS: usize = 620;
    let odd = r#"é \"quoted\" \\ 🙂 e\u0301 \u2028 \u0001 \r\n  tab\t "#;
    let mut users = String::new();
    for n in 0..USERS {
        let biography = if n % 2 == 0 { "null".to_owned() } else { format!(r#""{odd}{n}""#) };
        let picture = if n % 3 == 0 { format!(r#""{}""#, image(n)) } else { "null".to_owned() };
        let small = if n % 6 == 0 { format!(r#""{}.thumb.jpg""#, image(n)) } else { "null".to_owned() };
        let (id, admin) = (id(n), n == 5);
        writeln!(
            users,
            r#"{{"id":"{id}","username":"U{n}","username_key":"u{n}","email":"U{n}@e.org","email_key":"u{n}@e.org","password_hash":"$2b$12$x","biography":{biography},"profile_picture":{picture},"is_admin":{admin},"is_user":true,"enabled":{},"created_at":{},"display_name":{biography},"discoverable":{admin},"searchable":{admin},"hide_counts":{admin},"email_verified":{admin},"small_picture":{small}}}"#,
            !admin,
            1_700_000_000_000_i64 + i64::try_from(n).unwrap(),
        )
        .unwrap();
    }
    let (first, second) = (id(0), id(1));
    let sessions = format!(
        "{{\"id\":\"{first}\",\"user_id\":\"{first}\",\"opened_at\":-1,\"revoked_at\":null,\"last_seen_at\":7,\"user_agent\":\"{odd}\"}}\n\
         {{\"id\":\"{second}\",\"user_id\":\"{first}\",\"opened_at\":253402300799999,\"revoked_at\":0}}\n"
    );
    let posts = (0..3).map(|n| {
        let picture = if n == 2 { "null".to_owned() } else { format!(r#""{}""#, image(10_000 + n)) };
        format!(
            "{{\"id\":\"{}\",\"author_id\":\"{first}\",\"content\":\"{odd}\",\"image\":{picture},\"visibility\":{n},\
             \"created_at\":1,\"updated_at\":2,\"like_count\":{},\"comment_count\":{},\"hidden_visibility\":{}}}\n",
            id(n),
            if n == 1 { USERS } else { 0 },
            i64::MAX,
            if n == 2 { "1" } else { "null" },
        )
    });
    // One post with more likes than a batch, between others.
    let likes = (0..USERS).map(|n| {
        format!("{{\"post_id\":\"{second}\",\"user_id\":\"{}\",\"id\":\"{}\",\"created_at\":1}}\n", id(n), id(n))
    });
    let comments = [(&first, "null".to_owned(), 1), (&second, format!("\"{first}\""), 0)].map(|(id, thread, counts)| {
        format!(
            "{{\"id\":\"{id}\",\"post_id\":\"{second}\",\"author_id\":\"{first}\",\"content\":\"{odd}\",\"created_at\":1,\
             \"updated_at\":2,\"parent_id\":{thread},\"reply_to_id\":{thread},\"reply_count\":{counts},\
             \"like_count\":{counts},\"is_hidden\":{}}}\n",
            counts == 0
        )
    });
    let comment_like =
        format!("{{\"comment_id\":\"{first}\",\"user_id\":\"{second}\",\"id\":\"{first}\",\"created_at\":1}}\n");
    let follows = (1..USERS).map(|n| {
        let (a, b) = if n % 2 == 0 { (id(0), id(n)) } else { (id(n), id(0)) };
        format!("{{\"follower_id\":\"{a}\",\"followed_id\":\"{b}\",\"id\":\"{a}\",\"created_at\":{n}}}\n")
    });
    let notifications =
        [("null".to_owned(), "7".to_owned(), &second), (format!("\"{second}\""), "null".to_owned(), &first)];
    let notifications = notifications.map(|(actor, day, id)| {
        let target = if day == "null" { "null".to_owned() } else { format!("\"{second}\"") };
        format!(
            "{{\"id\":\"{id}\",\"recipient_id\":\"{first}\",\"kind\":0,\"actor_id\":{actor},\"post_id\":\"{second}\",\
             \"comment_id\":{actor},\"day\":{day},\"target_id\":{target},\"created_at\":1,\"updated_at\":2,\
             \"count\":{},\"is_empty\":false,\"is_read\":true}}\n",
            i64::MAX
        )
    });
    let actor = format!("{{\"notification_id\":\"{second}\",\"id\":\"{first}\",\"actor_id\":\"{second}\"}}\n");
    let setting = format!("{{\"user_id\":\"{first}\",\"kind\":5,\"policy\":2}}\n");
    let entries = format!(
        "{{\"id\":\"{first}\",\"created_at\":-1,\"actor_id\":\"{second}\",\"action\":14,\"target_kind\":5,\"target_id\":null,\
         \"details\":\"{odd}\"}}\n\
         {{\"id\":\"{second}\",\"created_at\":1,\"actor_id\":null,\"action\":0,\"target_kind\":0,\"target_id\":\"{first}\",\
         \"details\":null}}\n"
    );
    let report = format!(
        "{{\"id\":\"{first}\",\"created_at\":1,\"reporter_id\":\"{second}\",\"target_kind\":2,\"target_id\":\"{first}\",\
         \"category\":3,\"comment\":\"{odd}\",\"status\":2,\"note\":null}}\n"
    );
    let product = format!(
        "{{\"id\":\"{first}\",\"sku\":\"S\",\"sku_key\":\"s\",\"name\":\"n\",\"description\":\"\",\"price\":99999999999999,\
         \"category\":\"c\",\"category_key\":\"c\",\"stock\":2147483647,\"search_key\":\"n\",\"created_at\":1,\
         \"updated_at\":2}}\n"
    );
    let variants = (0..2).map(|n| {
        format!("{{\"product_id\":\"{first}\",\"position\":{n},\"color\":\"\",\"size\":\"L\",\"stock\":{n}}}\n")
    });
    let url = format!("{{\"product_id\":\"{first}\",\"position\":0,\"url\":\"https://e.org/a.png\"}}\n");
    vec![
        (Table::Users, users),
        (Table::Erasures, format!("{{\"user_id\":\"{second}\",\"deleted_at\":7}}\n")),
        (Table::KeptNames, format!("{{\"digest\":\"{first}\",\"kept_until\":7}}\n")),
        (Table::Audit, entries),
        (Table::Reports, report),
        (Table::Sessions, sessions),
        (Table::Posts, posts.collect()),
        (Table::Likes, likes.collect()),
        (Table::Comments, comments.concat()),
        (Table::CommentLikes, comment_like),
        (Table::Follows, follows.collect()),
        (Table::Notifications, notifications.into_iter().rev().collect()),
        (Table::NotificationActors, actor),
        (Table::NotificationSettings, setting),
        (Table::Products, product),
        (Table::ProductVariants, variants.collect()),
        (Table::ProductImages, url),
    ]
}

async fn fill(load: &mut Load) {
    for (table, text) in sample() {
        load.insert(Rows::from_lines(table, &text).unwrap()).await.unwrap();
    }
}

async fn filled(kind: Kind) -> Fresh {
    let fresh = fresh(kind).await;
    let mut load = fresh.database.load().await.unwrap();
    fill(&mut load).await;
    load.commit().await.unwrap();
    fresh
}

/// Returns all rows as text, table by table.
async fn text(snapshot: &mut Snapshot) -> String {
    let mut text = String::new();
    for table in Table::ALL {
        writeln!(text, "{} {}", table.name(), snapshot.count(table).await.unwrap()).unwrap();
        let mut rows = snapshot.page(table, None).await.unwrap();
        while !rows.is_empty() {
            text += std::str::from_utf8(&rows.to_lines().unwrap()).unwrap();
            rows = snapshot.page(table, rows.end()).await.unwrap();
        }
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_copied_unchanged_between_all_kinds_of_databases() {
    for from in KINDS {
        let source = filled(from).await;
        let mut snapshot = source.database.snapshot().await.unwrap();
        let expected = text(&mut snapshot).await;
        for (table, lines) in sample() {
            let count = snapshot.count(table).await.unwrap();
            assert_eq!(count, u64::try_from(lines.lines().count()).unwrap(), "{}", table.name());
        }
        for to in KINDS {
            let target = fresh(to).await;
            let mut load = target.database.load().await.unwrap();
            for table in Table::ALL {
                let mut rows = snapshot.page(table, None).await.unwrap();
                while !rows.is_empty() {
                    let end = rows.end();
                    load.insert(rows).await.unwrap();
                    rows = snapshot.page(table, end).await.unwrap();
                }
            }
            assert_eq!(text(load.contents()).await, expected, "{from:?} to {to:?}, before the commit");
            load.commit().await.unwrap();
            let mut copy = target.database.snapshot().await.unwrap();
            assert_eq!(text(&mut copy).await, expected, "{from:?} to {to:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_does_not_change_while_others_write() {
    for kind in KINDS {
        let source = filled(kind).await;
        let mut snapshot = source.database.snapshot().await.unwrap();
        let mut load = source.database.load().await.unwrap();
        load.clear().await.unwrap();
        load.commit().await.unwrap();
        let count = u64::try_from(sample()[0].1.lines().count()).unwrap();
        assert_eq!(snapshot.count(Table::Users).await.unwrap(), count, "{kind:?}");
        assert!(!snapshot.is_empty().await.unwrap());
        assert!(source.database.snapshot().await.unwrap().is_empty().await.unwrap(), "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_not_committed_leaves_no_rows() {
    for kind in KINDS {
        let target = fresh(kind).await;
        let mut load = target.database.load().await.unwrap();
        fill(&mut load).await;
        assert!(!load.contents().is_empty().await.unwrap());
        assert!(target.database.snapshot().await.unwrap().is_empty().await.unwrap(), "{kind:?}: not there yet");
        drop(load);
        // The next load can begin once the first is rolled back.
        let mut again = target.database.load().await.unwrap();
        assert!(again.contents().is_empty().await.unwrap(), "{kind:?}");
        fill(&mut again).await;
        again.commit().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_forgets_the_idempotency_attempts_of_the_replaced_rows() {
    for kind in KINDS {
        let target = fresh(kind).await;
        let key = IdempotencyKey::parse("key").unwrap();
        let name = RequestName { caller: None, route: "POST /".to_owned(), key };
        let begin = async |n| {
            let (attempt, now) = (AttemptId::new(Uuid::from_u128(n)), Timestamp::from_unix_millis(1));
            let fingerprints = Fingerprints::only(Fingerprint([0; 32]));
            target.database.begin(&name, fingerprints, attempt, now).await.unwrap()
        };
        assert_eq!(begin(1).await, Begun::First, "{kind:?}");
        assert_ne!(begin(2).await, Begun::First, "{kind:?}");
        let mut load = target.database.load().await.unwrap();
        load.clear().await.unwrap();
        load.commit().await.unwrap();
        assert_eq!(begin(3).await, Begun::First, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn images_that_were_unreferenced_are_not_deleted_if_the_loaded_rows_refer_to_them() {
    let at = Timestamp::from_unix_millis;
    for kind in KINDS {
        let target = fresh(kind).await;
        target.database.announce(&ImageKey::parse(&image(10_000)).unwrap(), at(1)).await.unwrap();
        let mut load = target.database.load().await.unwrap();
        load.clear().await.unwrap();
        fill(&mut load).await;
        load.commit().await.unwrap();
        assert_eq!(target.database.mark_for_deletion(at(2), at(3), 10).await.unwrap(), [], "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_recounts_users_whatever_rows_were_there_before() {
    for kind in KINDS {
        let target = filled(kind).await;
        let counts = async || {
            let first = PeopleRepository::find(&target.database, id(0).into(), id(1).into()).await.unwrap()?;
            Some((first.posts, first.follower_count, first.followed_count))
        };
        let expected = Some((PostCounts { public: 1, followers: 1, private: 1 }, 310, 309));
        assert_eq!(counts().await, expected, "{kind:?}: in an empty database");
        let mut load = target.database.load().await.unwrap();
        load.clear().await.unwrap();
        fill(&mut load).await;
        load.commit().await.unwrap();
        assert_eq!(counts().await, expected, "{kind:?}: in place of others");
        target.database.unset(id(1).into(), id(0).into()).await.unwrap();
        let expected = expected.map(|(posts, followers, followed)| (posts, followers - 1, followed));
        assert_eq!(counts().await, expected, "{kind:?}: changed since");
        let mut load = target.database.load().await.unwrap();
        load.clear().await.unwrap();
        load.commit().await.unwrap();
        assert_eq!(counts().await, None, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_updates_the_planner_statistics_of_postgresql() {
    let (name, url) = tokio::task::spawn_blocking(private_postgres::fresh_database_by_name).await.unwrap();
    let mut load = open(&url).await.load().await.unwrap();
    fill(&mut load).await;
    load.commit().await.unwrap();
    let sql = "SELECT reltuples FROM pg_class WHERE relname = 'users';";
    let known = tokio::task::spawn_blocking(move || private_postgres::shared().session(&name).run(sql)).await.unwrap();
    assert_eq!(known.trim(), "620", "as many users as its plans count on");
}

#[tokio::test(flavor = "multi_thread")]
async fn inserting_existing_rows_is_a_conflict() {
    for kind in KINDS {
        let target = filled(kind).await;
        let mut load = target.database.load().await.unwrap();
        let (table, lines) = &sample()[0];
        let refused = load.insert(Rows::from_lines(*table, lines).unwrap()).await;
        assert!(matches!(refused, Err(Error::Conflict(_))), "{kind:?}: {refused:?}");
    }
}

/// PostgreSQL accepts such a notification: mentioning an account while it is erased can leave one.
#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_omits_notifications_whose_recipient_no_longer_exists() {
    let (name, url) = tokio::task::spawn_blocking(private_postgres::fresh_database_by_name).await.unwrap();
    let source = open(&url).await;
    let mut load = source.load().await.unwrap();
    fill(&mut load).await;
    load.commit().await.unwrap();
    let mut before = source.snapshot().await.unwrap();
    let gone = id(9_999);
    let sql = format!(
        "UPDATE notifications SET recipient_id = '{gone}' WHERE id = (SELECT min(id::text)::uuid FROM notifications)
         RETURNING 1;"
    );
    let changed = tokio::task::spawn_blocking(move || private_postgres::shared().session(&name).run(&sql)).await;
    assert_eq!(changed.unwrap().trim(), "1");
    let mut after = source.snapshot().await.unwrap();
    let count = before.count(Table::Notifications).await.unwrap();
    assert_eq!(after.count(Table::Notifications).await.unwrap(), count - 1);
    let rows = after.page(Table::Notifications, None).await.unwrap().to_lines().unwrap();
    let rows = String::from_utf8(rows).unwrap();
    assert!(!rows.contains(&gone.to_string()), "{rows}");
}

#[tokio::test(flavor = "multi_thread")]
async fn others_can_read_but_not_write_while_a_database_is_filled() {
    for kind in KINDS {
        let target = filled(kind).await;
        let mut load = target.database.load().await.unwrap();
        let other = open(&target.url).await;
        let refused = other.load().await;
        assert!(matches!(refused, Err(Error::Unavailable(_))), "{kind:?}");
        let session = SessionId::from(id(9));
        let written = SessionRepository::revoke(&other, session, Timestamp::from_unix_millis(0)).await;
        assert!(matches!(written, Err(Error::Unavailable(_))), "{kind:?}: {written:?}");
        assert!(SessionRepository::find(&other, session).await.unwrap().is_none());
        load.clear().await.unwrap();
        load.commit().await.unwrap();
        other.load().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_contradict_each_other_are_rejected_with_the_cause() {
    for kind in KINDS {
        let target = fresh(kind).await;
        let mut load = target.database.load().await.unwrap();
        let sample = sample();
        let (table, lines) = sample.iter().find(|(table, _)| *table == Table::Likes).unwrap();
        let Err(Error::Internal(cause)) = load.insert(Rows::from_lines(*table, lines).unwrap()).await else {
            panic!("there are no such posts: {kind:?}")
        };
        assert!(cause.to_string().to_lowercase().contains("foreign key"), "{cause}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_an_existing_database_does_not_change_it() {
    let options = Options::default();
    for kind in KINDS {
        let known = filled(kind).await;
        known.database.close();
        let again = Database::open_existing(&known.url, &options).await.unwrap();
        assert!(!again.snapshot().await.unwrap().is_empty().await.unwrap(), "{kind:?}");
    }

    // A database of another application.
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("other.db");
    SqliteConnection::establish(file.to_str().unwrap()).unwrap().batch_execute("CREATE TABLE notes (text)").unwrap();
    let before = std::fs::read(&file).unwrap();
    let opened = Database::open_existing(&format!("sqlite:{}", file.display()), &options).await;
    assert!(matches!(opened, Err(OpenError::Foreign)));
    assert!(std::fs::read(&file).unwrap() == before);
    let missing = directory.path().join("missing.db");
    let opened = Database::open_existing(&format!("sqlite:{}", missing.display()), &options).await;
    assert!(matches!(opened, Err(OpenError::Missing(_))));
    assert!(!missing.exists());
    // A database that cannot be read now is not mistaken for that of another application.
    let busy = fresh(Kind::Sqlite).await;
    busy.database.close();
    let mut holder = SqliteConnection::establish(busy.url.strip_prefix("sqlite:").unwrap()).unwrap();
    holder.batch_execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; DELETE FROM users; COMMIT").unwrap();
    let opened = Database::open_existing(&busy.url, &options).await;
    assert!(matches!(opened, Err(OpenError::Setup(..))), "{:?}", opened.err());

    let empty = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    for _ in 0..2 {
        assert!(matches!(Database::open_existing(&empty, &options).await, Err(OpenError::Foreign)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_database_is_rejected_and_an_older_one_with_rows_is_neither_inspected_nor_filled() {
    let options = Options::default();
    let target = filled(Kind::Sqlite).await;
    target.database.close();
    let file = target.directory.path().join("agora.db");
    let mut raw = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    let mut say = |statement: &str| raw.batch_execute(statement).unwrap();
    say("INSERT INTO __diesel_schema_migrations (version) VALUES ('29991231000000')");
    for opened in [Database::open(&target.url, &options).await, Database::open_existing(&target.url, &options).await] {
        assert!(matches!(opened, Err(OpenError::Newer { .. })));
    }
    say("DELETE FROM __diesel_schema_migrations WHERE version > (SELECT min(version) FROM __diesel_schema_migrations)");
    drop(raw);
    let postgres = filled(Kind::Postgres).await;
    let forget = "DELETE FROM __diesel_schema_migrations WHERE version > '20261121000000'";
    let mut conn = AsyncPgConnection::establish(&postgres.url).await.unwrap();
    SimpleAsyncConnection::batch_execute(&mut conn, forget).await.unwrap();
    postgres.database.close();
    for url in [&target.url, &postgres.url] {
        let opened = Database::open_existing(url, &options).await;
        assert!(matches!(opened, Err(OpenError::Older { .. })), "{:?}", opened.err());
        let opened = Database::open_to_fill(url, &options).await;
        assert!(matches!(opened, Err(OpenError::Filled(_))), "{:?}", opened.err());
        assert_eq!(Database::migrations(url, &options).await.unwrap().applied.len(), 1);
    }

    // Without rows, such as after an interrupted attempt to fill it.
    let file = target.directory.path().join("begun.db");
    let mut raw = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    raw.batch_execute(include_str!("../../../migrations/sqlite/2026-11-21-000000_initial/up.sql")).unwrap();
    let applied = "CREATE TABLE __diesel_schema_migrations (version VARCHAR(50) PRIMARY KEY NOT NULL,
            run_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);
        INSERT INTO __diesel_schema_migrations (version) VALUES ('20261121000000')";
    raw.batch_execute(applied).unwrap();
    drop(raw);
    let begun = Database::open_to_fill(&format!("sqlite:{}", file.display()), &options).await.unwrap();
    assert!(begun.snapshot().await.unwrap().is_empty().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_image_that_a_row_refers_to_is_listed() {
    for kind in KINDS {
        let source = filled(kind).await;
        let mut snapshot = source.database.snapshot().await.unwrap();
        let listed: Vec<_> = snapshot.images().try_concat().await.unwrap();
        let mut listed: Vec<_> = listed.iter().map(|key| key.as_str().to_owned()).collect();
        listed.sort();
        let profiles = (0..620).filter(|n| n % 3 == 0).map(image);
        let expected: Vec<_> = profiles.chain([image(10_000), image(10_001)]).collect();
        assert_eq!(listed, expected, "{kind:?}");
    }
}

#[test]
fn text_that_is_not_a_row_of_the_table_is_rejected() {
    let (_, follow) = sample().into_iter().find(|(table, _)| *table == Table::Follows).unwrap();
    let line = follow.lines().next().unwrap();
    Rows::from_lines(Table::Follows, line).unwrap();
    for bad in ["{}", "[]", "x", &line.replace("follower_id", "other"), &line.replace('}', ",\"more\":1}")] {
        assert!(Rows::from_lines(Table::Follows, bad).is_err(), "{bad}");
    }
    assert!(Rows::from_lines(Table::Likes, line).is_err());
}

//! Transactions that conflict with each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use agora_domain::Error;
use agora_domain::media::{Attachment, AttachmentsEdit, ImageKey};
use agora_domain::notifications::MAX_NOTIFICATIONS;
use agora_domain::posts::{PostEdit, Visibility};
use diesel::dsl::sql;
use diesel::sql_types::BigInt;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet, yield_now};

use super::super::dialect::RunQueryDsl;
use super::super::session::Session;
use super::tests::{AT, fresh, id, write};
use super::{Postgres, private_postgres, queries};
use crate::account_filters::DbViewer;
use crate::options::{Flavor, Options};
use crate::rows::{Slice, Toward};
use crate::schema::{AuditRecord, FollowRecord, MuteRecord};
use crate::sql_types::DbId;
use crate::values::VisiblePosts;
use crate::version::{Opening, schema_version};

/// Makes the first `conflicts` writes to a table fail with the exception `raise`.
async fn make_conflicts(database: &Postgres, conflicts: u32, raise: &str) {
    // A rollback does not take back the values of a sequence.
    let setup = format!(
        "CREATE SEQUENCE attempts; CREATE TABLE written (n bigint);
        CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('attempts') <= {conflicts} THEN RAISE EXCEPTION {raise}; END IF;
            RETURN new;
        END $$;
        CREATE TRIGGER conflict BEFORE INSERT ON written FOR EACH ROW EXECUTE FUNCTION conflict();"
    );
    write(database, setup).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadlock_reported_in_any_language_is_resolved_by_running_the_transaction_again() {
    let database = fresh(Duration::from_secs(20)).await;
    let raise = "'Verklemmung entdeckt'
        USING ERRCODE = '40P01', DETAIL = 'Wer auf wen wartet.', HINT = 'Einzelheiten im Log.'";
    make_conflicts(&database, 2, raise).await;
    write(&database, "INSERT INTO written VALUES (1)").await.unwrap();
    let again = write(&database, "DO $$ BEGIN ASSERT (SELECT count(*) FROM written) = 1; END $$");
    again.await.unwrap();
}

const REFUSED: &str = "'refused' USING ERRCODE = '40001'";

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_is_retried_for_as_long_as_a_lock_may_be_waited_for() {
    let database = fresh(Duration::from_secs(20)).await;
    make_conflicts(&database, 60, REFUSED).await;
    write(&database, "INSERT INTO written VALUES (1)").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_that_does_not_end_is_reported_as_unavailable() {
    let database = fresh(Duration::from_secs(3)).await;
    make_conflicts(&database, 1_000_000, REFUSED).await;
    let refused = write(&database, "INSERT INTO written VALUES (1)").await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_transactions_that_deadlock_both_succeed() {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let database = Arc::new(Postgres::open(Opening::Serve, &url, &Options::default()).await.unwrap());
    write(&database, "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0), (2, 0)").await.unwrap();
    let attempts = Arc::new(AtomicU32::new(0));
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let one_then_other = |first: i32, second: i32| {
        let (database, attempts, both) = (Arc::clone(&database), Arc::clone(&attempts), Arc::clone(&both));
        async move {
            let write = database.write(move |conn| {
                let (attempts, both) = (Arc::clone(&attempts), Arc::clone(&both));
                Box::pin(async move {
                    conn.batch_execute(&format!("UPDATE t SET n = n + 1 WHERE id = {first}")).await?;
                    if attempts.fetch_add(1, Ordering::SeqCst) < 2 {
                        both.wait().await;
                    }
                    Ok(conn.batch_execute(&format!("UPDATE t SET n = n + 1 WHERE id = {second}")).await?)
                })
            });
            write.await
        }
    };
    let (one, other) = tokio::join!(one_then_other(1, 2), one_then_other(2, 1));
    one.unwrap();
    other.unwrap();
    write(&database, "DO $$ BEGIN ASSERT (SELECT min(n) FROM t) = 2; END $$").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_waits_for_a_backup_but_a_node_without_pending_migrations_does_not() {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let open = |url: String| async move { Postgres::open(Opening::Serve, &url, &Options::default()).await };
    let database = open(url.clone()).await.unwrap();
    let backup = Session::snapshot(&database.connector, Flavor::Postgresql).await.unwrap();
    open(url.clone()).await.unwrap();

    let last = schema_version();
    write(&database, format!("DELETE FROM __diesel_schema_migrations WHERE version = '{last}'")).await.unwrap();
    let migrating = tokio::spawn(open(url));
    let watching = database.connector.connect().await.unwrap();
    waits_or_ends(&watching, "pg_advisory_lock", &migrating).await;
    assert!(!migrating.is_finished());
    drop(backup);
    // It does not matter whether the migration can be applied twice.
    let _ = migrating.await.unwrap();
}

/// Returns an entry of the audit log that no test reads.
fn entry(id: DbId) -> AuditRecord {
    let (actor_id, target_id, details) = (None, None, None);
    AuditRecord { id, created_at: AT, actor_id, action: 0, target_kind: 5, target_id, details }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_changes_of_the_visibility_of_an_authors_posts_need_no_retry() {
    const TASKS: u64 = 12;
    const CHANGES: u64 = 20;
    let (database, [author, _], _) = with_two_accounts_and_a_post().await;
    let author_id = author.0;
    let posts = (0..TASKS).map(|task| {
        let post = id(7, task).0;
        format!("INSERT INTO posts VALUES ('{post}', '{author_id}', 'text', NULL, {}, now(), now(), 0, 0);", task % 3)
    });
    write(&database, posts.collect::<String>()).await.unwrap();
    let attempts = Arc::new(AtomicU32::new(0));
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (database, attempts) = (Arc::clone(&database), Arc::clone(&attempts));
        tasks.spawn(async move {
            for n in 0..CHANGES {
                let attempts = Arc::clone(&attempts);
                let changed = database.write(move |conn| {
                    attempts.fetch_add(1, Ordering::Relaxed);
                    let next = if task % 2 == 0 { task + n } else { task + 2 * n };
                    let visibility = Visibility::ALL[usize::try_from(next % 3).unwrap()];
                    let edit = PostEdit { visibility: Some(visibility), ..PostEdit::default() };
                    let viewer = DbViewer::ordinary(author_id.into());
                    Box::pin(queries::posts::edit(conn, id(7, task), viewer, edit, None, AT.0))
                });
                changed.await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(u64::from(AtomicU32::load(&attempts, Ordering::Relaxed)), TASKS * CHANGES);
    let counted = "DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM user_counts c WHERE counter < 3 AND value <> (
        SELECT count(*) FROM posts p WHERE p.author_id = c.user_id AND p.visibility = c.counter)); END $$";
    write(&database, counted).await.unwrap();
}

/// Returns once a task waits for a lock on the accounts, or has ended without one.
async fn waits_for_users_or_ends<T>(watching: &AsyncPgConnection, task: &JoinHandle<T>) {
    waits_or_ends(watching, "users", task).await;
}

/// Returns once a task waits for a lock on a table, or has ended without one.
async fn waits_or_ends<T>(watching: &AsyncPgConnection, table: &str, task: &JoinHandle<T>) {
    let waiting = format!(
        "(SELECT count(*) FROM pg_stat_activity \
        WHERE wait_event_type = 'Lock' AND query LIKE '%{table}%' AND datname = current_database())"
    );
    while !task.is_finished()
        && diesel::select(sql::<BigInt>(&waiting)).get_result::<i64>(&mut &*watching).await.unwrap() == 0
    {
        yield_now().await;
    }
}

/// Returns a database with two accounts and a public post of the first.
async fn with_two_accounts_and_a_post() -> (Arc<Postgres>, [DbId; 2], DbId) {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let database = Postgres::open(Opening::Serve, &url, &Options::default()).await.unwrap();
    let (users, post) = ([id(1, 1), id(1, 2)], id(2, 1));
    let ([one, other], post_id) = (users.map(|id| id.0), post.0);
    let rows = format!(
        "INSERT INTO users SELECT id, n, n, n, n, 'hash', NULL, NULL, false, true, true, now()
            FROM (VALUES ('{one}'::uuid, 'one'), ('{other}', 'other')) u (id, n);
        INSERT INTO posts VALUES ('{post_id}', '{one}', 'text', NULL, 0, now(), now(), 0, 0)"
    );
    write(&database, rows).await.unwrap();
    (Arc::new(database), users, post)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_and_a_mute_remove_the_notification_of_a_like_that_is_not_committed_yet() {
    for is_block in [true, false] {
        let (database, [author, liker], post) = with_two_accounts_and_a_post().await;
        let [author_id, liker_id, post_id] = [author, liker, post].map(|id| id.0);
        let [like, notification] = [id(3, 1), id(4, 1)].map(|id| id.0);
        let like = format!(
            "BEGIN; SELECT toggle_like('{post_id}', '{liker_id}', '{like}', 'epoch', '{notification}', '{author_id}', 0);
            DO $$ BEGIN ASSERT EXISTS (SELECT FROM notification_actors); END $$"
        );
        let [liking, watching] =
            [database.connector.connect().await.unwrap(), database.connector.connect().await.unwrap()];
        (&mut &liking).batch_execute(&like).await.unwrap();
        let parting = tokio::spawn(async move {
            let parted = database.write(move |conn| {
                Box::pin(async move {
                    if is_block {
                        return queries::blocks::block(conn, author, liker, (id(5, 1), AT)).await;
                    }
                    let (muter_id, muted_id) = (author, liker);
                    let mute = MuteRecord { muter_id, muted_id, id: id(5, 1), created_at: AT, ends_at: None };
                    queries::blocks::mute(conn, mute).await
                })
            });
            parted.await.unwrap();
            database
        });
        waits_for_users_or_ends(&watching, &parting).await;
        (&mut &liking).batch_execute("COMMIT").await.unwrap();
        let database = parting.await.unwrap();
        let nothing = "DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM notification_actors); \
            ASSERT (SELECT count = 0 AND is_empty FROM notifications); END $$";
        write(&database, nothing).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_follows_blocks_mutes_and_disabling_of_accounts_need_no_retry() {
    const TASKS: u64 = 18;
    const CHANGES: u64 = 20;
    let (database, users, _) = with_two_accounts_and_a_post().await;
    // The newer account.
    write(&database, "UPDATE users SET is_admin = username = 'other'").await.unwrap();
    let attempts = Arc::new(AtomicU32::new(0));
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (database, attempts) = (Arc::clone(&database), Arc::clone(&attempts));
        tasks.spawn(async move {
            for n in 0..CHANGES {
                let attempts = Arc::clone(&attempts);
                let changed = database.write(move |conn| {
                    attempts.fetch_add(1, Ordering::Relaxed);
                    let (one, other) = if n % 2 == 0 { (users[0], users[1]) } else { (users[1], users[0]) };
                    let made = id(3, task * CHANGES + n);
                    let follow = FollowRecord { follower_id: one, followed_id: other, id: made, created_at: AT };
                    let mute =
                        MuteRecord { muter_id: one, muted_id: other, id: made, created_at: AT, ends_at: Some(AT) };
                    Box::pin(async move {
                        match task % 9 {
                            0 => queries::follows::set(conn, follow, None).await,
                            1 => queries::follows::toggle(conn, follow, None).await.map(drop),
                            2 => queries::follows::unset(conn, one, other).await,
                            3 => queries::blocks::block(conn, one, other, (made, AT)).await,
                            4 => queries::blocks::unblock(conn, one, other).await.map(drop),
                            5 => queries::blocks::mute(conn, mute).await,
                            6 => queries::blocks::unmute(conn, one, other).await.map(drop),
                            7 => queries::blocks::end_mutes(conn, AT).await.map(drop),
                            _ => queries::accounts::set_enabled(conn, users[0], n % 2 == 0, entry(made)).await,
                        }
                    })
                });
                let changed = changed.await;
                // Accounts with a block between them do not find each other.
                assert!(matches!(changed, Ok(()) | Err(Error::NotFound(_))), "{changed:?}");
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(u64::from(AtomicU32::load(&attempts, Ordering::Relaxed)), TASKS * CHANGES);
}

#[tokio::test(flavor = "multi_thread")]
async fn marking_a_notification_as_read_waits_for_a_lock_on_the_account() {
    let (database, [recipient, actor], _) = with_two_accounts_and_a_post().await;
    let notification = id(4, 1);
    let insert = format!(
        "INSERT INTO notifications (id, recipient_id, kind, actor_id, created_at, updated_at, count, is_empty, is_read)
            VALUES ('{}', '{}', 4, '{}', 'epoch', 'epoch', 1, false, false)",
        notification.0, recipient.0, actor.0
    );
    write(&database, insert).await.unwrap();
    let [blocking, watching] =
        [database.connector.connect().await.unwrap(), database.connector.connect().await.unwrap()];
    (&mut &blocking).batch_execute("BEGIN; SELECT FROM users ORDER BY id FOR NO KEY UPDATE").await.unwrap();
    let reading = tokio::spawn({
        let database = Arc::clone(&database);
        async move {
            database
                .write(move |conn| Box::pin(queries::notifications::mark_read(conn, recipient, notification, None)))
                .await
        }
    });
    waits_for_users_or_ends(&watching, &reading).await;
    assert!(!reading.is_finished(), "it does not wait");
    // As a block does, with all notifications: the task that waits must not have locked any.
    (&mut &blocking).batch_execute("SELECT FROM notifications FOR UPDATE NOWAIT; COMMIT").await.unwrap();
    reading.await.unwrap().unwrap();
    write(&database, "DO $$ BEGIN ASSERT (SELECT is_read FROM notifications); END $$").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_that_is_updated_while_old_ones_are_trimmed_is_kept() {
    let (database, [recipient, _], _) = with_two_accounts_and_a_post().await;
    let insert = format!(
        "INSERT INTO notifications (id, recipient_id, kind, actor_id, created_at, updated_at, count, is_empty, is_read)
            SELECT gen_random_uuid(), '{0}', 4, '{0}', at, at, 1, false, false
            FROM (SELECT to_timestamp(n) AS at FROM generate_series(1, {1} + 2) AS n) AS made",
        recipient.0, MAX_NOTIFICATIONS
    );
    write(&database, insert).await.unwrap();
    let [growing, watching] =
        [database.connector.connect().await.unwrap(), database.connector.connect().await.unwrap()];
    let grow = "BEGIN; UPDATE notifications SET updated_at = now() WHERE updated_at = to_timestamp(1)";
    (&mut &growing).batch_execute(grow).await.unwrap();
    let trimming = tokio::spawn({
        let database = Arc::clone(&database);
        async move { database.write(move |conn| Box::pin(queries::notifications::trim(conn, recipient))).await }
    });
    waits_or_ends(&watching, "notifications", &trimming).await;
    assert!(!trimming.is_finished(), "it does not wait");
    (&mut &growing).batch_execute("COMMIT").await.unwrap();
    assert_eq!(trimming.await.unwrap().unwrap(), 1);
    let left = "DO $$ BEGIN ASSERT (SELECT max(updated_at) > to_timestamp(1e6) FROM notifications); END $$";
    write(&database, left).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn editing_a_comment_holds_no_lock_that_the_deletion_of_its_post_waits_for() {
    let (database, [author, _], post) = with_two_accounts_and_a_post().await;
    let comment = id(3, 1);
    let store = format!(
        "INSERT INTO comments (id, post_id, author_id, content, created_at, updated_at)
            VALUES ('{}', '{}', '{}', 'text', now(), now())",
        comment.0, post.0, author.0
    );
    write(&database, store).await.unwrap();
    let [deleting, watching] =
        [database.connector.connect().await.unwrap(), database.connector.connect().await.unwrap()];
    (&mut &deleting).batch_execute("BEGIN; SELECT FROM posts FOR UPDATE").await.unwrap();
    let editing = tokio::spawn({
        let database = Arc::clone(&database);
        async move {
            let edited = database.write(move |conn| {
                Box::pin(queries::comments::update(conn, comment, "other".to_owned(), String::new(), AT))
            });
            edited.await
        }
    });
    waits_or_ends(&watching, "comments", &editing).await;
    let delete = "SELECT FROM comments FOR UPDATE NOWAIT; DELETE FROM posts; COMMIT";
    (&mut &deleting).batch_execute(delete).await.unwrap();
    assert!(matches!(editing.await.unwrap(), Err(Error::NotFound(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_another_post_takes_meanwhile_is_refused_without_a_deadlock() {
    let (database, [author, _], post) = with_two_accounts_and_a_post().await;
    let (author_id, other, key) = (author.0, id(2, 2).0, format!("{:032x}.png", 7));
    write(&database, format!("INSERT INTO unnamed_images (key, since, condemned) VALUES ('{key}', now(), false)"))
        .await
        .unwrap();
    let [posting, watching] =
        [database.connector.connect().await.unwrap(), database.connector.connect().await.unwrap()];
    let lock = format!("BEGIN; SELECT FROM unnamed_images WHERE key = '{key}' FOR UPDATE");
    (&mut &posting).batch_execute(&lock).await.unwrap();
    let attempts = Arc::new(AtomicU32::new(0));
    let editing = tokio::spawn({
        let (database, attempts) = (Arc::clone(&database), Arc::clone(&attempts));
        let attachment = Attachment::bare(ImageKey::parse(&key).unwrap());
        async move {
            let edited = database.write(move |conn| {
                attempts.fetch_add(1, Ordering::Relaxed);
                let attachments = AttachmentsEdit::replace(attachment.clone());
                let edit = PostEdit { attachments, ..PostEdit::default() };
                Box::pin(queries::posts::edit(conn, post, DbViewer::ordinary(author_id.into()), edit, None, AT.0))
            });
            edited.await
        }
    });
    waits_or_ends(&watching, "unnamed_images", &editing).await;
    let take = format!(
        "DELETE FROM unnamed_images; INSERT INTO posts (id, author_id, content, image, visibility, created_at, updated_at, like_count, comment_count)
            VALUES ('{other}', '{author_id}', 'text', '{key}', 0, now(), now(), 0, 0); COMMIT"
    );
    (&mut &posting).batch_execute(&take).await.unwrap();
    assert!(matches!(editing.await.unwrap().map(drop), Err(Error::Unavailable(_))));
    assert_eq!(AtomicU32::load(&attempts, Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn disabling_an_account_deletes_a_mail_token_that_is_being_made_for_it() {
    let (database, [user, _], _) = with_two_accounts_and_a_post().await;
    let mail = format!(
        "INSERT INTO mails (id, created_at, kind, address, status, attempts, due_at, give_up_at)
            VALUES ('{}', 'epoch', 0, 'one', 0, 0, 'epoch', 'infinity')",
        id(6, 1).0
    );
    write(&database, mail).await.unwrap();
    let watching = database.connector.connect().await.unwrap();
    let (started, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let claiming = tokio::spawn({
        let (database, started, go_on) = (Arc::clone(&database), Arc::clone(&started), Arc::clone(&go_on));
        async move {
            let claim = database.write(move |conn| {
                let (started, go_on) = (Arc::clone(&started), Arc::clone(&go_on));
                Box::pin(async move {
                    queries::mail::claim(conn, "token".to_owned(), AT).await?;
                    started.notify_one();
                    go_on.notified().await;
                    Ok(())
                })
            });
            claim.await
        }
    });
    started.notified().await;
    let disabling = tokio::spawn({
        let database = Arc::clone(&database);
        async move {
            let disabled = database
                .write(move |conn| Box::pin(queries::accounts::set_enabled(conn, user, false, entry(id(20, 1)))));
            disabled.await
        }
    });
    waits_for_users_or_ends(&watching, &disabling).await;
    go_on.notify_one();
    claiming.await.unwrap().unwrap();
    disabling.await.unwrap().unwrap();
    let nothing =
        "DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM mail_tokens); ASSERT NOT EXISTS (SELECT FROM mails); END $$";
    write(&database, nothing).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_does_not_show_a_post_that_became_private_during_the_read() {
    let (database, [author, recipient], post) = with_two_accounts_and_a_post().await;
    let (author_id, recipient_id, post_id) = (author.0, recipient.0, post.0);
    let insert = format!(
        "INSERT INTO notifications (id, recipient_id, kind, actor_id, post_id, created_at, updated_at, count, is_empty, is_read)
            VALUES ('{}', '{recipient_id}', 4, '{author_id}', '{post_id}', 'epoch', 'epoch', 1, false, false)",
        id(4, 1).0
    );
    write(&database, insert).await.unwrap();
    let [changing, watching] =
        [database.connector.connect().await.unwrap(), database.connector.connect().await.unwrap()];
    let list = |database: Arc<Postgres>| async move {
        let visible =
            VisiblePosts { viewer: DbViewer::ordinary(recipient.0.into()), followed: [0, 1, 0], others: [0; 3] };
        let listed = database.search(move |conn| {
            let slice = Slice::new(Toward::Older, None, 21);
            Box::pin(queries::notifications::list(conn, visible, [0, 1, 2, 3, 4, 5, 6], slice))
        });
        listed.await.unwrap().into_iter().map(|(_, view)| view.and_then(|view| view.post)).collect::<Vec<_>>()
    };
    assert_eq!(list(Arc::clone(&database)).await, [Some(("text".to_owned(), None))]);
    // The list waits for this lock once it has read what to show.
    (&mut &changing).batch_execute("BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let listing = tokio::spawn(list(Arc::clone(&database)));
    waits_for_users_or_ends(&watching, &listing).await;
    let edit = "UPDATE posts SET content = 'for nobody else', visibility = 2; COMMIT";
    (&mut &changing).batch_execute(edit).await.unwrap();
    assert_eq!(listing.await.unwrap(), [None]);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_documents_are_not_removed_from_buckets_while_another_node_works_on_them() {
    let (database, ..) = with_two_accounts_and_a_post().await;
    let forget = async || database.write(|conn| Box::pin(queries::packing::forget(conn, (0, 0), AT))).await.unwrap();
    let packing = database.connector.connect().await.unwrap();
    let begin = "BEGIN; SELECT FROM leases WHERE name = 'packing' FOR UPDATE";
    (&mut &packing).batch_execute(begin).await.unwrap();
    assert!(!forget().await);
    (&mut &packing).batch_execute("COMMIT").await.unwrap();
    assert!(forget().await);
}

//! Tests that each read and write takes a fixed number of queries, however many posts, likes, comments and follows there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agora_domain::clock::Timestamp;
use agora_domain::notices::{Notice, NotificationKind, Subject};
use agora_domain::page::{Keyset, PageRequest, PageSize, Position};
use agora_domain::relation::Standing;
use agora_domain::search::IndexedText;
use diesel::connection::{InstrumentationEvent, SimpleConnection};
use diesel::{Connection, SqliteConnection};
use uuid::Uuid;

use crate::account_filters::DbViewer;
use crate::feeds::FeedQuery;
use crate::rows::{PostRow, Slice, Toward};
use crate::sql_types::{DbId, DbInstant};
use crate::sqlite::{complete, queries};
use crate::version::MIGRATIONS;

const VISIBLE: [i16; 3] = [0, 1, 2];

fn id(kind: u64, n: u64) -> DbId {
    DbId(Uuid::from_u64_pair(kind, n))
}

fn user(n: u64) -> DbId {
    id(1, n)
}

/// Returns the first user as the viewer.
fn reader() -> DbViewer {
    DbViewer::ordinary(user(0).0.into())
}

fn post(n: u64) -> DbId {
    id(2, n)
}

/// Returns an in-memory database in which `user(0)` follows `size` authors, each of whom wrote a post that all of them like and
/// that has `size` comments; and the counter of the queries made on it.
fn seeded(size: u64) -> (SqliteConnection, Arc<AtomicUsize>) {
    use diesel_migrations::MigrationHarness;
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.run_pending_migrations(MIGRATIONS).unwrap();
    let hex = |id: DbId| format!("x'{}'", id.0.simple());
    let mut sql = String::new();
    for n in 0..=size {
        let id = hex(user(n));
        sql += &format!(
            "INSERT INTO users VALUES ({id}, 'u{n}', 'u{n}', 'e{n}', 'e{n}', '', NULL, NULL, 0, 1, 1, {n}, 0, 'name', 1, 1, 0, 1, 0, 0, NULL);"
        );
    }
    for n in 1..=size {
        let (post, author, me) = (hex(post(n)), hex(user(n)), hex(user(0)));
        sql += &format!("INSERT INTO follows VALUES ({me}, {author}, {author}, {n});");
        sql += &format!(
            "INSERT INTO posts VALUES ({post}, {author}, 'text', NULL, 0, {n}000, {n}000, {size}, {size}, NULL, 1, '', NULL, NULL);"
        );
        for m in 1..=size {
            let (liker, comment) = (hex(user(m)), hex(id(3, n * 1000 + m)));
            sql += &format!("INSERT INTO likes VALUES ({post}, {liker}, {liker}, {m});");
            sql += &format!(
                "INSERT INTO comments VALUES ({comment}, {post}, {liker}, 'text', {m}, {m}, NULL, NULL, 0, 0, '', 0);"
            );
        }
    }
    conn.batch_execute(&sql).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    conn.set_instrumentation(move |event: InstrumentationEvent<'_>| {
        if matches!(event, InstrumentationEvent::StartQuery { .. }) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    (conn, count)
}

/// Asserts that `read` makes the expected number of queries on databases of several sizes.
#[track_caller]
fn expect_queries(expected: usize, read: impl Fn(&mut SqliteConnection)) {
    for size in [1, 7, 60] {
        let (mut conn, count) = seeded(size);
        read(&mut conn);
        assert_eq!(count.load(Ordering::Relaxed), expected, "with {size} of each");
    }
}

fn page() -> PageRequest {
    PageRequest { from: Position::Start, size: PageSize::parse("100").unwrap() }
}

#[test]
fn a_post_takes_two_queries_and_one_when_nobody_likes_it() {
    expect_queries(2, |conn| {
        let seen = complete(queries::posts::find(conn, post(1), reader())).unwrap().unwrap();
        assert_eq!(seen.view.liked_by.len() as u64, seen.view.like_count.min(50));
    });
    let (mut conn, count) = seeded(1);
    conn.batch_execute("UPDATE posts SET like_count = 0").unwrap();
    count.store(0, Ordering::Relaxed);
    complete(queries::posts::find(&mut conn, post(1), reader())).unwrap().unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn a_page_of_posts_takes_two_queries() {
    let slice = || Slice::newest_first(page());
    expect_queries(2, |conn| {
        let wanted = FeedQuery { viewer: reader(), visible: VISIBLE, toward: Toward::Older, limit: 60 };
        let keys = (1..60).map(|n| Keyset { at: Timestamp::from_unix_millis(0), id: post(n).0 }).collect();
        let posts = complete(queries::feeds::read(conn, wanted, keys)).unwrap();
        assert!(!posts.is_empty() && posts.iter().all(|seen| !seen.liked_by.is_empty()));
    });
    // One more before these for each visibility.
    for (visible, more) in [([0, 0, 0], 1), ([0, 1, 0], 2), (VISIBLE, 3)] {
        expect_queries(more + 2, |conn| {
            let posts = complete(queries::posts::list_by_author(conn, user(1), visible, reader(), slice())).unwrap();
            assert_eq!(posts.len(), 1);
        });
    }
    // One for each visibility.
    expect_queries(3 + 2, |conn| {
        complete(queries::posts::list_all(conn, reader(), slice())).unwrap();
    });
    expect_queries(1 + 2, |conn| {
        complete(queries::timelines::list_public(conn, reader(), slice(), 100)).unwrap();
    });
}

#[test]
fn an_access_check_takes_one_query() {
    expect_queries(1, |conn| {
        complete(queries::posts::find_access(conn, post(1), user(0))).unwrap().unwrap();
    });
    expect_queries(1, |conn| {
        assert_eq!(
            complete(queries::follows::find_standing(conn, user(0), user(1))).unwrap(),
            Some(Standing::Follower)
        );
    });
}

#[test]
fn pages_of_threads_likers_and_users_take_one_query_and_the_flat_list_of_comments_takes_two() {
    expect_queries(2, |conn| {
        let slice = Slice::oldest_first(page());
        let (rows, _) = complete(queries::comments::list(conn, post(1), reader(), slice, 100)).unwrap();
        assert!(!rows.is_empty());
    });
    expect_queries(1, |conn| {
        let slice = Slice::oldest_first(page());
        let (rows, _) = complete(queries::comments::list_top_level(conn, post(1), reader(), slice, 100)).unwrap();
        assert!(!rows.is_empty());
    });
    expect_queries(1, |conn| {
        let (thread, slice) = (id(3, 1001), Slice::oldest_first(page()));
        complete(queries::comments::list_replies(conn, thread, reader(), slice, 100)).unwrap();
    });
    expect_queries(1, |conn| {
        complete(queries::posts::list_likers(conn, post(1), reader(), Slice::newest_first(page()))).unwrap();
    });
    expect_queries(1, |conn| {
        complete(queries::follows::list_followed(conn, user(0), reader(), Slice::newest_first(page()))).unwrap();
    });
    expect_queries(1, |conn| {
        complete(queries::accounts::list(conn, Slice::oldest_first(page()))).unwrap();
    });
}

#[test]
fn a_profile_or_a_page_of_people_takes_one_query() {
    expect_queries(1, |conn| {
        let found = complete(queries::people::find(conn, user(1), user(0))).unwrap().unwrap();
        assert_eq!(
            (found.posts, found.followers, found.relationship),
            ((1, 0, 0), 1, (true, false, false, false, false))
        );
    });
    expect_queries(1, |conn| {
        let ids = (0..=60).map(user).collect();
        assert!(!complete(queries::people::find_all(conn, ids, user(0))).unwrap().is_empty());
    });
    expect_queries(1, |conn| {
        complete(queries::people::list_discoverable(conn, reader(), Slice::newest_first(page()))).unwrap();
    });
    expect_queries(1, |conn| {
        complete(queries::people::list_followed(conn, user(0), reader(), Slice::newest_first(page()))).unwrap();
    });
}

#[test]
fn a_like_takes_six_statements_and_an_unlike_without_a_notification_takes_four() {
    let like = |user| crate::schema::LikeRecord {
        post_id: post(1),
        user_id: user,
        id: id(4, 1),
        created_at: DbInstant(Timestamp::from_unix_millis(1)),
    };
    let notice = |actor: DbId| {
        let (recipient, actor, post) = (user(1).0.into(), actor.0.into(), post(1).0.into());
        let (kind, subject) = (NotificationKind::Like, Subject::Post(post));
        Some(Notice { id: id(9, 1).0.into(), kind, recipient, actor, subject, at: Timestamp::from_unix_millis(1) })
    };
    // Two for the like; then the check whether to notify, the lookup of the day's notification, its update or insert, and the
    // actor.
    expect_queries(6, |conn| {
        assert!(complete(queries::posts::toggle_like(conn, like(user(0)), notice(user(0)))).unwrap());
    });
    expect_queries(4, |conn| {
        assert!(!complete(queries::posts::toggle_like(conn, like(user(1)), None)).unwrap());
    });
}

#[test]
fn an_image_takes_one_more_statement_for_each_row_that_refers_or_referred_to_it() {
    let key = "abababababababababababababababab.png".to_owned();
    let at = DbInstant(Timestamp::from_unix_millis(1));
    let row = |image| PostRow {
        id: post(0),
        author_id: user(0),
        content: "text".to_owned(),
        image,
        attachments: None,
        visibility: 0,
        created_at: at,
        updated_at: at,
        entities: Some(String::new()),
        hidden_visibility: None,
    };
    // One of them stores the text for the search index.
    expect_queries(3, |conn| {
        complete(queries::posts::create(conn, row(None), IndexedText::default(), vec![])).unwrap();
    });
    // All hashtags of a post together take one more.
    expect_queries(4, |conn| {
        let entities = Some("0 2 #a\n3 5 #b\n6 8 #a".to_owned());
        complete(queries::posts::create(conn, PostRow { entities, ..row(None) }, IndexedText::default(), vec![]))
            .unwrap();
    });
    expect_queries(1, |conn| {
        complete(queries::posts::delete(conn, post(1), at)).unwrap();
    });
    expect_queries(1 + 4 + 2, |conn| {
        complete(queries::images::announce(conn, key.clone(), at)).unwrap();
        complete(queries::posts::create(conn, row(Some(key.clone())), IndexedText::default(), vec![])).unwrap();
        complete(queries::posts::delete(conn, post(0), at)).unwrap();
    });
}

//! The cost of statements does not depend on how much data there is. It is counted in pages of the database that they touch.

#![allow(clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agora_domain::audit::{Action, Actor};
use agora_domain::audit_log::AuditFilter;
use agora_domain::clock::Timestamp;
use agora_domain::comments::CommentTarget;
use agora_domain::export::RelationKind;
use agora_domain::notices::{Notice, NotificationKind, Subject};
use agora_domain::page::Keyset;
use agora_domain::search::{Kind, Needles, Query};
use agora_domain::texts::TextKind;
use diesel::dsl::sql;
use diesel::sql_types::{Array, BigInt};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use tokio_postgres::{AsyncMessage, NoTls};
use uuid::Uuid;

use super::database::{Postgres, private_postgres};
use super::dialect;
use super::queries::{
    accounts, audit, blocks, bookmarks, comments, events, exports, feeds, follows, mail, notifications, packing,
    people, posts, products, reports, search, sessions, texts, timelines,
};
use crate::Options;
use crate::account_filters::DbViewer;
use crate::feeds::{FeedQuery, Snapshot};
use crate::rows::{CommentRow, Slice, Toward};
use crate::schema::{LikeRecord, search_tail, search_texts};
use crate::search_index::{Among, Buckets, Contains, Packing};
use crate::sql_types::{DbId, DbInstant};
use crate::values::{VisiblePosts, kind_codes};
use crate::version::Opening;

/// How many posts, likes and comments there are besides those that are read: in the smaller and in the larger database.
const SMALL: u32 = 4_000;
const LARGE: u32 = 100_000;

/// How often each statement is run: five times the server plans for the values, then it decides whether to go on with a generic
/// plan.
const RUNS: u64 = 8;

/// Returns the statements that fill a database. User 1 follows 100 of 1,000 authors. Post 1 has 60 likes and 60 comments, and its
/// author, user 2, has 60 posts that are not hidden. Of everything else there are `size`, including hidden posts of user 2 in
/// between the others.
fn rows(size: u32) -> String {
    format!(
        "CREATE FUNCTION pg_temp.key(kind int, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
            SELECT (lpad(to_hex(kind), 16, '0') || lpad(to_hex(n), 16, '0'))::uuid $$;
        INSERT INTO users SELECT pg_temp.key(1, n), 'u' || n, 'u' || n, 'e' || n, 'e' || n, '', NULL, NULL,
            false, true, true, now() FROM generate_series(1, 1000) n;
        INSERT INTO sessions SELECT pg_temp.key(7, n), pg_temp.key(1, n), now() FROM generate_series(1, 1000) n;
        INSERT INTO mails SELECT pg_temp.key(24, n), now(), pg_temp.key(1, n % 1000 + 1), 0, 'a', n % 3, 0, now(), now() FROM generate_series(1, {size}) n;
        INSERT INTO mail_tokens SELECT 'digest ' || n, pg_temp.key(1, n % 1000 + 1), 0, 'a', now() FROM generate_series(1, {size}) n;
        INSERT INTO posts SELECT pg_temp.key(2, n), pg_temp.key(1, CASE WHEN n <= 60 THEN 2 ELSE 3 + n % 998 END),
            'text', NULL, 0, to_timestamp(n), to_timestamp(n), 0, 0 FROM generate_series(1, {size}) n;
        INSERT INTO posts SELECT pg_temp.key(6, n), pg_temp.key(1, 2), 'text', NULL, 2, to_timestamp(1.5 + n % 59),
            to_timestamp(n), 0, 0 FROM generate_series(1, {size}) n;
        INSERT INTO follows SELECT pg_temp.key(1, 1), pg_temp.key(1, n), pg_temp.key(3, n), to_timestamp(n)
            FROM generate_series(2, 101) n;
        INSERT INTO blocks SELECT pg_temp.key(1, 1), pg_temp.key(1, n), pg_temp.key(18, n), to_timestamp(n)
            FROM generate_series(500, 549) n;
        INSERT INTO blocks SELECT pg_temp.key(1, 110 + n % 880), pg_temp.key(1, 110 + (n / 880 + n % 880 + 1) % 880),
            pg_temp.key(19, n), to_timestamp(n) FROM generate_series(1, {size}) n;
        INSERT INTO blocks SELECT other_id, user_id FROM blocks ON CONFLICT DO NOTHING;
        INSERT INTO mutes SELECT pg_temp.key(1, 1), pg_temp.key(1, n), pg_temp.key(20, n), to_timestamp(n), NULL
            FROM generate_series(550, 599) n;
        INSERT INTO mutes SELECT pg_temp.key(1, 110 + n % 880), pg_temp.key(1, 110 + (n / 880 + n % 880 + 1) % 880),
            pg_temp.key(21, n), to_timestamp(n), to_timestamp(2000000000 + n) FROM generate_series(1, {size}) n;
        INSERT INTO likes SELECT pg_temp.key(2, CASE WHEN n <= 60 THEN 1 ELSE 1 + n % {size} END),
            pg_temp.key(1, CASE WHEN n <= 60 THEN n ELSE 61 + n % 900 END), pg_temp.key(4, n), to_timestamp(n)
            FROM generate_series(1, {size}) n;
        INSERT INTO bookmarks SELECT pg_temp.key(1, CASE WHEN n <= 60 THEN 1 ELSE 2 + n % 900 END), pg_temp.key(2, n),
            pg_temp.key(11, n), to_timestamp(n) FROM generate_series(1, {size}) n;
        INSERT INTO comments SELECT pg_temp.key(5, n), pg_temp.key(2, CASE WHEN n <= 60 THEN 1 ELSE 1 + n % {size} END),
            pg_temp.key(1, 1 + n % 1000), 'text', to_timestamp(n), to_timestamp(n) FROM generate_series(1, {size}) n;
        UPDATE comments SET entities = '' WHERE id > pg_temp.key(5, 300);
        INSERT INTO comments SELECT pg_temp.key(12, n), pg_temp.key(2, 1), pg_temp.key(1, 1 + n % 1000), 'text',
            to_timestamp(1.5 + n % 59), to_timestamp(n), pg_temp.key(5, 1), pg_temp.key(5, 1), 0, 0, ''
            FROM generate_series(1, {size}) n;
        INSERT INTO comment_likes SELECT pg_temp.key(5, CASE WHEN n <= 60 THEN 1 ELSE 1 + n % {size} END),
            pg_temp.key(1, CASE WHEN n <= 60 THEN n ELSE 61 + n % 900 END), pg_temp.key(13, n), to_timestamp(n)
            FROM generate_series(1, {size}) n;
        UPDATE comments SET like_count = 60 WHERE id = pg_temp.key(5, 1);
        INSERT INTO notifications SELECT pg_temp.key(15, n), pg_temp.key(1, CASE WHEN n <= 60 THEN 1 ELSE 2 + n % 900 END),
            1, pg_temp.key(1, 1 + n % 1000), pg_temp.key(2, n), pg_temp.key(5, n), NULL, NULL, to_timestamp(n),
            to_timestamp(n), 1, false, n % 2 = 0 FROM generate_series(1, {size}) n;
        INSERT INTO notifications SELECT pg_temp.key(16, n), pg_temp.key(1, CASE WHEN n <= 3 THEN 1 ELSE 2 + n % 900 END), 0, NULL,
            pg_temp.key(2, n), NULL, n, pg_temp.key(2, n), to_timestamp(n), to_timestamp(n), {size}, false, false
            FROM generate_series(1, 1000) n;
        INSERT INTO notification_actors SELECT pg_temp.key(16, CASE WHEN n <= {size} / 2 THEN 1 ELSE 1 + n % 1000 END),
            pg_temp.key(4, n), pg_temp.key(1, 1 + n % 1000) FROM generate_series(1, {size}) n;
        INSERT INTO products SELECT pg_temp.key(8, n), 's' || n, 's' || n, 'n', 'd', 1, 'c' || n % 100, 'c' || n % 100, 1,
            'text ' || n, to_timestamp(n), now() FROM generate_series(1, {size}) n;
        INSERT INTO search_texts SELECT 0, n - 1, to_timestamp(n), pg_temp.key(2, n), E'\ntext\n'
            FROM generate_series(1, {size} - 40) n;
        INSERT INTO search_tail SELECT 0, to_timestamp(n), pg_temp.key(2, n), E'\ntext\n'
            FROM generate_series({size} - 39, {size}) n;
        INSERT INTO search_texts SELECT 1, n - 1, to_timestamp(n), pg_temp.key(1, n), E'\ntext\n'
            FROM generate_series(1, 960) n;
        INSERT INTO search_tail SELECT 1, to_timestamp(n), pg_temp.key(1, n), E'\ntext\n' FROM generate_series(961, 1000) n;
        INSERT INTO search_buckets SELECT 0, b, 1024, to_timestamp(b * 1024 + 1), pg_temp.key(2, b * 1024 + 1),
            to_timestamp(b * 1024 + 1024), pg_temp.key(2, b * 1024 + 1024) FROM generate_series(0, ({size} - 40) / 1024 - 1) b;
        INSERT INTO search_postings SELECT 0, b, w, '\\x0000' FROM generate_series(0, ({size} - 40) / 1024 - 1) b,
            (SELECT 'w' || n FROM generate_series(1, 1000) n UNION ALL VALUES ('common'), ('rare'), ('text'), ('test')) w (w);
        INSERT INTO search_postings VALUES (0, 0, 'unique', '\\x0000');
        INSERT INTO search_deletions SELECT 0, n, to_timestamp(n) FROM generate_series(1, {size}) n;
        UPDATE comments SET is_hidden = true WHERE created_at >= to_timestamp(7) AND like_count = 0 AND id::text LIKE '%7';
        INSERT INTO audit SELECT pg_temp.key(22, n), to_timestamp(n), CASE n % 3 WHEN 0 THEN NULL ELSE pg_temp.key(1, n % 5) END,
            CASE WHEN n % 100 = 1 THEN 14 ELSE n % 7 END, 0, pg_temp.key(1, n % 100), NULL FROM generate_series(1, {size}) n;
        INSERT INTO reports SELECT pg_temp.key(23, n), to_timestamp(n), pg_temp.key(1, 1 + n % 1000), 0, pg_temp.key(2, n), 0, NULL,
            CASE WHEN n % 50 = 0 THEN 0 ELSE 1 + n % 2 END, NULL FROM generate_series(1, {size}) n;
        UPDATE posts SET like_count = 60, comment_count = 60 WHERE id = pg_temp.key(2, 1);
        INSERT INTO post_tags SELECT CASE WHEN visibility = 0 THEN 'shown' ELSE 'hidden' END, created_at, id, author_id,
            visibility FROM posts;
        UPDATE posts SET transaction = '0', entities = '' WHERE id > pg_temp.key(2, 300);
        UPDATE posts SET transaction = '0' WHERE id <= pg_temp.key(2, 300);"
    )
}

const fn id(kind: u64, n: u64) -> DbId {
    DbId(Uuid::from_u64_pair(kind, n))
}

/// A connection that reports how many pages its statements touched.
struct Explained {
    conn: AsyncPgConnection,
    plans: Arc<Mutex<Vec<String>>>,
}

impl Explained {
    async fn connect(url: &str) -> Self {
        let (client, mut connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let plans = Arc::<Mutex<Vec<String>>>::default();
        let sink = Arc::clone(&plans);
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notice(notice) = message {
                    sink.lock().unwrap().push(notice.message().to_owned());
                }
            }
        });
        let mut conn = AsyncPgConnection::try_from(client).await.unwrap();
        let explain = "LOAD 'auto_explain'; SET auto_explain.log_level = notice; SET auto_explain.log_analyze = on; \
            SET auto_explain.log_buffers = on; SET auto_explain.log_timing = off; SET auto_explain.log_format = json; \
            SET auto_explain.log_min_duration = 0";
        conn.batch_execute(explain).await.unwrap();
        Self { conn, plans }
    }

    /// Returns how many pages were touched since the last call.
    async fn pages(&mut self) -> i64 {
        // The notices that were sent before its answer have arrived with it.
        self.conn.batch_execute("").await.unwrap();
        let plans = std::mem::take(&mut *self.plans.lock().unwrap());
        let pages = plans.iter().map(|plan| {
            let json = plan.split_once("plan:").unwrap_or_else(|| panic!("{plan}")).1;
            let plan: serde_json::Value = serde_json::from_str(json).unwrap();
            let of = |which| plan["Plan"][which].as_i64().unwrap();
            of("Shared Hit Blocks") + of("Shared Read Blocks")
        });
        pages.sum()
    }
}

/// Returns a connection to a database of its own, without rows.
async fn explained() -> Explained {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let options = Options { statement_timeout: Duration::from_secs(120), ..Options::default() };
    let _migrated = Postgres::open(Opening::Serve, &url, &options).await.unwrap();
    Explained::connect(&url).await
}

/// Returns how many pages each of the statements touches at most in a database of a size.
async fn pages(size: u32) -> BTreeMap<String, i64> {
    let mut explained = explained().await;
    explained.conn.batch_execute("SET auto_explain.log_min_duration = -1").await.unwrap();
    let rows = format!("BEGIN; SET LOCAL agora.count_later = 'on'; {} COMMIT;", rows(size));
    explained.conn.batch_execute(&rows).await.unwrap();
    dialect::count_all(&mut &explained.conn).await.unwrap();
    for table in [
        "audit",
        "reports",
        "search_tail",
        "search_texts",
        "search_buckets",
        "search_postings",
        "search_deletions",
        "users",
        "user_counts",
        "sessions",
        "mails",
        "mail_tokens",
        "posts",
        "post_tags",
        "follows",
        "blocks",
        "mutes",
        "likes",
        "bookmarks",
        "comments",
        "comment_likes",
        "notifications",
        "notification_actors",
        "products",
    ] {
        explained.conn.batch_execute(&format!("VACUUM (ANALYZE) {table}")).await.unwrap();
    }
    explained.conn.batch_execute("SET auto_explain.log_min_duration = 0").await.unwrap();
    let (viewer, author, post) = (id(1, 1), id(1, 2), id(2, 1));
    let twenty: Vec<_> = (0..20).map(|n| Keyset { at: Timestamp::from_unix_millis(0), id: id(2, 100 + n).0 }).collect();
    let at = DbInstant(Timestamp::from_unix_millis(1));
    let reader = DbViewer::ordinary(viewer.0.into());
    let visible = VisiblePosts { viewer: reader, followed: [0, 1, 0], others: [0; 3] };
    let since = || Snapshot { end: 1, running: Vec::new() };
    let mut most = BTreeMap::new();
    macro_rules! measure {
        ($n:ident: $($query:expr),+ $(,)?) => {$(
            for $n in 0..RUNS + 2 {
                if $n == RUNS {
                    // As on the connections that reads share.
                    explained.conn.batch_execute("SET plan_cache_mode = force_generic_plan").await.unwrap();
                }
                let mut conn = &explained.conn;
                let run = $query(&mut conn);
                run.await.unwrap();
                let pages = explained.pages().await;
                // The first run is not counted, since it also reads the server's catalog.
                if $n > 0 {
                    let name = stringify!($query).to_owned();
                    most.entry(name).and_modify(|most: &mut i64| *most = pages.max(*most)).or_insert(pages);
                }
            }
            explained.conn.batch_execute("RESET plan_cache_mode").await.unwrap();
        )+};
    }
    let found = |text| Needles::of(&Query::parse(text).unwrap(), None);
    let in_tail = |text| Contains::new(search_tail::words, &found(text).contained);
    let in_bucket = |text| Contains::new(search_texts::words, &found(text).contained);
    let packing = Packing { documents: 20, ..Packing::SERVICE };
    let among_posts = Among::Posts { viewer: reader };
    let among_people = Among::Accounts { viewer: reader, except: viewer };
    let like = |n| LikeRecord { post_id: id(2, 200), user_id: viewer, id: id(9, n), created_at: at };
    let comment = |n| CommentRow {
        id: id(10, n),
        post_id: post,
        author_id: viewer,
        content: "text".to_owned(),
        created_at: at,
        updated_at: at,
        parent_id: None,
        reply_to_id: None,
        entities: Some(String::new()),
        is_hidden: false,
    };
    let about = |n, kind, subject| {
        let (recipient, actor) = (id(1, 3).0.into(), viewer.0.into());
        Notice { id: id(17 + kind as u64, n).0.into(), kind, recipient, actor, subject, at: at.0 }
    };
    let notice = |n| Some(about(n, NotificationKind::Like, Subject::Post(id(2, 200).0.into())));
    let notices = |n| vec![about(n, NotificationKind::Comment, Subject::Comment(post.0.into(), id(10, n).0.into()))];
    let kinds = kind_codes(&[]);
    let (acted, rare) = (Some(Actor::Account(viewer.0.into())), Some(Action::ProductsImported));
    let thread = id(5, 1);
    measure! { n:
        |conn| posts::find(conn, post, reader),
        |conn| posts::find_access(conn, post, viewer),
        |conn| sessions::find(conn, id(7, 1)),
        |conn| accounts::find(conn, viewer),
        |conn| follows::find_standing(conn, viewer, author),
        |conn| people::find(conn, author, viewer),
        |conn| people::find_by_username(conn, "u2".to_owned(), viewer),
        |conn| people::find_all(conn, vec![author, viewer], viewer),
        |conn| feeds::load(conn, viewer, [0, 1, 0], 26),
        |conn| accounts::find_ids(conn, vec!["u2".to_owned(), "nobody".to_owned()], reader),
        |conn| texts::list_unresolved(conn, TextKind::Post, DbId(Uuid::max()), 200),
        |conn| texts::list_unresolved(conn, TextKind::Comment, DbId(Uuid::max()), 200),
        |conn| comments::find_access(conn, CommentTarget::Comment(thread.0.into()), viewer),
        |conn| comments::find_access(conn, CommentTarget::NewestOn(post.0.into()), viewer),
        |conn| comments::find(conn, thread, viewer),
        |conn| search::look(conn, among_posts, in_bucket("text"), (0..64).collect()),
        |conn| search::look(conn, among_people, in_bucket("text"), (0..8).collect()),
        |conn| search::posts(conn, vec![post, id(2, 100)], reader),
        |conn| people::find_discoverable(conn, vec![author, viewer], reader),
        |conn| packing::count_to_pack(conn, Kind::Post, packing),
        |conn| packing::find_deletion(conn, at),
        |conn| packing::forget(conn, (0, 0), at),
        |conn| posts::toggle_like(conn, like(n), notice(n)),
        |conn| comments::insert(conn, comment(n), notices(n)),
        |conn| notifications::count_unread(conn, visible),
        |conn| notifications::settings(conn, viewer),
        |conn| events::find_comments(conn, vec![thread, id(3, 100)]),
        |conn| events::find_blocks(conn, vec![viewer, author], vec![author, id(1, 3)]),
        |conn| events::find_mutes(conn, vec![viewer, author], vec![author, id(1, 3)]),
        |conn| blocks::end_mutes(conn, at),
    }
    for toward in [Toward::Older, Toward::Newer] {
        let slice = |limit| Slice::new(toward, None, limit);
        let wanted = FeedQuery { viewer: reader, visible: [0, 1, 0], toward, limit: 21 };
        measure! { n:
            |conn| posts::list_all(conn, reader, slice(21)),
            |conn| posts::list_by_author(conn, author, [0, 1, 0], reader, slice(21)),
            |conn| timelines::list_public(conn, reader, slice(21), 21),
            |conn| bookmarks::list(conn, visible, slice(21), 21),
            |conn| timelines::list_by_tag(conn, "shown".to_owned(), visible, slice(21), 21),
            |conn| posts::list_likers(conn, post, reader, slice(21)),
            |conn| notifications::list(conn, visible, kinds, slice(21)),
            |conn| notifications::list_actors(conn, visible, id(16, 1), slice(21)),
            |conn| comments::list(conn, post, reader, slice(21), 21),
            |conn| comments::list_top_level(conn, post, reader, slice(21), 21),
            |conn| comments::list_replies(conn, thread, reader, slice(21), 21),
            |conn| comments::list_likers(conn, thread, reader, slice(21)),
            |conn| follows::list_followed(conn, viewer, reader, slice(21)),
            |conn| blocks::list_blocked(conn, reader, slice(21)),
            |conn| blocks::list_muted(conn, reader, slice(21)),
            |conn| audit::list(conn, AuditFilter::default(), slice(21)),
            |conn| audit::list(conn, AuditFilter { actor: acted, ..AuditFilter::default() }, slice(21)),
            |conn| audit::list(conn, AuditFilter { actor: Some(Actor::CommandLine), ..AuditFilter::default() }, slice(21)),
            |conn| audit::list(conn, AuditFilter { target: Some(author.0), ..AuditFilter::default() }, slice(21)),
            |conn| audit::list(conn, AuditFilter { action: rare, ..AuditFilter::default() }, slice(21)),
            |conn| audit::list(conn, AuditFilter { actor: acted, action: rare, ..AuditFilter::default() }, slice(21)),
            |conn| sessions::list(conn, viewer, DbInstant::MIN, slice(21)),
            |conn| mail::list(conn, 0, 21),
            |conn| mail::is_due(conn, DbInstant::MAX),
            |conn| mail::find_reset(conn, "digest 1".to_owned(), DbInstant::MIN),
            |conn| exports::relations(conn, viewer, RelationKind::Like, slice(21)),
            |conn| exports::relations(conn, viewer, RelationKind::CommentLike, slice(21)),
            |conn| exports::relations(conn, viewer, RelationKind::Block, slice(21)),
            |conn| exports::comments(conn, viewer, slice(6)),
            |conn| exports::reports(conn, viewer, slice(6)),
            |conn| reports::list(conn, None, slice(21)),
            |conn| reports::list(conn, Some(0), slice(21)),
            |conn| people::list_followers(conn, author, reader, slice(21), 21),
            |conn| people::list_followed(conn, viewer, DbViewer::ordinary(author.0.into()), slice(21)),
            |conn| people::list_discoverable(conn, reader, slice(21)),
            |conn| accounts::list(conn, slice(21)),
            |conn| products::list(conn, None, slice(21)),
            |conn| products::list(conn, Some("c1".to_owned()), slice(21)),
            |conn| feeds::read(conn, wanted, twenty.clone()),
            |conn| feeds::read_with_changes(conn, wanted, twenty.clone(), since()),
            |conn| search::tail(conn, among_posts, in_tail("rare"), slice(21)),
            |conn| search::tail(conn, among_people, in_tail("rare"), slice(21)),
            |conn| search::candidates(conn, Kind::Post, found("\"common rare\" te"), slice(21), Buckets::Next(None, 3)),
            |conn| search::candidates(conn, Kind::Post, found("\"common rare\" te"), slice(21), Buckets::Numbered(vec![0])),
            |conn| search::rare_buckets(conn, Kind::Post, found("\"common unique\" te").keys, None, 1),
            |conn| search::rare_buckets(conn, Kind::Post, Vec::new(), Some("te".to_owned()), 1),
            // As many of each author as there are in the small database.
            |conn| feeds::positions(conn, viewer, [0, 1, 0], slice(4)),
        }
    }
    most
}

#[tokio::test(flavor = "multi_thread")]
async fn no_statement_touches_more_pages_in_a_larger_database() {
    let (small, large) = tokio::join!(pages(SMALL), pages(LARGE));
    let mut worse = Vec::new();
    for ((name, small), (_, large)) in small.into_iter().zip(large) {
        // An index of 25 times as many entries has one more level.
        if small == 0 || large > small * 8 / 5 + 4 {
            worse.push(format!("{name}: {small} pages, and {large} of 25 times as much"));
        }
    }
    assert!(worse.is_empty(), "{worse:#?}");
}

/// Returns a connection to a database where the first of two accounts has 10,000 sessions, and that account.
async fn with_many_sessions() -> (Explained, DbId) {
    let mut explained = explained().await;
    let rows = "
        INSERT INTO users SELECT md5(n::text)::uuid, 'u' || n, 'u' || n, 'e' || n, 'e' || n, '', NULL, NULL,
            false, true, true, now() FROM generate_series(1, 2) n;
        INSERT INTO sessions SELECT gen_random_uuid(), md5((1 + n % 2)::text)::uuid, now() FROM generate_series(1, 20000) n;
        ANALYZE sessions";
    explained.conn.batch_execute(rows).await.unwrap();
    (explained, DbId(Uuid::parse_str("c4ca4238-a0b9-2382-0dcc-509a6f75849b").unwrap()))
}

async fn list_sessions(explained: &Explained, user: DbId, toward: Toward) -> usize {
    let (after, slice) = (DbInstant(Timestamp::from_unix_millis(1)), Slice::new(toward, None, 21));
    sessions::list(&mut &explained.conn, user, after, slice).await.unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sessions_of_an_account_are_not_searched_for_among_all_sessions() {
    let (mut explained, user) = with_many_sessions().await;
    explained.conn.batch_execute("SET plan_cache_mode = force_generic_plan").await.unwrap();
    for toward in [Toward::Older, Toward::Newer] {
        explained.plans.lock().unwrap().clear();
        assert_eq!(list_sessions(&explained, user, toward).await, 21);
        let pages = explained.pages().await;
        assert!(pages < 100, "{pages} pages toward {toward:?}");
    }
}

/// Stores 2,000 texts in no bucket, as many as there may be, by as many of 10,000 users.
const MANY_TEXTS: &str = "
    INSERT INTO users SELECT lpad(n::text, 32, '0')::uuid, n, n, n, n, '', NULL, NULL, false, true, true, now() FROM generate_series(1, 10000) n;
    INSERT INTO posts SELECT id, id, 'text', NULL, 0, now(), now(), 0, 0 FROM users LIMIT 2000;
    UPDATE posts SET indexed = true;
    INSERT INTO search_tail SELECT 0, created_at, id, E'\ntext\n' FROM posts ON CONFLICT DO NOTHING;
    ANALYZE users, posts, search_tail";

#[tokio::test(flavor = "multi_thread")]
async fn a_search_for_a_common_word_ends_with_a_page_of_the_newest_texts() {
    let mut explained = explained().await;
    explained.conn.batch_execute(MANY_TEXTS).await.unwrap();
    explained.pages().await;
    let among = Among::Posts { viewer: DbViewer::ordinary(id(1, 1).0.into()) };
    let needles = Needles::of(&Query::parse("text").unwrap(), None);
    for _ in 0..RUNS {
        let contains = Contains::new(search_tail::words, &needles.contained);
        let mut conn = &explained.conn;
        let found = search::tail(&mut conn, among, contains, Slice::new(Toward::Older, None, 21)).await.unwrap();
        assert_eq!(found.len(), 21);
        // Three of the index and the row of each post and each author, and as many of the texts.
        let pages = explained.pages().await;
        assert!(pages <= 21 * 9, "{pages} pages");
    }
}

/// The reason why shared connections force a generic plan: the server does not know how many entries a part of a list has.
#[tokio::test(flavor = "multi_thread")]
async fn by_default_the_server_plans_a_part_of_a_list_again_each_time() {
    let (mut explained, user) = with_many_sessions().await;
    let counts = "(SELECT ARRAY[custom_plans, generic_plans] FROM pg_prepared_statements \
        WHERE statement LIKE 'SELECT \"sessions\"%LIMIT%')";
    for (mode, expected) in [("auto", vec![12, 0]), ("force_generic_plan", vec![12, 12])] {
        explained.conn.batch_execute(&format!("SET plan_cache_mode = {mode}")).await.unwrap();
        for _ in 0..12 {
            list_sessions(&explained, user, Toward::Older).await;
        }
        let plans = diesel::select(sql::<Array<BigInt>>(counts)).get_result(&mut explained.conn).await;
        assert_eq!(plans, Ok(expected), "plans for the values, and for any, by {mode}");
    }
}

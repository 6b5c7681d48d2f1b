//! What statements cost does not depend on how much there is: counted in pages of the database that they touch.

#![allow(clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use diesel_async::SimpleAsyncConnection;
use tokio_postgres::SimpleQueryMessage;
use uuid::Uuid;

use super::{comments, feeds, follows, posts, sessions};
use crate::Options;
use crate::postgres::Postgres;
use crate::postgres::connect::Connector;
use crate::postgres::database::private_postgres;
use crate::postgres::pipeline::PreparedSql;
use crate::rows::Toward;
use crate::version::Opening;

/// How many posts, likes and comments there are beside those looked at, and how many in the larger database.
const SMALL: u32 = 4_000;
const LARGE: u32 = 100_000;

/// User 1 follows 100 of 1,000 authors. Post 1 has 60 likes and 60 comments, and its author, user 2, has 60 posts that
/// are not hidden; everything else is there so many times, hidden posts of user 2 between those shown among it.
fn rows(size: u32) -> String {
    format!(
        "CREATE FUNCTION pg_temp.key(kind int, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
            SELECT (lpad(to_hex(kind), 16, '0') || lpad(to_hex(n), 16, '0'))::uuid $$;
        INSERT INTO users SELECT pg_temp.key(1, n), 'u' || n, 'u' || n, 'e' || n, 'e' || n, '', NULL, NULL,
            false, true, true, now() FROM generate_series(1, 1000) n;
        INSERT INTO posts SELECT pg_temp.key(2, n), pg_temp.key(1, CASE WHEN n <= 60 THEN 2 ELSE 3 + n % 998 END),
            'text', NULL, 0, to_timestamp(n), to_timestamp(n), 0, 0 FROM generate_series(1, {size}) n;
        INSERT INTO posts SELECT pg_temp.key(6, n), pg_temp.key(1, 2), 'text', NULL, 2, to_timestamp(1.5 + n % 59),
            to_timestamp(n), 0, 0 FROM generate_series(1, {size}) n;
        INSERT INTO follows SELECT pg_temp.key(1, 1), pg_temp.key(1, n), pg_temp.key(3, n), to_timestamp(n)
            FROM generate_series(2, 101) n;
        INSERT INTO likes SELECT pg_temp.key(2, CASE WHEN n <= 60 THEN 1 ELSE 1 + n % {size} END),
            pg_temp.key(1, CASE WHEN n <= 60 THEN n ELSE 61 + n % 900 END), pg_temp.key(4, n), to_timestamp(n)
            FROM generate_series(1, {size}) n;
        INSERT INTO comments SELECT pg_temp.key(5, n), pg_temp.key(2, CASE WHEN n <= 60 THEN 1 ELSE 1 + n % {size} END),
            pg_temp.key(1, 1 + n % 1000), 'text', to_timestamp(n), to_timestamp(n) FROM generate_series(1, {size}) n;
        UPDATE posts SET like_count = 60, comment_count = 60 WHERE id = pg_temp.key(2, 1);
        UPDATE posts SET transaction = '0';"
    )
}

/// A literal of the identifier that [`rows`] makes.
fn key(kind: u64, n: u64) -> String {
    format!("'{}'", Uuid::from_u64_pair(kind, n))
}

/// How many pages each of the statements touches in a database of a size.
async fn pages(size: u32) -> Vec<(String, i64)> {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let options = Options { statement_timeout: Duration::from_secs(120), ..Options::default() };
    let _migrated = Postgres::open(Opening::Serve, &url, &options).await.unwrap();
    let connector = Connector::new(&url, &options).unwrap();
    let mut conn = connector.connect().await.unwrap();
    conn.batch_execute(&rows(size)).await.unwrap();
    for table in ["users", "posts", "follows", "likes", "comments"] {
        conn.batch_execute(&format!("VACUUM (ANALYZE) {table}")).await.unwrap();
    }
    let (client, _driver, _server) = connector.connect_raw(crate::postgres::pipeline::PLANNING).await.unwrap();
    let (viewer, author, post) = (key(1, 1), key(1, 2), key(2, 1));
    let newest = "'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff'";
    let oldest = &format!("'-infinity', '{}'", Uuid::nil());
    let twenty: Vec<_> = (0..20).map(|n| Uuid::from_u64_pair(2, 100 + n).to_string()).collect();
    let twenty = format!("'{{{}}}'", twenty.join(","));
    let mut statements: Vec<(&str, &PreparedSql, String)> = vec![
        ("post by id", &posts::FIND, format!("{viewer}, {post}")),
        ("access to a post", &posts::FIND_ACCESS, format!("{viewer}, {post}")),
        ("a session", &sessions::FIND, viewer.clone()),
        ("whether one follows", &follows::IS_FOLLOWING, format!("{viewer}, {author}")),
        ("what changed", &feeds::CHANGES, format!("{viewer}, '1', '{{}}', 4096")),
        ("a feed for the first time", &feeds::LOAD, format!("{viewer}, {newest}, 26, '{{0,1}}', 20001")),
        ("a like", &posts::TOGGLE_LIKE, format!("{}, {viewer}, {viewer}, now()", key(2, 200))),
    ];
    for (toward, from) in [(Toward::Older, newest), (Toward::Newer, oldest)] {
        let by_author = posts::LIST_BY_AUTHOR.toward(toward);
        statements.extend([
            ("posts of a user", by_author, format!("{viewer}, {author}, '{{0,1}}', {from}, 21")),
            ("likes of a post", posts::LIST_LIKERS.toward(toward), format!("{post}, {from}, 21")),
            ("comments of a post", comments::LIST.toward(toward), format!("{post}, {from}, 21")),
            ("posts of a feed", posts::SEEN_AT.toward(toward), format!("{viewer}, {twenty}, 0, 1, 0, 21")),
            // Of each author as many as there are in the small database.
            ("positions of a feed", feeds::POSITIONS.toward(toward), format!("{viewer}, {from}, 4, '{{0,1}}'")),
        ]);
    }
    let mut pages = Vec::new();
    for (n, (name, text, values)) in statements.into_iter().enumerate() {
        let types: Vec<_> = text.types.iter().map(ToString::to_string).collect();
        let types = types.join(", ").replace("_uuid", "uuid[]").replace("_xid8", "xid8[]").replace("_int2", "int2[]");
        client.batch_execute(&format!("PREPARE s{n} ({types}) AS {}", text.sql)).await.unwrap();
        let explain = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE s{n} ({values})");
        // What the first execution reads of the catalog does not count.
        client.batch_execute(&explain).await.unwrap();
        let answer = client.simple_query(&explain).await.unwrap();
        let plan = answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        let plan: serde_json::Value = serde_json::from_str(plan.unwrap()).unwrap();
        let of = |which| plan[0]["Plan"][which].as_i64().unwrap();
        pages.push((format!("{name}: {}", text.sql), of("Shared Hit Blocks") + of("Shared Read Blocks")));
    }
    pages
}

#[tokio::test(flavor = "multi_thread")]
async fn no_hot_statement_touches_more_pages_when_there_is_more() {
    let (small, large) = tokio::join!(pages(SMALL), pages(LARGE));
    for ((name, small), (_, large)) in small.into_iter().zip(large) {
        // An index of 25 times as many entries has a level more.
        assert!(small > 0 && large <= small * 8 / 5 + 4, "{name}: {small} pages, and {large} of 25 times as much");
    }
}

//! The stored rows: very long lists, texts of the maximum length, and posts that are mostly hidden from others.

use std::fmt::Write as _;

use serde_json::json;

/// The rows. Users are numbered: 0 hides nearly all of very many posts, 1 has the largest posts, 2 has very many sessions, and 3
/// is disabled and wrote the newest posts. `mallory` follows as many users as an account may, including these.
pub(crate) const ROWS: &str = "
INSERT INTO users (id, username, username_key, email, email_key, password_hash, biography, is_admin, is_user, enabled,
                   created_at, indexed)
{rows 20000} SELECT {user n}, 'u' || n || '{x 40}', 'u' || n || '{x 40}', 'u' || n || '@{x 60}.{x 60}.{x 60}.example',
                    'u' || n || '@{x 60}.{x 60}.{x 60}.example', 'x', '{long 1000}', FALSE, TRUE, TRUE, {at n}, TRUE FROM n;
UPDATE users SET enabled = FALSE WHERE id = {user 3};
UPDATE users SET biography = '{long 1000}' WHERE id = {mallory};

INSERT INTO sessions (id, user_id, opened_at)
{rows 20000} SELECT {session n}, {user 2}, {now} FROM n;
INSERT INTO sessions (id, user_id, opened_at)
{rows 20000} SELECT {device n}, {root}, {now} FROM n;

INSERT INTO follows (follower_id, followed_id, id, created_at)
{rows 10000} SELECT {mallory}, {user n}, {follow n}, {at n} FROM n;
INSERT INTO follows (follower_id, followed_id, id, created_at)
{rows 10000} SELECT {user 10000 + n}, {mallory}, {follow 10000 + n}, {at n} FROM n;
INSERT INTO follows (follower_id, followed_id, id, created_at)
{rows 20} SELECT {alice}, {user 10 + n}, {follow 20000 + n}, {at n} FROM n;

INSERT INTO posts (id, author_id, content, entities, indexed, visibility, created_at, updated_at)
{rows 300000} SELECT {hidden n}, {user 0}, 'x', '', TRUE, CASE n % 100000 WHEN 0 THEN 0 ELSE 2 END, {at n}, {at n} FROM n;
INSERT INTO posts (id, author_id, content, entities, indexed, visibility, created_at, updated_at)
{rows 10000} SELECT {small n}, {user n}, 'x', '', TRUE, 0, {at 300000 + n}, {at n} FROM n;
INSERT INTO posts (id, author_id, content, entities, indexed, visibility, created_at, updated_at)
{rows 20000} SELECT {hidden 300000 + n}, {user 3}, 'x', '', TRUE, 0, {at 600000 + n}, {at n} FROM n;

INSERT INTO posts (id, author_id, content, entities, indexed, visibility, created_at, updated_at, like_count)
{rows 1000} SELECT {large n}, {user 1}, '{long 5000}', '', TRUE, 0, {at 400000 + n}, {at n}, 50 FROM n;
INSERT INTO likes (post_id, user_id, id, created_at)
{rows 50000} SELECT {large n / 50}, {user 100 + n % 50}, {like n}, {at n} FROM n;

INSERT INTO bookmarks (user_id, post_id, id, created_at)
{rows 20000} SELECT {mallory}, {hidden 1 + n}, {like 200000 + n}, {at 1000 + n} FROM n;
INSERT INTO bookmarks (user_id, post_id, id, created_at)
{rows 1000} SELECT {mallory}, {large n}, {like 220000 + n}, {at n} FROM n;

INSERT INTO posts (id, author_id, content, entities, indexed, visibility, created_at, updated_at, like_count, comment_count)
VALUES ({crowded 0}, {user 1}, '{long 5000}', '', TRUE, 0, {at 500000}, {at 500000}, 10000, 100000);
INSERT INTO likes (post_id, user_id, id, created_at)
{rows 10000} SELECT {crowded 0}, {user 100 + n}, {like 100000 + n}, {at n} FROM n;
INSERT INTO comments (id, post_id, author_id, content, created_at, updated_at, entities)
{rows 1000} SELECT {comment n}, {crowded 0}, {mallory}, 'x', {at 1000 + n}, {at n}, '' FROM n;
INSERT INTO comments (id, post_id, author_id, content, created_at, updated_at, entities, parent_id, reply_to_id)
{rows 98000} SELECT {comment 1000 + n}, {crowded 0}, {mallory}, 'x', {at 2000 + n}, {at n}, '', {comment 99000}, {comment 99000} FROM n;
INSERT INTO comments (id, post_id, author_id, content, created_at, updated_at, entities, reply_count, like_count)
VALUES ({comment 99000}, {crowded 0}, {user 1}, '{long 500}', {at 0}, {at 0}, '', 98000, 10000);
INSERT INTO comments (id, post_id, author_id, content, created_at, updated_at, entities, is_hidden)
{rows 999} SELECT {comment 99001 + n}, {crowded 0}, {user n}, '{long 500}', {at 1 + n}, {at n}, '', n % 2 = 0 FROM n;
INSERT INTO comment_likes (comment_id, user_id, id, created_at)
{rows 10000} SELECT {comment 99000}, {user 100 + n}, {like 300000 + n}, {at n} FROM n;

INSERT INTO notifications (id, recipient_id, kind, actor_id, post_id, created_at, updated_at, count, is_empty, is_read)
{rows 20000} SELECT {notification 1 + n}, {mallory}, 3, {user n}, CASE n % 10 WHEN 0 THEN {large n % 1000} ELSE {hidden 1 + n} END,
                    {now}, {at n}, 1, FALSE, FALSE FROM n;
INSERT INTO notifications (id, recipient_id, kind, day, target_id, created_at, updated_at, count, is_empty, is_read)
VALUES ({notification 0}, {mallory}, 4, 0, {mallory}, {now}, {at 700000}, 10000, FALSE, FALSE);
INSERT INTO notification_actors (notification_id, id, actor_id)
{rows 10000} SELECT {notification 0}, {follow 10000 + n}, {user 10000 + n} FROM n;

INSERT INTO reports (id, created_at, reporter_id, target_kind, target_id, category, comment, status, note)
{rows 20000} SELECT {report n}, {at n}, {user n}, 0, {crowded 0}, 3, '{long 1000}', n % 3, '{long 1000}' FROM n;
INSERT INTO audit (id, created_at, actor_id, action, target_kind, target_id, details)
{rows 50000} SELECT {entry n}, {at n}, NULL, n % 15, 0, {user n % 100}, '{long 1000}' FROM n;
INSERT INTO mails (id, created_at, user_id, kind, address, status, attempts, due_at, give_up_at, failure)
{rows 20000} SELECT {mail n}, {at n}, {user n}, 0, '{x 254}', 0, n, {at n}, {now}, '{x 500}' FROM n;

INSERT INTO posts (id, author_id, content, entities, indexed, visibility, created_at, updated_at, comment_count)
{rows 16} SELECT {doomed n}, {mallory}, 'x', '', TRUE, 0, {at n}, {at n}, 30000 FROM n;
INSERT INTO comments (id, post_id, author_id, content, created_at, updated_at, entities)
{rows 480000} SELECT {comment 100000 + n}, {doomed n / 30000}, {user n % 20000}, 'x', {at n}, {at n}, '' FROM n;

INSERT INTO posts (id, author_id, content, entities, indexed, visibility, created_at, updated_at)
{rows 200} SELECT {tagged n}, {user 1}, '{tags 1666}', '{entities 1666}', TRUE, 0, {at n}, {at n} FROM n;
INSERT INTO post_tags (tag, created_at, post_id, author_id, visibility)
    SELECT 'hidden', created_at, id, author_id, visibility FROM posts WHERE author_id = {user 0}
    UNION ALL SELECT CASE entities WHEN '' THEN 'large' ELSE 'many' END, created_at, id, author_id, visibility
        FROM posts WHERE author_id = {user 1};

INSERT INTO search_tail (kind, id, created_at, words)
{rows 20000} SELECT 0, {hidden 1 + n}, {at 1 + n}, '\nx\n{by 0}' FROM n;
INSERT INTO search_tail (kind, id, created_at, words)
{rows 10000} SELECT 0, {small n}, {at 300000 + n}, '\nx\n' FROM n;
INSERT INTO search_tail (kind, id, created_at, words)
{rows 1000} SELECT 0, {large n}, {at 400000 + n}, '\n{long 5000}\n' FROM n;
INSERT INTO search_tail (kind, id, created_at, words)
{rows 20000} SELECT 1, {user n}, {at n}, '\nu' || n || '{x 40}\n' FROM n;

DELETE FROM user_counts;
INSERT INTO user_counts (user_id, counter, value)
    SELECT author_id, visibility, count(*) FROM posts GROUP BY author_id, visibility
    UNION ALL SELECT follower_id, 3, count(*) FROM follows GROUP BY follower_id
    UNION ALL SELECT followed_id, 16, count(*) FROM follows GROUP BY followed_id;
";

const PRODUCTS: usize = 20_000;
/// How many products have the maximum size: the first ones of lists.
const LARGE: usize = 1_000;

/// Returns the catalog as JSON lines, one product per line.
pub(crate) fn catalog() -> String {
    let (long, words) = ("\u{1}".repeat(5000), "words and more words, ".repeat(20));
    let images: Vec<_> = (0..10).map(|n| format!("https://images.example.org/{n}")).collect();
    (0..PRODUCTS).fold(String::new(), |mut lines, n| {
        let is_large = n < LARGE;
        let variant = json!({ "color": "red", "size": "M", "stock": 1 });
        let product = json!({
            "sku": format!("sku-{n}"),
            "name": format!("Product {n}"),
            "description": if is_large { &long } else { &words },
            "price": 1,
            "category": "everything",
            "stock": if is_large { 20 } else { 0 },
            "variants": vec![variant; if is_large { 20 } else { 0 }],
            "images": if is_large { &*images } else { &[] },
        });
        writeln!(lines, "{product}").unwrap();
        lines
    })
}

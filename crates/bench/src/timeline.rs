//! The upper limit of any feed on PostgreSQL: a table with the precomputed timeline of each reader, read by pgbench.

use std::path::Path;

use anyhow::Result;

use crate::pgbench::Pgbench;
use crate::postgres::Postgres;
use crate::script::Script;
use crate::workloads::PAGE;

/// Returns the statements that create the table and fill it with the posts that these readers may view of accounts they follow.
fn fill(readers: &str) -> String {
    format!(
        "CREATE TABLE bench_timeline (
            user_id uuid, created_at timestamptz, post_id uuid, PRIMARY KEY (user_id, created_at, post_id)
        );
        INSERT INTO bench_timeline
            SELECT f.follower_id, p.created_at, p.id FROM follows f JOIN posts p ON p.author_id = f.followed_id
            WHERE p.visibility IN (0, 1) AND f.follower_id = ANY ('{{{readers}}}')
            ORDER BY 1, 2, 3;
        VACUUM (ANALYZE) bench_timeline;
        CHECKPOINT;"
    )
}

/// Returns a script that reads a page with the columns that the service reads, the newest likers included.
fn page(readers: &str, count: usize) -> String {
    let reader = format!("('{{{readers}}}'::uuid[])[:n::bigint]");
    let text = format!(
        "SELECT p.id, p.author_id, p.content, p.image, p.visibility, p.created_at, p.updated_at,
            a.username, a.email, a.biography, a.profile_picture, p.like_count, p.comment_count,
            EXISTS (SELECT FROM likes l WHERE l.post_id = p.id AND l.user_id = {reader}),
            ARRAY(
                SELECT ROW(u.id, u.username, u.profile_picture)
                FROM (
                    SELECT l.user_id, l.created_at, l.id FROM likes l WHERE l.post_id = p.id
                    ORDER BY l.created_at DESC, l.id DESC LIMIT 50
                ) n JOIN users u ON u.id = n.user_id
                ORDER BY n.created_at DESC, n.id DESC
            )
        FROM (
            SELECT t.post_id FROM bench_timeline t WHERE t.user_id = {reader}
            ORDER BY t.created_at DESC, t.post_id DESC LIMIT {PAGE}
        ) t JOIN posts p ON p.id = t.post_id JOIN users a ON a.id = p.author_id
        ORDER BY p.created_at DESC, p.id DESC;"
    );
    // On one line, which makes the script easier to read; pgbench does not require it.
    format!("\\set n random(1, {count})\n{}\n", text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Creates the table, and prepares pgbench for the feeds of these readers.
pub(crate) fn limit<'a>(postgres: &'a Postgres, place: (&Path, &str), readers: &[String]) -> Result<Pgbench<'a>> {
    let (ids, count) = (readers.join(","), readers.len());
    postgres.sql("DROP TABLE IF EXISTS bench_timeline;")?;
    postgres.sql(&fill(&ids))?;
    let script = Script { text: page(&ids, count), weight: 1, variables: Vec::new() };
    Pgbench::of_scripts(postgres, place, &[script], 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_reads_a_page_of_a_random_reader() {
        let text = page("a,b", 2);
        assert!(text.starts_with("\\set n random(1, 2)\nSELECT p.id"), "{text}");
        assert!(text.contains("t.user_id = ('{a,b}'::uuid[])[:n::bigint] ORDER BY"), "{text}");
        assert_eq!(text.lines().count(), 2);
    }
}

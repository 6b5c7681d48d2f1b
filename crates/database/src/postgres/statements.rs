//! Writes with what they count or take off a record, each as one statement, for which diesel has no words.

use agora_domain::Error;
use agora_domain::error::{ImageCollected, Resource};
use agora_domain::notices::{Notice, NotificationKind};
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Array, Bool, Integer, Nullable, SmallInt, Text};
use diesel::{OptionalExtension, QueryResult};

use super::dialect::{Conn, RunQueryDsl};
use crate::error::{Failure, Outcome};
use crate::notices::{GatheredNotice, Notices};
use crate::rows::{AuthorRow, CommentRow, PostRow};
use crate::schema::LikeRecord;
use crate::search_index::TextRow;
use crate::sql_types::{DbId, Id, Instant};

/// Declares a statement: its values, the types of its columns, and its text with the values where they stand in it.
macro_rules! statement {
    ($name:ident { $($field:ident: $type:ty),* } -> $columns:ty: $($text:literal $($($value:ident).+ as $sql:ty)?),*) => {
        #[derive(Debug, Clone, QueryId)]
        struct $name {
            $($field: $type),*
        }

        impl Query for $name {
            type SqlType = $columns;
        }

        impl QueryFragment<Pg> for $name {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
                $(
                    out.push_sql($text);
                    $(out.push_bind_param::<$sql, _>(&self.$($value).+)?;)?
                )*
                Ok(())
            }
        }
    };
}

pub(super) use statement;

// The post is locked first: whoever deletes it, and its likes with it, takes them in the same order. The statement sees
// likes as they were when it began; when another toggle of the same like was committed while it waited for the lock, it
// may find the like neither to make nor to delete. What the recipient is told follows, as `queries::notices` says it.
statement! { ToggleLike { like: LikeRecord, told: GatheredNotice } -> (Bool, Bool, Bool):
    "WITH post AS MATERIALIZED (SELECT id FROM posts WHERE id = " like.post_id as Id,
    " AND deleted_at IS NULL FOR NO KEY UPDATE), liked AS (\
        INSERT INTO likes (post_id, user_id, id, created_at) SELECT id, " like.user_id as Id,
    ", " like.id as Id, ", " like.created_at as Instant,
    " FROM post ON CONFLICT (post_id, user_id) DO NOTHING RETURNING id, created_at\
    ), unliked AS (\
        DELETE FROM likes WHERE post_id = (SELECT id FROM post) AND user_id = " like.user_id as Id,
    " AND NOT EXISTS (SELECT FROM liked) RETURNING id, created_at\
    ), counted AS (\
        UPDATE posts SET like_count = like_count + (SELECT count(*) FROM liked) - (SELECT count(*) FROM unliked) \
        WHERE id = (SELECT id FROM post) AND (EXISTS (SELECT FROM liked) OR EXISTS (SELECT FROM unliked))\
    ), told AS (\
        INSERT INTO notifications (id, recipient_id, kind, post_id, day, target_id, created_at, updated_at, count, is_empty, is_read) \
        SELECT n.id, n.recipient, n.kind, p.id, n.day, p.id, l.created_at, l.created_at, 1, false, false \
        FROM post p CROSS JOIN liked l CROSS JOIN (SELECT CAST(" told.id as Nullable<Id>, " AS uuid) AS id, CAST(" told.recipient as Nullable<Id>,
    " AS uuid) AS recipient, CAST(" told.kind as SmallInt, " AS smallint) AS kind, CAST(" told.day as Integer, " AS integer) AS day) n \
        WHERE n.id IS NOT NULL AND NOT EXISTS (\
            SELECT FROM notification_settings s WHERE s.user_id = n.recipient AND s.kind = n.kind AND (s.policy = 2 OR NOT EXISTS (\
                SELECT FROM follows f WHERE f.follower_id = n.recipient AND f.followed_id = " like.user_id as Id, "))) \
        AND NOT EXISTS (SELECT FROM mutes m WHERE m.muter_id = n.recipient AND m.muted_id = " like.user_id as Id, ") \
        AND NOT EXISTS (SELECT FROM blocks b WHERE b.user_id = n.recipient AND b.other_id = " like.user_id as Id, ") \
        ON CONFLICT (day, kind, target_id) WHERE day IS NOT NULL DO UPDATE SET count = notifications.count + 1, is_empty = false, \
            is_read = notifications.is_read AND EXISTS (SELECT FROM notification_withdrawals w \
                WHERE w.notification_id = notifications.id AND w.actor_id = " like.user_id as Id, "), \
            updated_at = CASE WHEN EXISTS (SELECT FROM notification_withdrawals w \
                WHERE w.notification_id = notifications.id AND w.actor_id = " like.user_id as Id, ") \
                THEN notifications.updated_at ELSE greatest(notifications.updated_at, excluded.updated_at) END RETURNING id, recipient_id, kind\
    ), gathered AS (\
        INSERT INTO notification_actors (notification_id, id, actor_id) SELECT t.id, l.id, " like.user_id as Id,
    " FROM told t CROSS JOIN liked l\
    ), taken_out AS (\
        DELETE FROM notification_actors a USING unliked u, notifications n \
        WHERE n.day = CAST(floor(extract(epoch FROM u.created_at) / 86400) AS integer) AND n.kind = " told.kind as SmallInt,
    " AND n.target_id = " like.post_id as Id, " AND a.notification_id = n.id AND a.id = u.id RETURNING a.notification_id\
    ), lessened AS (\
        UPDATE notifications SET count = count - 1, is_empty = count = 1 WHERE id = (SELECT notification_id FROM taken_out)\
    ), withdrawn AS (\
        INSERT INTO notification_withdrawals (notification_id, actor_id) SELECT notification_id, " like.user_id as Id,
    " FROM taken_out ON CONFLICT DO NOTHING\
    ), recorded AS (\
        INSERT INTO events (kind, post_id, user_id, notification_id, detail) \
        SELECT CAST(4 AS smallint), id, CAST(NULL AS uuid), CAST(NULL AS uuid), CAST(NULL AS smallint) FROM post \
        WHERE EXISTS (SELECT FROM liked) OR EXISTS (SELECT FROM unliked) \
        UNION ALL SELECT 5, NULL, recipient_id, id, kind FROM told\
    ) SELECT EXISTS (SELECT FROM post), EXISTS (SELECT FROM liked), EXISTS (SELECT FROM unliked)"
}

/// Turns the like on if it is off, off if it is on.
pub(crate) async fn toggle_like(conn: &mut Conn<'_>, like: LikeRecord, notice: Option<Notice>) -> Outcome<bool> {
    let told = GatheredNotice::new(NotificationKind::Like, notice);
    loop {
        let toggled = ToggleLike { like: like.clone(), told: told.clone() }.get_result(conn).await;
        match toggled.map_err(Failure::missing(Resource::User))? {
            (false, _, _) => return Err(Failure::Rule(Error::NotFound(Resource::Post))),
            (true, false, false) => {}
            (true, liked, _) => return Ok(liked),
        }
    }
}

statement! { InsertComment { row: CommentRow, told: Notices } -> Id:
    "WITH post AS (UPDATE posts SET comment_count = comment_count + 1 WHERE id = " row.post_id as Id,
    " AND deleted_at IS NULL RETURNING id), told AS (\
        INSERT INTO notifications (id, recipient_id, kind, actor_id, post_id, comment_id, created_at, updated_at, count, is_empty, is_read) \
        SELECT n.id, n.recipient, n.kind, c.author, p.id, c.id, c.at, c.at, 1, false, false FROM post p CROSS JOIN unnest("
    told.ids as Array<Id>, "::uuid[], " told.kinds as Array<SmallInt>, "::smallint[], " told.recipients as Array<Id>,
    "::uuid[]) n(id, kind, recipient) CROSS JOIN (SELECT CAST(" row.id as Id, " AS uuid) AS id, CAST(" row.author_id as Id,
    " AS uuid) AS author, CAST(" row.created_at as Instant, " AS timestamptz) AS at) c WHERE NOT EXISTS (\
            SELECT FROM notification_settings s WHERE s.user_id = n.recipient AND s.kind = n.kind AND (s.policy = 2 OR NOT EXISTS (\
                SELECT FROM follows f WHERE f.follower_id = n.recipient AND f.followed_id = c.author))) \
        AND NOT EXISTS (SELECT FROM mutes m WHERE m.muter_id = n.recipient AND m.muted_id = c.author) \
        AND NOT EXISTS (SELECT FROM blocks b WHERE b.user_id = n.recipient AND b.other_id = c.author) \
        RETURNING id, recipient_id, kind\
    ), recorded AS (\
        INSERT INTO events (kind, post_id, comment_id, user_id, notification_id, detail) \
        SELECT CAST(3 AS smallint), id, CAST(" row.id as Id, " AS uuid), CAST(" row.author_id as Id, " AS uuid), CAST(NULL AS uuid), \
            CAST(NULL AS smallint) FROM post \
        UNION ALL SELECT 5, NULL, NULL, recipient_id, id, kind FROM told) \
    INSERT INTO comments (id, post_id, author_id, content, created_at, updated_at, entities) SELECT " row.id as Id,
    ", id, " row.author_id as Id, ", " row.content as Text, ", " row.created_at as Instant,
    ", " row.updated_at as Instant, ", " row.entities as Nullable<Text>, " FROM post RETURNING id"
}

/// Stores a comment at the top level, counts it, and tells of it.
pub(crate) async fn insert_comment(conn: &mut Conn<'_>, row: CommentRow, told: Vec<Notice>) -> Outcome<()> {
    let told = Notices::new(&told);
    let stored: Option<DbId> = InsertComment { row, told }.get_result(conn).await.optional()?;
    stored.map(drop).ok_or(Failure::Rule(Error::NotFound(Resource::Post)))
}

// An image is taken off the record of those that no row names, or the post is not stored.
statement! { InsertPost { row: PostRow, tags: Vec<String>, text: TextRow, told: Notices }
    -> ((Id, Text, Text, Nullable<Text>, Nullable<Text>, Nullable<Text>), Bool):
    "WITH named AS (DELETE FROM unnamed_images WHERE NOT condemned AND key = " row.image as Nullable<Text>,
    " RETURNING key), stored AS (\
        INSERT INTO posts (id, author_id, content, image, visibility, created_at, updated_at, entities, indexed) SELECT "
    row.id as Id,
    ", " row.author_id as Id, ", " row.content as Text, ", " row.image as Nullable<Text>,
    ", " row.visibility as SmallInt, ", " row.created_at as Instant, ", " row.updated_at as Instant,
    ", " row.entities as Nullable<Text>, ", true WHERE EXISTS (SELECT FROM named) OR CAST(" row.image as Nullable<Text>,
    " AS text) IS NULL RETURNING id, author_id, visibility, created_at\
    ), found AS (\
        INSERT INTO search_tail (kind, id, created_at, words) SELECT " text.kind as SmallInt,
    ", id, created_at, " text.words as Text, " FROM stored\
    ), tagged AS (\
        INSERT INTO post_tags (tag, created_at, post_id, author_id, visibility) \
        SELECT t, s.created_at, s.id, s.author_id, s.visibility FROM stored s CROSS JOIN unnest("
    tags as Array<Text>, "::text[]) t\
    ), told AS (\
        INSERT INTO notifications (id, recipient_id, kind, actor_id, post_id, created_at, updated_at, count, is_empty, is_read) \
        SELECT n.id, n.recipient, n.kind, p.author_id, p.id, p.created_at, p.created_at, 1, false, false \
        FROM stored p CROSS JOIN unnest(" told.ids as Array<Id>, "::uuid[], " told.kinds as Array<SmallInt>, "::smallint[], "
    told.recipients as Array<Id>, "::uuid[]) n(id, kind, recipient) WHERE NOT EXISTS (\
            SELECT FROM notification_settings s WHERE s.user_id = n.recipient AND s.kind = n.kind AND (s.policy = 2 OR NOT EXISTS (\
                SELECT FROM follows f WHERE f.follower_id = n.recipient AND f.followed_id = p.author_id))) \
        AND NOT EXISTS (SELECT FROM mutes m WHERE m.muter_id = n.recipient AND m.muted_id = p.author_id) \
        AND NOT EXISTS (SELECT FROM blocks b WHERE b.user_id = n.recipient AND b.other_id = p.author_id) \
        RETURNING id, recipient_id, kind\
    ), recorded AS (\
        INSERT INTO events (kind, post_id, user_id, notification_id, detail) \
        SELECT CAST(0 AS smallint), id, author_id, CAST(NULL AS uuid), CAST(NULL AS smallint) FROM stored \
        UNION ALL SELECT 5, NULL, recipient_id, id, kind FROM told\
    ) SELECT id, username, email, display_name, biography, profile_picture, EXISTS (SELECT FROM stored) FROM users WHERE id = "
    row.author_id as Id
}

/// Stores a post, of which its image is named from then on, with the text by which it is found, and tells of it; its author.
pub(crate) async fn insert_post(
    conn: &mut Conn<'_>,
    row: PostRow,
    text: TextRow,
    told: Vec<Notice>,
) -> Outcome<AuthorRow> {
    let (tags, told) = (row.tags(), Notices::new(&told));
    let found: Option<(AuthorRow, bool)> = InsertPost { row, tags, text, told }
        .get_result(conn)
        .await
        .optional()
        .map_err(Failure::missing(Resource::User))?;
    match found {
        Some((author, true)) => Ok(author),
        Some((_, false)) => Err(Failure::Rule(Error::unavailable(ImageCollected))),
        None => Err(Failure::Rule(Error::NotFound(Resource::User))),
    }
}

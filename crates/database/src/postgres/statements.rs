//! Writes with what they count or take off a record, each as one statement, for which diesel has no words.

use agora_domain::Error;
use agora_domain::error::{ImageCollected, Resource};
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Array, Bool, Nullable, SmallInt, Text};
use diesel::{OptionalExtension, QueryResult};

use super::dialect::{Conn, RunQueryDsl};
use crate::error::{Failure, Outcome};
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
// may find the like neither to make nor to delete.
statement! { ToggleLike { like: LikeRecord } -> (Bool, Bool, Bool):
    "WITH post AS MATERIALIZED (SELECT id FROM posts WHERE id = " like.post_id as Id,
    " AND deleted_at IS NULL FOR NO KEY UPDATE), liked AS (\
        INSERT INTO likes (post_id, user_id, id, created_at) SELECT id, " like.user_id as Id,
    ", " like.id as Id, ", " like.created_at as Instant,
    " FROM post ON CONFLICT (post_id, user_id) DO NOTHING RETURNING id\
    ), unliked AS (\
        DELETE FROM likes WHERE post_id = (SELECT id FROM post) AND user_id = " like.user_id as Id,
    " AND NOT EXISTS (SELECT FROM liked) RETURNING id\
    ), counted AS (\
        UPDATE posts SET like_count = like_count + (SELECT count(*) FROM liked) - (SELECT count(*) FROM unliked) \
        WHERE id = (SELECT id FROM post) AND (EXISTS (SELECT FROM liked) OR EXISTS (SELECT FROM unliked))\
    ) SELECT EXISTS (SELECT FROM post), EXISTS (SELECT FROM liked), EXISTS (SELECT FROM unliked)"
}

/// Turns the like on if it is off, off if it is on.
pub(crate) async fn toggle_like(conn: &mut Conn<'_>, like: LikeRecord) -> Outcome<bool> {
    loop {
        let toggled = ToggleLike { like: like.clone() }.get_result(conn).await;
        match toggled.map_err(Failure::missing(Resource::User))? {
            (false, _, _) => return Err(Failure::Rule(Error::NotFound(Resource::Post))),
            (true, false, false) => {}
            (true, liked, _) => return Ok(liked),
        }
    }
}

statement! { InsertComment { row: CommentRow } -> Id:
    "WITH post AS (UPDATE posts SET comment_count = comment_count + 1 WHERE id = " row.post_id as Id,
    " AND deleted_at IS NULL RETURNING id) \
    INSERT INTO comments (id, post_id, author_id, content, created_at, updated_at, entities) SELECT " row.id as Id,
    ", id, " row.author_id as Id, ", " row.content as Text, ", " row.created_at as Instant,
    ", " row.updated_at as Instant, ", " row.entities as Nullable<Text>, " FROM post RETURNING id"
}

/// Stores a comment at the top level, and counts it.
pub(crate) async fn insert_comment(conn: &mut Conn<'_>, row: CommentRow) -> Outcome<()> {
    let stored: Option<DbId> = InsertComment { row }.get_result(conn).await.optional()?;
    stored.map(drop).ok_or(Failure::Rule(Error::NotFound(Resource::Post)))
}

// An image is taken off the record of those that no row names, or the post is not stored.
statement! { InsertPost { row: PostRow, tags: Vec<String>, text: TextRow }
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
    ) SELECT id, username, email, display_name, biography, profile_picture, EXISTS (SELECT FROM stored) FROM users WHERE id = "
    row.author_id as Id
}

/// Stores a post, of which its image is named from then on, with the text by which it is found; its author.
pub(crate) async fn insert_post(conn: &mut Conn<'_>, row: PostRow, text: TextRow) -> Outcome<AuthorRow> {
    let tags = row.tags();
    let found: Option<(AuthorRow, bool)> =
        InsertPost { row, tags, text }.get_result(conn).await.optional().map_err(Failure::missing(Resource::User))?;
    match found {
        Some((author, true)) => Ok(author),
        Some((_, false)) => Err(Failure::Rule(Error::unavailable(ImageCollected))),
        None => Err(Failure::Rule(Error::NotFound(Resource::User))),
    }
}

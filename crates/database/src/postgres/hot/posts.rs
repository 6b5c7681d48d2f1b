use agora_domain::Error;
use agora_domain::error::Resource;
use agora_domain::posts::{Liker, SHOWN_LIKERS};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::{BothWays, Columns, records};
use crate::error::{Failure, Outcome};
use crate::postgres::Postgres;
use crate::postgres::pipeline::PreparedSql;
use crate::postgres::query_error::QueryError;
use crate::postgres::records::{Fields, Records};
use crate::rows::{AccessRow, After, AuthorRow, LikerRow, PostRow, Slice};
use crate::sql_types::{DbId, DbInstant};
use crate::values::{LikeRow, PostViewRow, ViewRow, Visible, distinct};

/// The columns of a post `p` by `a` as the viewer, who is the first parameter, sees it, with an expression for whether
/// they follow the author: for [`seen`].
macro_rules! seen_columns {
    ($follows:literal) => {
        concat!(
            "p.id, p.author_id, p.content, p.image, p.visibility, p.created_at, p.updated_at, \
         a.username, a.email, a.biography, a.profile_picture, p.like_count, p.comment_count, \
         CASE WHEN p.like_count > 0 \
             THEN EXISTS (SELECT FROM likes l WHERE l.post_id = p.id AND l.user_id = $1) ELSE false END, ",
            $follows,
            ", CASE WHEN p.like_count > 0 THEN ARRAY(\
             SELECT ROW(u.id, u.username, u.profile_picture) FROM (\
                 SELECT l.user_id, l.created_at, l.id FROM likes l WHERE l.post_id = p.id \
                 ORDER BY l.created_at DESC, l.id DESC LIMIT 50\
             ) n JOIN users u ON u.id = n.user_id ORDER BY n.created_at DESC, n.id DESC\
         ) END"
        )
    };
}

// The limit in the text above.
const _: () = assert!(SHOWN_LIKERS == 50);

pub(super) static FIND: PreparedSql = PreparedSql {
    sql: concat!(
        "SELECT ",
        seen_columns!("EXISTS (SELECT FROM follows f WHERE f.follower_id = $1 AND f.followed_id = p.author_id)"),
        " FROM posts p JOIN users a ON a.id = p.author_id WHERE p.id = $2 AND p.deleted_at IS NULL"
    ),
    types: &[Type::UUID, Type::UUID],
};

macro_rules! seen_at {
    ($than:literal, $order:literal) => {
        concat!(
            "SELECT ",
            seen_columns!("true"),
            " FROM (\
                SELECT p.* FROM unnest($2::uuid[]) k JOIN posts p ON p.id = k WHERE p.deleted_at IS NULL \
                AND p.visibility IN ($3, $4, $5) \
                AND EXISTS (SELECT FROM follows f WHERE f.follower_id = $1 AND f.followed_id = p.author_id) ",
            concat!("ORDER BY p.created_at", $order, ", p.id", $order, " LIMIT $6"),
            concat!(") p JOIN users a ON a.id = p.author_id ORDER BY p.created_at", $order, ", p.id", $order)
        )
    };
}

/// The posts of a list that are there, have one of the visibilities, and whose author the viewer follows.
pub(super) static SEEN_AT: BothWays =
    both_ways!(seen_at, &[Type::UUID, Type::UUID_ARRAY, Type::INT2, Type::INT2, Type::INT2, Type::INT8]);

pub(super) static FIND_ACCESS: PreparedSql = PreparedSql {
    sql: "SELECT p.id, p.author_id, p.visibility, \
        EXISTS (SELECT FROM follows f WHERE f.follower_id = $1 AND f.followed_id = p.author_id) \
        FROM posts p WHERE p.id = $2 AND p.deleted_at IS NULL",
    types: &[Type::UUID, Type::UUID],
};

pub(super) fn seen(row: &Row) -> Outcome<PostViewRow<AuthorRow>> {
    let mut columns = Columns::of(row);
    let post = PostRow {
        id: columns.take()?,
        author_id: columns.take()?,
        content: columns.take()?,
        image: columns.take()?,
        visibility: columns.take()?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
    };
    let author = AuthorRow {
        id: post.author_id,
        username: columns.take()?,
        email: columns.take()?,
        biography: columns.take()?,
        profile_picture: columns.take()?,
    };
    let row = ViewRow {
        post,
        author,
        like_count: columns.take()?,
        comment_count: columns.take()?,
        liked_by_viewer: columns.take()?,
        viewer_follows: columns.take()?,
    };
    let likers: Option<Records<'_>> = columns.take()?;
    Ok(PostViewRow { row, liked_by: likers.map(liked_by).transpose()?.unwrap_or_default() })
}

fn liked_by(likers: Records<'_>) -> Outcome<Vec<Liker>> {
    let row = |fields: &mut Fields<'_>| {
        Ok(LikerRow { id: fields.take()?, username: fields.take()?, profile_picture: fields.take()? })
    };
    records(&likers, row)?.into_iter().map(LikerRow::liker).collect()
}

macro_rules! list_by_author {
    ($than:literal, $order:literal) => {
        concat!(
            "SELECT ",
            seen_columns!("EXISTS (SELECT FROM follows f WHERE f.follower_id = $1 AND f.followed_id = p.author_id)"),
            " FROM (\
                SELECT n.id FROM unnest($3) v CROSS JOIN LATERAL (\
                    SELECT created_at, id FROM posts \
                    WHERE author_id = $2 AND visibility = v AND deleted_at IS NULL AND created_at ",
            concat!($than, "= $4 AND (created_at ", $than, " $4 OR id ", $than, " $5) "),
            concat!("ORDER BY created_at", $order, ", id", $order, " LIMIT $6"),
            concat!(") n ORDER BY n.created_at", $order, ", n.id", $order, " LIMIT $6"),
            ") k JOIN posts p ON p.id = k.id JOIN users a ON a.id = p.author_id ",
            concat!("ORDER BY p.created_at", $order, ", p.id", $order)
        )
    };
}

/// The posts of an author that have one of the visibilities.
pub(super) static LIST_BY_AUTHOR: BothWays =
    both_ways!(list_by_author, &[Type::UUID, Type::UUID, Type::INT2_ARRAY, Type::TIMESTAMPTZ, Type::UUID, Type::INT8]);

pub(crate) async fn list_by_author(
    database: &Postgres,
    author: DbId,
    visible: Visible,
    viewer: DbId,
    slice: Slice,
) -> Outcome<Vec<PostViewRow<AuthorRow>>> {
    let After(at, id) = slice.after;
    let values: [&(dyn ToSql + Sync); 6] = [&viewer, &author, &distinct(visible), &at, &id, &slice.limit];
    database.lists.query(LIST_BY_AUTHOR.toward(slice.toward), &values).await?.iter().map(seen).collect()
}

macro_rules! list_likers {
    ($than:literal, $order:literal) => {
        concat!(
            "SELECT l.created_at, l.id, u.id, u.username, u.profile_picture FROM (\
                SELECT user_id, created_at, id FROM likes WHERE post_id = $1 AND created_at ",
            concat!($than, "= $2 AND (created_at ", $than, " $2 OR id ", $than, " $3) "),
            concat!("ORDER BY created_at", $order, ", id", $order, " LIMIT $4"),
            concat!(") l JOIN users u ON u.id = l.user_id ORDER BY l.created_at", $order, ", l.id", $order)
        )
    };
}

pub(super) static LIST_LIKERS: BothWays =
    both_ways!(list_likers, &[Type::UUID, Type::TIMESTAMPTZ, Type::UUID, Type::INT8]);

/// When the like was made and its id, then who made it.
pub(crate) async fn list_likers(
    database: &Postgres,
    post: DbId,
    slice: Slice,
) -> Outcome<Vec<(DbInstant, DbId, LikerRow)>> {
    let Slice { toward, after: After(at, id), limit } = slice;
    let rows = database.lists.query(LIST_LIKERS.toward(toward), &[&post, &at, &id, &limit]).await?;
    let like = |row: &Row| {
        let mut columns = Columns::of(row);
        let (at, id) = (columns.take()?, columns.take()?);
        Ok((at, id, LikerRow { id: columns.take()?, username: columns.take()?, profile_picture: columns.take()? }))
    };
    rows.iter().map(like).collect()
}

pub(crate) async fn find(database: &Postgres, id: DbId, viewer: DbId) -> Outcome<Option<PostViewRow<AuthorRow>>> {
    database.shared.query(&FIND, &[&viewer, &id]).await?.first().map(seen).transpose()
}

pub(crate) async fn find_access(database: &Postgres, id: DbId, viewer: DbId) -> Outcome<Option<AccessRow>> {
    let rows = database.shared.query(&FIND_ACCESS, &[&viewer, &id]).await?;
    let access = |row: &Row| {
        let mut columns = Columns::of(row);
        Ok((columns.take()?, columns.take()?, columns.take()?, columns.take()?))
    };
    rows.first().map(access).transpose()
}

static AUTHOR_OF_NEW: PreparedSql = PreparedSql {
    sql: "WITH new AS (\
            INSERT INTO posts (id, author_id, content, visibility, created_at, updated_at) \
            VALUES ($2, $1, $3, $4, $5, $6)\
        ) SELECT id, username, email, biography, profile_picture FROM users WHERE id = $1",
    types: &[Type::UUID, Type::UUID, Type::TEXT, Type::INT2, Type::TIMESTAMPTZ, Type::TIMESTAMPTZ],
};

/// Stores a post without an image; the post as its author sees it.
pub(crate) async fn create_plain(database: &Postgres, post: PostRow) -> Outcome<PostViewRow<AuthorRow>> {
    let PostRow { id, author_id, content, visibility, created_at, updated_at, .. } = &post;
    let values: [&(dyn ToSql + Sync); 6] = [author_id, id, content, visibility, created_at, updated_at];
    let rows = database.exclusive.query(&AUTHOR_OF_NEW, &values).await;
    let rows = rows.map_err(QueryError::missing(Resource::User))?;
    let row = rows.first().ok_or(Failure::Rule(Error::NotFound(Resource::User)))?;
    let mut columns = Columns::of(row);
    let author = AuthorRow {
        id: columns.take()?,
        username: columns.take()?,
        email: columns.take()?,
        biography: columns.take()?,
        profile_picture: columns.take()?,
    };
    Ok(PostViewRow { row: ViewRow::new(post, author), liked_by: Vec::new() })
}

// The post is locked first: whoever deletes it, and its likes with it, takes them in the same order. The statement sees
// likes as they were when it began; when another toggle of the same like was committed while it waited for the lock, it
// may find the like neither to make nor to delete.
pub(super) static TOGGLE_LIKE: PreparedSql = PreparedSql {
    sql: "WITH post AS MATERIALIZED (SELECT id FROM posts WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE), \
        liked AS (\
            INSERT INTO likes (post_id, user_id, id, created_at) SELECT id, $2, $3, $4 FROM post \
            ON CONFLICT (post_id, user_id) DO NOTHING RETURNING id\
        ), unliked AS (\
            DELETE FROM likes WHERE post_id = (SELECT id FROM post) AND user_id = $2 \
            AND NOT EXISTS (SELECT FROM liked) RETURNING id\
        ), counted AS (\
            UPDATE posts SET like_count = like_count \
                + (SELECT count(*) FROM liked) - (SELECT count(*) FROM unliked) \
            WHERE id = (SELECT id FROM post) AND (EXISTS (SELECT FROM liked) OR EXISTS (SELECT FROM unliked))\
        ) SELECT EXISTS (SELECT FROM post), EXISTS (SELECT FROM liked), EXISTS (SELECT FROM unliked)",
    types: &[Type::UUID, Type::UUID, Type::UUID, Type::TIMESTAMPTZ],
};

/// Turns the like on if it is off, off if it is on.
pub(crate) async fn toggle_like(database: &Postgres, like: LikeRow) -> Outcome<bool> {
    let no_post = || Failure::Rule(Error::NotFound(Resource::Post));
    loop {
        let rows = database.exclusive.query(&TOGGLE_LIKE, &[&like.post, &like.user, &like.id, &like.at]).await;
        let rows = rows.map_err(QueryError::missing(Resource::User))?;
        let mut columns = Columns::of(rows.first().ok_or_else(no_post)?);
        let (is_there, liked, unliked) = (columns.take()?, columns.take()?, columns.take()?);
        match (is_there, liked, unliked) {
            (false, _, _) => return Err(no_post()),
            (true, false, false) => {}
            (true, liked, _) => return Ok(liked),
        }
    }
}

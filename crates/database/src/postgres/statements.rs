//! What diesel has no words for: writes that are one statement with the count they change, the state of the database, and
//! the next rows of each of several parts of an index. Each is prepared once on a connection.

use std::io::Write;

use agora_domain::Error;
use agora_domain::error::{ImageCollected, Resource};
use agora_domain::page::Keyset;
use agora_domain::posts::SHOWN_LIKERS;
use diesel::deserialize::{FromSql, FromSqlRow};
use diesel::expression::{AppearsOnTable, AsExpression, Expression, SelectableExpression, ValidGrouping, is_aggregate};
use diesel::pg::{Pg, PgValue};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::{IsNull, Output, ToSql};
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Record, SmallInt, SqlType, Text};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, SelectableHelper, deserialize, serialize};
use futures_util::future::try_join;

use super::dialect::{Conn, RunQueryDsl};
use super::queries;
use super::queries::posts::{author_followed_by, liked_by, view};
use crate::error::{Failure, Outcome};
use crate::feeds::{Changes, FeedQuery, Loaded, MAX_CHANGES, MAX_FOLLOWED, NewPost, Snapshot, limit};
use crate::rows::{After, AuthorRow, CommentRow, LikerRow, PostRow, Slice, Toward, UserRow, keyset};
use crate::schema::{posts, users};
use crate::sql_types::{DbId, DbInstant, Id, Instant};
use crate::values::{LikeRow, PostViewRow, ViewRow, Visible, distinct};

/// What a view of a post says of its likers: the newest ones, if there are any.
pub(crate) type Likers = Option<Vec<(DbId, String, Option<String>)>>;

type LikerRecord = Record<(Id, Text, Nullable<Text>)>;

/// The column of that. Of a post with many likes only the newest are read, from the index.
#[derive(Debug, Clone, Copy, QueryId, ValidGrouping)]
pub(crate) struct NewestLikers;

/// Returns the column of that.
pub(crate) const fn likers() -> NewestLikers {
    NewestLikers
}

impl Expression for NewestLikers {
    type SqlType = Nullable<Array<LikerRecord>>;
}

impl<Source> AppearsOnTable<Source> for NewestLikers where posts::id: AppearsOnTable<Source> {}

impl<Source> SelectableExpression<Source> for NewestLikers where posts::id: SelectableExpression<Source> {}

impl QueryFragment<Pg> for NewestLikers {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "CASE WHEN posts.like_count > 0 THEN ARRAY(\
                SELECT ROW(u.id, u.username, u.profile_picture) FROM (\
                    SELECT l.user_id, l.created_at, l.id FROM likes l WHERE l.post_id = posts.id \
                    ORDER BY l.created_at DESC, l.id DESC LIMIT 50\
                ) n JOIN users u ON u.id = n.user_id ORDER BY n.created_at DESC, n.id DESC\
            ) END",
        );
        Ok(())
    }
}

// The limit in the text above.
const _: () = assert!(SHOWN_LIKERS == 50);

/// Completes views of posts by their newest likers.
pub(crate) async fn with_likers<A>(_: &mut Conn<'_>, rows: Vec<ViewRow<A, Likers>>) -> Outcome<Vec<PostViewRow<A>>> {
    let liker = |(id, username, profile_picture)| LikerRow { id, username, profile_picture }.liker();
    let seen = |mut row: ViewRow<A, Likers>| {
        let likers = row.liked_by.take().unwrap_or_default();
        Ok(row.liked_by(likers.into_iter().map(liker).collect::<Outcome<_>>()?))
    };
    rows.into_iter().map(seen).collect()
}

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

// The post is locked first: whoever deletes it, and its likes with it, takes them in the same order. The statement sees
// likes as they were when it began; when another toggle of the same like was committed while it waited for the lock, it
// may find the like neither to make nor to delete.
statement! { ToggleLike { like: LikeRow } -> (Bool, Bool, Bool):
    "WITH post AS MATERIALIZED (SELECT id FROM posts WHERE id = " like.post as Id,
    " AND deleted_at IS NULL FOR NO KEY UPDATE), liked AS (\
        INSERT INTO likes (post_id, user_id, id, created_at) SELECT id, " like.user as Id,
    ", " like.id as Id, ", " like.at as Instant,
    " FROM post ON CONFLICT (post_id, user_id) DO NOTHING RETURNING id\
    ), unliked AS (\
        DELETE FROM likes WHERE post_id = (SELECT id FROM post) AND user_id = " like.user as Id,
    " AND NOT EXISTS (SELECT FROM liked) RETURNING id\
    ), counted AS (\
        UPDATE posts SET like_count = like_count + (SELECT count(*) FROM liked) - (SELECT count(*) FROM unliked) \
        WHERE id = (SELECT id FROM post) AND (EXISTS (SELECT FROM liked) OR EXISTS (SELECT FROM unliked))\
    ) SELECT EXISTS (SELECT FROM post), EXISTS (SELECT FROM liked), EXISTS (SELECT FROM unliked)"
}

/// Turns the like on if it is off, off if it is on.
pub(crate) async fn toggle_like(conn: &mut Conn<'_>, like: LikeRow) -> Outcome<bool> {
    loop {
        let toggled = ToggleLike { like }.get_result(conn).await;
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
    INSERT INTO comments (id, post_id, author_id, content, created_at, updated_at) SELECT " row.id as Id,
    ", id, " row.author_id as Id, ", " row.content as Text, ", " row.created_at as Instant,
    ", " row.updated_at as Instant, " FROM post RETURNING id"
}

/// Stores a comment, and counts it.
pub(crate) async fn insert_comment(conn: &mut Conn<'_>, row: CommentRow) -> Outcome<()> {
    let stored: Option<DbId> = InsertComment { row }.get_result(conn).await.optional()?;
    stored.map(drop).ok_or(Failure::Rule(Error::NotFound(Resource::Post)))
}

// An image is taken off the record of those that no row names, or the post is not stored.
statement! { InsertPost { row: PostRow } -> ((Id, Text, Text, Nullable<Text>, Nullable<Text>), Bool):
    "WITH named AS (DELETE FROM unnamed_images WHERE NOT condemned AND key = " row.image as Nullable<Text>,
    " RETURNING key), stored AS (\
        INSERT INTO posts (id, author_id, content, image, visibility, created_at, updated_at) SELECT " row.id as Id,
    ", " row.author_id as Id, ", " row.content as Text, ", " row.image as Nullable<Text>,
    ", " row.visibility as SmallInt, ", " row.created_at as Instant, ", " row.updated_at as Instant,
    " WHERE EXISTS (SELECT FROM named) OR " row.image as Nullable<Text>,
    " IS NULL RETURNING id\
    ) SELECT id, username, email, biography, profile_picture, EXISTS (SELECT FROM stored) FROM users WHERE id = "
    row.author_id as Id
}

/// Stores a post, of which its image is named from then on; its author.
pub(crate) async fn insert_post(conn: &mut Conn<'_>, row: PostRow) -> Outcome<AuthorRow> {
    let found: Option<(AuthorRow, bool)> =
        InsertPost { row }.get_result(conn).await.optional().map_err(Failure::missing(Resource::User))?;
    match found {
        Some((author, true)) => Ok(author),
        Some((_, false)) => Err(Failure::Rule(Error::unavailable(ImageCollected))),
        None => Err(Failure::Rule(Error::NotFound(Resource::User))),
    }
}

/// The positions of the next posts of some authors with some visibilities from a position on: of each author and
/// visibility so many, from the index, and of all of them so many. The authors are those whom a user follows, or the user;
/// or the posts are all that there are.
#[derive(Debug, Clone)]
struct NextPosts<const OF: u8, const OLDER: bool> {
    user: DbId,
    visible: Vec<i16>,
    at: DbInstant,
    id: DbId,
    limit: i64,
}

impl<const OF: u8, const OLDER: bool> NextPosts<OF, OLDER> {
    fn new(user: DbId, visible: Visible, slice: Slice) -> Self {
        let Slice { after: After(at, id), limit, .. } = slice;
        Self { user, visible: distinct(visible), at, id, limit }
    }
}

impl<const OF: u8, const OLDER: bool> QueryId for NextPosts<OF, OLDER> {
    type QueryId = Self;

    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<const OF: u8, const OLDER: bool> Query for NextPosts<OF, OLDER> {
    type SqlType = (Instant, Id);
}

/// What the next posts are of.
const FOLLOWED: u8 = 0;
const AUTHOR: u8 = 1;
const ALL: u8 = 2;

impl<const OF: u8, const OLDER: bool> QueryFragment<Pg> for NextPosts<OF, OLDER> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let (within, beyond, order) = if OLDER { ("<= ", "< ", " DESC") } else { (">= ", "> ", "") };
        if OF != ALL {
            let authors = if OF == FOLLOWED { "followed_id AS id FROM follows WHERE follower_id = " } else { "" };
            out.push_sql("SELECT n.created_at, n.id FROM (SELECT ");
            out.push_sql(authors);
            out.push_bind_param::<Id, _>(&self.user)?;
            out.push_sql(if OF == FOLLOWED { ") a" } else { " AS id) a" });
            out.push_sql(" CROSS JOIN unnest(");
            out.push_bind_param::<Array<SmallInt>, _>(&self.visible)?;
            out.push_sql(") v CROSS JOIN LATERAL (");
        }
        out.push_sql("SELECT p.created_at, p.id FROM posts p WHERE p.deleted_at IS NULL AND ");
        if OF != ALL {
            out.push_sql("p.author_id = a.id AND p.visibility = v AND ");
        }
        out.push_sql("p.created_at ");
        out.push_sql(within);
        out.push_bind_param::<Instant, _>(&self.at)?;
        out.push_sql(" AND (p.created_at ");
        out.push_sql(beyond);
        out.push_bind_param::<Instant, _>(&self.at)?;
        out.push_sql(" OR p.id ");
        out.push_sql(beyond);
        out.push_bind_param::<Id, _>(&self.id)?;
        out.push_sql(") ");
        self.push_end(&mut out, ["p.created_at", "p.id"], order)?;
        if OF != ALL {
            out.push_sql(") n ");
            self.push_end(&mut out, ["n.created_at", "n.id"], order)?;
        }
        Ok(())
    }
}

impl<const OF: u8, const OLDER: bool> NextPosts<OF, OLDER> {
    fn push_end<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>, [at, id]: [&str; 2], order: &str) -> QueryResult<()> {
        for part in ["ORDER BY ", at, order, ", ", id, order, " LIMIT "] {
            out.push_sql(part);
        }
        out.push_bind_param::<BigInt, _>(&self.limit)
    }
}

/// Whether `posts.id` is one of those. They are found first, as an array: the server's general plan, which knows nothing of
/// the limit, would have joined all posts with their authors.
#[derive(Debug, Clone, QueryId)]
struct Among<Q>(Q);

impl<Q> ValidGrouping<()> for Among<Q> {
    type IsAggregate = is_aggregate::No;
}

impl<Q> Expression for Among<Q> {
    type SqlType = Bool;
}

impl<Q, Source> AppearsOnTable<Source> for Among<Q> where posts::id: AppearsOnTable<Source> {}

impl<Q, Source> SelectableExpression<Source> for Among<Q> where posts::id: SelectableExpression<Source> {}

impl<Q: QueryFragment<Pg>> QueryFragment<Pg> for Among<Q> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("posts.id = ANY (ARRAY(SELECT k.id FROM (");
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(") k))");
        Ok(())
    }
}

/// Loads views of the next posts.
macro_rules! load_next {
    ($of:ident, $user:expr, $visible:expr, $slice:expr, $views:expr, $conn:expr) => {
        match $slice.toward {
            Toward::Older => {
                let next = NextPosts::<$of, true>::new($user, $visible, $slice);
                let order = (posts::created_at.desc(), posts::id.desc());
                $views.filter(Among(next)).order(order).load($conn).await?
            }
            Toward::Newer => {
                let next = NextPosts::<$of, false>::new($user, $visible, $slice);
                let order = (posts::created_at.asc(), posts::id.asc());
                $views.filter(Among(next)).order(order).load($conn).await?
            }
        }
    };
}

/// Returns views of all posts.
pub(crate) async fn views_of_all(
    conn: &mut Conn<'_>,
    viewer: DbId,
    slice: Slice,
) -> Outcome<Vec<ViewRow<UserRow, Likers>>> {
    let views = posts::table.inner_join(users::table).select(view!(UserRow, viewer));
    Ok(load_next!(ALL, viewer, [0; 3], slice, views, conn))
}

/// Returns views of an author's posts that have one of the visibilities.
pub(crate) async fn views_by_author(
    conn: &mut Conn<'_>,
    author: DbId,
    visible: Visible,
    viewer: DbId,
    slice: Slice,
) -> Outcome<Vec<ViewRow<AuthorRow, Likers>>> {
    let views = posts::table.inner_join(users::table).select(view!(AuthorRow, viewer));
    Ok(load_next!(AUTHOR, author, visible, slice, views, conn))
}

/// Returns the positions of a feed from one on that have one of the visibilities.
pub(crate) async fn feed_positions(
    conn: &mut Conn<'_>,
    viewer: DbId,
    visible: Visible,
    slice: Slice,
) -> Outcome<Vec<Keyset>> {
    let found: Vec<(DbInstant, DbId)> = match slice.toward {
        Toward::Older => NextPosts::<FOLLOWED, true>::new(viewer, visible, slice).load(conn).await?,
        Toward::Newer => NextPosts::<FOLLOWED, false>::new(viewer, visible, slice).load(conn).await?,
    };
    Ok(found.into_iter().map(|(at, id)| keyset(at, id)).collect())
}

/// The SQL type of a snapshot.
#[derive(Debug, Clone, Copy, SqlType, QueryId)]
#[diesel(postgres_type(oid = 5038, array_oid = 5039))]
struct PgSnapshot;

impl FromSql<PgSnapshot, Pg> for Snapshot {
    /// Returns the number of those running, the lowest of them, the end, then each of them.
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        let raw = value.as_bytes().get(4..).unwrap_or_default().chunks_exact(8);
        let numbers: Result<Vec<u64>, _> = raw.map(|number| number.try_into().map(u64::from_be_bytes)).collect();
        let numbers = numbers?;
        let [_lowest, end, running @ ..] = numbers.as_slice() else { return Err("a snapshot ends early".into()) };
        Ok(Self { end: *end, running: running.to_vec() })
    }
}

/// The SQL type of the number of a transaction.
#[derive(Debug, Clone, Copy, SqlType, QueryId)]
#[diesel(postgres_type(oid = 5069, array_oid = 271))]
struct Xid8;

/// The number of a transaction.
#[derive(Debug, Clone, Copy, AsExpression, FromSqlRow)]
#[diesel(sql_type = Xid8)]
struct TransactionId(u64);

impl FromSql<Xid8, Pg> for TransactionId {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(u64::from_be_bytes(value.as_bytes().try_into()?)))
    }
}

impl ToSql<Xid8, Pg> for TransactionId {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        out.write_all(&self.0.to_be_bytes())?;
        Ok(IsNull::No)
    }
}

/// A position as a record of an array.
type PositionRecord = Record<(Instant, Id)>;

/// What is read of a feed when nothing is known of it.
#[derive(Debug, Clone, QueryId)]
struct LoadFeed {
    posts: NextPosts<FOLLOWED, true>,
    most_followed: i64,
}

impl Query for LoadFeed {
    type SqlType = (BigInt, PgSnapshot, Array<Id>, Nullable<Array<PositionRecord>>);
}

impl QueryFragment<Pg> for LoadFeed {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let Self { posts, most_followed } = self;
        out.push_sql("WITH f AS MATERIALIZED (SELECT followed_id FROM follows WHERE follower_id = ");
        out.push_bind_param::<Id, _>(&posts.user)?;
        out.push_sql(" LIMIT ");
        out.push_bind_param::<BigInt, _>(most_followed)?;
        out.push_sql(
            ") SELECT v.follow_version, pg_current_snapshot(), ARRAY(SELECT followed_id FROM f), \
            CASE WHEN (SELECT count(*) FROM f) < ",
        );
        out.push_bind_param::<BigInt, _>(most_followed)?;
        out.push_sql(" THEN ARRAY(SELECT ROW(k.created_at, k.id) FROM (");
        posts.walk_ast(out.reborrow())?;
        out.push_sql(") k) END FROM users v WHERE v.id = ");
        out.push_bind_param::<Id, _>(&posts.user)
    }
}

/// Reads the newest positions of a feed that have one of the visibilities, so many, and what they rest on; nothing when
/// the feed cannot be remembered.
pub(crate) async fn load_feed(
    conn: &mut Conn<'_>,
    viewer: DbId,
    visible: Visible,
    keys: usize,
) -> Outcome<Option<Loaded>> {
    type Row = (i64, Snapshot, Vec<DbId>, Option<Vec<(DbInstant, DbId)>>);
    let posts = NextPosts::new(viewer, visible, Slice::new(Toward::Older, None, keys));
    let load = LoadFeed { posts, most_followed: limit(MAX_FOLLOWED + 1) };
    let found: Option<Row> = load.get_result(conn).await.optional()?;
    let Some((version, snapshot, followed, Some(keys))) = found else { return Ok(None) };
    let keys = keys.into_iter().map(|(at, id)| keyset(at, id)).collect();
    Ok(Some(Loaded { version, snapshot, followed, keys }))
}

// What was not seen by a snapshot and is now was stored by a transaction that was running then, or that began later.
// Numbers above the end of the present one are of another database that this one was restored from.
statement! { ReadChanges { viewer: DbId, since: TransactionId, running: Vec<TransactionId>, most: i64 }
    -> (BigInt, PgSnapshot, Array<Record<(Xid8, Id, Instant, Id, SmallInt)>>):
    "SELECT v.follow_version, pg_current_snapshot(), ARRAY(\
        (SELECT ROW(p.transaction, p.author_id, p.created_at, p.id, p.visibility) FROM posts p \
        WHERE p.transaction >= " since as Xid8,
    " AND p.transaction < pg_snapshot_xmax(pg_current_snapshot()) LIMIT " most as BigInt,
    ") UNION ALL \
        (SELECT ROW(p.transaction, p.author_id, p.created_at, p.id, p.visibility) FROM posts p \
        WHERE p.transaction = ANY (" running as Array<Xid8>,
    ") LIMIT " most as BigInt, ")) FROM users v WHERE v.id = " viewer as Id
}

async fn changes(conn: &mut Conn<'_>, viewer: DbId, since: &Snapshot) -> Outcome<Changes> {
    type Row = (i64, Snapshot, Vec<(TransactionId, DbId, DbInstant, DbId, i16)>);
    let running = since.running.iter().copied().map(TransactionId).collect();
    let read = ReadChanges { viewer, since: TransactionId(since.end), running, most: limit(MAX_CHANGES) };
    let found: Option<Row> = read.get_result(conn).await.optional()?;
    let Some((version, now, posts)) = found else {
        return Ok(Changes { version: None, posts: Vec::new(), now: since.clone() });
    };
    let posts = posts.into_iter().map(|(TransactionId(transaction), author, at, id, visibility)| NewPost {
        transaction,
        author,
        key: keyset(at, id),
        visibility,
    });
    Ok(Changes { version: Some(version), posts: posts.collect(), now })
}

/// Reads the posts of a feed at some positions, and what has changed since a snapshot, in one round trip.
pub(crate) async fn read_with_changes(
    conn: &mut Conn<'_>,
    wanted: FeedQuery,
    keys: Vec<Keyset>,
    since: Snapshot,
) -> Outcome<(Changes, Vec<PostViewRow<AuthorRow>>)> {
    let (mut one, mut two) = (*conn, *conn);
    try_join(changes(&mut one, wanted.viewer, &since), queries::feeds::read(&mut two, wanted, keys)).await
}

//! Parts of lists of posts, and what cached feeds are built from: the next posts of each of many authors, and what a snapshot
//! of the database sees, in SQL that diesel cannot express. Each statement is prepared once on a connection.

use std::io::Write;

use agora_domain::accounts::Account;
use agora_domain::page::Keyset;
use agora_domain::posts::{PostView, Visibility};
use diesel::deserialize::FromSql;
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::pg::{Pg, PgValue};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::{IsNull, Output, ToSql};
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Record, SmallInt, SqlType};
use diesel::{
    ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, SelectableHelper, deserialize, dsl, serialize,
};
use futures_util::future::try_join;

use super::dialect::{Conn, RunQueryDsl, built};
use super::likers::{likers, with_likers};
use super::queries::views::{author_followed_by, bookmarked_by, liked_by, read_at, view};
use super::statement::statement;
use crate::account_filters::{DbViewer, push_is_account_deleted};
use crate::error::Outcome;
use crate::expression::expression;
use crate::feeds::{Changes, FeedQuery, Loaded, MAX_CHANGES, MAX_FOLLOWED, NewPost, Snapshot, limit};
use crate::rows::{After, AuthorRow, PostRow, Slice, Toward, UserRow, keyset};
use crate::schema::{posts, users};
use crate::sql_types::{DbId, DbInstant, Id, Instant};
use crate::values::{Visible, distinct, visible_codes};

/// Returns the condition that a post is not deleted, for statements about the posts of all authors.
pub(crate) fn in_timeline() -> dsl::IsNull<posts::deleted_at> {
    posts::deleted_at.is_null()
}

/// Selects the positions of the next posts from a position on, of some authors and with some visibilities. Up to the limit are
/// read from the index for each author and visibility, and up to the limit are returned in all. `OF` says who the authors are:
/// those whom a user follows, the user, or anybody.
#[derive(Debug, Clone, QueryId)]
struct NextPosts<const OF: u8, const OLDER: bool> {
    user: DbId,
    visible: Vec<i16>,
    slice: SliceSql<OLDER>,
}

impl<const OF: u8, const OLDER: bool> NextPosts<OF, OLDER> {
    fn new(user: DbId, visible: Visible, slice: Slice) -> Self {
        Self { user, visible: distinct(visible), slice: SliceSql::new(slice) }
    }
}

impl<const OF: u8, const OLDER: bool> Query for NextPosts<OF, OLDER> {
    type SqlType = (Instant, Id);
}

/// Whose posts are selected: the values of `OF`.
const FOLLOWED: u8 = 0;
const AUTHOR: u8 = 1;
const ANYBODY: u8 = 2;

/// The condition that a followed user is neither muted by the follower nor deleted.
const NOT_MUTED_OR_DELETED: &str = " AND NOT EXISTS (SELECT FROM mutes m WHERE m.muter_id = follows.follower_id AND m.muted_id = follows.followed_id) \
    AND NOT EXISTS (SELECT FROM erasures e WHERE e.user_id = follows.followed_id)";

impl<const OF: u8, const OLDER: bool> QueryFragment<Pg> for NextPosts<OF, OLDER> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT n.created_at, n.id FROM ");
        if OF == FOLLOWED {
            out.push_sql("(SELECT followed_id AS id FROM follows WHERE follower_id = ");
            out.push_bind_param::<Id, _>(&self.user)?;
            out.push_sql(NOT_MUTED_OR_DELETED);
            out.push_sql(") a CROSS JOIN ");
        }
        out.push_sql("unnest(");
        out.push_bind_param::<Array<SmallInt>, _>(&self.visible)?;
        out.push_sql(
            "::int2[]) v CROSS JOIN LATERAL (\
            SELECT p.created_at, p.id FROM posts p WHERE p.deleted_at IS NULL AND p.visibility = v AND ",
        );
        match OF {
            FOLLOWED => out.push_sql("p.author_id = a.id AND "),
            AUTHOR => {
                out.push_sql("p.author_id = ");
                out.push_bind_param::<Id, _>(&self.user)?;
                out.push_sql(" AND ");
            }
            _ => {
                out.push_sql("NOT ");
                push_is_account_deleted(&mut out, |mut out| {
                    out.push_sql("p.author_id");
                    Ok(())
                })?;
                out.push_sql(" AND ");
            }
        }
        self.slice.push_beyond(&mut out, ["p.created_at", "p.id"])?;
        self.slice.push_order_and_limit(&mut out, ["p.created_at", "p.id"])?;
        out.push_sql(") n ");
        self.slice.push_order_and_limit(&mut out, ["n.created_at", "n.id"])
    }
}

/// The SQL clauses of a slice: entries from a position on, older or newer ones, in order, up to a limit.
#[derive(Debug, Clone, QueryId)]
struct SliceSql<const OLDER: bool> {
    at: DbInstant,
    id: DbId,
    limit: i64,
}

impl<const OLDER: bool> SliceSql<OLDER> {
    fn new(Slice { after: After(at, id), limit, .. }: Slice) -> Self {
        Self { at, id, limit }
    }

    /// Writes the condition that columns are beyond the position.
    fn push_beyond<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>, [at, id]: [&str; 2]) -> QueryResult<()> {
        let (within, beyond) = if OLDER { (" <= ", " < ") } else { (" >= ", " > ") };
        out.push_sql(at);
        out.push_sql(within);
        out.push_bind_param::<Instant, _>(&self.at)?;
        for part in [" AND (", at, beyond] {
            out.push_sql(part);
        }
        out.push_bind_param::<Instant, _>(&self.at)?;
        for part in [" OR ", id, beyond] {
            out.push_sql(part);
        }
        out.push_bind_param::<Id, _>(&self.id)?;
        out.push_sql(") ");
        Ok(())
    }

    /// Writes the order and the limit.
    fn push_order_and_limit<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>, [at, id]: [&str; 2]) -> QueryResult<()> {
        let order = if OLDER { " DESC" } else { "" };
        for part in ["ORDER BY ", at, order, ", ", id, order, " LIMIT "] {
            out.push_sql(part);
        }
        out.push_bind_param::<BigInt, _>(&self.limit)
    }
}

/// The condition that `posts.id` is among the ids that a query selects. These are selected first, as an array: the server's
/// generic plan, which does not know the limit, would have joined all posts with their authors.
#[derive(Debug, Clone, QueryId)]
struct PostIdIn<Q>(Q);

impl<Q> ValidGrouping<()> for PostIdIn<Q> {
    type IsAggregate = is_aggregate::No;
}

expression! { [Q] PostIdIn<Q>: Bool, of posts::id }

impl<Q: QueryFragment<Pg>> QueryFragment<Pg> for PostIdIn<Q> {
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
                built($views.filter(PostIdIn(next)).order(order)).load($conn).await?
            }
            Toward::Newer => {
                let next = NextPosts::<$of, false>::new($user, $visible, $slice);
                let order = (posts::created_at.asc(), posts::id.asc());
                built($views.filter(PostIdIn(next)).order(order)).load($conn).await?
            }
        }
    };
}

/// Returns all posts.
pub(crate) async fn list_all(conn: &mut Conn<'_>, viewer: DbViewer, slice: Slice) -> Outcome<Vec<PostView<Account>>> {
    let views = posts::table.inner_join(users::table).select(view!(UserRow, viewer));
    let rows = load_next!(ANYBODY, viewer.id, visible_codes(&Visibility::ALL), slice, views, conn);
    with_likers(conn, rows, viewer, UserRow::account).await
}

/// Returns the posts of an author that have one of the visibilities.
pub(crate) async fn list_by_author(
    conn: &mut Conn<'_>,
    author: DbId,
    visible: Visible,
    viewer: DbViewer,
    slice: Slice,
) -> Outcome<Vec<PostView>> {
    let views = posts::table.inner_join(users::table).select(view!(AuthorRow, viewer));
    let rows = load_next!(AUTHOR, author, visible, slice, views, conn);
    with_likers(conn, rows, viewer, AuthorRow::author).await
}

/// Returns the positions of a feed from a position on, of posts with one of the visibilities.
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
    /// Reads the count of running transactions, the lowest of them (`xmin`), the end (`xmax`), then each of them. A replica does
    /// not list the running ones: there, none from the lowest on counts as seen. Elsewhere, if none runs, the lowest is the end.
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        let raw = value.as_bytes().get(4..).unwrap_or_default().chunks_exact(8);
        let numbers: Result<Vec<u64>, _> = raw.map(|number| number.try_into().map(u64::from_be_bytes)).collect();
        let numbers = numbers?;
        match numbers.as_slice() {
            [end, _] => Ok(Self { end: *end, running: Vec::new() }),
            [_, end, running @ ..] => Ok(Self { end: *end, running: running.to_vec() }),
            _ => Err("a snapshot ends early".into()),
        }
    }
}

/// The SQL type of the number of a transaction.
#[derive(Debug, Clone, Copy, SqlType, QueryId)]
#[diesel(postgres_type(oid = 5069, array_oid = 271))]
struct Xid8;

impl FromSql<Xid8, Pg> for u64 {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        Ok(Self::from_be_bytes(value.as_bytes().try_into()?))
    }
}

impl ToSql<Xid8, Pg> for u64 {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        out.write_all(&self.to_be_bytes())?;
        Ok(IsNull::No)
    }
}

/// A position as a record of an array.
type PositionRecord = Record<(Instant, Id)>;

/// Reads a feed of which nothing is cached.
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
        out.push_sql(NOT_MUTED_OR_DELETED);
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

/// Reads up to `keys` of the newest positions of a feed, of posts with one of the visibilities, and the state of the database
/// that they are based on. Returns `None` if the feed cannot be cached.
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

// Posts that a snapshot did not see and that are visible now were stored by a transaction that was running then or began later.
// Numbers above the end of the current snapshot are of another database that this one was restored from. The order, and the
// ranges where an equality would do, make the server use the index, however many posts it believes a transaction to have stored.
statement! { ReadChanges { viewer: DbId, since: u64, running: Vec<u64>, most: i64 }
    -> (BigInt, PgSnapshot, Array<Record<(Xid8, Id, Instant, Id, SmallInt)>>):
    "SELECT v.follow_version, pg_current_snapshot(), ARRAY(\
        (SELECT ROW(p.transaction, p.author_id, p.created_at, p.id, p.visibility) FROM posts p \
        WHERE p.transaction >= " since as Xid8,
    " AND p.transaction < pg_snapshot_xmax(pg_current_snapshot()) \
        ORDER BY p.transaction LIMIT " most as BigInt,
    ") UNION ALL \
        (SELECT ROW(p.transaction, p.author_id, p.created_at, p.id, p.visibility) FROM unnest(" running as Array<Xid8>,
    "::xid8[]) r CROSS JOIN LATERAL (SELECT * FROM posts p WHERE p.transaction >= r AND p.transaction <= r \
        ORDER BY p.transaction LIMIT " most as BigInt,
    ") p LIMIT " most as BigInt, ")) FROM users v WHERE v.id = " viewer as Id
}

async fn changes(conn: &mut Conn<'_>, viewer: DbId, since: &Snapshot) -> Outcome<Changes> {
    type Row = (i64, Snapshot, Vec<(u64, DbId, DbInstant, DbId, i16)>);
    let read = ReadChanges { viewer, since: since.end, running: since.running.clone(), most: limit(MAX_CHANGES) };
    let found: Option<Row> = read.get_result(conn).await.optional()?;
    let Some((version, now, posts)) = found else {
        return Ok(Changes { version: None, posts: Vec::new(), now: since.clone() });
    };
    let post = |(transaction, author, at, id, visibility)| {
        let key = keyset(at, id);
        NewPost { transaction, author, key, visibility }
    };
    Ok(Changes { version: Some(version), posts: posts.into_iter().map(post).collect(), now })
}

/// Reads the posts of a feed at some positions, and what has changed since a snapshot, in one round trip.
pub(crate) async fn read_with_changes(
    conn: &mut Conn<'_>,
    wanted: FeedQuery,
    keys: Vec<Keyset>,
    since: Snapshot,
) -> Outcome<(Changes, Vec<PostView>)> {
    let (mut one, mut two) = (*conn, *conn);
    try_join(changes(&mut one, wanted.viewer.id, &since), read_at(&mut two, wanted, keys)).await
}

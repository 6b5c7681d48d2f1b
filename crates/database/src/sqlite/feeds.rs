//! Parts of lists of posts, and what a feed is remembered from.

use agora_domain::accounts::Account;
use agora_domain::page::Keyset;
use agora_domain::posts::PostView;
use diesel::dsl::exists;
use diesel::expression::ValidGrouping;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::Bool;
use diesel::sqlite::Sqlite;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, NullableExpressionMethods, OptionalExtension, QueryDsl,
    QueryResult, SelectableHelper,
};

use super::dialect::{Conn, RunQueryDsl, built, post_in};
use super::likers::{coalesce, likers, with_likers};
use super::queries::load;
use super::queries::views::{author_followed_by, bookmarked_by, liked_by, load_in_order, read_at, view};
use crate::error::Outcome;
use crate::expression::expression;
use crate::feeds::{Changes, FeedQuery, Loaded, MAX_FOLLOWED, Snapshot, ids, limit};
use crate::rows::{After, AuthorRow, PostRow, Slice, Toward, UserRow, keyset};
use crate::schema::{follows, post_tags, posts, users};
use crate::sql_types::{DbId, DbInstant};
use crate::values::{Visible, VisiblePosts, distinct};

/// Returns all posts.
pub(crate) async fn list_all(conn: &mut Conn<'_>, viewer: DbId, slice: Slice) -> Outcome<Vec<PostView<Account>>> {
    let all = posts::table.inner_join(users::table).filter(posts::deleted_at.is_null());
    let rows = load!(all.select(view!(UserRow, viewer)), posts, slice, conn)?;
    with_likers(conn, rows, UserRow::account).await
}

/// Whether everybody may view a post: in the words of the index, which SQLite does not recognise in bound values.
#[derive(Debug, Clone, Copy, QueryId, ValidGrouping)]
struct IsPublic;

expression! { IsPublic: Bool, of posts::id }

impl QueryFragment<Sqlite> for IsPublic {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("(posts.visibility = 0 AND posts.deleted_at IS NULL)");
        Ok(())
    }
}

/// Returns the PUBLIC posts of all authors who are enabled.
pub(crate) async fn list_public(conn: &mut Conn<'_>, viewer: DbId, slice: Slice) -> Outcome<Vec<PostView>> {
    let public = posts::table.inner_join(users::table).filter(IsPublic).filter(users::enabled);
    let rows = load!(public.select(view!(AuthorRow, viewer)), posts, slice, conn)?;
    with_likers(conn, rows, AuthorRow::author).await
}

/// Returns the posts of an author that have one of the visibilities.
pub(crate) async fn list_by_author(
    conn: &mut Conn<'_>,
    author: DbId,
    visible: Visible,
    viewer: DbId,
    slice: Slice,
) -> Outcome<Vec<PostView>> {
    let mut found = Vec::new();
    for visibility in distinct(visible) {
        let of_author = posts::table
            .filter(posts::author_id.eq(author))
            .filter(posts::visibility.eq(visibility))
            .filter(posts::deleted_at.is_null())
            .select((posts::created_at, posts::id));
        let keys: Vec<(DbInstant, DbId)> = load!(of_author, posts, slice, conn)?;
        found.extend(keys.into_iter().map(|(at, id)| keyset(at, id)));
    }
    let found = ids(slice.first_of(found));
    let views = posts::table.inner_join(users::table).filter(post_in(found)).select(view!(AuthorRow, viewer));
    let rows = load_in_order!(views, slice.toward, conn);
    with_likers(conn, rows, AuthorRow::author).await
}

/// Returns the visible posts with a hashtag whose authors are enabled.
pub(crate) async fn list_by_tag(
    conn: &mut Conn<'_>,
    tag: String,
    VisiblePosts { viewer, followed, others }: VisiblePosts,
    slice: Slice,
) -> Outcome<Vec<PostView>> {
    let is = |visibility: i16| post_tags::visibility.eq(visibility);
    let is_one_of = |[one, two, three]: Visible| is(one).or(is(two)).or(is(three));
    let follow = follows::followed_id.eq(post_tags::author_id).and(follows::follower_id.eq(viewer));
    let of_followed = is_one_of(followed).and(exists(follows::table.filter(follow)));
    let tagged = post_tags::table
        .inner_join(posts::table.inner_join(users::table))
        .filter(post_tags::tag.eq(tag))
        .filter(post_tags::author_id.eq(viewer).or(is_one_of(others)).or(of_followed))
        .filter(users::enabled)
        .select(view!(AuthorRow, viewer));
    let rows = load!(tagged, post_tags, slice, conn)?;
    with_likers(conn, rows, AuthorRow::author).await
}

/// Loads the positions of a feed from one on that have a visibility, in a direction that the names of comparisons make
/// up: of each author followed so many, from the index.
macro_rules! load_positions {
    ($conn:ident, $viewer:ident, $visibility:ident, $slice:ident, $within:ident, $beyond:ident, $to:ident, $order:ident, $end:expr) => {{
        let Slice { after: After(instant, last), limit, .. } = $slice;
        let of_author = diesel::alias!(posts as of_author);
        let (at, id) = (of_author.field(posts::created_at), of_author.field(posts::id));
        let farthest_wanted = of_author
            .filter(of_author.field(posts::author_id).eq(follows::followed_id))
            .filter(of_author.field(posts::visibility).eq($visibility))
            .filter(of_author.field(posts::deleted_at).is_null())
            .filter(at.$within(instant).and(at.$beyond(instant).or(id.$beyond(last))))
            .order((at.$order(), id.$order()))
            .select(at.nullable())
            .limit(1)
            .offset(limit - 1)
            .single_value();
        let (at, id) = (posts::created_at, posts::id);
        follows::table
            .inner_join(posts::table.on(posts::author_id.eq(follows::followed_id)))
            .filter(follows::follower_id.eq($viewer))
            .filter(posts::visibility.eq($visibility))
            .filter(posts::deleted_at.is_null())
            .filter(at.$within(instant).and(at.$beyond(instant).or(id.$beyond(last))))
            .filter(at.$to(coalesce(farthest_wanted, $end)))
            .order((at.$order(), id.$order()))
            .limit(limit)
            .select((at, id))
            .load($conn)
            .await?
    }};
}

/// Returns the positions of a feed from one on that have one of the visibilities.
pub(crate) async fn feed_positions(
    conn: &mut Conn<'_>,
    viewer: DbId,
    visible: Visible,
    slice: Slice,
) -> Outcome<Vec<Keyset>> {
    let mut found = Vec::new();
    for visibility in distinct(visible) {
        let keys: Vec<(DbInstant, DbId)> = match slice.toward {
            Toward::Older => load_positions!(conn, viewer, visibility, slice, le, lt, ge, desc, DbInstant::MIN),
            Toward::Newer => load_positions!(conn, viewer, visibility, slice, ge, gt, le, asc, DbInstant::MAX),
        };
        found.extend(keys.into_iter().map(|(at, id)| keyset(at, id)));
    }
    Ok(slice.first_of(found))
}

async fn follow_version(conn: &mut Conn<'_>, viewer: DbId) -> Outcome<Option<i64>> {
    Ok(users::table.find(viewer).select(users::follow_version).get_result(conn).await.optional()?)
}

/// Reads the newest positions of a feed that have one of the visibilities, so many, and what they rest on; nothing when
/// the feed cannot be remembered.
pub(crate) async fn load_feed(
    conn: &mut Conn<'_>,
    viewer: DbId,
    visible: Visible,
    keys: usize,
) -> Outcome<Option<Loaded>> {
    let Some(version) = follow_version(conn, viewer).await? else { return Ok(None) };
    let followed: Vec<DbId> = follows::table
        .filter(follows::follower_id.eq(viewer))
        .select(follows::followed_id)
        .limit(limit(MAX_FOLLOWED + 1))
        .load(conn)
        .await?;
    if followed.len() > MAX_FOLLOWED {
        return Ok(None);
    }
    let keys = feed_positions(conn, viewer, visible, Slice::new(Toward::Older, None, keys)).await?;
    Ok(Some(Loaded { version, snapshot: Snapshot::default(), followed, keys }))
}

/// Reads the posts of a feed at some positions, and what has changed: this process, which stores all posts, announces each.
pub(crate) async fn read_with_changes(
    conn: &mut Conn<'_>,
    wanted: FeedQuery,
    keys: Vec<Keyset>,
    since: Snapshot,
) -> Outcome<(Changes, Vec<PostView>)> {
    let version = follow_version(conn, wanted.viewer).await?;
    let posts = read_at(conn, wanted, keys).await?;
    Ok((Changes { version, posts: Vec::new(), now: since }, posts))
}

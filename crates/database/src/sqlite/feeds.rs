//! Parts of lists of posts, and what cached feeds are built from.

use agora_domain::accounts::Account;
use agora_domain::page::Keyset;
use agora_domain::posts::{PostView, Visibility};
use diesel::dsl::{auto_type, exists, not};
use diesel::expression::ValidGrouping;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::Bool;
use diesel::sqlite::Sqlite;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, NullableExpressionMethods, OptionalExtension, QueryDsl,
    QueryResult, SelectableHelper,
};

use super::dialect::{Conn, RunQueryDsl, built, post_in};
use super::likers::{likers, with_likers};
use super::queries::load;
use super::queries::views::{author_followed_by, bookmarked_by, liked_by, load_in_order, read_at, view};
use crate::account_filters::{AccountDeleted, DbViewer, is_account_deleted};
use crate::error::Outcome;
use crate::expression::expression;
use crate::feeds::{Changes, FeedQuery, Loaded, MAX_FOLLOWED, Snapshot, ids, limit};
use crate::rows::{After, AuthorRow, PostRow, Slice, Toward, UserRow, keyset};
use crate::schema::{follows, mutes, posts, users};
use crate::sql_types::{DbId, DbInstant, coalesce};
use crate::values::{Visible, distinct, visible_codes};

/// The condition of the partial index on the posts of all authors, as it is spelled there: SQLite does not recognise it in bound
/// values.
#[derive(Debug, Clone, Copy, QueryId, ValidGrouping)]
pub(crate) struct InTimeline;

expression! { InTimeline: Bool, of posts::id }

impl QueryFragment<Sqlite> for InTimeline {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("(posts.deleted_at IS NULL AND posts.visibility >= 0)");
        Ok(())
    }
}

/// Returns the condition that a post is not deleted, for statements about the posts of all authors.
pub(crate) fn in_timeline() -> InTimeline {
    InTimeline
}

/// Returns the ids of a slice of posts with one of some visibilities. Up to the limit are read from the index for each of these.
macro_rules! positions {
    ($posts:expr, $visible:expr, $slice:expr, $conn:expr) => {{
        let mut found = Vec::new();
        for visibility in distinct($visible) {
            let these = $posts.filter(posts::visibility.eq(visibility));
            let keys: Vec<(DbInstant, DbId)> =
                load!(these.select((posts::created_at, posts::id)), posts, $slice, $conn)?;
            found.extend(keys.into_iter().map(|(at, id)| keyset(at, id)));
        }
        ids($slice.first_of(found))
    }};
}

/// Returns all posts.
pub(crate) async fn list_all(conn: &mut Conn<'_>, viewer: DbViewer, slice: Slice) -> Outcome<Vec<PostView<Account>>> {
    let found = positions!(
        posts::table.filter(in_timeline()).filter(not(is_account_deleted(posts::author_id))),
        visible_codes(&Visibility::ALL),
        slice,
        conn
    );
    let views = posts::table.inner_join(users::table).filter(post_in(found)).select(view!(UserRow, viewer));
    let rows = load_in_order!(views, slice.toward, conn);
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
    let of_author = || posts::table.filter(posts::author_id.eq(author)).filter(posts::deleted_at.is_null());
    let found = positions!(of_author(), visible, slice, conn);
    let views = posts::table.inner_join(users::table).filter(post_in(found)).select(view!(AuthorRow, viewer));
    let rows = load_in_order!(views, slice.toward, conn);
    with_likers(conn, rows, viewer, AuthorRow::author).await
}

/// The condition that a followed user is neither muted by the viewer nor deleted.
#[auto_type]
fn is_shown(viewer: DbId) -> _ {
    let mute = mutes::table.filter(mutes::muter_id.eq(viewer).and(mutes::muted_id.eq(follows::followed_id)));
    let is_deleted: AccountDeleted<follows::followed_id> = is_account_deleted(follows::followed_id);
    not(exists(mute)).and(not(is_deleted))
}

/// Loads the positions of a feed from a position on, of posts with one visibility, in the direction given by the names of the
/// comparisons. Up to the limit are read from the index for each followed author.
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
            .filter(is_shown($viewer))
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

/// Returns the positions of a feed from a position on, of posts with one of the visibilities.
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

/// Reads up to `keys` of the newest positions of a feed, of posts with one of the visibilities, and the state of the database
/// that they are based on. Returns `None` if the feed cannot be cached.
pub(crate) async fn load_feed(
    conn: &mut Conn<'_>,
    viewer: DbId,
    visible: Visible,
    keys: usize,
) -> Outcome<Option<Loaded>> {
    let Some(version) = follow_version(conn, viewer).await? else { return Ok(None) };
    let followed: Vec<DbId> = follows::table
        .filter(follows::follower_id.eq(viewer))
        .filter(is_shown(viewer))
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

/// Reads the posts of a feed at some positions, and its version. There are no new posts to read, since this process stores all
/// posts and announces each.
pub(crate) async fn read_with_changes(
    conn: &mut Conn<'_>,
    wanted: FeedQuery,
    keys: Vec<Keyset>,
    since: Snapshot,
) -> Outcome<(Changes, Vec<PostView>)> {
    let version = follow_version(conn, wanted.viewer.id).await?;
    let posts = read_at(conn, wanted, keys).await?;
    Ok((Changes { version, posts: Vec::new(), now: since }, posts))
}

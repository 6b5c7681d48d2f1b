//! What takes one statement on PostgreSQL, by the same names (`postgres/statements.rs`): here a query is a function call.

use std::collections::HashMap;

use agora_domain::Error;
use agora_domain::error::Resource;
use agora_domain::page::Keyset;
use agora_domain::posts::{Liker, SHOWN_LIKERS};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, NullableExpressionMethods, OptionalExtension, QueryDsl,
    SelectableHelper,
};

use super::dialect::{Conn, RunQueryDsl};
use super::post_in::post_in;
use super::queries;
use super::queries::load;
use super::queries::posts::{author_followed_by, liked_by, load_in_order, view};
use crate::error::{Failure, Outcome};
use crate::feeds::{Changes, FeedQuery, Loaded, MAX_FOLLOWED, Snapshot, ids, limit};
use crate::rows::{After, AuthorRow, CommentRow, LikerRow, PostRow, Slice, Toward, UserRow, keyset};
use crate::schema::{comments, follows, likes, posts, users};
use crate::sql_types::{DbId, DbInstant, Instant};
use crate::values::{LikeRow, PostViewRow, ViewRow, Visible, distinct};

diesel::define_sql_function! {
    /// Returns the first argument that is not null.
    fn coalesce(first: diesel::sql_types::Nullable<Instant>, otherwise: Instant) -> Instant;
}

/// What a view of a post says of its likers: how many there are.
pub(crate) type Likers = i64;

/// Returns the column of that.
pub(crate) fn likers() -> posts::like_count {
    posts::like_count
}

/// Completes views of posts by their newest likers.
pub(crate) async fn with_likers<A>(conn: &mut Conn<'_>, rows: Vec<ViewRow<A, Likers>>) -> Outcome<Vec<PostViewRow<A>>> {
    let liked: Vec<DbId> = rows.iter().filter(|row| row.like_count > 0).map(|row| row.post.id).collect();
    let mut likers = if liked.is_empty() { HashMap::new() } else { likers_of(conn, liked).await? };
    let seen = |row: ViewRow<A, Likers>| {
        let liked_by = likers.remove(&row.post.id).unwrap_or_default();
        row.liked_by(liked_by)
    };
    Ok(rows.into_iter().map(seen).collect())
}

/// Returns the newest likers of each post: of a post with many likes only the newest are read, from the index.
async fn likers_of(conn: &mut Conn<'_>, liked: Vec<DbId>) -> Outcome<HashMap<DbId, Vec<Liker>>> {
    let mut likers: HashMap<DbId, Vec<Liker>> = HashMap::with_capacity(liked.len());
    let newest = diesel::alias!(likes as newest);
    let oldest_shown = newest
        .filter(newest.field(likes::post_id).eq(posts::id))
        .order((newest.field(likes::created_at).desc(), newest.field(likes::id).desc()))
        .select(newest.field(likes::created_at).nullable())
        .limit(1)
        .offset(SHOWN_LIKERS as i64 - 1)
        .single_value();
    let found: Vec<(DbId, LikerRow)> = posts::table
        .inner_join(likes::table.on(likes::post_id.eq(posts::id)))
        .inner_join(users::table.on(users::id.eq(likes::user_id)))
        .filter(post_in(liked))
        .filter(likes::created_at.ge(coalesce(oldest_shown, DbInstant::MIN)))
        .order((posts::id, likes::created_at.desc(), likes::id.desc()))
        .select((posts::id, LikerRow::as_select()))
        .load(conn)
        .await?;
    for (post, row) in found {
        let shown = likers.entry(post).or_default();
        // Likes of the same instant as the oldest shown one come along.
        if shown.len() < SHOWN_LIKERS {
            shown.push(row.liker()?);
        }
    }
    Ok(likers)
}

/// Turns the like on if it is off, off if it is on.
pub(crate) async fn toggle_like(conn: &mut Conn<'_>, like: LikeRow) -> Outcome<bool> {
    let likes = queries::posts::insert_like(conn, like).await?;
    if !likes {
        queries::posts::delete_like(conn, like.post, like.user).await?;
    }
    Ok(likes)
}

/// Stores a comment, and counts it.
pub(crate) async fn insert_comment(conn: &mut Conn<'_>, row: CommentRow) -> Outcome<()> {
    let post = posts::table.find(row.post_id).filter(posts::deleted_at.is_null());
    let counted = diesel::update(post).set(posts::comment_count.eq(posts::comment_count + 1)).execute(conn).await?;
    if counted == 0 {
        return Err(Failure::Rule(Error::NotFound(Resource::Post)));
    }
    diesel::insert_into(comments::table).values(row).execute(conn).await?;
    Ok(())
}

/// Stores a post, of which its image is named from then on; its author.
pub(crate) async fn insert_post(conn: &mut Conn<'_>, row: PostRow) -> Outcome<AuthorRow> {
    let (author, image, at) = (row.author_id, row.image.clone(), row.created_at);
    let stored = diesel::insert_into(posts::table).values(row).execute(conn).await;
    stored.map_err(Failure::missing(Resource::User))?;
    queries::images::replace(conn, None, image.as_deref(), at).await?;
    Ok(users::table.find(author).select(AuthorRow::as_select()).get_result(conn).await?)
}

/// Returns views of all posts.
pub(crate) async fn views_of_all(
    conn: &mut Conn<'_>,
    viewer: DbId,
    slice: Slice,
) -> Outcome<Vec<ViewRow<UserRow, Likers>>> {
    let all = posts::table.inner_join(users::table).filter(posts::deleted_at.is_null());
    Ok(load!(all.select(view!(UserRow, viewer)), posts, slice, conn)?)
}

/// Returns views of an author's posts that have one of the visibilities.
pub(crate) async fn views_by_author(
    conn: &mut Conn<'_>,
    author: DbId,
    visible: Visible,
    viewer: DbId,
    slice: Slice,
) -> Outcome<Vec<ViewRow<AuthorRow, Likers>>> {
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
    Ok(load_in_order!(views, slice.toward, conn))
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
) -> Outcome<(Changes, Vec<PostViewRow<AuthorRow>>)> {
    let version = follow_version(conn, wanted.viewer).await?;
    let posts = queries::feeds::read(conn, wanted, keys).await?;
    Ok((Changes { version, posts: Vec::new(), now: since }, posts))
}

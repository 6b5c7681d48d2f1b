//! The state that decides who receives events.

use agora_domain::events::{CommentState, PostState};
use diesel::dsl::not;
use diesel::{ExpressionMethods, QueryDsl};

use super::hidden::hidden_thread;
use super::{Conn, RunQueryDsl, id_in, post_in};
use crate::account_filters::is_account_deleted;
use crate::error::Outcome;
use crate::rows::{StoredVisibility, count, shown_visibility};
use crate::schema::{blocks, comments, follows, mutes, posts, users};
use crate::sql_types::DbId;

/// Returns the state of the posts with these ids that exist.
pub(crate) async fn find_posts(conn: &mut Conn<'_>, ids: Vec<DbId>) -> Outcome<Vec<PostState>> {
    let found = posts::table.inner_join(users::table).filter(post_in(ids)).filter(posts::deleted_at.is_null());
    let found = found.filter(not(is_account_deleted(posts::author_id)));
    let visibility = (posts::visibility, posts::hidden_visibility);
    let found = found.select((posts::id, posts::author_id, users::enabled, visibility, posts::like_count));
    let found: Vec<(DbId, DbId, bool, StoredVisibility, i64)> = found.load(conn).await?;
    let state = |(id, author, is_author_enabled, (code, hidden), likes): (DbId, DbId, _, (_, _), _)| {
        let (visibility, is_hidden) = shown_visibility(code, hidden)?;
        let (id, author, like_count) = (id.0.into(), author.0.into(), count(likes));
        Ok(PostState { id, author, is_author_enabled, visibility, is_hidden, like_count })
    };
    found.into_iter().map(state).collect()
}

/// Returns the state of the comments with these ids that exist.
pub(crate) async fn find_comments(conn: &mut Conn<'_>, ids: Vec<DbId>) -> Outcome<Vec<CommentState>> {
    let found = comments::table.filter(id_in(comments::id, ids)).filter(not(is_account_deleted(comments::author_id)));
    let deciding = (comments::id, comments::author_id, comments::parent_id, comments::is_hidden, hidden_thread());
    type Deciding = (DbId, DbId, Option<DbId>, bool, Option<DbId>);
    let found: Vec<Deciding> = found.select(deciding).load(conn).await?;
    let state = |(id, author, parent, is_hidden, hidden_thread): Deciding| {
        let parent = parent.map(|parent| parent.0.into());
        let hidden_thread = hidden_thread.map(|author| author.0.into());
        CommentState { id: id.0.into(), author: author.0.into(), parent, is_hidden, hidden_thread }
    };
    Ok(found.into_iter().map(state).collect())
}

/// Returns the pairs of one of the users and one of the others with a block between them.
pub(crate) async fn find_blocks(
    conn: &mut Conn<'_>,
    users: Vec<DbId>,
    others: Vec<DbId>,
) -> Outcome<Vec<(DbId, DbId)>> {
    let these = blocks::table.filter(id_in(blocks::user_id, users));
    let these = these.filter(id_in(blocks::other_id, others));
    Ok(these.select((blocks::user_id, blocks::other_id)).load(conn).await?)
}

/// Returns the pairs of a muter and a muted user among the given ones.
pub(crate) async fn find_mutes(conn: &mut Conn<'_>, muters: Vec<DbId>, muted: Vec<DbId>) -> Outcome<Vec<(DbId, DbId)>> {
    let these = mutes::table.filter(id_in(mutes::muter_id, muters));
    let these = these.filter(id_in(mutes::muted_id, muted));
    Ok(these.select((mutes::muter_id, mutes::muted_id)).load(conn).await?)
}

/// Returns the pairs of a follower and a followed user among the given ones.
pub(crate) async fn find_follows(
    conn: &mut Conn<'_>,
    followers: Vec<DbId>,
    followed: Vec<DbId>,
) -> Outcome<Vec<(DbId, DbId)>> {
    let these = follows::table.filter(id_in(follows::follower_id, followers));
    let these = these.filter(id_in(follows::followed_id, followed));
    Ok(these.select((follows::follower_id, follows::followed_id)).load(conn).await?)
}

//! Users as others see them.

use std::collections::HashMap;

use diesel::dsl::not;
use diesel::sql_types::Bool;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, IntoSql, JoinOnDsl, OptionalExtension, QueryDsl, SelectableHelper,
};

use super::timelines::shown;
use super::{Conn, RunQueryDsl, built, id_in};
use crate::account_filters::{DbViewer, is_user_blocked_or_deleted};
use crate::error::Outcome;
use crate::people::{PersonRow, RelatedPerson};
use crate::rows::{After, Slice};
use crate::schema::{follows, users};
use crate::sql_types::{DbId, DbInstant};

/// The columns of a [`PersonRow`] as `viewer` sees it.
macro_rules! person {
    ($viewer:expr) => {{
        use $crate::counted::{CounterSum, FollowedCount, FollowerCount, PostCounts};
        use $crate::schema::{blocks, follows, mutes};

        const POSTS: PostCounts = (CounterSum, CounterSum, CounterSum);
        const FOLLOWED: FollowedCount = CounterSum;
        const FOLLOWERS: FollowerCount = CounterSum;
        let viewer: $crate::sql_types::DbId = $viewer;
        let (to, from) = diesel::alias!(follows as to_user, follows as from_user);
        let follower = to.field(follows::follower_id).eq(viewer);
        let following = diesel::dsl::exists(to.filter(follower.and(to.field(follows::followed_id).eq(users::id))));
        let followed = from.field(follows::followed_id).eq(viewer);
        let followed_by =
            diesel::dsl::exists(from.filter(from.field(follows::follower_id).eq(users::id).and(followed)));
        let (to, from, heard) = diesel::alias!(blocks as block_of, blocks as block_by, mutes as mute_of);
        let blocker = to.field(blocks::user_id).eq(viewer).and(to.field(blocks::id).is_not_null());
        let blocking = diesel::dsl::exists(to.filter(blocker.and(to.field(blocks::other_id).eq(users::id))));
        let blocked = from.field(blocks::other_id).eq(viewer).and(from.field(blocks::id).is_not_null());
        let blocked_by = diesel::dsl::exists(from.filter(from.field(blocks::user_id).eq(users::id).and(blocked)));
        let muter = heard.field(mutes::muter_id).eq(viewer);
        let muting = diesel::dsl::exists(heard.filter(muter.and(heard.field(mutes::muted_id).eq(users::id))));
        let relationship = (following, followed_by, blocking, blocked_by, muting);
        ($crate::people::ProfileRow::as_select(), POSTS, FOLLOWED, FOLLOWERS, relationship)
    }};
}

pub(crate) use person;

pub(crate) async fn find(conn: &mut Conn<'_>, id: DbId, viewer: DbId) -> Outcome<Option<PersonRow>> {
    let person = users::table.filter(users::id.eq(id)).filter(not(users::is_deleted)).select(person!(viewer));
    Ok(built(person).get_result(conn).await.optional()?)
}

pub(crate) async fn find_by_username(conn: &mut Conn<'_>, key: String, viewer: DbId) -> Outcome<Option<PersonRow>> {
    let person = users::table.filter(users::username_key.eq(key)).select(person!(viewer));
    Ok(built(person).get_result(conn).await.optional()?)
}

pub(crate) async fn find_all(conn: &mut Conn<'_>, ids: Vec<DbId>, viewer: DbId) -> Outcome<Vec<PersonRow>> {
    let found = users::table.filter(id_in(users::id, ids)).filter(not(users::is_deleted));
    Ok(built(found.select(person!(viewer))).load(conn).await?)
}

/// Returns the accounts with these ids that are enabled and discoverable. A viewer who sees everything also gets those that are
/// not discoverable.
pub(crate) async fn find_discoverable(
    conn: &mut Conn<'_>,
    ids: Vec<DbId>,
    viewer: DbViewer,
) -> Outcome<Vec<PersonRow>> {
    let found = users::table.filter(id_in(users::id, ids));
    let found = found.filter(users::enabled.and(viewer.sees_all.into_sql::<Bool>().or(users::discoverable)));
    let found = found.filter(not(is_user_blocked_or_deleted(viewer)));
    Ok(built(found.select(person!(viewer.id))).load(conn).await?)
}

pub(crate) async fn list_discoverable(conn: &mut Conn<'_>, viewer: DbViewer, slice: Slice) -> Outcome<Vec<PersonRow>> {
    let found =
        users::table.filter(users::enabled.and(users::discoverable)).filter(not(is_user_blocked_or_deleted(viewer)));
    let found = found.select(person!(viewer.id));
    Ok(super::load!(found, users, slice, conn)?)
}

/// Returns at most `most` of the followers of a user in a slice who are shown, and where the next part begins. Any number of
/// followers may be disabled.
pub(crate) async fn list_followers(
    conn: &mut Conn<'_>,
    user: DbId,
    viewer: DbViewer,
    slice: Slice,
    most: usize,
) -> Outcome<(Vec<RelatedPerson>, Option<After>)> {
    let is_enabled = users::enabled.or(viewer.sees_all.into_sql::<Bool>());
    let followers = follows::table
        .inner_join(users::table.on(users::id.eq(follows::follower_id)))
        .filter(follows::followed_id.eq(user))
        .select((follows::created_at, follows::id, users::id, is_enabled.and(not(is_user_blocked_or_deleted(viewer)))));
    let followers: Vec<(DbInstant, DbId, DbId, bool)> = super::load!(followers, follows, slice, conn)?;
    let (followers, rest) = shown(followers, |follower| (After(follower.0, follower.1), follower.3), slice, most);
    let ids = followers.iter().map(|follower| follower.2).collect();
    let people = find_all(conn, ids, viewer.id).await?;
    let mut people: HashMap<_, _> = people.into_iter().map(|person| (person.user.id, person)).collect();
    let related = |(at, id, follower, _)| people.remove(&follower).map(|person| (at, id, person));
    Ok((followers.into_iter().filter_map(related).collect(), rest))
}

pub(crate) async fn list_followed(
    conn: &mut Conn<'_>,
    user: DbId,
    viewer: DbViewer,
    slice: Slice,
) -> Outcome<Vec<RelatedPerson>> {
    let followed = follows::table
        .inner_join(users::table.on(users::id.eq(follows::followed_id)))
        .filter(follows::follower_id.eq(user))
        .filter(users::enabled.or(viewer.sees_all.into_sql::<Bool>()))
        .filter(not(is_user_blocked_or_deleted(viewer)))
        .select((follows::created_at, follows::id, person!(viewer.id)));
    Ok(super::load!(followed, follows, slice, conn)?)
}

//! Users as others see them.

use diesel::dsl::exists;
use diesel::sql_types::Bool;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, IntoSql, JoinOnDsl, OptionalExtension, QueryDsl, SelectableHelper,
};

use super::{Conn, RunQueryDsl, built, id_in};
use crate::counted::{Counted, FollowedCounted, FollowersCounted, PostsCounted};
use crate::error::Outcome;
use crate::people::{PersonRow, RelatedPerson};
use crate::rows::Slice;
use crate::schema::{follows, users};
use crate::sql_types::DbId;

/// The columns of a [`PersonRow`] as `viewer` sees it.
macro_rules! person {
    ($viewer:expr) => {{
        const POSTS: PostsCounted = (Counted, Counted, Counted);
        const FOLLOWED: FollowedCounted = Counted;
        const FOLLOWERS: FollowersCounted = Counted;
        let (to, from) = diesel::alias!(follows as to_user, follows as from_user);
        let follower = to.field(follows::follower_id).eq($viewer);
        let following = exists(to.filter(follower.and(to.field(follows::followed_id).eq(users::id))));
        let followed = from.field(follows::followed_id).eq($viewer);
        let followed_by = exists(from.filter(from.field(follows::follower_id).eq(users::id).and(followed)));
        (crate::people::ProfileRow::as_select(), POSTS, FOLLOWED, FOLLOWERS, following, followed_by)
    }};
}

pub(crate) async fn find(conn: &mut Conn<'_>, id: DbId, viewer: DbId) -> Outcome<Option<PersonRow>> {
    let person = users::table.filter(users::id.eq(id)).select(person!(viewer));
    Ok(built(person).get_result(conn).await.optional()?)
}

pub(crate) async fn find_by_username(conn: &mut Conn<'_>, key: String, viewer: DbId) -> Outcome<Option<PersonRow>> {
    let person = users::table.filter(users::username_key.eq(key)).select(person!(viewer));
    Ok(built(person).get_result(conn).await.optional()?)
}

pub(crate) async fn find_all(conn: &mut Conn<'_>, ids: Vec<DbId>, viewer: DbId) -> Outcome<Vec<PersonRow>> {
    Ok(built(users::table.filter(id_in(users::id, ids)).select(person!(viewer))).load(conn).await?)
}

/// Returns those of some accounts that are discoverable and enabled; all of them if so asked.
pub(crate) async fn find_discoverable(
    conn: &mut Conn<'_>,
    ids: Vec<DbId>,
    viewer: DbId,
    sees_all: bool,
) -> Outcome<Vec<PersonRow>> {
    let found = users::table.filter(id_in(users::id, ids));
    let found = found.filter(users::enabled.and(sees_all.into_sql::<Bool>().or(users::discoverable)));
    Ok(built(found.select(person!(viewer))).load(conn).await?)
}

pub(crate) async fn list_discoverable(conn: &mut Conn<'_>, viewer: DbId, slice: Slice) -> Outcome<Vec<PersonRow>> {
    let found = users::table.filter(users::enabled.and(users::discoverable)).select(person!(viewer));
    Ok(super::load!(found, users, slice, conn)?)
}

pub(crate) async fn list_followers(
    conn: &mut Conn<'_>,
    user: DbId,
    viewer: DbId,
    with_disabled: bool,
    slice: Slice,
) -> Outcome<Vec<RelatedPerson>> {
    let followers = follows::table
        .inner_join(users::table.on(users::id.eq(follows::follower_id)))
        .filter(follows::followed_id.eq(user))
        .filter(users::enabled.or(with_disabled.into_sql::<Bool>()))
        .select((follows::created_at, follows::id, person!(viewer)));
    Ok(super::load!(followers, follows, slice, conn)?)
}

pub(crate) async fn list_followed(
    conn: &mut Conn<'_>,
    user: DbId,
    viewer: DbId,
    with_disabled: bool,
    slice: Slice,
) -> Outcome<Vec<RelatedPerson>> {
    let followed = follows::table
        .inner_join(users::table.on(users::id.eq(follows::followed_id)))
        .filter(follows::follower_id.eq(user))
        .filter(users::enabled.or(with_disabled.into_sql::<Bool>()))
        .select((follows::created_at, follows::id, person!(viewer)));
    Ok(super::load!(followed, follows, slice, conn)?)
}

use agora_domain::page::Keyset;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, NullableExpressionMethods, OptionalExtension, QueryDsl,
};

use super::{Conn, RunQueryDsl, posts::list_at, queries};
use crate::{
    error::Outcome,
    feeds::{Changes, Loaded, MAX_FOLLOWED, Snapshot, Source, Wanted, ids, limit},
    rows::{AuthorRow, Slice, keyset},
    schema::{follows, posts, users},
    sql_types::{DbId, DbInstant},
    sqlite::{Sqlite, complete},
    values::Seen,
};

/// All posts are stored by this process, which announces each.
impl Source for Sqlite {
    fn epoch(&self) -> u64 {
        0
    }

    async fn load(&self, viewer: DbId, keys: usize) -> Outcome<Option<Loaded>> {
        Ok(Self::read(self, move |conn| complete(load(conn, viewer, keys))).await?)
    }

    async fn older(&self, viewer: DbId, slice: Slice) -> Outcome<Vec<Keyset>> {
        Ok(Self::read(self, move |conn| complete(older(conn, viewer, slice))).await?)
    }

    async fn read(&self, wanted: &Wanted, keys: Vec<Keyset>) -> Outcome<Vec<Seen<AuthorRow>>> {
        let Wanted { viewer, visible, limit: most } = *wanted;
        Ok(Self::read(self, move |conn| complete(list_at(conn, viewer, visible, ids(keys), limit(most)))).await?)
    }

    async fn read_with_changes(
        &self,
        wanted: &Wanted,
        keys: Vec<Keyset>,
        since: &Snapshot,
    ) -> Outcome<(Changes, Vec<Seen<AuthorRow>>)> {
        let Wanted { viewer, visible, limit: most } = *wanted;
        let read = move |conn: &mut Conn| {
            let version = complete(version(conn, viewer))?;
            Ok((version, complete(list_at(conn, viewer, visible, ids(keys), limit(most)))?))
        };
        let (version, posts) = Self::read(self, read).await?;
        Ok((Changes { version, posts: Vec::new(), now: since.clone() }, posts))
    }
}

async fn version(conn: &mut Conn, viewer: DbId) -> Outcome<Option<i64>> {
    Ok(users::table.find(viewer).select(users::follow_version).get_result(conn).await.optional()?)
}

async fn load(conn: &mut Conn, viewer: DbId, keys: usize) -> Outcome<Option<Loaded>> {
    let Some(version) = version(conn, viewer).await? else { return Ok(None) };
    let followed: Vec<DbId> = follows::table
        .filter(follows::follower_id.eq(viewer))
        .select(follows::followed_id)
        .limit(limit(MAX_FOLLOWED + 1))
        .load(conn)
        .await?;
    if followed.len() > MAX_FOLLOWED {
        return Ok(None);
    }
    let keys = older(conn, viewer, Slice::newest_after(None, keys)).await?;
    Ok(Some(Loaded { version, snapshot: Snapshot::default(), followed, keys }))
}

/// The positions of a feed from one on: of each author followed the newest so many, from the index.
pub(super) async fn older(conn: &mut Conn, viewer: DbId, slice: Slice) -> Outcome<Vec<Keyset>> {
    let newest = diesel::alias!(posts as newest);
    let oldest_wanted = newest
        .filter(newest.field(posts::author_id).eq(follows::followed_id))
        .filter(
            newest
                .field(posts::created_at)
                .le(slice.after.0)
                .and(newest.field(posts::created_at).lt(slice.after.0).or(newest.field(posts::id).lt(slice.after.1))),
        )
        .order((newest.field(posts::created_at).desc(), newest.field(posts::id).desc()))
        .select(newest.field(posts::created_at).nullable())
        .limit(1)
        .offset(slice.limit - 1)
        .single_value();
    let keys: Vec<(DbInstant, DbId)> = follows::table
        .inner_join(posts::table.on(posts::author_id.eq(follows::followed_id)))
        .filter(follows::follower_id.eq(viewer))
        .filter(queries::older!(posts, slice.after))
        .filter(posts::created_at.ge(queries::posts::coalesce(oldest_wanted, DbInstant::MIN)))
        .order((posts::created_at.desc(), posts::id.desc()))
        .limit(slice.limit)
        .select((posts::created_at, posts::id))
        .load(conn)
        .await?;
    Ok(keys.into_iter().map(|(at, id)| keyset(at, id)).collect())
}

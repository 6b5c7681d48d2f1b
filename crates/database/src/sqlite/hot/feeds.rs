use agora_domain::page::Keyset;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, NullableExpressionMethods, OptionalExtension, QueryDsl,
};

use super::{Conn, RunQueryDsl, posts::list_at, queries};
use crate::{
    error::Outcome,
    feeds::{Changes, Feeds, Loaded, MAX_FOLLOWED, Mark, Source},
    rows::{AuthorRow, Slice, keyset},
    schema::{follows, posts, users},
    sql_types::{DbId, DbInstant},
    sqlite::{Sqlite, complete},
    values::{Seen, Visible},
};

/// The feeds of a SQLite database, all of whose posts are stored by this process.
pub(crate) struct FeedSource<'a> {
    pub(crate) database: &'a Sqlite,
    pub(crate) feeds: &'a Feeds,
}

fn limit(of: usize) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}

impl Source for FeedSource<'_> {
    fn epoch(&self) -> u64 {
        0
    }

    async fn load(&self, viewer: DbId, keys: usize) -> Outcome<Option<Loaded>> {
        // Before the read begins: what is announced from here on may be missing in it.
        let mark = self.feeds.announced();
        let loaded = self.database.read(move |conn| complete(load(conn, viewer, keys, mark))).await;
        Ok(loaded?)
    }

    async fn older(&self, viewer: DbId, slice: Slice) -> Outcome<Vec<Keyset>> {
        Ok(self.database.read(move |conn| complete(older(conn, viewer, slice))).await?)
    }

    async fn read(
        &self,
        viewer: DbId,
        visible: Visible,
        keys: Vec<Keyset>,
        posts: usize,
        since: Mark,
    ) -> Outcome<(Changes, Vec<Seen<AuthorRow>>)> {
        let ids = keys.into_iter().map(|key| DbId(key.id)).collect();
        let read = move |conn: &mut Conn| {
            let version = complete(version(conn, viewer))?;
            Ok((version, complete(list_at(conn, viewer, visible, ids, limit(posts)))?))
        };
        let (version, posts) = self.database.read(read).await?;
        // What was announced up to there is taken in already.
        Ok((Changes { version, posts: Vec::new(), to: since }, posts))
    }
}

async fn version(conn: &mut Conn, viewer: DbId) -> Outcome<Option<i64>> {
    Ok(users::table.find(viewer).select(users::follow_version).get_result(conn).await.optional()?)
}

async fn load(conn: &mut Conn, viewer: DbId, keys: usize, mark: Mark) -> Outcome<Option<Loaded>> {
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
    Ok(Some(Loaded { version, mark, followed, keys }))
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

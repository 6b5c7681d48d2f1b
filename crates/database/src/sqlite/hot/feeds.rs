use agora_domain::page::Keyset;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, NullableExpressionMethods, OptionalExtension, QueryDsl,
};

use super::posts::list_at;
use super::{Conn, RunQueryDsl, queries};
use crate::error::Outcome;
use crate::feeds::{Changes, FeedQuery, Loaded, MAX_FOLLOWED, Snapshot, Source, limit};
use crate::rows::{After, AuthorRow, Slice, Toward, keyset};
use crate::schema::{follows, posts, users};
use crate::sql_types::{DbId, DbInstant};
use crate::sqlite::{Sqlite, complete};
use crate::values::{PostViewRow, Visible, distinct};

/// All posts are stored by this process, which announces each.
impl Source for Sqlite {
    fn epoch(&self) -> u64 {
        0
    }

    async fn load(&self, viewer: DbId, visible: Visible, keys: usize) -> Outcome<Option<Loaded>> {
        Ok(Self::list(self, move |conn| complete(load(conn, viewer, visible, keys))).await?)
    }

    async fn positions(&self, viewer: DbId, visible: Visible, slice: Slice) -> Outcome<Vec<Keyset>> {
        Ok(Self::list(self, move |conn| complete(positions(conn, viewer, visible, slice))).await?)
    }

    async fn read(&self, wanted: FeedQuery, keys: Vec<Keyset>) -> Outcome<Vec<PostViewRow<AuthorRow>>> {
        Ok(Self::list(self, move |conn| complete(list_at(conn, wanted, keys))).await?)
    }

    async fn read_with_changes(
        &self,
        wanted: FeedQuery,
        keys: Vec<Keyset>,
        since: &Snapshot,
    ) -> Outcome<(Changes, Vec<PostViewRow<AuthorRow>>)> {
        let read = move |conn: &mut Conn| {
            let version = complete(version(conn, wanted.viewer))?;
            Ok((version, complete(list_at(conn, wanted, keys))?))
        };
        let (version, posts) = Self::list(self, read).await?;
        Ok((Changes { version, posts: Vec::new(), now: since.clone() }, posts))
    }
}

async fn version(conn: &mut Conn, viewer: DbId) -> Outcome<Option<i64>> {
    Ok(users::table.find(viewer).select(users::follow_version).get_result(conn).await.optional()?)
}

async fn load(conn: &mut Conn, viewer: DbId, visible: Visible, keys: usize) -> Outcome<Option<Loaded>> {
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
    let keys = positions(conn, viewer, visible, Slice::new(Toward::Older, None, keys)).await?;
    Ok(Some(Loaded { version, snapshot: Snapshot::default(), followed, keys }))
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
            .filter(at.$to(queries::posts::coalesce(farthest_wanted, $end)))
            .order((at.$order(), id.$order()))
            .limit(limit)
            .select((at, id))
            .load($conn)
            .await?
    }};
}

/// Returns the positions of a feed from one on that have one of the visibilities.
pub(super) async fn positions(conn: &mut Conn, viewer: DbId, visible: Visible, slice: Slice) -> Outcome<Vec<Keyset>> {
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

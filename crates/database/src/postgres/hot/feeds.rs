use agora_domain::page::Keyset;
use bytes::{BufMut, BytesMut};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::posts::{SEEN_AT, seen};
use super::{BothWays, Columns, records};
use crate::error::Outcome;
use crate::feeds::{Changes, FeedQuery, Loaded, MAX_CHANGES, MAX_FOLLOWED, NewPost, Snapshot, Source, ids, limit};
use crate::postgres::Postgres;
use crate::postgres::pipeline::{PreparedSql, Values};
use crate::postgres::records::Records;
use crate::rows::{After, AuthorRow, Slice, Toward, keyset};
use crate::sql_types::{DbId, DbInstant};
use crate::values::{PostViewRow, Visible, distinct};

type Converted<T> = Result<T, Box<dyn std::error::Error + Sync + Send>>;

/// The number of a transaction.
struct Transaction(u64);

impl FromSql<'_> for Transaction {
    fn from_sql(_: &Type, raw: &[u8]) -> Converted<Self> {
        Ok(Self(u64::from_be_bytes(raw.try_into()?)))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::XID8
    }
}

impl ToSql for Transaction {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Converted<IsNull> {
        out.put_u64(self.0);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::XID8
    }

    to_sql_checked!();
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl FromSql<'_> for Snapshot {
    /// Returns the number of those running, the lowest of them, the end, then each of them.
    fn from_sql(_: &Type, raw: &[u8]) -> Converted<Self> {
        let numbers =
            raw.get(4..).unwrap_or_default().chunks_exact(8).map(|number| Ok(u64::from_be_bytes(number.try_into()?)));
        let numbers: Vec<u64> = numbers.collect::<Converted<_>>()?;
        let [_lowest, end, running @ ..] = numbers.as_slice() else { return Err("a snapshot ends early".into()) };
        Ok(Self { end: *end, running: running.to_vec() })
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::PG_SNAPSHOT
    }
}

/// The positions of a feed from `($2, $3)` on, `$4` of them: of each author followed by `$1` the next so many of each of
/// the visibilities `$5`.
macro_rules! positions {
    ($than:literal, $order:literal) => {
        concat!(
            "SELECT n.created_at, n.id FROM follows f CROSS JOIN unnest($5) v CROSS JOIN LATERAL (\
                SELECT p.created_at, p.id FROM posts p \
                WHERE p.author_id = f.followed_id AND p.visibility = v AND p.deleted_at IS NULL AND p.created_at ",
            concat!($than, "= $2 AND (p.created_at ", $than, " $2 OR p.id ", $than, " $3) "),
            concat!("ORDER BY p.created_at", $order, ", p.id", $order, " LIMIT $4"),
            ") n WHERE f.follower_id = $1 ",
            concat!("ORDER BY n.created_at", $order, ", n.id", $order, " LIMIT $4")
        )
    };
}

pub(super) static LOAD: PreparedSql = PreparedSql {
    sql: concat!(
        "SELECT v.follow_version, pg_current_snapshot(), \
            ARRAY(SELECT f.followed_id FROM follows f WHERE f.follower_id = $1 LIMIT $6), \
            CASE WHEN (SELECT count(*) FROM (SELECT FROM follows f WHERE f.follower_id = $1 LIMIT $6) c) < $6 \
            THEN ARRAY(SELECT ROW(k.created_at, k.id) FROM (",
        positions!("<", " DESC"),
        ") k) END FROM users v WHERE v.id = $1"
    ),
    types: &[Type::UUID, Type::TIMESTAMPTZ, Type::UUID, Type::INT8, Type::INT2_ARRAY, Type::INT8],
};

pub(super) static POSITIONS: BothWays =
    both_ways!(positions, &[Type::UUID, Type::TIMESTAMPTZ, Type::UUID, Type::INT8, Type::INT2_ARRAY]);

// What was not seen by a snapshot and is now was stored by a transaction that was running then, or that began later.
// Numbers above the end of the present one are of another database that this one was restored from.
pub(super) static CHANGES: PreparedSql = PreparedSql {
    sql: "SELECT v.follow_version, pg_current_snapshot(), ARRAY(\
            (SELECT ROW(p.transaction, p.author_id, p.created_at, p.id, p.visibility) FROM posts p \
            WHERE p.transaction >= $2 AND p.transaction < pg_snapshot_xmax(pg_current_snapshot()) LIMIT $4) \
            UNION ALL \
            (SELECT ROW(p.transaction, p.author_id, p.created_at, p.id, p.visibility) FROM posts p \
            WHERE p.transaction = ANY ($3) LIMIT $4)\
        ) FROM users v WHERE v.id = $1",
    types: &[Type::UUID, Type::XID8, Type::XID8_ARRAY, Type::INT8],
};

fn followed(row: &Row) -> Outcome<Option<Loaded>> {
    let mut columns = Columns::of(row);
    let (version, snapshot, followed) = (columns.take()?, columns.take()?, columns.take()?);
    let Some(keys) = columns.take::<Option<Records<'_>>>()? else { return Ok(None) };
    let keys = records(&keys, |fields| Ok(keyset(fields.take()?, fields.take()?)))?;
    Ok(Some(Loaded { version, snapshot, followed, keys }))
}

impl Source for Postgres {
    fn epoch(&self) -> u64 {
        // Each only grows.
        self.lists.lost() + self.exclusive.lost()
    }

    async fn load(&self, viewer: DbId, visible: Visible, keys: usize) -> Outcome<Option<Loaded>> {
        let Slice { after: After(at, id), limit: keys, .. } = Slice::new(Toward::Older, None, keys);
        // It takes longer the more authors are followed, and nobody is to wait behind it.
        let values: Values<'_> = &[&viewer, &at, &id, &keys, &distinct(visible), &limit(MAX_FOLLOWED + 1)];
        let rows = self.exclusive.query(&LOAD, values).await?;
        rows.first().map(followed).transpose().map(Option::flatten)
    }

    async fn positions(&self, viewer: DbId, visible: Visible, slice: Slice) -> Outcome<Vec<Keyset>> {
        let Slice { toward, after: After(at, id), limit } = slice;
        let values: Values<'_> = &[&viewer, &at, &id, &limit, &distinct(visible)];
        let rows = self.exclusive.query(POSITIONS.toward(toward), values).await?;
        let key = |row: &Row| {
            let mut columns = Columns::of(row);
            Ok(keyset(columns.take::<DbInstant>()?, columns.take()?))
        };
        rows.iter().map(key).collect()
    }

    async fn read(&self, wanted: FeedQuery, keys: Vec<Keyset>) -> Outcome<Vec<PostViewRow<AuthorRow>>> {
        let posts_at = ids(keys);
        let FeedQuery { viewer, visible: [one, two, three], toward, limit: most } = &wanted;
        let values: Values<'_> = &[viewer, &posts_at, one, two, three, &limit(*most)];
        let posts = self.lists.query(SEEN_AT.toward(*toward), values).await?;
        posts.iter().map(seen).collect()
    }

    async fn read_with_changes(
        &self,
        wanted: FeedQuery,
        keys: Vec<Keyset>,
        since: &Snapshot,
    ) -> Outcome<(Changes, Vec<PostViewRow<AuthorRow>>)> {
        let posts_at = ids(keys);
        let FeedQuery { viewer, visible: [one, two, three], toward, limit: most } = &wanted;
        let running: Vec<_> = since.running.iter().copied().map(Transaction).collect();
        let [changes, posts] = self
            .lists
            .query_both([
                (&CHANGES, &[viewer, &Transaction(since.end), &running, &limit(MAX_CHANGES)]),
                (SEEN_AT.toward(*toward), &[viewer, &posts_at, one, two, three, &limit(*most)]),
            ])
            .await?;
        let changes = match changes.first() {
            Some(row) => changed(row)?,
            None => Changes { version: None, posts: Vec::new(), now: since.clone() },
        };
        Ok((changes, posts.iter().map(seen).collect::<Outcome<_>>()?))
    }
}

fn changed(row: &Row) -> Outcome<Changes> {
    let mut columns = Columns::of(row);
    let (version, now) = (columns.take()?, columns.take()?);
    let posts = records(&columns.take::<Records<'_>>()?, |fields| {
        let (Transaction(transaction), author) = (fields.take()?, fields.take()?);
        let key = keyset(fields.take()?, fields.take()?);
        Ok(NewPost { transaction, author, key, visibility: fields.take()? })
    })?;
    Ok(Changes { version: Some(version), posts, now })
}

//! Names and addresses of deleted accounts, which are not given out for a while.

use agora_domain::Error;
use agora_domain::error::Conflict;
use diesel::dsl::exists;
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Conn, RunQueryDsl, id_in};
use crate::error::{Failure, Outcome};
use crate::schema::{KeptNameRecord, kept_names};
use crate::sql_types::{DbId, DbInstant};

/// A name that an account has, by the key under which it is unique.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name<'a> {
    Username(&'a str),
    Email(&'a str),
}

impl Name<'_> {
    /// Returns what is kept of it: who knows a name can tell whether it is kept, and nobody else what it is.
    fn digest(self) -> DbId {
        let (kind, key) = match self {
            Self::Username(key) => ("username", key),
            Self::Email(key) => ("email", key),
        };
        let digest = Sha256::new().chain_update(kind).chain_update([0]).chain_update(key).finalize();
        // Half of it is more than any two names have in common.
        DbId(Uuid::from_bytes(std::array::from_fn(|n| digest[n])))
    }
}

/// Keeps a name from being given out.
pub(super) async fn keep(conn: &mut Conn<'_>, name: Name<'_>, kept_until: DbInstant) -> Outcome<()> {
    let record = KeptNameRecord { digest: name.digest(), kept_until };
    diesel::delete(kept_names::table.find(record.digest)).execute(conn).await?;
    diesel::insert_into(kept_names::table).values(record).execute(conn).await?;
    Ok(())
}

/// Checks that a name is not kept. For one that an account has got in this transaction that is certain: whoever deletes an account
/// commits both at once.
pub(super) async fn ensure_free(conn: &mut Conn<'_>, name: Name<'_>, now: DbInstant) -> Outcome<()> {
    let kept = kept_names::digest.eq(name.digest()).and(kept_names::kept_until.gt(now));
    if !diesel::select(exists(kept_names::table.filter(kept))).get_result::<bool>(conn).await? {
        return Ok(());
    }
    Err(Failure::Rule(Error::Conflict(match name {
        Name::Username(_) => Conflict::Username,
        Name::Email(_) => Conflict::Email,
    })))
}

/// Forgets some of the names that are given out again; how many.
pub(crate) async fn forget(conn: &mut Conn<'_>, now: DbInstant, limit: i64) -> Outcome<usize> {
    let free = kept_names::table.filter(kept_names::kept_until.le(now)).order(kept_names::kept_until).limit(limit);
    let free: Vec<DbId> = free.select(kept_names::digest).load(conn).await?;
    // One may be kept anew meanwhile.
    let free = id_in(kept_names::digest, free).and(kept_names::kept_until.le(now));
    Ok(diesel::delete(kept_names::table.filter(free)).execute(conn).await?)
}

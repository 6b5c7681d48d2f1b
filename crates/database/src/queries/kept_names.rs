//! Usernames and email addresses of deleted accounts, which are reserved for a while.

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

/// A username or email address, in the form of its unique key.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name<'a> {
    Username(&'a str),
    Email(&'a str),
}

impl Name<'_> {
    /// Returns the digest that is stored. It shows whether a known name is reserved, but does not reveal the name.
    fn digest(self) -> DbId {
        let (kind, key) = match self {
            Self::Username(key) => ("username", key),
            Self::Email(key) => ("email", key),
        };
        let digest = Sha256::new().chain_update(kind).chain_update([0]).chain_update(key).finalize();
        // 128 bits are enough to avoid collisions.
        DbId(Uuid::from_bytes(std::array::from_fn(|n| digest[n])))
    }
}

/// Reserves a name until an instant.
pub(super) async fn reserve(conn: &mut Conn<'_>, name: Name<'_>, kept_until: DbInstant) -> Outcome<()> {
    let record = KeptNameRecord { digest: name.digest(), kept_until };
    diesel::delete(kept_names::table.find(record.digest)).execute(conn).await?;
    diesel::insert_into(kept_names::table).values(record).execute(conn).await?;
    Ok(())
}

/// Checks that a name is not reserved. The check is reliable for a name that an account got in this transaction: the deletion of
/// an account releases its names and reserves them in the same commit.
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

/// Deletes a batch of the names whose reservation has ended. Returns the number of deleted names.
pub(crate) async fn forget(conn: &mut Conn<'_>, now: DbInstant, limit: i64) -> Outcome<usize> {
    let free = kept_names::table.filter(kept_names::kept_until.le(now)).order(kept_names::kept_until).limit(limit);
    let free: Vec<DbId> = free.select(kept_names::digest).load(conn).await?;
    // A name may have been reserved again meanwhile.
    let free = id_in(kept_names::digest, free).and(kept_names::kept_until.le(now));
    Ok(diesel::delete(kept_names::table.filter(free)).execute(conn).await?)
}

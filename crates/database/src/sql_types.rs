//! The only place where the types of the two databases differ.

use agora_domain::clock::Timestamp;
use diesel::{
    backend::Backend,
    deserialize::{self, FromSql, FromSqlRow},
    expression::AsExpression,
    query_builder::QueryId,
    serialize::{self, IsNull, Output, ToSql},
    sql_types::{BigInt, SqlType},
    sqlite::Sqlite,
};
use uuid::Uuid;

/// The SQL type of identifiers: 16 bytes on SQLite, `uuid` on PostgreSQL.
#[derive(Debug, Clone, Copy, SqlType, QueryId)]
#[diesel(sqlite_type(name = "Binary"))]
pub struct Id;

/// The SQL type of instants: microseconds since 1970 on SQLite, `timestamptz` on PostgreSQL.
#[derive(Debug, Clone, Copy, SqlType, QueryId)]
#[diesel(sqlite_type(name = "Long"))]
pub struct Instant;

/// An identifier of any kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, AsExpression, FromSqlRow)]
#[diesel(sql_type = Id)]
pub struct DbId(pub Uuid);

impl FromSql<Id, Sqlite> for DbId {
    fn from_sql(mut value: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(Uuid::from_slice(value.read_blob())?))
    }
}

impl ToSql<Id, Sqlite> for DbId {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.as_bytes().as_slice());
        Ok(IsNull::No)
    }
}

/// A point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, AsExpression, FromSqlRow)]
#[diesel(sql_type = Instant)]
pub struct DbInstant(pub Timestamp);

impl DbInstant {
    /// Before every instant that is stored.
    pub const MIN: Self = Self(Timestamp::from_unix_millis(-MAX_MILLIS));
    /// After every instant that is stored.
    pub const MAX: Self = Self(Timestamp::from_unix_millis(MAX_MILLIS));
}

/// The most milliseconds whose microseconds fit.
const MAX_MILLIS: i64 = i64::MAX / 1000;

impl FromSql<Instant, Sqlite> for DbInstant {
    fn from_sql(value: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        let micros = <i64 as FromSql<BigInt, Sqlite>>::from_sql(value)?;
        Ok(Self(Timestamp::from_unix_millis(micros.div_euclid(1000))))
    }
}

impl ToSql<Instant, Sqlite> for DbInstant {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.unix_millis().saturating_mul(1000));
        Ok(IsNull::No)
    }
}

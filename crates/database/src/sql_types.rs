//! Column types, and their encoding in each database. No other module depends on these differences.

use std::io::Write;

use agora_domain::clock::Timestamp;
use diesel::backend::Backend;
use diesel::deserialize::{FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::Pg;
use diesel::query_builder::QueryId;
use diesel::serialize::{IsNull, Output, ToSql};
use diesel::sql_types::{BigInt, Binary, SqlType};
use diesel::sqlite::Sqlite;
use diesel::{deserialize, serialize};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// The SQL type of identifiers: 16 bytes on SQLite, `uuid` on PostgreSQL.
#[derive(Debug, Clone, Copy, SqlType, QueryId)]
#[diesel(sqlite_type(name = "Binary"))]
#[diesel(postgres_type(oid = 2950, array_oid = 2951))]
pub struct Id;

/// The SQL type of instants: microseconds since 1970 on SQLite, `timestamptz` on PostgreSQL.
#[derive(Debug, Clone, Copy, SqlType, QueryId)]
#[diesel(sqlite_type(name = "Long"))]
#[diesel(postgres_type(oid = 1184, array_oid = 1185))]
pub struct Instant;

diesel::define_sql_function! {
    /// Returns the first argument that is not null.
    fn coalesce(first: diesel::sql_types::Nullable<Instant>, otherwise: Instant) -> Instant;
}

diesel::define_sql_function! {
    /// Returns the first argument that is not null.
    #[sql_name = "coalesce"]
    fn coalesce_id(first: diesel::sql_types::Nullable<Id>, otherwise: Id) -> Id;
}

/// An identifier of any kind.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, AsExpression, FromSqlRow, Serialize, Deserialize,
)]
#[diesel(sql_type = Id)]
pub struct DbId(pub Uuid);

impl FromSql<Id, Sqlite> for DbId {
    fn from_sql(mut value: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(Uuid::from_slice(value.read_blob())?))
    }
}

impl<DB: Backend> ToSql<Id, DB> for DbId
where
    [u8]: ToSql<Binary, DB>,
{
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
        self.0.as_bytes().as_slice().to_sql(out)
    }
}

/// A point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, AsExpression, FromSqlRow)]
#[diesel(sql_type = Instant)]
pub struct DbInstant(pub Timestamp);

impl DbInstant {
    /// An instant before all stored ones: the beginning of the year -4000.
    pub const MIN: Self = Self(Timestamp::from_unix_millis(-188_395_027_200_000));
    /// An instant after all stored ones: the beginning of the year 200000. Both databases can represent it.
    pub const MAX: Self = Self(Timestamp::from_unix_millis(6_249_223_094_400_000));
}

impl Serialize for DbInstant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.unix_millis().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DbInstant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer).map(|millis| Self(Timestamp::from_unix_millis(millis)))
    }
}

/// PostgreSQL's epoch, 2000-01-01, in microseconds since 1970.
const POSTGRES_EPOCH_MICROS: i64 = 946_684_800_000_000;

impl DbInstant {
    fn from_postgres(micros: i64) -> Self {
        let micros = micros.saturating_add(POSTGRES_EPOCH_MICROS);
        Self(Timestamp::from_unix_millis(micros.div_euclid(1000)))
    }

    fn postgres_micros(self) -> i64 {
        self.0.unix_millis().saturating_mul(1000).saturating_sub(POSTGRES_EPOCH_MICROS)
    }
}

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

impl FromSql<Id, Pg> for DbId {
    fn from_sql(value: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(Uuid::from_slice(value.as_bytes())?))
    }
}

impl FromSql<Instant, Pg> for DbInstant {
    fn from_sql(value: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        Ok(Self::from_postgres(<i64 as FromSql<BigInt, Pg>>::from_sql(value)?))
    }
}

impl ToSql<Instant, Pg> for DbInstant {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        out.write_all(&self.postgres_micros().to_be_bytes())?;
        Ok(IsNull::No)
    }
}

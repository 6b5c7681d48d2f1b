//! Which schema a database has, and which this program works on.

use diesel::{
    QueryableByName,
    migration::{Migration, MigrationSource},
    sql_types::Bool,
    sqlite::Sqlite,
};

use crate::{error::OpenError, sqlite::MIGRATIONS};

/// The version of the schema that this program works on: that of its last migration.
pub fn schema_version() -> String {
    let migrations = MigrationSource::<Sqlite>::migrations(&MIGRATIONS).unwrap_or_default();
    migrations.iter().map(|migration| migration.name().version().to_string()).max().unwrap_or_default()
}

/// How many migrations a database with this schema, if it has any, lacks.
pub(crate) fn pending(found: Option<&str>) -> usize {
    let migrations = MigrationSource::<Sqlite>::migrations(&MIGRATIONS).unwrap_or_default();
    let versions = migrations.iter().map(|migration| migration.name().version().to_string());
    versions.filter(|version| found.is_none_or(|found| version.as_str() > found)).count()
}

/// What a database is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// To serve it: it is made when missing, and brought up to date. On SQLite, nobody else serves it then.
    Serve,
    /// To change what is in it, perhaps beside a service: it is made when missing, and brought up to date.
    Change,
    /// To read it: it must be there with the schema of this program, and nothing about it is changed.
    Inspect,
}

/// Checks that a database with this schema, if it has any, may be opened.
pub(crate) fn check(found: Option<String>, opening: Opening) -> Result<(), OpenError> {
    let ours = schema_version();
    match found {
        Some(found) if found > ours => Err(OpenError::Newer { found, ours }),
        Some(found) if found < ours && opening == Opening::Inspect => Err(OpenError::Older { found, ours }),
        None if opening == Opening::Inspect => Err(OpenError::Foreign),
        _ => Ok(()),
    }
}

/// The answer to a question that SQL answers with yes or no.
#[derive(QueryableByName)]
pub(crate) struct Answer {
    #[diesel(sql_type = Bool)]
    pub(crate) holds: bool,
}

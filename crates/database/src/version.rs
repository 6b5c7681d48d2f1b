//! Which schema a database has, and which this program works on.

use std::path::PathBuf;

use diesel::{
    QueryableByName,
    migration::{Migration, MigrationSource, MigrationVersion},
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

/// The migrations of a database's schema, each by its name, in the order in which they are applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Migrations {
    /// Those that are applied.
    pub applied: Vec<String>,
    /// Those that this program has and that are not.
    pub pending: Vec<String>,
    /// The versions of those that are applied and that this program does not have: it is older than the database.
    pub unknown: Vec<String>,
}

impl Migrations {
    /// Those of a database in which these versions are applied.
    pub(crate) fn of(versions: Vec<String>) -> Self {
        let mut migrations = Self { unknown: versions, ..Self::default() };
        let known = MigrationSource::<Sqlite>::migrations(&MIGRATIONS).unwrap_or_default();
        let mut known: Vec<_> =
            known.iter().map(|it| (it.name().version().to_string(), it.name().to_string())).collect();
        known.sort();
        for (version, name) in known {
            let before = migrations.unknown.len();
            migrations.unknown.retain(|applied| *applied != version);
            let is_applied = migrations.unknown.len() < before;
            if is_applied { &mut migrations.applied } else { &mut migrations.pending }.push(name);
        }
        migrations
    }
}

/// What was done to a database to bring its schema up to date.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Migrated {
    /// The names of the migrations that were applied, in that order.
    pub applied: Vec<String>,
    /// Where a SQLite database that was there already is kept as it was.
    pub saved: Option<PathBuf>,
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

/// The names of the migrations of these versions.
pub(crate) fn names(versions: &[MigrationVersion<'_>]) -> Vec<String> {
    let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
    Migrations::of(versions).applied
}

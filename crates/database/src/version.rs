//! Schema versions: of a database, and of this program.

use std::path::PathBuf;

use diesel::migration::{Migration, MigrationSource, MigrationVersion};
use diesel::sqlite::Sqlite;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use crate::error::OpenError;

/// The migrations of SQLite. PostgreSQL has the same versions.
pub(crate) const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

/// Returns the schema version of this program, which is that of its last migration.
pub fn schema_version() -> String {
    known_migrations().pop().map(|(version, _)| version).unwrap_or_default()
}

/// Returns the version and name of each migration of this program, in order.
fn known_migrations() -> Vec<(String, String)> {
    let known = MigrationSource::<Sqlite>::migrations(&MIGRATIONS).unwrap_or_default();
    let mut known: Vec<_> = known.iter().map(|it| (it.name().version().to_string(), it.name().to_string())).collect();
    known.sort();
    known
}

/// The names of migrations, by their state in a database, in the order in which they are applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Migrations {
    /// Applied migrations.
    pub applied: Vec<String>,
    /// Migrations of this program that are not applied.
    pub pending: Vec<String>,
    /// The versions of applied migrations that this program does not have: it is older than the database.
    pub unknown: Vec<String>,
}

impl Migrations {
    /// Compares the versions applied to a database with the migrations of this program.
    pub(crate) fn of(versions: Vec<String>) -> Self {
        let mut migrations = Self { unknown: versions, ..Self::default() };
        for (version, name) in known_migrations() {
            let before = migrations.unknown.len();
            migrations.unknown.retain(|applied| *applied != version);
            let is_applied = migrations.unknown.len() < before;
            if is_applied { &mut migrations.applied } else { &mut migrations.pending }.push(name);
        }
        migrations
    }
}

/// The background work left to the service by an upgrade, a copy or a restored backup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// The number of posts and comments whose entities are not extracted yet.
    pub entities: u64,
    /// The number of posts, users and products not indexed for search yet.
    pub search: u64,
    /// The number of images of posts and users without a preview or thumbnail yet.
    pub previews: u64,
}

/// The result of bringing a database's schema up to date.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Migrated {
    /// The names of the migrations that were applied, in that order.
    pub applied: Vec<String>,
    /// The backup made of an existing SQLite database before its schema was changed.
    pub saved: Option<PathBuf>,
}

/// The purpose for which a database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// To serve it: it is created if missing, and migrated. On SQLite, only one process may serve it.
    Serve,
    /// To fill it: it is created if missing, and migrated unless it has rows, with which it could not be filled. On SQLite, no other
    /// process may serve it meanwhile.
    Fill,
    /// To change its contents, possibly while a service uses it: it is created if missing, and migrated.
    Change,
    /// To read it: it must exist and have the schema of this program, and is not changed.
    Inspect,
}

/// Checks that a database with these applied migrations may be opened for a purpose.
pub(crate) fn check(versions: &[String], opening: Opening) -> Result<(), OpenError> {
    let ours = schema_version();
    let migrations = Migrations::of(versions.to_vec());
    if let Some(found) = migrations.unknown.into_iter().next_back() {
        return Err(OpenError::Newer { found, ours });
    }
    match versions.last() {
        _ if opening != Opening::Inspect => Ok(()),
        None => Err(OpenError::Foreign),
        Some(_) if migrations.pending.is_empty() => Ok(()),
        Some(found) => Err(OpenError::Older { found: found.clone(), ours, pending: migrations.pending.len() }),
    }
}

/// The condition that a database with any migration has rows. These tables are of the first migration.
pub(crate) const HAS_ROWS: &str = "EXISTS (SELECT 1 FROM users) OR EXISTS (SELECT 1 FROM products)";

/// Returns the schema version of a database with these applied migrations if it must have no rows to be opened for a purpose: before
/// it is migrated, so that it is refused as it is.
pub(crate) fn must_have_no_rows(versions: &[String], opening: Opening) -> Option<String> {
    let is_older = || !Migrations::of(versions.to_vec()).pending.is_empty();
    versions.last().filter(|_| opening == Opening::Fill && is_older()).cloned()
}

/// Returns the names of the migrations with these versions.
pub(crate) fn names(versions: &[MigrationVersion<'_>]) -> Vec<String> {
    let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
    Migrations::of(versions).applied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_lacking_a_migration_is_older_and_one_with_an_unknown_migration_is_newer() {
        let known = MigrationSource::<Sqlite>::migrations(&MIGRATIONS).unwrap();
        let mut all: Vec<_> = known.iter().map(|migration| migration.name().version().to_string()).collect();
        all.sort();
        for opening in [Opening::Serve, Opening::Fill, Opening::Change, Opening::Inspect] {
            check(&all, opening).unwrap();
            let mut other = all.clone();
            other.insert(0, "20000101000000".to_owned());
            assert!(matches!(check(&other, opening), Err(OpenError::Newer { found, .. }) if found == "20000101000000"));
        }
        let gap = [all.first().unwrap().clone(), all.last().unwrap().clone()];
        check(&gap, Opening::Change).unwrap();
        let lacking = all.len() - gap.len();
        assert!(matches!(check(&gap, Opening::Inspect), Err(OpenError::Older { pending, .. }) if pending == lacking));
        assert!(matches!(check(&[], Opening::Inspect), Err(OpenError::Foreign)));
    }
}

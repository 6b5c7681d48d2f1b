//! Which schema a database has, and which this program works on.

use std::path::PathBuf;

use diesel::migration::{Migration, MigrationSource, MigrationVersion};
use diesel::sqlite::Sqlite;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use crate::error::OpenError;

/// The migrations of SQLite. PostgreSQL has the same versions.
pub(crate) const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

/// Returns the version of the schema that this program works on: that of its last migration.
pub fn schema_version() -> String {
    known().pop().map(|(version, _)| version).unwrap_or_default()
}

/// Returns the migrations of this program, each by its version and its name, in their order.
fn known() -> Vec<(String, String)> {
    let known = MigrationSource::<Sqlite>::migrations(&MIGRATIONS).unwrap_or_default();
    let mut known: Vec<_> = known.iter().map(|it| (it.name().version().to_string(), it.name().to_string())).collect();
    known.sort();
    known
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
        for (version, name) in known() {
            let before = migrations.unknown.len();
            migrations.unknown.retain(|applied| *applied != version);
            let is_applied = migrations.unknown.len() < before;
            if is_applied { &mut migrations.applied } else { &mut migrations.pending }.push(name);
        }
        migrations
    }
}

/// What an earlier release, a copy or a backup leaves the service to do in the background.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// How many posts and comments have entities that are still to be extracted.
    pub entities: u64,
    /// How many posts, users and products are still to be indexed for search.
    pub search: u64,
    /// How many images of posts and users have no preview or thumbnail yet.
    pub previews: u64,
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

/// Checks that a database to which the migrations of these versions were applied may be opened.
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

/// Returns the names of the migrations of these versions.
pub(crate) fn names(versions: &[MigrationVersion<'_>]) -> Vec<String> {
    let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
    Migrations::of(versions).applied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_one_in_the_middle_is_older_and_what_has_another_is_newer() {
        let known = MigrationSource::<Sqlite>::migrations(&MIGRATIONS).unwrap();
        let mut all: Vec<_> = known.iter().map(|migration| migration.name().version().to_string()).collect();
        all.sort();
        for opening in [Opening::Serve, Opening::Change, Opening::Inspect] {
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

//! `agora migrate`: the schema of the database.

use agora_database::{Database, Migrated, Migrations};
use anyhow::{Context, Result};
use clap::Subcommand;

use crate::data_dir;
use crate::open::{CANNOT_OPEN, database_url};
use agora_config::Config;

/// What `agora migrate` does.
#[derive(Debug, Subcommand)]
pub enum MigrateCommand {
    /// Show which migrations are applied. The exit code is 0 when all are, 3 when some are pending, 4 when the database
    /// is newer than this program, and 1 when it cannot be read
    Status,
    /// Apply pending migrations, as the service does when it starts. A SQLite database is copied to a file beside it
    /// first
    Run,
}

/// Why a database is not as this program would have it.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub enum NotUpToDate {
    /// Migrations are pending.
    #[error("migrations are pending: agora migrate run applies them, and so does a start of the service")]
    Pending,
    /// Others than this program's are applied.
    #[error("the database is newer than this program: use the newer version of Agora")]
    Newer,
}

impl NotUpToDate {
    /// Returns what the program ends with.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Pending => 3,
            Self::Newer => 4,
        }
    }
}

/// Shows or changes the schema, and says what it is.
///
/// # Errors
/// [`NotUpToDate`], when only the state was asked for; and when the database cannot be opened or changed.
pub async fn migrate(config: &Config, command: MigrateCommand, say: impl Fn(&str) -> Result<()>) -> Result<()> {
    match command {
        MigrateCommand::Status => {
            let url = database_url(config, &config.data_dir);
            let migrations = Database::migrations(url.expose(), &config.database()).await.context(CANNOT_OPEN)?;
            say(&listed(&migrations))?;
            let Migrations { pending, unknown, .. } = migrations;
            match (unknown.is_empty(), pending.is_empty()) {
                (true, true) => Ok(()),
                (true, false) => Err(NotUpToDate::Pending.into()),
                (false, _) => Err(NotUpToDate::Newer.into()),
            }
        }
        MigrateCommand::Run => {
            let data_dir = data_dir::prepare(&config.data_dir)?;
            let url = database_url(config, &data_dir);
            let migrated = Database::migrate(url.expose(), &config.database()).await.context(CANNOT_OPEN)?;
            say(&summary(&migrated))
        }
    }
}

fn listed(migrations: &Migrations) -> String {
    let Migrations { applied, pending, unknown } = migrations;
    let states = [(applied, "applied"), (pending, "pending"), (unknown, "applied, but unknown to this program")];
    let lines = states.into_iter().flat_map(|(names, state)| names.iter().map(move |name| format!("{name}: {state}")));
    lines.collect::<Vec<_>>().join("\n")
}

fn summary(migrated: &Migrated) -> String {
    let Migrated { applied, saved } = migrated;
    if applied.is_empty() {
        return "No migration is pending.".to_owned();
    }
    let mut text = format!("Applied {}.", applied.join(", "));
    if let Some(saved) = saved {
        text += &format!("\nThe database as it was before: {}. It is not deleted by itself.", saved.display());
    }
    text
}

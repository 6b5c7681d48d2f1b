//! `agora migrate`: the schema of the database.

use agora_config::Config;
use agora_database::{Backlog, Database, Migrated, Migrations};
use anyhow::{Context, Result, ensure};

use crate::data_dir;
use crate::open::{CANNOT_OPEN, database_url};

/// The schema of the database is not that of this program.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub enum NotUpToDate {
    /// Migrations are pending.
    #[error("migrations are pending: agora migrate run applies them, and so does a start of the service")]
    Pending,
    /// Migrations that this program does not know are applied.
    #[error("the database is newer than this program: use the newer version of Agora")]
    Newer,
}

/// Passes the state of each migration to `say`, and then how many rows are left for the backfills that migrations require.
///
/// # Errors
/// [`NotUpToDate`]; and when the database cannot be read.
pub async fn status(config: &Config, say: impl Fn(&str) -> Result<()>) -> Result<()> {
    let url = database_url(config, &config.data_dir);
    let found = Database::migrations(url.expose(), &config.database()).await.context(CANNOT_OPEN)?;
    let Migrations { applied, pending, unknown } = &found;
    let states = [(applied, "applied"), (pending, "pending"), (unknown, "applied, but unknown to this program")];
    let lines = states.into_iter().flat_map(|(names, state)| names.iter().map(move |name| format!("{name}: {state}")));
    say(&lines.collect::<Vec<_>>().join("\n"))?;
    ensure!(unknown.is_empty(), NotUpToDate::Newer);
    ensure!(pending.is_empty(), NotUpToDate::Pending);
    let Backlog { entities, search, previews } =
        Database::backlog(url.expose(), &config.database()).await.context(CANNOT_OPEN)?;
    say(&format!(
        "posts and comments whose entities are to be extracted: {entities}\nrows to be indexed for search: {search}\n\
         images whose previews are to be made: {previews}"
    ))
}

/// Applies pending migrations; returns a text for the operator.
///
/// # Errors
/// When the database cannot be opened or changed.
pub async fn run(config: &Config) -> Result<String> {
    let data_dir = data_dir::prepare(&config.data_dir)?;
    let url = database_url(config, &data_dir);
    let migrated = Database::migrate(url.expose(), &config.database()).await.context(CANNOT_OPEN)?;
    let Migrated { applied, saved } = migrated;
    if applied.is_empty() {
        return Ok("No migration is pending.".to_owned());
    }
    let mut text = format!("Applied {}.", applied.join(", "));
    if let Some(saved) = saved {
        let saved = saved.display();
        text += &format!(
            "\nA copy of the database before the change was saved to {saved}. It is never deleted automatically."
        );
    }
    Ok(text)
}

//! The database, the image store and the mail server that the configuration names.

use std::path::{Path, PathBuf};

use agora_config::{Config, Secret};
use agora_database::{Database, Replica};
use agora_mail::{Smtp, Templates};
use agora_media::ObjectImageStore;
use anyhow::{Context, Result, anyhow, ensure};
use url::Url;

/// The error message for a database that cannot be opened.
pub const CANNOT_OPEN: &str = "cannot open the database (AGORA_DATABASE_URL, AGORA_DATA_DIR)";

/// Returns the configured URL of the database; by default that of the SQLite file in the data directory.
pub fn database_url(config: &Config, data_dir: &Path) -> Secret {
    let configured = config.database_url.clone();
    configured.unwrap_or_else(|| format!("sqlite://{}", data_dir.join("agora.db").display()).into())
}

/// Returns the file of an SQLite database, or `None` if the configuration names a server.
pub(crate) fn database_file(config: &Config, data_dir: &Path) -> Option<PathBuf> {
    let url = database_url(config, data_dir);
    let path = url.expose().strip_prefix("sqlite:")?;
    Some(PathBuf::from(path.strip_prefix("//").unwrap_or(path)))
}

/// Opens the database that the configuration names.
///
/// # Errors
/// What could not be opened, in words for an operator.
pub async fn database(config: &Config, data_dir: &Path) -> Result<Database> {
    Database::open(database_url(config, data_dir).expose(), &config.database()).await.context(CANNOT_OPEN)
}

/// Opens the database that the configuration names to fill it. An SQLite file that a running service has open is refused, since
/// the caches of that service would become stale; and so is a database with rows and the schema of an earlier release.
///
/// # Errors
/// What could not be opened, in words for an operator.
pub async fn database_to_fill(config: &Config, data_dir: &Path) -> Result<Database> {
    let url = database_url(config, data_dir);
    Database::open_to_fill(url.expose(), &config.database()).await.context(CANNOT_OPEN)
}

/// Opens the database that the configuration names, which must exist. Opening changes nothing in it: no migration is applied.
///
/// # Errors
/// What could not be opened, in words for an operator.
pub async fn existing_database(config: &Config) -> Result<Database> {
    let url = database_url(config, &config.data_dir);
    Database::open_existing(url.expose(), &config.database()).await.context(CANNOT_OPEN)
}

/// Returns the replica that the configuration names, or `None`. It connects later, but must be called within a tokio runtime.
///
/// # Errors
/// What is wrong with its URL, in words for an operator.
pub fn replica(database: &Database, config: &Config) -> Result<Option<Replica>> {
    let url = config.database_read_url.as_ref();
    let replica = url.map(|url| database.replica(url.expose(), &config.database())).transpose();
    replica.context("cannot use the replica (AGORA_DATABASE_READ_URL)")
}

/// Returns the configured URL of the image store; by default that of a directory in `data_dir`, an absolute path.
///
/// # Errors
/// When `data_dir` is not an absolute path.
pub fn media_url(config: &Config, data_dir: &Path) -> Result<String> {
    let of_directory = || Url::from_file_path(data_dir.join("media")).map(String::from);
    let no_path = |()| anyhow!("{} is not an absolute path", data_dir.display());
    config.media_url.clone().map_or_else(|| of_directory().map_err(no_path), Ok)
}

/// Opens the image store that the configuration names.
///
/// # Errors
/// What could not be opened, in words for an operator.
pub async fn images(config: &Config, data_dir: &Path) -> Result<ObjectImageStore> {
    let store = agora_media::open(&media_url(config, data_dir)?).await.context(CANNOT_OPEN_IMAGES)?;
    Ok(store.with_public_base(config.media_public_url.clone()))
}

/// Returns a client for the mail server that the configuration names, or `None`. It connects later, but must be called within a
/// tokio runtime.
///
/// # Errors
/// What is wrong with the mail templates, or with TLS, in words for an operator.
pub fn mail(config: &Config) -> Result<Option<Smtp>> {
    let (Some(url), Some(sender)) = (&config.smtp_url, &config.mail_from) else { return Ok(None) };
    let templates = Templates::load(config.mail_templates.as_deref());
    let templates = templates.context("cannot use the mail templates (AGORA_MAIL_TEMPLATES)")?;
    Smtp::new(url.expose(), sender, templates).map(Some).context("cannot use the mail server (AGORA_SMTP_URL)")
}

const CANNOT_OPEN_IMAGES: &str = "cannot open the image store (AGORA_MEDIA_URL)";

/// Opens the database and the image store, which must exist.
///
/// # Errors
/// What could not be opened, in words for an operator.
pub async fn existing(config: &Config) -> Result<(Database, ObjectImageStore)> {
    let database = existing_database(config).await?;
    let data_dir = std::path::absolute(&config.data_dir)?;
    expect_directory(&media_url(config, &data_dir)?).context(CANNOT_OPEN_IMAGES)?;
    Ok((database, images(config, &data_dir).await?))
}

/// Fails if the directory of images does not exist: opening the store would create it.
pub(crate) fn expect_directory(url: &str) -> Result<()> {
    ensure!(media_directory(url).is_none_or(|directory| directory.exists()), "the directory {url} does not exist");
    Ok(())
}

/// Returns the directory of an image store, if its URL is a `file:` URL.
pub(crate) fn media_directory(url: &str) -> Option<PathBuf> {
    Url::parse(url).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()
}

//! The commands' arguments, and what they open.

use std::path::PathBuf;

use agora_database::Database;
use agora_domain::clock::Clock;
use agora_media::ObjectImageStore;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use url::Url;

use super::{
    backup,
    copy::{self, Pair},
    restore,
};
use crate::{app, config::Config, data_dir, system::SystemClock};

/// What `agora copy` takes.
#[derive(Debug, Args)]
pub(crate) struct CopyArguments {
    /// The database to copy, such as sqlite:data/agora.db [AGORA_COPY_FROM, which other users of the machine cannot see]
    #[arg(long, value_name = "URL")]
    from: Option<String>,
    /// The database to fill, such as postgres://user:password@host/database [AGORA_COPY_TO]
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// The images to copy, such as file:///srv/agora/media
    #[arg(long, value_name = "URL", requires = "media_to")]
    media_from: Option<String>,
    /// Where to copy them, such as s3://bucket/prefix
    #[arg(long, value_name = "URL", requires = "media_from")]
    media_to: Option<String>,
    /// Delete the rows that the target database holds, and let the target store have other images
    #[arg(long)]
    replace: bool,
}

/// `agora copy`; what to tell the operator.
///
/// # Errors
/// See [`copy::copy`]; and when the arguments do not say what to copy.
pub(crate) async fn copy(
    config: &Config,
    arguments: CopyArguments,
    setting: impl Fn(&str) -> Option<String>,
) -> Result<String> {
    let from = arguments.from.or_else(|| setting("AGORA_COPY_FROM"));
    let to = arguments.to.or_else(|| setting("AGORA_COPY_TO"));
    let databases = match (from, to) {
        (Some(from), Some(to)) => {
            ensure!(from != to, "--from and --to are the same database");
            let missing = Database::file(&from).filter(|file| !file.exists());
            ensure!(missing.is_none(), "there is no database {from}");
            let from = app::connect(config, &from).await.context("cannot open the database --from")?;
            Some(Pair { from, to: app::connect(config, &to).await.context("cannot open the database --to")? })
        }
        (None, None) => None,
        _ => bail!("--from and --to belong together"),
    };
    let stores = match (arguments.media_from, arguments.media_to) {
        (Some(from), Some(to)) => {
            ensure!(from != to, "--media-from and --media-to are the same store");
            let missing = directory(&from).filter(|directory| !directory.exists());
            ensure!(missing.is_none(), "there is no directory {from}");
            let from = agora_media::open(&from).await.context("cannot open the store --media-from")?;
            Some(Pair { from, to: agora_media::open(&to).await.context("cannot open the store --media-to")? })
        }
        _ => None,
    };
    ensure!(databases.is_some() || stores.is_some(), "say what to copy: --from and --to, --media-from and --media-to");
    copy::copy(databases, stores, arguments.replace).await
}

fn directory(url: &str) -> Option<PathBuf> {
    Url::parse(url).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()
}

/// `agora backup`; what to tell the operator.
///
/// # Errors
/// See [`backup::backup`].
pub(crate) async fn backup(config: &Config, file: PathBuf) -> Result<String> {
    let url = app::database_url(config, &config.data_dir);
    let missing = Database::file(&url).filter(|file| !file.exists());
    ensure!(missing.is_none(), "there is no database {url} (AGORA_DATA_DIR)");
    let (database, store, data_dir) = open(config).await?;
    let kept = data_dir::existing_secret(&data_dir)?;
    let secret = config.jwt_secret.as_ref().or(kept.as_ref());
    backup::backup(&database, &store, secret, SystemClock.now(), &file).await
}

/// `agora restore`; what to tell the operator.
///
/// # Errors
/// See [`restore::restore`]. A file that is no whole backup is refused before anything is made.
pub(crate) async fn restore(config: &Config, file: PathBuf) -> Result<String> {
    let archive = restore::open(&file).await?;
    let (database, store, data_dir) = open(config).await?;
    let restored = restore::restore(&archive, &database, &store).await?;
    let secret = match (&restored.secret, &config.jwt_secret) {
        (None, _) => "The backup holds no signing secret: everybody logs in again.",
        (Some(saved), Some(set)) if saved == set => "AGORA_JWT_SECRET is the one of the backup: tokens stay valid.",
        (Some(_), Some(_)) => "Warning: AGORA_JWT_SECRET is not the one of the backup: everybody logs in again.",
        (Some(saved), None) => {
            data_dir::keep_secret(&data_dir, saved)?;
            "Restored the signing secret: tokens stay valid."
        }
    };
    Ok(format!("{}\n{secret}", restored.told))
}

async fn open(config: &Config) -> Result<(Database, ObjectImageStore, PathBuf)> {
    let data_dir = data_dir::prepare(&config.data_dir)?;
    Ok((app::open_database(config, &data_dir).await?, app::open_images(config, &data_dir).await?, data_dir))
}

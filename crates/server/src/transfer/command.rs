//! The commands' arguments, and what they open.

use std::fmt::Display;
use std::io;
use std::io::Write;
use std::path::PathBuf;

use agora_database::Database;
use agora_domain::clock::Clock;
use anyhow::{Context, Result, ensure};
use clap::Args;
use url::Url;

use super::backup::Target;
use super::copy::{Allowed, Pair};
use super::{Interrupt, Progress, backup, copy, restore};
use crate::config::{Config, Invalid, Secret};
use crate::system::SystemClock;
use crate::{app, data_dir};

/// What `agora copy` takes.
#[derive(Debug, Args)]
pub(crate) struct CopyArguments {
    /// The database to copy, such as sqlite:data/agora.db [AGORA_COPY_FROM, which other users of the machine cannot
    /// see]
    #[arg(long, value_name = "URL")]
    from: Option<Secret>,
    /// The database to fill, such as postgres://user:password@host/database [AGORA_COPY_TO]
    #[arg(long, value_name = "URL")]
    to: Option<Secret>,
    /// The images to copy, such as file:///srv/agora/media
    #[arg(long, value_name = "URL", requires = "media_to")]
    media_from: Option<String>,
    /// Where to copy them, such as s3://bucket/prefix
    #[arg(long, value_name = "URL", requires = "media_from")]
    media_to: Option<String>,
    /// Delete the rows that the target database holds, and let the target store have other images
    #[arg(long)]
    replace: bool,
    /// Continue if referenced images are missing in the source
    #[arg(long)]
    allow_missing_images: bool,
}

/// What `agora backup` takes.
#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// The file to write; it must not exist. `-` is the standard output
    file: PathBuf,
    /// Continue if referenced images are missing in the store
    #[arg(long)]
    allow_missing_images: bool,
}

/// What `agora restore` takes.
#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// The file to read
    file: PathBuf,
}

/// `agora copy`; what to tell the operator.
///
/// # Errors
/// See [`copy::copy`]; and when the arguments do not say what to copy.
pub(crate) async fn copy(
    config: &Config,
    arguments: CopyArguments,
    setting: impl Fn(&str) -> Option<String>,
    interrupt: Interrupt,
) -> Result<String> {
    let given = |flag: Option<Secret>, name: &str| flag.or_else(|| setting(name).map(Secret::from));
    let databases = match (given(arguments.from, "AGORA_COPY_FROM"), given(arguments.to, "AGORA_COPY_TO")) {
        (Some(from), Some(to)) => Some(Pair { from, to }),
        (None, None) => None,
        _ => return Err(Invalid::because("--from and --to belong together").into()),
    };
    let stores = arguments.media_from.zip(arguments.media_to).map(|(from, to)| Pair { from, to });
    // Everything is checked before anything is opened, since that can make what is not there.
    must(databases.is_some() || stores.is_some(), "say what to copy: --from and --to, --media-from and --media-to")?;
    if let Some(Pair { from, to }) = &databases {
        usable("--from", agora_database::check_url(from.expose()))?;
        usable("--to", agora_database::check_url(to.expose()))?;
        must(from != to, "--from and --to are the same database")?;
    }
    if let Some(Pair { from, to }) = &stores {
        usable("--media-from", agora_media::check_url(from))?;
        usable("--media-to", agora_media::check_url(to))?;
        must(from != to, "--media-from and --media-to are the same store")?;
        expect_directory(from)?;
    }
    let databases = match databases {
        Some(Pair { from, to }) => {
            let from = Database::open_existing(from.expose(), &config.database).await;
            let from = from.context("cannot open the database --from")?;
            let to = Database::open(to.expose(), &config.database).await.context("cannot open the database --to")?;
            Some(Pair { from, to })
        }
        None => None,
    };
    let stores = match stores {
        Some(Pair { from, to }) => {
            let from = agora_media::open(&from).await.context("cannot open the store --media-from")?;
            Some(Pair { from, to: agora_media::open(&to).await.context("cannot open the store --media-to")? })
        }
        None => None,
    };
    let allowed = Allowed { replace: arguments.replace, missing_images: arguments.allow_missing_images };
    copy::copy(databases, stores, allowed, Progress::new(interrupt)).await
}

/// Refuses a command line of which this does not hold.
fn must(holds: bool, what: &str) -> Result<(), Invalid> {
    if holds { Ok(()) } else { Err(Invalid::because(what)) }
}

/// Refuses a URL in the command line that cannot be.
fn usable<E: Display>(name: &str, checked: Result<(), E>) -> Result<(), Invalid> {
    checked.map_err(|error| Invalid::because(&format!("{name}: {error}")))
}

/// Refuses a directory of images that is not there, which opening it would make.
pub(crate) fn expect_directory(url: &str) -> Result<()> {
    let directory = Url::parse(url).ok().filter(|url| url.scheme() == "file").and_then(|url| url.to_file_path().ok());
    ensure!(directory.is_none_or(|directory| directory.exists()), "there is no directory {url}");
    Ok(())
}

/// `agora backup`; what to tell the operator.
///
/// # Errors
/// See [`backup::backup`].
pub(crate) async fn backup(config: &Config, arguments: BackupArguments, interrupt: Interrupt) -> Result<String> {
    let database = app::open_existing_database(config).await?;
    let data_dir = std::path::absolute(&config.data_dir)?;
    expect_directory(&app::media_url(config, &data_dir)?).context("cannot open the image store (AGORA_MEDIA_URL)")?;
    let store = app::open_images(config, &data_dir).await?;
    let kept = data_dir::existing_secret(&data_dir)?;
    let secret = config.jwt_secret.as_ref().or(kept.as_ref());
    let BackupArguments { file, allow_missing_images } = arguments;
    let (now, progress) = (SystemClock.now(), Progress::new(interrupt));
    let target = Target::from(file);
    let told = backup::backup((&database, &store), secret, now, &target, allow_missing_images, progress).await?;
    if let Target::Stdout = target {
        // Beside the backup.
        writeln!(io::stderr(), "{told}")?;
        return Ok(String::new());
    }
    Ok(told)
}

/// `agora restore`; what to tell the operator.
///
/// # Errors
/// See [`restore::restore`]. A file that is no whole backup is refused before anything is made, and so is a data
/// directory with another secret.
pub(crate) async fn restore(config: &Config, arguments: RestoreArguments, interrupt: Interrupt) -> Result<String> {
    let mut progress = Progress::new(interrupt);
    let (archive, saved) = restore::open(&arguments.file, &mut progress).await?;
    let kept = data_dir::existing_secret(&config.data_dir)?;
    let told = match (&saved, &config.jwt_secret) {
        (None, _) => "The backup holds no signing secret: everybody logs in again.",
        (Some(saved), Some(set)) if saved == set => "AGORA_JWT_SECRET is the one of the backup: tokens stay valid.",
        (Some(_), Some(_)) => "Warning: AGORA_JWT_SECRET is not the one of the backup: everybody logs in again.",
        (Some(saved), None) => {
            let differs = kept.is_some_and(|kept| kept != *saved);
            let directory = config.data_dir.display();
            ensure!(
                !differs,
                "the data directory {directory} has another signing secret: restore into a new one, or delete its file \
                 jwt-secret if nothing needs it any more"
            );
            "Restored the signing secret: tokens stay valid."
        }
    };
    let data_dir = data_dir::prepare(&config.data_dir)?;
    let database = app::open_database(config, &data_dir).await?;
    let store = app::open_images(config, &data_dir).await?;
    let keep = || match saved.filter(|_| config.jwt_secret.is_none()) {
        Some(saved) => data_dir::keep_secret(&data_dir, &saved),
        None => Ok(()),
    };
    let restored = restore::restore(&archive, (&database, &store), keep, progress).await?;
    Ok(format!("{restored}\n{told}"))
}

//! `agora copy`: copies from one database to another, and from one image store to another.

use agora_config::{Config, Invalid, Secret};
use agora_database::Database;
use anyhow::{Context, Result, ensure};
use clap::Args;

use super::{images, rows};
use crate::context::OperatorContext;
use crate::open::{expect_directory, media_directory};
use crate::progress::{Interrupt, Progress};

const SAME_DATABASE: &str = "--from and --to are the same database";

/// What `agora copy` takes.
#[derive(Debug, Args)]
pub struct CopyArguments {
    /// The database to copy, such as sqlite:data/agora.db [AGORA_COPY_FROM, which other users of the machine cannot
    /// see]
    #[arg(long, value_name = "URL")]
    from: Option<Secret>,
    /// The database to fill, such as postgres://user:password@host/database [AGORA_COPY_TO]
    #[arg(long, value_name = "URL")]
    to: Option<Secret>,
    /// The image store to copy from, such as file:///srv/agora/media
    #[arg(long, value_name = "URL", requires = "media_to")]
    media_from: Option<String>,
    /// The image store to copy to, such as s3://bucket/prefix
    #[arg(long, value_name = "URL", requires = "media_from")]
    media_to: Option<String>,
    /// Delete the rows of the target database, and allow other images in the target store
    #[arg(long)]
    replace: bool,
    /// Continue if referenced images are missing in the source
    #[arg(long)]
    allow_missing_images: bool,
}

/// Copies rows, images or both; returns a text for the operator.
///
/// # Errors
/// When the arguments are invalid, something cannot be read or written, or a target already holds something else. The rows of the
/// target are then unchanged.
pub async fn copy(config: &Config, arguments: CopyArguments, interrupt: Interrupt) -> Result<String> {
    let CopyArguments { from, to, media_from, media_to, replace, allow_missing_images } = arguments;
    let databases = match (from.or(config.copy_from.clone()), to.or(config.copy_to.clone())) {
        (Some(from), Some(to)) => Some((from, to)),
        (None, None) => None,
        _ => return Err(Invalid("--from and --to must be given together".to_owned()).into()),
    };
    let stores = media_from.zip(media_to);
    // All arguments are checked before anything is opened, since opening can create a database or a directory.
    let nothing = "nothing to copy: give --from and --to, --media-from and --media-to, or all of them";
    ensure!(databases.is_some() || stores.is_some(), Invalid(nothing.to_owned()));
    if let Some((from, to)) = &databases {
        for (name, url) in [("--from", from), ("--to", to)] {
            agora_database::check_url(url.expose()).map_err(|error| Invalid(format!("{name}: {error}")))?;
        }
        ensure!(from != to, Invalid(SAME_DATABASE.to_owned()));
    }
    if let Some((from, to)) = &stores {
        for (name, url) in [("--media-from", from), ("--media-to", to)] {
            agora_media::check_url(url).map_err(|error| Invalid(format!("{name}: {error}")))?;
        }
        let place = |url: &str| media_directory(url).and_then(|directory| directory.canonicalize().ok());
        let is_same = from == to || place(from).is_some_and(|from| place(to) == Some(from));
        ensure!(!is_same, Invalid("--media-from and --media-to are the same store".to_owned()));
        expect_directory(from)?;
    }
    // The databases are checked before images are copied, which may take hours.
    let mut databases = match databases {
        Some((from, to)) => {
            let options = config.database();
            let from = Database::open_existing(from.expose(), &options).await;
            let from = from.context("cannot open the database --from")?;
            // Not while a service has it open, whose caches would become stale.
            let to = match replace {
                true => Database::open_to_serve(to.expose(), &options).await,
                false => Database::open_to_fill(to.expose(), &options).await,
            };
            let to = to.context("cannot open the database --to")?;
            let is_same = from.is_same(&to).await.operator_context("the databases")?;
            ensure!(!is_same, Invalid(SAME_DATABASE.to_owned()));
            let mut load = to.load().await.operator_context(rows::TARGET)?;
            let is_empty = load.contents().is_empty().await.operator_context(rows::TARGET)?;
            ensure!(is_empty || replace, "the target database has rows; --replace deletes them");
            let mut snapshot = from.snapshot().await.operator_context(rows::SOURCE)?;
            ensure!(!snapshot.is_empty().await.operator_context(rows::SOURCE)?, "the source database is empty");
            // Returned so that the databases stay open until the end.
            Some((snapshot, load, [from, to]))
        }
        None => None,
    };
    let stores = match stores {
        Some((from, to)) => {
            let from = agora_media::open(&from).await.context("cannot open the store --media-from")?;
            Some((from, agora_media::open(&to).await.context("cannot open the store --media-to")?))
        }
        None => None,
    };
    let mut progress = Progress::new(interrupt);
    let mut report = Vec::new();
    if let Some((from, to)) = &stores {
        if databases.is_none() {
            images::refuse_empty(from).await?;
        }
        if !replace {
            images::refuse_others(from, to).await?;
        }
        report.push(images::copy(from, to, &mut progress).await?.in_words("Copied"));
    }
    if let Some((snapshot, load, _)) = &mut databases {
        if replace {
            load.clear().await.operator_context(rows::TARGET)?;
        }
        let sums = rows::copy(snapshot, load, &mut progress).await?;
        rows::verify(load.contents(), &sums, &mut progress).await?;
        let total: u64 = sums.values().map(|sum| sum.rows).sum();
        report.push(format!("Copied {total} rows; counts and checksums agree.{}", rows::in_words(&sums)));
        if let Some((_, to)) = &stores {
            let lost = images::lost(load.contents(), to, &mut progress).await?;
            report.extend(images::report_missing(&lost, allow_missing_images)?);
        }
        report.push(
            "Tokens stay valid if the same secret signs them: keep AGORA_JWT_SECRET, or copy the file jwt-secret of the \
             data directory."
                .to_owned(),
        );
    }
    if let Some((_, load, _databases)) = databases {
        load.commit().await.operator_context(rows::TARGET)?;
    }
    Ok(report.join("\n"))
}

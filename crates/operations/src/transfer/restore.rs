//! `agora restore`: restores a file of `agora backup` into an empty target.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::path::PathBuf;

use agora_config::{Config, Secret};
use agora_database::{Load, Rows, Table};
use agora_domain::media::{ImageKey, ImageStore, Rendition};
use agora_media::ObjectImageStore;
use anyhow::{Context, Result, ensure};
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, TryStreamExt};

use super::archive::{Entry, HEADER, SECRET, SUMMARY, Summary, UNNAMED, keys_from_lines};
use super::images::{Tally, acquire_memory};
use super::rows::{SumBuilder, Sums, TARGET, count};
use super::{archive, images, rows};
use crate::context::OperatorContext;
use crate::progress::{Interrupt, Progress};
use crate::{data_dir, open};

/// Restores a backup; returns a text for the operator.
///
/// # Errors
/// When the target is not empty, or cannot be written. Its rows are then unchanged. A file that is not a complete backup is
/// refused before anything is created, and so is a data directory with another secret.
pub async fn restore(config: &Config, file: PathBuf, interrupt: Interrupt) -> Result<String> {
    let mut progress = Progress::new(interrupt);
    let (archive, saved) = archive::open(&file, &mut progress)?;
    let saved = saved.map(|secret| Secret::from(secret.trim().to_owned()));
    let is_secret = saved.as_ref().is_none_or(|secret| secret.expose().len() >= Config::MIN_SECRET_BYTES);
    ensure!(is_secret, "the signing secret in the archive is too short");
    let kept = data_dir::existing_secret(&config.data_dir)?;
    let text = match (&saved, &config.jwt_secret) {
        (None, Some(_)) => {
            "The backup has no signing secret: tokens stay valid if AGORA_JWT_SECRET is that of the saved service."
        }
        (None, None) if kept.is_some() => {
            "The backup has no signing secret: tokens stay valid if the data directory has that of the saved service."
        }
        (None, None) => "The backup has no signing secret: all users have to log in again.",
        (Some(saved), Some(set)) if saved == set => "AGORA_JWT_SECRET is the secret of the backup: tokens stay valid.",
        (Some(saved), Some(_)) if Some(saved) == config.jwt_accepted_secret.as_ref() => {
            "AGORA_JWT_ACCEPTED_SECRET is the secret of the backup: tokens stay valid while it is accepted."
        }
        (Some(_), Some(_)) => {
            "Warning: AGORA_JWT_SECRET is not the secret of the backup: all users have to log in again."
        }
        (Some(saved), None) => {
            let differs = kept.is_some_and(|kept| kept != *saved);
            let directory = config.data_dir.display();
            ensure!(
                !differs,
                "the data directory {directory} has another signing secret: restore into a new one, or delete its file \
                 jwt-secret if it is no longer needed"
            );
            "Restored the signing secret: tokens stay valid."
        }
    };
    let data_dir = data_dir::prepare(&config.data_dir)?;
    // Not while a service has it open, whose caches would become stale.
    let database = open::database_to_fill(config, &data_dir).await?;
    let store = &open::images(config, &data_dir).await?;
    let mut load = database.load().await.operator_context(TARGET)?;
    let is_empty = load.contents().is_empty().await.operator_context(TARGET)?;
    ensure!(is_empty, "the database is not empty: restore into a new one");
    refuse_others(&archive, store).await?;
    let mut contents = Contents::default();
    let mut entries = archive::entries(&archive)?;
    progress.phase("images", None);
    let memory = images::memory();
    let mut writes = FuturesUnordered::new();
    while let Some(Entry { name, bytes }) = entries.next().await? {
        if let Some((key, rendition)) = image_file(&name) {
            // Drives the writes in progress while this image waits for memory.
            let mut permit = std::pin::pin!(acquire_memory(&memory, u64::try_from(bytes.len())?));
            let permit = loop {
                tokio::select! {
                    Some(tally) = writes.next(), if !writes.is_empty() => contents.add_image(tally, &mut progress)?,
                    permit = &mut permit, if writes.len() < images::CONCURRENCY => break permit?,
                }
            };
            writes.push(async move {
                let _permit = permit;
                images::put(store, &key, rendition, bytes).await
            });
            continue;
        }
        // The other entries come before or after all images.
        while let Some(tally) = writes.next().await {
            contents.add_image(tally, &mut progress)?;
        }
        match name.as_str() {
            HEADER | SECRET => {}
            // The rows that referenced them were deleted while the backup was made. If they were kept, nothing would ever delete
            // them: the restored database has no record of them for the sweep.
            UNNAMED => {
                for key in keys_from_lines(&bytes)? {
                    store.delete(&key).await.operator_context(images::TARGET)?;
                    contents.unreferenced += 1;
                }
            }
            SUMMARY => contents.summary = Some(serde_json::from_slice(&bytes).context(SUMMARY)?),
            name => {
                let table = table(name);
                let table = table.with_context(|| format!("unexpected entry in the archive: {name:?}"))?;
                let rows = Rows::from_lines(table, std::str::from_utf8(&bytes)?).operator_context(name)?;
                if contents.sums.is_empty() {
                    progress.phase("rows", None);
                }
                contents.sums.entry(table.name().to_owned()).or_default().add(&rows, &bytes);
                progress.advance(count(&rows))?;
                load.insert(rows).await.operator_context(TARGET)?;
            }
        }
    }
    drop(writes);
    let restored = contents.complete(&mut load, store, &mut progress).await?;
    if let Some(saved) = saved.filter(|_| config.jwt_secret.is_none()) {
        data_dir::store_secret(&data_dir, &saved)?;
    }
    load.commit().await.operator_context(TARGET)?;
    Ok(format!("{restored}\n{text}"))
}

/// What has been read of an archive.
#[derive(Default)]
struct Contents {
    images: Tally,
    /// The number of images that no row references.
    unreferenced: u64,
    sums: BTreeMap<String, SumBuilder>,
    summary: Option<Summary>,
}

impl Contents {
    fn add_image(&mut self, tally: Result<Tally>, progress: &mut Progress) -> Result<()> {
        self.images.add(&tally?);
        progress.advance(1)
    }

    /// Checks that everything in the summary was restored; returns a text for the operator.
    async fn complete(self, load: &mut Load, store: &ObjectImageStore, progress: &mut Progress) -> Result<String> {
        let sums: Sums = self.sums.into_iter().map(|(table, builder)| (table, builder.finish())).collect();
        let summary = self.summary.context("the archive has no summary")?;
        let Tally { written, present, .. } = self.images;
        let has_all = summary.images.checked_add(self.unreferenced) == Some(written + present);
        ensure!(has_all, "the archive lacks some of its images");
        let has_all = summary.rows.iter().filter(|(_, sum)| sum.rows > 0).eq(&sums);
        ensure!(has_all, "the rows of the archive do not match its summary");
        rows::verify(load.contents(), &summary.rows, progress).await?;
        let mut lost = images::lost(load.contents(), store, progress).await?;
        let warning = images::report_missing(&lost, true)?;
        lost.retain(|key| !summary.missing.iter().any(|known| known == key.as_str()));
        ensure!(
            lost.is_empty(),
            "{} images were deleted from the store meanwhile: does something else use it?",
            lost.len()
        );
        let total: u64 = summary.rows.values().map(|sum| sum.rows).sum();
        let text = format!(
            "Restored {total} rows; counts and checksums agree.{}\n{}",
            rows::in_words(&summary.rows),
            self.images.in_words("Restored")
        );
        let unreferenced = match self.unreferenced {
            0 => String::new(),
            unreferenced => {
                format!(" {unreferenced} were deleted again: they were no longer referenced at the end of the backup.")
            }
        };
        Ok(text + &unreferenced + &warning.map(|warning| format!("\n{warning}")).unwrap_or_default())
    }
}

/// Returns the image and the rendition of an entry, or `None` if it is not an image.
pub(super) fn image_file(name: &str) -> Option<(ImageKey, Rendition)> {
    name.strip_prefix("images/").and_then(ImageKey::parse_file_name)
}

/// Returns the table of an entry such as `rows/users-000001.jsonl`.
pub(super) fn table(name: &str) -> Option<Table> {
    let (table, _) = name.strip_prefix("rows/")?.split_once('-')?;
    Table::ALL.into_iter().find(|known| known.name() == table)
}

/// Fails if the store has images that are not in the archive. Those of an interrupted restore are in it.
async fn refuse_others(archive: &File, store: &ObjectImageStore) -> Result<()> {
    let present = store.list().await.operator_context(images::TARGET)?.try_collect();
    let mut present: HashSet<ImageKey> = present.await.operator_context(images::TARGET)?;
    archive::read(archive, |entry| {
        image_file(&entry.name).map(|(key, _)| present.remove(&key));
        !present.is_empty()
    })?;
    let advice = "restore into a new one, or delete the images that another restore left";
    ensure!(present.is_empty(), "the image store is not empty: {advice}");
    Ok(())
}

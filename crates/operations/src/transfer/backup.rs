//! `agora backup`: writes rows, images and the signing secret to one file, while the service runs.

use std::collections::{HashMap, HashSet};
use std::io;
use std::io::Write;
use std::mem;
use std::path::{Path, PathBuf};

use agora_config::{Config, Secret};
use agora_database::{Database, Snapshot, schema_version};
use agora_domain::clock::Clock;
use agora_domain::media::{ImageKey, Rendition};
use agora_media::ObjectImageStore;
use anyhow::{Result, ensure};
use futures_util::TryStreamExt;

use super::archive::{FORMAT, HEADER, Header, SECRET, Summary, UNNAMED, Writer, keys_to_lines, split_rows};
use super::rows::{SOURCE, Sums};
use super::{images, rows};
use crate::context::OperatorContext;
use crate::progress::{Interrupt, Progress};
use crate::system::SystemClock;
use crate::{data_dir, open};

/// Writes the archive to a file, or to standard output if it is `-`; returns a text for the operator, or writes it to standard
/// error in the latter case.
///
/// The rows are a snapshot, and the archive has every image that they reference, except, if `allow_missing_images` is set, those
/// that the store lacks.
///
/// # Errors
/// When something cannot be read or written. Then no file is left behind.
pub async fn backup(
    config: &Config,
    file: PathBuf,
    allow_missing_images: bool,
    interrupt: Interrupt,
) -> Result<String> {
    let file = Some(file).filter(|file| file.as_os_str() != "-");
    let (database, store) = open::existing(config).await?;
    let kept = data_dir::existing_secret(&config.data_dir)?;
    let secret = config.jwt_secret.as_ref().or(kept.as_ref());
    let mut progress = Progress::new(interrupt);
    let is_empty = database.snapshot().await.operator_context(SOURCE)?.is_empty().await.operator_context(SOURCE)?;
    ensure!(!is_empty, "the database is empty: is this the right one?");
    let archive = Writer::begin(file.as_deref())?;
    let (summary, warning) = save(&database, &store, secret, archive, allow_missing_images, &mut progress).await?;
    let (images, total) = (summary.images, summary.rows.values().map(|sum| sum.rows).sum::<u64>());
    let target = file.as_deref().unwrap_or(Path::new("standard output")).display();
    let mut report = format!("Saved {total} rows and {images} images in {target}.");
    report += &rows::in_words(&summary.rows);
    report += if secret.is_some() {
        "\nIt contains the signing secret and all password hashes: protect it like the service itself."
    } else {
        "\nWarning: neither AGORA_JWT_SECRET nor the data directory has a signing secret, so the backup has none: after a \
         restore, all users have to log in again."
    };
    report += &warning.map(|warning| format!("\n{warning}")).unwrap_or_default();
    if file.is_none() {
        // Standard output is the backup itself.
        writeln!(io::stderr(), "{report}")?;
        return Ok(String::new());
    }
    Ok(report)
}

/// Writes everything to an archive; returns its summary, and a warning for the operator if images are missing.
pub(super) async fn save(
    database: &Database,
    store: &ObjectImageStore,
    secret: Option<&Secret>,
    mut archive: Writer,
    allow_missing_images: bool,
    progress: &mut Progress,
) -> Result<(Summary, Option<String>)> {
    let (agora, schema) = (env!("CARGO_PKG_VERSION").to_owned(), schema_version());
    let made_at = SystemClock.now().unix_millis();
    archive.append_json(HEADER, &Header { format: FORMAT, agora, schema, made_at }).await?;
    if let Some(secret) = secret {
        archive.append(SECRET, secret.expose().as_bytes()).await?;
    }
    let SavedImages { mut snapshot, named, unreferenced, mut lost, deleted } =
        save_images(database, store, &mut archive, progress).await?;
    images::report_missing(&lost, allow_missing_images)?;
    // Images that were deleted during the backup are no fault of the store: a warning suffices.
    lost.extend(deleted);
    let warning = images::report_missing(&lost, true)?;
    archive.append(UNNAMED, keys_to_lines(&unreferenced).as_bytes()).await?;
    let rows = save_rows(&mut snapshot, &mut archive, progress).await?;
    let missing = lost.iter().map(|key| key.as_str().to_owned()).collect();
    let summary = Summary { rows, images: u64::try_from(named)?, missing };
    archive.finish(&summary).await?;
    Ok((summary, warning))
}

/// The images in an archive, and the snapshot of the rows that reference them.
struct SavedImages {
    snapshot: Snapshot,
    /// The number of saved images that the snapshot references.
    named: usize,
    /// Saved images that the snapshot does not reference any more.
    unreferenced: Vec<ImageKey>,
    /// Images that the snapshot references and that the store lacks.
    lost: Vec<ImageKey>,
    /// Images that the snapshot references and that were deleted after it was taken, together with the rows that reference them.
    deleted: Vec<ImageKey>,
}

/// The most rounds after the first. Images deleted during the last one are reported as missing, so that deletions cannot keep a
/// backup from completing.
const MAX_ROUNDS: u32 = 20;

/// Saves the images that rows reference.
///
/// While images are fetched, some are added and some deleted, so that the first snapshot may reference an image that is gone.
/// Therefore each round takes a new snapshot and fetches the images that are new in it, until no image that the snapshot
/// references was deleted during the round. The first snapshot is released while its images, which are most of them, are
/// fetched; later ones are kept, so that new images cannot keep the backup from completing. Thumbnails that were missing are
/// requested again in the next round: they may have been made since.
async fn save_images(
    database: &Database,
    store: &ObjectImageStore,
    archive: &mut Writer,
    progress: &mut Progress,
) -> Result<SavedImages> {
    let memory = &images::memory();
    // Each with the last round whose snapshot referenced it.
    let mut saved = HashMap::new();
    let (mut gone, mut lacks_thumbnail) = (HashSet::new(), HashSet::new());
    let mut round = 0_u32;
    loop {
        let mut snapshot = database.snapshot().await.operator_context(SOURCE)?;
        let (mut new, mut without_thumbnail, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        {
            let mut named = std::pin::pin!(snapshot.images());
            while let Some(keys) = named.try_next().await.operator_context(SOURCE)? {
                for key in keys {
                    match saved.get_mut(&key) {
                        Some(referenced_in) => {
                            *referenced_in = round;
                            if lacks_thumbnail.contains(&key) {
                                without_thumbnail.push(key);
                            }
                        }
                        None if gone.contains(&key) => lost.push(key),
                        None => new.push(key),
                    }
                }
            }
        }
        let kept = (round > 0 || new.is_empty()).then_some(snapshot);
        let (mut deleted, mut is_settled) = (Vec::new(), true);
        progress.phase("images", Some(u64::try_from(new.len())?));
        // Originals first: the thumbnail of an image that is gone is not saved.
        for rendition in Rendition::ALL {
            let files = match rendition {
                Rendition::Original => mem::take(&mut new),
                Rendition::Thumbnail => mem::take(&mut without_thumbnail),
            };
            let mut fetched = std::pin::pin!(images::read_each(store, files, rendition, memory));
            while let Some((key, file)) = fetched.try_next().await? {
                if let Some((bytes, _room)) = &file {
                    archive.append(&format!("images/{}", key.file_name(rendition)), bytes).await?;
                }
                progress.advance(u64::from(rendition == Rendition::Original))?;
                match (rendition, file) {
                    (Rendition::Original, Some(_)) => {
                        saved.insert(key.clone(), round);
                        without_thumbnail.push(key);
                    }
                    (Rendition::Original, None) => {
                        gone.insert(key.clone());
                        deleted.push(key);
                        is_settled = false;
                    }
                    (Rendition::Thumbnail, Some(_)) => drop(lacks_thumbnail.remove(&key)),
                    (Rendition::Thumbnail, None) => is_settled &= !lacks_thumbnail.insert(key),
                }
            }
        }
        if let Some(snapshot) = kept.filter(|_| is_settled || round >= MAX_ROUNDS) {
            let total = saved.len();
            saved.retain(|_, referenced_in| *referenced_in != round);
            let (named, unreferenced) = (total - saved.len(), saved.into_keys().collect());
            return Ok(SavedImages { snapshot, named, unreferenced, lost, deleted });
        }
        round += 1;
    }
}

async fn save_rows(snapshot: &mut Snapshot, archive: &mut Writer, progress: &mut Progress) -> Result<Sums> {
    progress.phase("rows", Some(rows::total(snapshot).await?));
    let mut last = ("", 0);
    rows::each_page(snapshot, SOURCE, progress, async |rows, text| {
        let table = rows.table().name();
        for part in split_rows(&text) {
            last = (table, if last.0 == table { last.1 + 1 } else { 1 });
            archive.append(&format!("rows/{table}-{:06}.jsonl", last.1), part).await?;
        }
        Ok(())
    })
    .await
}

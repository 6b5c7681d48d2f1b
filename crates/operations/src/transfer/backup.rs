//! `agora backup`: rows, images and the secret in one file, while the service runs.

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

use super::archive::{FORMAT, HEADER, Header, SECRET, Summary, UNNAMED, Writer, entries_of_rows, keys_to_lines};
use super::rows::{SOURCE, Sums};
use super::{images, rows};
use crate::context::OperatorContext;
use crate::progress::{Interrupt, Progress};
use crate::system::SystemClock;
use crate::{data_dir, open};

/// Writes the archive, to the standard output for `-`; returns what to tell the operator, which is said on the standard
/// error then.
///
/// The rows are those of one moment, and every image that they name is in the archive, save those that the store has
/// lost, where that is allowed.
///
/// # Errors
/// What could not be read or written. Then there is no archive.
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
    ensure!(!is_empty, "the database is empty: is it the right one?");
    let archive = Writer::begin(file.as_deref())?;
    let (summary, warning) = save(&database, &store, secret, archive, allow_missing_images, &mut progress).await?;
    let (images, total) = (summary.images, summary.rows.values().map(|sum| sum.rows).sum::<u64>());
    let target = file.as_deref().unwrap_or(Path::new("the standard output")).display();
    let mut told = format!("Saved {total} rows and {images} images in {target}.");
    told += &rows::in_words(&summary.rows);
    told += if secret.is_some() {
        "\nIt holds the secret that tokens are signed with and every password hash: keep it as safe as the service."
    } else {
        "\nWarning: neither AGORA_JWT_SECRET nor the data directory has a signing secret, so none is in it: after a restore, \
         everybody logs in again."
    };
    told += &warning.map(|warning| format!("\n{warning}")).unwrap_or_default();
    if file.is_none() {
        // Beside the backup.
        writeln!(io::stderr(), "{told}")?;
        return Ok(String::new());
    }
    Ok(told)
}

/// Saves everything in an archive; returns what that holds, and what the operator is to be warned of.
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
    let SavedImages { mut snapshot, named, unnamed, mut lost, deleted } =
        save_images(database, store, &mut archive, progress).await?;
    images::judge(&lost, allow_missing_images)?;
    // Nothing is wrong with the store.
    lost.extend(deleted);
    let warning = images::judge(&lost, true)?;
    archive.append(UNNAMED, keys_to_lines(&unnamed).as_bytes()).await?;
    let rows = save_rows(&mut snapshot, &mut archive, progress).await?;
    let missing = lost.iter().map(|key| key.as_str().to_owned()).collect();
    let summary = Summary { rows, images: u64::try_from(named)?, missing };
    archive.finish(&summary).await?;
    Ok((summary, warning))
}

/// The images of an archive, and the rows that go with them.
struct SavedImages {
    snapshot: Snapshot,
    /// How many are saved that these rows name.
    named: usize,
    /// Those that are saved, and that these rows no longer name.
    unnamed: Vec<ImageKey>,
    /// Those that these rows name and the store has not.
    lost: Vec<ImageKey>,
    /// Those that these rows name and that were deleted with what named them since.
    deleted: Vec<ImageKey>,
}

/// The most looks at the rows after the first. What was deleted since the last one is told as missing then: nobody keeps a backup from
/// its end by deleting images.
const MAX_TURNS: u32 = 20;

/// Saves the images that rows name.
///
/// While the images are fetched, others come and some go, so that the rows of the beginning may name one that is
/// gone. So the images named since are fetched likewise, until none of those that the rows name went meanwhile. The
/// first rows are let go for the time that most images take; the later ones are kept, so that images that come do not
/// keep this from its end. Thumbnails that were not there are asked for again: they may have been made since.
async fn save_images(
    database: &Database,
    store: &ObjectImageStore,
    archive: &mut Writer,
    progress: &mut Progress,
) -> Result<SavedImages> {
    let memory = &images::memory();
    // With the last turn whose rows named them.
    let mut saved = HashMap::new();
    let (mut gone, mut bare) = (HashSet::new(), HashSet::new());
    let mut turn = 0_u32;
    loop {
        let mut snapshot = database.snapshot().await.operator_context(SOURCE)?;
        let (mut new, mut without_thumbnail, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        {
            let mut named = std::pin::pin!(snapshot.images());
            while let Some(keys) = named.try_next().await.operator_context(SOURCE)? {
                for key in keys {
                    match saved.get_mut(&key) {
                        Some(named_in) => {
                            *named_in = turn;
                            if bare.contains(&key) {
                                without_thumbnail.push(key);
                            }
                        }
                        None if gone.contains(&key) => lost.push(key),
                        None => new.push(key),
                    }
                }
            }
        }
        let kept = (turn > 0 || new.is_empty()).then_some(snapshot);
        let (mut deleted, mut is_settled) = (Vec::new(), true);
        progress.phase("images", Some(u64::try_from(new.len())?));
        // Originals first: of one that has gone, nothing else is saved.
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
                        saved.insert(key.clone(), turn);
                        without_thumbnail.push(key);
                    }
                    (Rendition::Original, None) => {
                        gone.insert(key.clone());
                        deleted.push(key);
                        is_settled = false;
                    }
                    (Rendition::Thumbnail, Some(_)) => drop(bare.remove(&key)),
                    (Rendition::Thumbnail, None) => is_settled &= !bare.insert(key),
                }
            }
        }
        if let Some(snapshot) = kept.filter(|_| is_settled || turn >= MAX_TURNS) {
            let total = saved.len();
            saved.retain(|_, named_in| *named_in != turn);
            let (named, unnamed) = (total - saved.len(), saved.into_keys().collect());
            return Ok(SavedImages { snapshot, named, unnamed, lost, deleted });
        }
        turn += 1;
    }
}

async fn save_rows(snapshot: &mut Snapshot, archive: &mut Writer, progress: &mut Progress) -> Result<Sums> {
    progress.phase("rows", Some(rows::total(snapshot).await?));
    let mut last = ("", 0);
    rows::each_page(snapshot, SOURCE, progress, async |rows, text| {
        let table = rows.table().name();
        for part in entries_of_rows(&text) {
            last = (table, if last.0 == table { last.1 + 1 } else { 1 });
            archive.append(&format!("rows/{table}-{:06}.jsonl", last.1), part).await?;
        }
        Ok(())
    })
    .await
}

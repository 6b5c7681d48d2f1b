//! `agora backup`: rows, images and the secret in one file, while the service runs.

use std::{collections::HashSet, path::Path};

use agora_database::{Database, Snapshot, Table, schema_version};
use agora_domain::{clock::Timestamp, media::ImageKey};
use agora_media::ObjectImageStore;
use anyhow::{Context, Result};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{
    Progress,
    archive::{FORMAT, HEADER, Header, SECRET, Summary, Writer},
    copy::warning,
    images,
    rows::{self, Summing, Sums, count},
};
use crate::config::Secret;

/// Writes the archive; what to tell the operator.
///
/// The rows are those of one moment, and every image that they name is in the archive. An image may be deleted while the
/// others are fetched; then the rows of a later moment are taken, which do not name it any more.
///
/// # Errors
/// What could not be read or written. Then there is no archive.
pub(crate) async fn backup(
    database: &Database,
    store: &ObjectImageStore,
    secret: Option<&Secret>,
    now: Timestamp,
    file: &Path,
) -> Result<String> {
    let mut progress = Progress::new();
    let mut archive = Writer::create(file)?;
    let (agora, schema) = (env!("CARGO_PKG_VERSION").to_owned(), schema_version());
    archive.append_json(HEADER, &Header { format: FORMAT, agora, schema, made_at: now.unix_millis() }).await?;

    progress.phase("images", None);
    let mut saved = HashSet::new();
    let mut lost: Vec<ImageKey> = Vec::new();
    let mut snapshot = loop {
        let mut snapshot = database.snapshot().await?;
        let missing = save_images(&mut snapshot, store, &mut saved, &mut archive, &mut progress).await?;
        // What is missing for the second time was not deleted together with its row: the store has lost it.
        if missing.iter().all(|key| lost.contains(key)) {
            lost = missing;
            break snapshot;
        }
        lost = missing;
    };
    let rows = save_rows(&mut snapshot, &mut archive, &mut progress).await?;
    if let Some(secret) = secret {
        archive.append(SECRET.to_owned(), secret.expose().to_owned()).await?;
    }
    let (images, total) = (u64::try_from(saved.len())?, rows.values().map(|sum| sum.rows).sum::<u64>());
    let summary = Summary { rows, images };
    archive.finish(&summary).await?;
    let mut told = format!("Saved {total} rows and {images} images in {}.", file.display());
    told += &rows::in_words(&summary.rows);
    told += if secret.is_some() {
        "\nIt holds the secret that tokens are signed with and every password hash: keep it as safe as the service."
    } else {
        "\nThere is no signing secret yet, so none is in it."
    };
    told += &warning(&lost).map(|warning| format!("\n{warning}")).unwrap_or_default();
    Ok(told)
}

/// Saves the images that rows name and that are not saved yet; those that the store has not.
async fn save_images(
    snapshot: &mut Snapshot,
    store: &ObjectImageStore,
    saved: &mut HashSet<ImageKey>,
    archive: &mut Writer,
    progress: &mut Progress,
) -> Result<Vec<ImageKey>> {
    let mut missing = Vec::new();
    let mut named = std::pin::pin!(snapshot.images());
    while let Some(keys) = named.try_next().await? {
        let new: Vec<ImageKey> = keys.into_iter().filter(|key| !saved.contains(key)).collect();
        let fetched = stream::iter(new).map(async |key| {
            let bytes = images::read(store, &key).await.with_context(|| format!("image {}", key.as_str()))?;
            Ok::<_, anyhow::Error>((key, bytes))
        });
        let mut fetched = std::pin::pin!(fetched.buffer_unordered(images::AT_ONCE));
        while let Some((key, bytes)) = fetched.try_next().await? {
            match bytes {
                Some(bytes) => {
                    archive.append(format!("images/{}", key.as_str()), bytes).await?;
                    saved.insert(key);
                    progress.advance(1);
                }
                None => missing.push(key),
            }
        }
    }
    Ok(missing)
}

async fn save_rows(snapshot: &mut Snapshot, archive: &mut Writer, progress: &mut Progress) -> Result<Sums> {
    progress.phase("rows", Some(rows::total(snapshot).await?));
    let mut sums = Sums::new();
    for table in Table::ALL {
        let mut summing = Summing::default();
        let mut number = 0;
        let mut end = None;
        loop {
            let page = snapshot.page(table, end).await?;
            if page.is_empty() {
                break;
            }
            let text = page.to_lines()?;
            summing.add(&page, &text);
            progress.advance(count(&page));
            end = page.end();
            number += 1;
            archive.append(format!("rows/{}-{number:06}.jsonl", table.name()), text).await?;
        }
        sums.insert(table.name().to_owned(), summing.sum());
    }
    Ok(sums)
}

//! `agora copy`: from one database to another, from one image store to another.

use agora_database::{Database, Snapshot};
use agora_domain::media::ImageStore;
use agora_media::ObjectImageStore;
use anyhow::{Context, Result, ensure};
use futures_util::TryStreamExt;

use super::{Progress, images, rows};

/// From where to where.
pub(crate) struct Pair<T> {
    pub(crate) from: T,
    pub(crate) to: T,
}

/// Copies what is given; what to tell the operator. With `replace`, a target may hold something: its rows are deleted
/// and its images left.
///
/// # Errors
/// What could not be read or written, or when a target holds something else. The rows of the target are then what they
/// were.
pub(crate) async fn copy(
    databases: Option<Pair<Database>>,
    stores: Option<Pair<ObjectImageStore>>,
    replace: bool,
) -> Result<String> {
    let mut progress = Progress::new();
    let mut told = Vec::new();
    // Refused before hours are spent on images.
    let mut databases = match &databases {
        Some(Pair { from, to }) => {
            let mut load = to.load().await.context("the target")?;
            let is_empty = load.contents().is_empty().await?;
            ensure!(is_empty || replace, "the target database holds rows; --replace deletes them");
            let mut snapshot = from.snapshot().await.context("the source")?;
            ensure!(!snapshot.is_empty().await?, "the source database is empty");
            Some((snapshot, load))
        }
        None => None,
    };
    if let Some(Pair { from, to }) = &stores {
        if !replace {
            refuse_others(from, to).await?;
        }
        told.push(images::copy(from, to, &mut progress).await?.in_words("Copied"));
    }
    if let Some((snapshot, load)) = &mut databases {
        if replace {
            load.clear().await?;
        }
        let sums = rows::copy(snapshot, load, &mut progress).await?;
        rows::verify(load.contents(), &sums, &mut progress).await?;
        let total: u64 = sums.values().map(|sum| sum.rows).sum();
        told.push(format!("Copied {total} rows; counts and checksums agree.{}", rows::in_words(&sums)));
        if let Some(Pair { to, .. }) = &stores {
            told.extend(lost(snapshot, to).await?);
        }
        told.push(
            "Tokens stay valid where the same secret signs them: take AGORA_JWT_SECRET along, or the file jwt-secret of \
             the data directory."
                .to_owned(),
        );
    }
    if let Some((_, load)) = databases {
        load.commit().await?;
    }
    Ok(told.join("\n"))
}

/// Refuses a target with images that are not of the source. Those of an interrupted copy are.
async fn refuse_others(from: &ObjectImageStore, to: &ObjectImageStore) -> Result<()> {
    let mut present = images::all(to).await?;
    while let Some(key) = present.try_next().await? {
        let is_of_source = from.open(&key, None).await?.is_some();
        ensure!(is_of_source, "the target holds images that the source has not; --replace leaves them there");
    }
    Ok(())
}

/// What to say of images that rows name and the target has not: the source had lost them.
async fn lost(snapshot: &mut Snapshot, store: &ObjectImageStore) -> Result<Option<String>> {
    let mut lost = Vec::new();
    let mut named = std::pin::pin!(snapshot.images());
    while let Some(keys) = named.try_next().await? {
        lost.extend(images::missing(store, keys).await?);
    }
    Ok(warning(&lost))
}

/// What to say of images that are missing.
pub(crate) fn warning(lost: &[agora_domain::media::ImageKey]) -> Option<String> {
    let names: Vec<&str> = lost.iter().take(10).map(|key| key.as_str()).collect();
    let more = if lost.len() > names.len() { ", ..." } else { "" };
    let count = lost.len();
    (count > 0).then(|| format!("Warning: {count} images that rows name are missing: {}{more}", names.join(", ")))
}

//! `agora copy`: from one database to another, from one image store to another.

use agora_database::Database;
use agora_media::ObjectImageStore;
use anyhow::{Result, ensure};

use super::{OperatorContext, Progress, images, rows};

/// From where to where.
pub(crate) struct Pair<T> {
    pub(crate) from: T,
    pub(crate) to: T,
}

/// What is not refused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowed {
    /// A target that holds something: its rows are deleted and its images left.
    pub(crate) replace: bool,
    /// Rows that name images which the source has lost.
    pub(crate) missing_images: bool,
}

/// Copies what is given; what to tell the operator.
///
/// # Errors
/// What could not be read or written, or when a target holds something else. The rows of the target are then what they
/// were.
pub(crate) async fn copy(
    databases: Option<Pair<Database>>,
    stores: Option<Pair<ObjectImageStore>>,
    allowed: Allowed,
    mut progress: Progress,
) -> Result<String> {
    let mut told = Vec::new();
    // Refused before hours are spent on images.
    let mut databases = match &databases {
        Some(Pair { from, to }) => {
            let mut load = to.load().await.operator_context(rows::TARGET)?;
            let is_empty = load.contents().is_empty().await.operator_context(rows::TARGET)?;
            ensure!(is_empty || allowed.replace, "the target database holds rows; --replace deletes them");
            let mut snapshot = from.snapshot().await.operator_context(rows::SOURCE)?;
            ensure!(!snapshot.is_empty().await.operator_context(rows::SOURCE)?, "the source database is empty");
            Some((snapshot, load))
        }
        None => None,
    };
    if let Some(Pair { from, to }) = &stores {
        if databases.is_none() {
            images::refuse_empty(from).await?;
        }
        if !allowed.replace {
            images::refuse_others(from, to).await?;
        }
        told.push(images::copy(from, to, &mut progress).await?.in_words("Copied"));
    }
    if let Some((snapshot, load)) = &mut databases {
        if allowed.replace {
            load.clear().await.operator_context(rows::TARGET)?;
        }
        let sums = rows::copy(snapshot, load, &mut progress).await?;
        rows::verify(load.contents(), &sums, &mut progress).await?;
        let total: u64 = sums.values().map(|sum| sum.rows).sum();
        told.push(format!("Copied {total} rows; counts and checksums agree.{}", rows::in_words(&sums)));
        if let Some(Pair { to, .. }) = &stores {
            let lost = images::lost(load.contents(), to, &mut progress).await?;
            told.extend(images::judge(&lost, allowed.missing_images)?);
        }
        told.push(
            "Tokens stay valid where the same secret signs them: take AGORA_JWT_SECRET along, or the file jwt-secret of \
             the data directory."
                .to_owned(),
        );
    }
    if let Some((_, load)) = databases {
        load.commit().await.operator_context(rows::TARGET)?;
    }
    Ok(told.join("\n"))
}

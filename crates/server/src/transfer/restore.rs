//! `agora restore`: what `agora backup` saved, into an empty target.

use std::{collections::HashSet, path::Path};

use agora_database::{Database, Load, Rows, Table, schema_version};
use agora_domain::media::ImageKey;
use agora_media::ObjectImageStore;
use anyhow::{Context, Result, bail, ensure};
use futures_util::{TryStreamExt, stream::FuturesUnordered};

use super::{
    Progress,
    archive::{Archive, Entry, SECRET, SUMMARY, Summary},
    images::{self, Tally},
    rows::{self, Summing, Sums, count},
};
use crate::config::Secret;

/// What was restored.
pub(crate) struct Restored {
    /// What to tell the operator.
    pub(crate) told: String,
    /// The secret that tokens were signed with.
    pub(crate) secret: Option<Secret>,
}

/// Opens an archive and checks that it is whole, and one that this program can restore.
///
/// # Errors
/// When it is not. Nothing has been written.
pub(crate) async fn open(file: &Path) -> Result<Archive> {
    let archive = Archive::open(file).await?;
    let header = archive.header().await?;
    let schema = schema_version();
    ensure!(
        header.schema == schema,
        "the backup was made by Agora {} with the schema {}, and this program has {schema}: restore it with that version",
        header.agora,
        header.schema
    );
    Ok(archive)
}

/// Fills the target from the archive.
///
/// # Errors
/// When the target holds something, or something could not be written. The rows of the target are then what they were.
pub(crate) async fn restore(archive: &Archive, database: &Database, store: &ObjectImageStore) -> Result<Restored> {
    let mut progress = Progress::new();
    let mut load = database.load().await?;
    ensure!(load.contents().is_empty().await?, "the database is not empty: restore into a new one");
    refuse_others(archive, store).await?;

    let mut contents = Contents::default();
    let mut entries = archive.entries()?;
    // The header, which is known.
    entries.next().await?;
    progress.phase("images", None);
    let mut arriving = FuturesUnordered::new();
    let mut entry = entries.next().await?;
    loop {
        let key = entry.as_ref().and_then(image_key);
        // What is no image comes after all of them.
        let room = if key.is_some() { images::AT_ONCE } else { 1 };
        while arriving.len() >= room {
            let Some(arrival) = arriving.try_next().await? else { break };
            contents.images.add(&arrival);
            progress.advance(1);
        }
        match (key, &entry) {
            (Some(key), Some(entry)) => {
                let bytes = entry.bytes.clone();
                arriving.push(async move { images::put(store, &key, bytes).await });
            }
            _ => break,
        }
        entry = entries.next().await?;
    }
    progress.phase("rows", None);
    while let Some(Entry { name, bytes }) = entry {
        match name.as_str() {
            SECRET => contents.secret = Some(Secret::from(String::from_utf8(bytes.into())?)),
            SUMMARY => contents.summary = Some(serde_json::from_slice(&bytes).context(SUMMARY)?),
            _ => contents.insert(&name, &bytes, &mut load, &mut progress).await?,
        }
        entry = entries.next().await?;
    }
    contents.finish(load, &mut progress).await
}

/// What an archive has turned out to hold.
#[derive(Default)]
struct Contents {
    images: Tally,
    /// The table being filled, and what it holds so far.
    table: Option<(Table, Summing)>,
    sums: Sums,
    secret: Option<Secret>,
    summary: Option<Summary>,
}

impl Contents {
    async fn insert(&mut self, name: &str, text: &[u8], load: &mut Load, progress: &mut Progress) -> Result<()> {
        let table = table(name).with_context(|| format!("the archive holds something unknown: {name:?}"))?;
        let rows = Rows::from_lines(table, std::str::from_utf8(text)?).with_context(|| name.to_owned())?;
        if self.table.as_ref().is_none_or(|(current, _)| *current != table) {
            self.close_table();
        }
        self.table.get_or_insert_with(|| (table, Summing::default())).1.add(&rows, text);
        progress.advance(count(&rows));
        Ok(load.insert(rows).await?)
    }

    fn close_table(&mut self) {
        if let Some((table, summing)) = self.table.take() {
            self.sums.insert(table.name().to_owned(), summing.sum());
        }
    }

    async fn finish(mut self, mut load: Load, progress: &mut Progress) -> Result<Restored> {
        self.close_table();
        let Some(summary) = self.summary else { bail!("the archive has no summary") };
        let Tally { written, present, .. } = self.images;
        ensure!(written + present == summary.images, "the archive has not all of its images");
        let has_all = summary.rows.iter().filter(|(_, sum)| sum.rows > 0).eq(&self.sums);
        ensure!(has_all, "the archive has not all of its rows");
        rows::verify(load.contents(), &summary.rows, progress).await?;
        load.commit().await?;
        let total: u64 = summary.rows.values().map(|sum| sum.rows).sum();
        let told = format!(
            "Restored {total} rows; counts and checksums agree.{}\n{}",
            rows::in_words(&summary.rows),
            self.images.in_words("Restored")
        );
        Ok(Restored { told, secret: self.secret })
    }
}

fn image_key(entry: &Entry) -> Option<ImageKey> {
    entry.name.strip_prefix("images/").and_then(ImageKey::parse)
}

/// The table of an entry such as `rows/users-000001.jsonl`.
fn table(name: &str) -> Option<Table> {
    let (table, _) = name.strip_prefix("rows/")?.split_once('-')?;
    Table::ALL.into_iter().find(|known| known.name() == table)
}

/// Refuses a store with images that are not of the archive. Those of an interrupted restore are.
async fn refuse_others(archive: &Archive, store: &ObjectImageStore) -> Result<()> {
    let mut present = HashSet::new();
    let mut listed = images::all(store).await?;
    while let Some(key) = listed.try_next().await? {
        present.insert(key);
    }
    if present.is_empty() {
        return Ok(());
    }
    let mut entries = archive.entries()?;
    while let Some(entry) = entries.next().await? {
        image_key(&entry).inspect(|key| {
            present.remove(key);
        });
    }
    ensure!(present.is_empty(), "the image store is not empty: restore into a new one");
    Ok(())
}

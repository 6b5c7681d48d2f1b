//! `agora media`: compares the stored images with those that rows reference.

use std::sync::Arc;

use agora_config::Config;
use agora_database::{Database, ExclusiveJob};
use agora_domain::accounts::AccountRepository;
use agora_domain::id::UserId;
use agora_domain::media::{MediaCheck, MediaReport, Usage};
use agora_media::ObjectImageStore;
use anyhow::{Result, bail, ensure};
use indicatif::DecimalBytes;
use tokio::task::spawn_blocking;

use crate::context::OperatorContext;
use crate::open;
use crate::progress::{Interrupt, Progress};
use crate::sweep::Sweep;
use crate::system::SystemClock;

/// The name of what is checked, in messages to the operator.
const IMAGES: &str = "the images";

/// A check, and how its report is shown.
struct Check {
    images: MediaCheck,
    accounts: Arc<dyn AccountRepository>,
    /// How many users the report lists.
    top: usize,
}

/// Compares store and rows, and with `delete` deletes orphaned images; returns a report for the operator that lists the `top`
/// users with the most bytes.
///
/// # Errors
/// When referenced images are missing, after the report was passed to `say`; and when the store or the database fails.
pub async fn check(
    config: &Config,
    delete: bool,
    top: usize,
    interrupt: Interrupt,
    say: impl Fn(&str) -> Result<()>,
) -> Result<String> {
    let (database, store) = open::existing(config).await?;
    let database = Arc::new(database);
    let outcome = compare(&database, store, (delete, top), interrupt, say).await;
    // Releases the lock and the connections, also after a failure.
    spawn_blocking(move || database.close()).await?;
    outcome
}

async fn compare(
    database: &Arc<Database>,
    store: ObjectImageStore,
    (delete, top): (bool, usize),
    interrupt: Interrupt,
    say: impl Fn(&str) -> Result<()>,
) -> Result<String> {
    let lock = if delete { database.lock(ExclusiveJob::Sweep).await.operator_context("the database")? } else { None };
    ensure!(!delete || lock.is_some(), "a node is running a sweep: try again when it has ended");
    let images =
        MediaCheck::new(Arc::new(store), database.clone(), database.clone(), &SystemClock, Sweep::MIN_AGE_MILLIS);
    let check = Check { images, accounts: database.clone(), top };
    let mut progress = Progress::new(interrupt);
    let mut report = check.pass("check", false, &mut progress).await?;
    if delete && report.deletable.images > 0 {
        // Most likely these are the images of another database.
        ensure!(
            report.referenced.images > 0,
            "no row references any of the {} stored images: are these the right database and store? Nothing was \
             deleted",
            report.unknown.images
        );
        report = check.pass("delete", true, &mut progress).await?;
    }
    drop(progress);
    let summary = check.summary(&report).await?;
    if report.lost == 0 {
        return Ok(summary);
    }
    say(&summary)?;
    let mut names = Vec::with_capacity(report.first_lost.len());
    for (key, owner) in &report.first_lost {
        names.push(format!("{} of {}", key.as_str(), check.name_of(*owner).await?));
    }
    let more = if u64::try_from(names.len())? < report.lost { ", ..." } else { "" };
    bail!("{} referenced images are missing: {}{more}", report.lost, names.join(", "))
}

impl Check {
    async fn pass(&self, phase: &'static str, delete: bool, progress: &mut Progress) -> Result<MediaReport> {
        progress.phase(phase, Some(256));
        let mut report = MediaReport::default();
        for folder in 0..=u8::MAX {
            self.images.folder(folder, delete, &mut report).await.operator_context(IMAGES)?;
            progress.advance(1)?;
        }
        Ok(report)
    }

    async fn summary(&self, report: &MediaReport) -> Result<String> {
        let MediaReport { referenced, users, on_record, unknown, deletable, deleted, lost, .. } = report;
        let mut lines = vec![
            format!("Referenced images in the store: {}", in_words(*referenced)),
            format!("Images recorded for the sweep: {}", in_words(*on_record)),
        ];
        let young = Usage { images: unknown.images - deletable.images, bytes: unknown.bytes - deletable.bytes };
        lines.push(format!("Orphaned images: {}", in_words(*unknown)));
        if young.images > 0 {
            lines.push(format!("  younger than an hour, and kept: {}", in_words(young)));
        }
        if deleted.images > 0 {
            lines.push(format!("  deleted: {}", in_words(*deleted)));
        } else if deletable.images > 0 {
            lines.push(format!("  deletable with --delete: {}", in_words(*deletable)));
        }
        lines.push(format!("Missing images that are referenced: {lost}"));
        let mut most: Vec<_> = users.iter().collect();
        most.sort_by_key(|(user, usage)| (std::cmp::Reverse(usage.bytes), user.uuid()));
        if self.top > 0 && !most.is_empty() {
            lines.push("Users with the most bytes:".to_owned());
        }
        for (user, usage) in most.into_iter().take(self.top) {
            lines.push(format!("  {}: {}", self.name_of(*user).await?, in_words(*usage)));
        }
        Ok(lines.join("\n"))
    }

    async fn name_of(&self, user: UserId) -> Result<String> {
        let account = self.accounts.find(user).await.operator_context(IMAGES)?;
        Ok(account.map_or_else(|| user.uuid().to_string(), |account| account.username.as_str().to_owned()))
    }
}

/// Returns a text such as "3 (1.25 MB)".
fn in_words(Usage { images, bytes }: Usage) -> String {
    format!("{images} ({})", DecimalBytes(bytes))
}

//! `agora products import`: reads a file into the catalog.

use std::path::PathBuf;
use std::sync::Arc;

use agora_config::Config;
use agora_domain::FieldErrors;
use agora_domain::audit::{Action, Actor, AuditEntry, Target};
use agora_domain::clock::Clock;
use agora_domain::error::Violation;
use agora_domain::products::{Catalog, CatalogChange, CatalogSnapshot, ImportPass, ImportPlan, ImportRow, RowPosition};
use anyhow::{Result, ensure};

use super::row::{BadRow, Format, ParsedRow, Row, count_of, spelling};
use super::source::{Batch, Source};
use crate::background::Background;
use crate::context::OperatorContext;
use crate::open;
use crate::progress::{Interrupt, Progress};
use crate::system::{SystemClock, SystemIds};

/// The name of the catalog in messages to the operator.
pub(super) const CATALOG: &str = "the catalog";

/// The most bad rows that are reported one by one.
const MAX_REPORTED: usize = 20;

/// How many products an import creates, updates and leaves unchanged.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    created: u64,
    updated: u64,
    unchanged: u64,
}

impl Tally {
    fn add(&mut self, plan: &ImportPlan) {
        self.unchanged += plan.unchanged;
        for change in &plan.changes {
            match change {
                CatalogChange::Create(_) => self.created += 1,
                CatalogChange::Update(_) => self.updated += 1,
            }
        }
    }

    /// Returns a text such as "2 products: 1 created, 1 updated, 0 unchanged."
    fn in_words(self) -> String {
        let Self { created, updated, unchanged } = self;
        let all = count_of(created + updated + unchanged);
        format!("{all}: {created} created, {updated} updated, {unchanged} unchanged.")
    }
}

/// One of the two passes over the file.
struct Pass<'a> {
    batches: Background<Batch>,
    planning: ImportPass,
    tally: Tally,
    /// The number of bad rows.
    bad: u64,
    /// The messages about the first [`MAX_REPORTED`] bad rows.
    reported: Vec<String>,
    /// The number of bytes read of the file.
    read: u64,
    progress: &'a mut Progress,
}

impl<'a> Pass<'a> {
    fn begin(source: &Source, progress: &'a mut Progress) -> Result<Self> {
        let planning = ImportPass::new(Arc::new(SystemClock), Arc::new(SystemIds));
        let (tally, reported) = (Tally::default(), Vec::new());
        Ok(Self { batches: source.batches()?, planning, tally, bad: 0, reported, read: 0, progress })
    }

    /// Returns the changes that the next batch of rows makes to the catalog, or `None` after the last batch.
    async fn next(&mut self, catalog: &mut dyn CatalogSnapshot) -> Result<Option<Vec<CatalogChange>>> {
        let Some(Batch { rows, end }) = self.batches.next().await? else { return Ok(None) };
        let (mut parsed, mut refused) = (Vec::with_capacity(rows.len()), Vec::new());
        for Row { at, content } in rows {
            match content {
                Ok(ParsedRow { edit, errors }) => parsed.push(ImportRow { at, edit, errors }),
                Err(BadRow { reason, sku }) => refused.push((at, sku, reason)),
            }
        }
        let plan = self.planning.plan(catalog, parsed).await.operator_context(CATALOG)?;
        self.tally.add(&plan);
        refused.extend(plan.refused.into_iter().map(|row| (row.at, row.sku, in_words(&row.reasons))));
        refused.sort_by_key(|(at, ..)| at.row);
        self.bad += u64::try_from(refused.len())?;
        for (RowPosition { row, line }, sku, reason) in refused.into_iter().take(MAX_REPORTED - self.reported.len()) {
            let sku = sku.map(|sku| format!(", SKU \"{}\"", sku.as_str())).unwrap_or_default();
            let message = format!("row {row} (line {line}{sku}): {reason}");
            // Control characters could be escape sequences for the terminal.
            self.reported.push(message.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect());
        }
        self.progress.advance((end >> 10) - (self.read >> 10))?;
        self.read = end;
        Ok(Some(plan.changes))
    }

    /// Returns the tally of the pass, or an error that lists the bad rows if there were any.
    fn end(self) -> Result<Tally> {
        let Self { bad, reported, tally, .. } = self;
        let rows = if bad == 1 { "row" } else { "rows" };
        let more = match bad - u64::try_from(reported.len())? {
            0 => String::new(),
            more => format!("\nand {more} more"),
        };
        ensure!(bad == 0, "{bad} bad {rows}; nothing was changed\n{}{more}", reported.join("\n"));
        Ok(tally)
    }
}

/// Returns the errors of the fields of a row, on one line.
fn in_words(errors: &FieldErrors) -> String {
    let messages = |violations: &[Violation]| violations.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let reasons = errors.iter().map(|(field, violations)| format!("{}: {}", spelling(field), messages(violations)));
    reasons.collect::<Vec<_>>().join("; ")
}

/// Imports a file, or standard input if it is `-`, into the catalog; returns a text for the operator.
///
/// # Errors
/// When rows are invalid, with a list of them; and when the file or the catalog cannot be read or written. Then nothing was
/// changed.
pub(super) async fn import(
    config: &Config,
    file: PathBuf,
    format: Option<Format>,
    dry_run: bool,
    interrupt: Interrupt,
) -> Result<String> {
    let format = format.map_or_else(|| Format::of(&file), Ok)?;
    // Opened before the input is read, so that a missing database is reported before the end of a pipe.
    let database = open::existing_database(config).await?;
    let catalogs: &dyn Catalog = &database;
    let source = Source::open(file, format, &interrupt).await?;
    let mut progress = Progress::new(interrupt);
    let kib = source.kib()?;
    progress.phase("check (KiB)", Some(kib));
    let mut catalog = catalogs.snapshot().await.operator_context(CATALOG)?;
    let mut pass = Pass::begin(&source, &mut progress)?;
    while pass.next(&mut *catalog).await?.is_some() {}
    let found = pass.end()?;
    drop(catalog);
    if dry_run {
        return Ok(format!("A dry run of {} Nothing was changed.", found.in_words()));
    }
    if found.created + found.updated == 0 {
        return Ok(format!("Imported {}", found.in_words()));
    }
    progress.phase("write (KiB)", Some(kib));
    let mut catalog = catalogs.change().await.operator_context(CATALOG)?;
    let mut pass = Pass::begin(&source, &mut progress)?;
    while let Some(changes) = pass.next(&mut *catalog).await? {
        if !changes.is_empty() {
            catalog.store(changes).await.operator_context(CATALOG)?;
        }
    }
    let done = pass.end()?;
    let (ids, actor) = (SystemIds, Actor::CommandLine);
    let entry = AuditEntry::new(&ids, SystemClock.now(), actor, Action::ProductsImported, Target::Catalog);
    let entry = entry.with_details(format!("{} created, {} updated", done.created, done.updated));
    let has_changed = done.created + done.updated > 0;
    catalog.commit(has_changed.then_some(entry)).await.operator_context(CATALOG)?;
    Ok(format!("Imported {}", done.in_words()))
}

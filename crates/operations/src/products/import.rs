//! `agora products import`: a file into the catalog.

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

/// How the catalog is named to an operator.
pub(super) const CATALOG: &str = "the catalog";

/// How many bad rows are told.
const MAX_REPORTED: usize = 20;

/// How many rows do what.
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

    /// As in "2 products: 1 created, 1 updated, 0 unchanged."
    fn in_words(self) -> String {
        let Self { created, updated, unchanged } = self;
        let all = count_of(created + updated + unchanged);
        format!("{all}: {created} created, {updated} updated, {unchanged} unchanged.")
    }
}

/// The file, read once.
struct Pass<'a> {
    batches: Background<Batch>,
    planning: ImportPass,
    tally: Tally,
    /// How many rows cannot be taken over, and what is told of the first of them.
    bad: u64,
    told: Vec<String>,
    /// How many bytes of the file were read.
    read: u64,
    progress: &'a mut Progress,
}

impl<'a> Pass<'a> {
    fn begin(source: &Source, progress: &'a mut Progress) -> Result<Self> {
        let planning = ImportPass::new(Arc::new(SystemClock), Arc::new(SystemIds));
        let (tally, told) = (Tally::default(), Vec::new());
        Ok(Self { batches: source.batches()?, planning, tally, bad: 0, told, read: 0, progress })
    }

    /// Returns what the next rows do to the catalog; nothing after the last.
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
        for (RowPosition { row, line }, sku, reason) in refused.into_iter().take(MAX_REPORTED - self.told.len()) {
            let sku = sku.map(|sku| format!(", SKU \"{}\"", sku.as_str())).unwrap_or_default();
            let told = format!("row {row} (line {line}{sku}): {reason}");
            // Without the characters that a terminal would obey.
            self.told.push(told.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect());
        }
        self.progress.advance((end >> 10) - (self.read >> 10))?;
        self.read = end;
        Ok(Some(plan.changes))
    }

    /// Returns how many rows do what, unless one cannot be taken over.
    fn end(self) -> Result<Tally> {
        let Self { bad, told, tally, .. } = self;
        let rows = if bad == 1 { "row" } else { "rows" };
        let more = match bad - u64::try_from(told.len())? {
            0 => String::new(),
            more => format!("\nand {more} more"),
        };
        ensure!(bad == 0, "{bad} bad {rows}; nothing was changed\n{}{more}", told.join("\n"));
        Ok(tally)
    }
}

/// Returns what is wrong with the fields of a row, on one line.
fn in_words(errors: &FieldErrors) -> String {
    let messages = |violations: &[Violation]| violations.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let reasons = errors.iter().map(|(field, violations)| format!("{}: {}", spelling(field), messages(violations)));
    reasons.collect::<Vec<_>>().join("; ")
}

/// Takes a file over into the catalog, `-` being the standard input; returns what to tell the operator.
///
/// # Errors
/// Every row that cannot be taken over, and what could not be read or written. Then nothing was changed.
pub(super) async fn import(
    config: &Config,
    file: PathBuf,
    format: Option<Format>,
    dry_run: bool,
    interrupt: Interrupt,
) -> Result<String> {
    let format = format.map_or_else(|| Format::of(&file), Ok)?;
    // First of all: whoever pipes a file into this is not to wait for a database that is not there.
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

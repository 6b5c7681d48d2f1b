//! `agora products import`: a file into the catalog.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use agora_config::Config;
use agora_domain::FieldErrors;
use agora_domain::error::Violation;
use agora_domain::products::{CatalogChange, CatalogSnapshot, ImportPass, ImportPlan, ImportRow, RowPosition, Sku};
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

    fn total(self) -> u64 {
        self.created + self.updated + self.unchanged
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { created, updated, unchanged } = self;
        write!(f, "{created} created, {updated} updated, {unchanged} unchanged")
    }
}

/// The rows that cannot be taken over: how many they are, and the first of them.
#[derive(Default)]
struct Refusals {
    count: u64,
    first: Vec<String>,
}

impl Refusals {
    /// Adds some of one part of the file.
    fn add(&mut self, mut rows: Vec<(RowPosition, Option<Sku>, String)>) {
        rows.sort_by_key(|(at, ..)| at.row);
        for (RowPosition { row, line }, sku, reason) in rows {
            self.count += 1;
            if self.first.len() < MAX_REPORTED {
                let sku = sku.map(|sku| format!(", SKU \"{}\"", sku.as_str())).unwrap_or_default();
                let told = format!("row {row} (line {line}{sku}): {reason}");
                // Without the characters that a terminal would obey.
                self.first.push(told.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect());
            }
        }
    }

    fn judge(self) -> Result<()> {
        let Self { count, first } = self;
        let rows = if count == 1 { "row" } else { "rows" };
        let more = match count.saturating_sub(u64::try_from(first.len())?) {
            0 => String::new(),
            more => format!("\nand {more} more"),
        };
        ensure!(count == 0, "{count} bad {rows}; nothing was changed\n{}{more}", first.join("\n"));
        Ok(())
    }
}

/// The file, read once.
struct Pass<'a> {
    batches: Background<Batch>,
    planning: ImportPass,
    tally: Tally,
    refusals: Refusals,
    /// How many bytes of it were read.
    read: u64,
    progress: &'a mut Progress,
}

impl<'a> Pass<'a> {
    fn begin(source: &Source, progress: &'a mut Progress) -> Result<Self> {
        let planning = ImportPass::new(Arc::new(SystemClock), Arc::new(SystemIds));
        let (tally, refusals) = (Tally::default(), Refusals::default());
        Ok(Self { batches: source.batches()?, planning, tally, refusals, read: 0, progress })
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
        self.refusals.add(refused);
        self.progress.advance((end >> 10) - (self.read >> 10))?;
        self.read = end;
        Ok(Some(plan.changes))
    }

    /// Returns how many rows do what, unless one cannot be taken over.
    fn end(self) -> Result<Tally> {
        self.refusals.judge()?;
        Ok(self.tally)
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
pub async fn import(
    config: &Config,
    file: PathBuf,
    format: Option<Format>,
    dry_run: bool,
    interrupt: Interrupt,
) -> Result<String> {
    let format = format.map_or_else(|| Format::of(&file), Ok)?;
    // First of all: whoever pipes a file into this is not to wait for a database that is not there.
    let catalogs = open::existing_database(config).await?.catalog();
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
        return Ok(format!("A dry run of {}: {found}. Nothing was changed.", count_of(found.total())));
    }
    if found.created + found.updated == 0 {
        return Ok(summary(found));
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
    catalog.commit().await.operator_context(CATALOG)?;
    Ok(summary(done))
}

fn summary(tally: Tally) -> String {
    format!("Imported {}: {tally}.", count_of(tally.total()))
}

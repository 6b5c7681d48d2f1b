//! `agora products import`: a file into the catalog.

use std::fmt;
use std::sync::Arc;

use agora_domain::FieldErrors;
use agora_domain::clock::Clock;
use agora_domain::error::Violation;
use agora_domain::id::IdGenerator;
use agora_domain::products::{
    Catalog, CatalogChange, CatalogSnapshot, CatalogTransaction, ImportPass, ImportPlan, ImportRow, RowPosition, Sku,
};
use anyhow::{Result, bail};

use super::count_of;
use super::row::{BadRow, ParsedRow, Row};
use super::source::{Batch, Source};
use crate::context::OperatorContext;
use crate::progress::Progress;

/// How the catalog is named to an operator.
pub(super) const CATALOG: &str = "the catalog";

/// How many bad rows are told.
const MAX_REPORTED: usize = 20;

/// What to take over, and into what.
pub(super) struct Import {
    pub(super) catalog: Arc<dyn Catalog>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) source: Source,
}

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
        let more = self.count.saturating_sub(u64::try_from(self.first.len())?);
        let (lines, count) = (self.first.join("\n"), self.count);
        let rows = if count == 1 { "row" } else { "rows" };
        match (count, more) {
            (0, _) => Ok(()),
            (_, 0) => bail!("{count} bad {rows}; nothing was changed\n{lines}"),
            (_, more) => bail!("{count} bad {rows}; nothing was changed\n{lines}\nand {more} more"),
        }
    }
}

/// What a pass does with the catalog.
enum Access {
    Check(Box<dyn CatalogSnapshot>),
    Write(Box<dyn CatalogTransaction>),
}

impl Access {
    fn catalog(&mut self) -> &mut dyn CatalogSnapshot {
        match self {
            Self::Check(catalog) => &mut **catalog,
            Self::Write(catalog) => &mut **catalog,
        }
    }

    async fn store(&mut self, changes: Vec<CatalogChange>) -> agora_domain::Result<()> {
        match self {
            Self::Write(catalog) if !changes.is_empty() => catalog.store(changes).await,
            _ => Ok(()),
        }
    }
}

impl Import {
    /// Reads the file once.
    async fn pass(&self, access: &mut Access, progress: &mut Progress) -> Result<Tally> {
        let (mut tally, mut refusals) = (Tally::default(), Refusals::default());
        let mut pass = ImportPass::new(Arc::clone(&self.clock), Arc::clone(&self.ids));
        let mut batches = self.source.batches()?;
        while let Some(Batch { rows, kib }) = batches.next().await? {
            let (mut parsed, mut refused) = (Vec::with_capacity(rows.len()), Vec::new());
            for Row { at, content } in rows {
                match content {
                    Ok(ParsedRow { fields, wrong }) => parsed.push(ImportRow { at, fields, wrong }),
                    Err(BadRow { reason, sku }) => refused.push((at, sku, reason)),
                }
            }
            let plan = pass.plan(access.catalog(), parsed).await.operator_context(CATALOG)?;
            tally.add(&plan);
            refused.extend(plan.refused.into_iter().map(|row| (row.at, row.sku, in_words(&row.reasons))));
            refusals.add(refused);
            access.store(plan.changes).await.operator_context(CATALOG)?;
            progress.advance(kib)?;
        }
        refusals.judge()?;
        Ok(tally)
    }
}

/// Returns what is wrong with the fields of a row, on one line.
fn in_words(errors: &FieldErrors) -> String {
    let messages = |violations: &[Violation]| violations.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let reasons = errors.iter().map(|(field, violations)| format!("{field}: {}", messages(violations)));
    reasons.collect::<Vec<_>>().join("; ")
}

/// Takes the file over; what to tell the operator.
///
/// # Errors
/// Every row that cannot be taken over, and what could not be read or written. Then nothing was changed.
pub(super) async fn import(import: Import, dry_run: bool, mut progress: Progress) -> Result<String> {
    let kib = import.source.kib()?;
    progress.phase("check (KiB)", Some(kib));
    let mut check = Access::Check(import.catalog.snapshot().await.operator_context(CATALOG)?);
    let found = import.pass(&mut check, &mut progress).await?;
    drop(check);
    if dry_run {
        return Ok(format!("A dry run of {}: {found}. Nothing was changed.", count_of(found.total())));
    }
    if found.created + found.updated == 0 {
        return Ok(summary(found));
    }
    progress.phase("write (KiB)", Some(kib));
    let mut write = Access::Write(import.catalog.change().await.operator_context(CATALOG)?);
    let done = import.pass(&mut write, &mut progress).await?;
    if let Access::Write(catalog) = write {
        catalog.commit().await.operator_context(CATALOG)?;
    }
    Ok(summary(done))
}

fn summary(tally: Tally) -> String {
    format!("Imported {}: {tally}.", count_of(tally.total()))
}

//! Moves rows from a source to a target, with checksums of both.

use std::collections::BTreeMap;

use agora_database::{Load, Rows, Snapshot, Table};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::context::OperatorContext;
use crate::progress::Progress;

/// The names of the databases in messages to the operator.
pub(crate) const SOURCE: &str = "the source database";
pub(crate) const TARGET: &str = "the target database";

/// The number of rows of a table, and the SHA-256 of their text in the order of the primary key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) rows: u64,
    pub(crate) sha256: String,
}

/// The sums of all tables, by the name of the table.
pub(crate) type Sums = BTreeMap<String, Sum>;

/// Computes a [`Sum`] page by page.
#[derive(Default)]
pub(crate) struct SumBuilder {
    rows: u64,
    hasher: Sha256,
}

impl SumBuilder {
    /// Adds rows, and their text.
    pub(crate) fn add(&mut self, rows: &Rows, text: &[u8]) {
        self.rows += count(rows);
        self.hasher.update(text);
    }

    pub(crate) fn finish(self) -> Sum {
        Sum { rows: self.rows, sha256: hex(&self.hasher.finalize()) }
    }
}

/// Returns bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn count(rows: &Rows) -> u64 {
    u64::try_from(rows.len()).unwrap_or(u64::MAX)
}

/// Returns how many rows all tables have.
pub(crate) async fn total(snapshot: &mut Snapshot) -> Result<u64> {
    let mut total = 0;
    for table in Table::ALL {
        total += snapshot.count(table).await.operator_context(SOURCE)?;
    }
    Ok(total)
}

/// Passes all rows and their text to `take`, page by page; returns the sum of each table. The next page is read while `take`
/// works.
pub(crate) async fn each_page(
    from: &mut Snapshot,
    name: &str,
    progress: &mut Progress,
    mut take: impl AsyncFnMut(Rows, Vec<u8>) -> Result<()>,
) -> Result<Sums> {
    let mut sums = Sums::new();
    for table in Table::ALL {
        let mut builder = SumBuilder::default();
        let mut rows = from.page(table, None).await.operator_context(name)?;
        while !rows.is_empty() {
            let text = rows.to_lines()?;
            builder.add(&rows, &text);
            let (read, end) = (count(&rows), rows.end());
            // The read is polled first, since `take` may block the thread.
            let (next, taken) = tokio::join!(from.page(table, end), take(rows, text));
            taken?;
            rows = next.operator_context(name)?;
            progress.advance(read)?;
        }
        sums.insert(table.name().to_owned(), builder.finish());
    }
    Ok(sums)
}

/// Copies every row.
pub(crate) async fn copy(from: &mut Snapshot, to: &mut Load, progress: &mut Progress) -> Result<Sums> {
    progress.phase("rows", Some(total(from).await?));
    each_page(from, SOURCE, progress, async |rows, _| to.insert(rows).await.operator_context(TARGET)).await
}

/// Reads back all rows of a target, and fails if their sums are not the expected ones.
pub(crate) async fn verify(target: &mut Snapshot, expected: &Sums, progress: &mut Progress) -> Result<()> {
    progress.phase("check", Some(expected.values().map(|sum| sum.rows).sum()));
    for (table, found) in each_page(target, TARGET, progress, async |_, _| Ok(())).await? {
        let expected = expected.get(&table).with_context(|| format!("there is no checksum of {table}"))?;
        ensure!(found == *expected, "{table} differ from the source: {found:?} instead of {expected:?}");
    }
    Ok(())
}

/// Returns the sums as lines for an operator.
pub(crate) fn in_words(sums: &Sums) -> String {
    let line = |table: Table| {
        let sum = sums.get(table.name())?;
        Some(format!("\n  {:<18}{:>12}  sha256 {}", table.name(), sum.rows, sum.sha256.get(..16)?))
    };
    Table::ALL.into_iter().filter_map(line).collect()
}

//! Private functions that the fuzz targets (`fuzz/`) call.

use std::io::Cursor;

use agora_database::Rows;
use anyhow::{Context, Result};

use super::archive::{HEADER, Header, SUMMARY, Summary, UNNAMED, keys_from_lines};
use super::{archive, restore};

/// Reads a backup as a restore does, but writes nothing and does not verify the checksum, which a forged archive would get right.
/// Returns the number of bytes of its entries.
///
/// # Errors
/// When an entry is invalid.
///
/// # Panics
/// When rows that are written and read again are not the same.
pub fn read_archive(bytes: &[u8]) -> Result<usize> {
    let (mut total, mut outcome) = (0, Ok(()));
    archive::read(Cursor::new(bytes), |entry| {
        total += entry.bytes.len();
        outcome = read_entry(&entry.name, &entry.bytes);
        outcome.is_ok()
    })?;
    outcome.map(|()| total)
}

fn read_entry(name: &str, bytes: &[u8]) -> Result<()> {
    match name {
        HEADER => drop(serde_json::from_slice::<Header>(bytes)?),
        SUMMARY => drop(serde_json::from_slice::<Summary>(bytes)?),
        UNNAMED => drop(keys_from_lines(bytes)?),
        name if restore::image_file(name).is_some() => {}
        name => {
            let table = restore::table(name).context("no table")?;
            let lines = Rows::from_lines(table, std::str::from_utf8(bytes)?)?.to_lines()?;
            let again = Rows::from_lines(table, std::str::from_utf8(&lines)?)?.to_lines()?;
            assert_eq!(lines, again, "the checksum of rows depends on how often they were read");
        }
    }
    Ok(())
}

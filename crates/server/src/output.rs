//! What commands write to the standard output.

use std::io;
use std::io::Write as _;

use anyhow::Result;

/// Writes a line, if there is anything in it.
///
/// # Errors
/// When the standard output cannot be written.
pub(crate) fn say(text: &str) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    Ok(writeln!(out, "{text}").and_then(|()| out.flush())?)
}

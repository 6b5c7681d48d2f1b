//! Checks the file of an embedded database for damage.

use diesel::RunQueryDsl;
use diesel::dsl::sql;
use diesel::result::Error as DieselError;
use diesel::sql_types::Text;

use crate::error::OpenError;
use crate::{Database, sqlite};

/// Returns the first damage that SQLite finds in the file of the database; `None` if it is intact, or if the URL names a server.
/// Reads the whole file and changes nothing. Blocks while it works.
///
/// # Errors
/// If the file cannot be opened.
pub fn damage(url: &str) -> Result<Option<String>, OpenError> {
    let Some(file) = Database::named_file(url) else { return Ok(None) };
    let mut conn = sqlite::open_to_inspect(&file)?;
    match sql::<Text>("PRAGMA quick_check(1)").get_result::<String>(&mut conn) {
        Ok(found) => Ok((found != "ok").then_some(found)),
        Err(error @ DieselError::DatabaseError(..)) => Ok(Some(error.to_string())),
        Err(error) => Err(OpenError::Setup(file, error)),
    }
}

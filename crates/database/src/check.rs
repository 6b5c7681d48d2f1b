//! Whether the file of an embedded database is whole.

use diesel::result::Error as DieselError;
use diesel::sql_types::Text;
use diesel::{QueryableByName, RunQueryDsl};

use crate::error::OpenError;
use crate::{Database, sqlite};

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    quick_check: String,
}

/// Returns the first thing that SQLite finds wrong with the file of the database; nothing of one that is whole, and
/// nothing of a server's. Reads all of the file and changes nothing. Blocks while it works.
///
/// # Errors
/// When it cannot be opened.
pub fn damage(url: &str) -> Result<Option<String>, OpenError> {
    let Some(file) = Database::named_file(url) else { return Ok(None) };
    let mut conn = sqlite::open_to_inspect(&file)?;
    match diesel::sql_query("PRAGMA quick_check(1)").get_result::<Row>(&mut conn) {
        Ok(Row { quick_check }) => Ok((quick_check != "ok").then_some(quick_check)),
        Err(error @ DieselError::DatabaseError(..)) => Ok(Some(error.to_string())),
        Err(error) => Err(OpenError::Setup(file, error)),
    }
}

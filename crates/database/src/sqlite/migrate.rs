//! Bringing a schema up to date, with a copy of the database saved before.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::{fs, io};

use diesel::sql_types::Text;
use diesel::{RunQueryDsl, SqliteConnection};
use diesel_migrations::MigrationHarness;

use super::connect::{create, give_to_owner};
use super::locks::lock_service;
use crate::error::OpenError;
use crate::version;
use crate::version::{MIGRATIONS, Migrated};

/// How many copies there may be of databases with one schema version.
const MAX_COPIES: u32 = 1_000;

/// Applies pending migrations to a file. If it has a schema, of the version `found`, a copy of it is saved before.
pub(super) fn run(
    conn: &mut SqliteConnection,
    file: &Path,
    found: Option<&String>,
    is_locked: bool,
) -> Result<Migrated, OpenError> {
    if !conn.has_pending_migration(MIGRATIONS).map_err(OpenError::Migration)? {
        return Ok(Migrated::default());
    }
    // A command must not change the schema under a running service.
    let _alone = (!is_locked).then(|| lock_service(file)).transpose()?;
    let saved = found.map(|schema| save(conn, file, schema)).transpose()?;
    if let Some(saved) = &saved {
        tracing::info!(file = %saved.display(), "saved a copy of the database before migrating it");
    }
    let applied = conn.run_pending_migrations(MIGRATIONS).map_err(OpenError::Migration)?;
    Ok(Migrated { applied: version::names(&applied), saved })
}

/// Saves a copy of the database next to it, for its owner alone, and returns the path. Existing files are not replaced.
fn save(conn: &mut SqliteConnection, file: &Path, schema: &str) -> Result<PathBuf, OpenError> {
    // Next to the file itself, whatever links lead to it.
    let file = file.canonicalize().map_err(|source| OpenError::Create(file.to_owned(), source))?;
    let named = |ending: &str| {
        let mut name = file.clone().into_os_string();
        name.push(format!("-schema-{schema}{ending}"));
        PathBuf::from(name)
    };
    let temporary = named(".draft");
    let saved = write_copy(conn, &file, &temporary).and_then(|()| link_to_free_name(&temporary, named));
    // No longer needed, whether or not it was linked. One that a crash leaves behind is replaced the next time.
    let _ = fs::remove_file(&temporary);
    let saved = saved.map_err(|source| OpenError::Save(named(""), source))?;
    sync_directory(&saved).map_err(|source| OpenError::Save(saved.clone(), source.into()))?;
    Ok(saved)
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Writes a copy of the whole database to a file, durably.
fn write_copy(conn: &mut SqliteConnection, file: &Path, temporary: &Path) -> Result<(), BoxError> {
    match fs::remove_file(temporary) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    // SQLite accepts a file that is empty, and keeps its mode.
    let written = create(temporary)?;
    // The service must be able to use what root writes.
    give_to_owner(&written, file)?;
    let path = temporary.to_str().ok_or("the path is not valid Unicode")?;
    diesel::sql_query("VACUUM INTO ?").bind::<Text, _>(path).execute(conn)?;
    written.sync_all()?;
    Ok(())
}

/// Links the temporary file to the first name that is free, unless a copy with an earlier name has the same content: a migration
/// that fails time and again must not fill the disk.
fn link_to_free_name(temporary: &Path, named: impl Fn(&str) -> PathBuf) -> Result<PathBuf, BoxError> {
    for number in 1..=MAX_COPIES {
        let name = if number == 1 { named("") } else { named(&format!("-{number}")) };
        match fs::hard_link(temporary, &name) {
            Ok(()) => return Ok(name),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                // A copy that cannot be read counts as different.
                if has_same_content(temporary, &name).unwrap_or(false) {
                    return Ok(name);
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err("there are too many copies saved before earlier migrations: delete some of them".into())
}

fn has_same_content(one: &Path, other: &Path) -> io::Result<bool> {
    let [mut one, mut other] = [BufReader::new(File::open(one)?), BufReader::new(File::open(other)?)];
    if one.get_ref().metadata()?.len() != other.get_ref().metadata()?.len() {
        return Ok(false);
    }
    loop {
        let (some, others) = (one.fill_buf()?, other.fill_buf()?);
        let length = some.len().min(others.len());
        if length == 0 {
            return Ok(true);
        }
        if some[..length] != others[..length] {
            return Ok(false);
        }
        one.consume(length);
        other.consume(length);
    }
}

fn sync_directory(file: &Path) -> io::Result<()> {
    file.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

//! Bringing a schema up to date, with the database kept as it was.

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

/// How many copies of one schema there can be.
const MOST_COPIES: u32 = 1_000;

/// Applies what is pending to a file whose schema was found to be of this version, if it has one: that is kept.
pub(super) fn run(
    conn: &mut SqliteConnection,
    file: &Path,
    found: Option<&String>,
    is_locked: bool,
) -> Result<Migrated, OpenError> {
    if !conn.has_pending_migration(MIGRATIONS).map_err(OpenError::Migration)? {
        return Ok(Migrated::default());
    }
    // Nor does a command change the schema below a service.
    let _alone = (!is_locked).then(|| lock_service(file)).transpose()?;
    let saved = found.map(|schema| save(conn, file, schema)).transpose()?;
    if let Some(saved) = &saved {
        tracing::info!(file = %saved.display(), "saved the database as it was before its schema is brought up to date");
    }
    let applied = conn.run_pending_migrations(MIGRATIONS).map_err(OpenError::Migration)?;
    Ok(Migrated { applied: version::names(&applied), saved })
}

/// Saves the database beside itself, for its owner alone; where. What is there already is left.
fn save(conn: &mut SqliteConnection, file: &Path, schema: &str) -> Result<PathBuf, OpenError> {
    // Beside the file itself, whatever links lead to it.
    let file = file.canonicalize().map_err(|source| OpenError::Create(file.to_owned(), source))?;
    let named = |ending: &str| {
        let mut name = file.clone().into_os_string();
        name.push(format!("-schema-{schema}{ending}"));
        PathBuf::from(name)
    };
    let draft = named(".draft");
    let saved = write(conn, &file, &draft).and_then(|()| place(&draft, named));
    // Of no use any more, whatever became of it; what a crash left is replaced the next time.
    let _ = fs::remove_file(&draft);
    let saved = saved.map_err(|source| OpenError::Save(named(""), source))?;
    sync_directory(&saved).map_err(|source| OpenError::Save(saved.clone(), source.into()))?;
    Ok(saved)
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Writes all of the database to another file, durably.
fn write(conn: &mut SqliteConnection, file: &Path, draft: &Path) -> Result<(), Failed> {
    match fs::remove_file(draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    // SQLite takes a file that is empty, and with it the mode.
    let written = create(draft)?;
    // What root writes is to be of use to the service.
    give_to_owner(&written, file)?;
    let path = draft.to_str().ok_or("the path is not valid Unicode")?;
    diesel::sql_query("VACUUM INTO ?").bind::<Text, _>(path).execute(conn)?;
    written.sync_all()?;
    Ok(())
}

/// Gives the draft the first name that is free, unless a copy with a name before that is the same: what fails to bring the
/// schema up to date, time and again, is not to fill the disk.
fn place(draft: &Path, named: impl Fn(&str) -> PathBuf) -> Result<PathBuf, Failed> {
    for number in 1..=MOST_COPIES {
        let name = if number == 1 { named("") } else { named(&format!("-{number}")) };
        match fs::hard_link(draft, &name) {
            Ok(()) => return Ok(name),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                // One that cannot be read is left alone.
                if is_same(draft, &name).unwrap_or(false) {
                    return Ok(name);
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err("there are too many copies: delete some".into())
}

fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
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

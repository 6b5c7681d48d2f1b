//! Checks the database: whether it can be reached, its version, its schema.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agora_config::{Config, Loaded, SETTINGS};
use agora_database::{OpenError, Probe, ServerProbe};
use rustix::fs::{Access, access};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::clock::Reference;
use super::directory::{can_be_made, is_ours};
use super::{Finding, absent, data_dir, failed, ok, unclear, warning};
use crate::atomic_file::directory_of;
use crate::open::{database_file, database_url};

/// The time limit of the integrity check of an SQLite file.
const INTEGRITY_CHECK_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) async fn findings(loaded: &Loaded) -> (Vec<Finding>, Option<Reference>) {
    if let Some(finding) = unclear(loaded, &[&SETTINGS.database_url, &SETTINGS.data_dir]) {
        return (vec![finding], None);
    }
    let config = &loaded.best_guess;
    let url = database_url(config, &data_dir(config));
    let of_file = database_file(config, &data_dir(config)).and_then(|file| unwritable(&file));
    let of_file = of_file.map(|it| failed(format!("{} is not writable: chown it to the service's user", it.display())));
    let mut reference = Reference::begin("the database server");
    let probe = match agora_database::probe(url.expose(), &config.database()).await {
        Ok(probe) => probe,
        Err(OpenError::Missing(file)) => return (vec![missing(config, &file)], None),
        // A file without permission to write is the reason why the database cannot be opened.
        Err(error) => return (vec![of_file.unwrap_or_else(|| failed(advised(error)))], None),
    };
    let mut findings = vec![schema(&probe)];
    if let Some(server) = &probe.server {
        findings.extend(of_server(server, config.database_connections));
        reference.end(server.now);
        if let Some(url) = &config.database_read_url {
            findings.push(match agora_database::probe_replica(url.expose(), &config.database()).await {
                Ok(product) => ok(format!("{product}, a replica for lists")),
                Err(error) => failed(format!("{:#}: correct AGORA_DATABASE_READ_URL", anyhow::Error::from(error))),
            });
        }
        return (findings, Some(reference));
    }
    findings.extend(of_file);
    findings.extend(damage(url.expose()).await);
    (findings, None)
}

/// Checks the integrity of an SQLite file; returns a finding if it is damaged or could not be checked.
async fn damage(url: &str) -> Option<Finding> {
    let url = url.to_owned();
    match timeout(INTEGRITY_CHECK_TIMEOUT, spawn_blocking(move || agora_database::damage(&url))).await {
        Ok(Ok(Ok(damage))) => {
            let damage = damage?;
            // The first line is a heading of asterisks that names the database.
            let first = damage.lines().find(|line| !line.starts_with("***")).unwrap_or_default();
            Some(failed(format!("its file is damaged ({first}): restore a backup")))
        }
        Ok(Ok(Err(error))) => Some(failed(advised(error))),
        Ok(Err(_)) | Err(_) => Some(warning(format!(
            "its file is too large to be checked in {} s: run PRAGMA quick_check to check all of it",
            INTEGRITY_CHECK_TIMEOUT.as_secs()
        ))),
    }
}

/// Returns the path that cannot be written, if any: the directory of an existing database, its file, or a file beside it.
fn unwritable(file: &Path) -> Option<PathBuf> {
    // The files beside it are where a symbolic link leads to.
    let file = &file.canonicalize().ok()?;
    let directory = directory_of(file);
    if !is_ours(directory) {
        return Some(directory.to_owned());
    }
    let is_unwritable = |file: &PathBuf| file.exists() && access(file, Access::READ_OK | Access::WRITE_OK).is_err();
    agora_database::files(file).into_iter().find(is_unwritable)
}

fn missing(config: &Config, file: &Path) -> Finding {
    let (shown, directory) = (file.display(), directory_of(file));
    if file.exists() {
        return failed(format!("{shown} is not a file: use another path (AGORA_DATABASE_URL)"));
    }
    // A database in the data directory is created together with that directory.
    let is_there = directory.is_dir() && is_ours(directory);
    absent(shown, is_there || config.database_url.is_none() && can_be_made(directory), "its directory")
}

fn advised(error: OpenError) -> String {
    let advice = match &error {
        OpenError::Connect(_) => ": start the server, or correct AGORA_DATABASE_URL",
        OpenError::Newer { .. } => ", or restore a backup of the older one",
        OpenError::Pooled | OpenError::Flavor(_) => "",
        _ => ": correct AGORA_DATABASE_URL, or restore a backup",
    };
    format!("{:#}{advice}", anyhow::Error::from(error))
}

fn schema(Probe { product, schema, pending, .. }: &Probe) -> Finding {
    match (schema, pending) {
        (None, _) => ok(format!("{product}, empty: the first start creates the tables")),
        (Some(schema), 0) => ok(format!("{product}, schema {schema}, which is up to date")),
        (Some(schema), pending) => warning(format!(
            "{product}, schema {schema}, pending migrations: {pending}; the next start applies them: make a backup first, with \
             the version that created this schema"
        )),
    }
}

fn of_server(server: &ServerProbe, connections: usize) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !server.is_supported {
        findings.push(failed("the server is too old: use PostgreSQL 13 or newer"));
    }
    if !server.may_change_schema {
        let advice = "make it the owner of the schema, or GRANT CREATE ON SCHEMA";
        findings.push(failed(format!("the user of AGORA_DATABASE_URL cannot create tables: {advice}")));
    }
    // Besides the pool: one each for the sweep, the mailer, the erasure of accounts, a downloaded backup and a command.
    let (wanted, all) = (connections + 5, server.connections);
    if wanted > all {
        findings.push(warning(format!(
            "a node opens up to {wanted} connections, and the server allows {all} in total: lower AGORA_DATABASE_CONNECTIONS, \
             or raise max_connections of the server"
        )));
    }
    findings
}

//! The database: whether it can be reached, its version, its schema.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use agora_database::{OpenError, Probe, ServerProbe};
use rustix::fs::Access;
use tokio::sync::oneshot;

use super::clock::Reference;
use super::directory::{is_ours, nearest};
use super::{Finding, data_dir, unknown};
use crate::atomic_file::directory_of;
use crate::open;
use agora_config::{Config, Loaded, SETTINGS};

const SUBJECT: &str = "database";

pub(super) async fn findings(loaded: &Loaded) -> (Vec<Finding>, Option<Reference>) {
    let not_clear =
        [&SETTINGS.database_url, &SETTINGS.data_dir].into_iter().find(|setting| !loaded.is_certain(setting));
    if let Some(setting) = not_clear {
        return (vec![unknown(SUBJECT, setting)], None);
    }
    let config = loaded.best_guess();
    let url = open::database_url(config, &data_dir(config));
    let mut reference = Reference::begin("the database server");
    let probe = match agora_database::probe(url.expose(), &config.database()).await {
        Ok(probe) => probe,
        Err(OpenError::Missing(file)) => return (vec![missing(config, &file)], None),
        Err(error) => return (vec![Finding::failed(SUBJECT, advised(error))], None),
    };
    let mut findings = vec![schema(&probe)];
    match &probe.server {
        Some(server) => {
            findings.extend(of_server(server, config.database_connections));
            reference.end(server.now);
            (findings, Some(reference))
        }
        None => {
            findings.extend(file(config).filter(|file| !is_writable(file)).map(|file| {
                Finding::failed(
                    SUBJECT,
                    format!("{} cannot be written: chown it to the user of the service", file.display()),
                )
            }));
            findings.extend(damage(url.expose()).await);
            (findings, None)
        }
    }
}

/// How long the file is looked through.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns what is wrong within the file of an embedded database.
async fn damage(url: &str) -> Option<Finding> {
    let (sender, looked) = oneshot::channel();
    let url = url.to_owned();
    // A thread that nobody waits for at the end: a large file may take longer.
    let looking = thread::Builder::new().spawn(move || {
        // Whoever has given up does not miss it.
        let _ = sender.send(agora_database::damage(&url));
    });
    let found = match looking {
        Ok(_) => tokio::time::timeout(PATIENCE, looked).await,
        Err(error) => return Some(Finding::warning(SUBJECT, format!("cannot be looked through: {error}"))),
    };
    match found {
        Ok(Ok(Ok(None))) => None,
        Ok(Ok(Ok(Some(damage)))) => {
            let first = damage.lines().next().unwrap_or_default();
            Some(Finding::failed(SUBJECT, format!("its file is damaged ({first}): restore a backup")))
        }
        Ok(Ok(Err(error))) => Some(Finding::failed(SUBJECT, advised(error))),
        Ok(Err(_)) | Err(_) => {
            let seconds = PATIENCE.as_secs();
            let text = format!("its file is large, and not all of it could be looked through in {seconds} s");
            Some(Finding::warning(SUBJECT, format!("{text}: when in doubt, PRAGMA quick_check tells")))
        }
    }
}

/// Returns the file of an embedded database.
pub(super) fn file(config: &Config) -> Option<PathBuf> {
    let url = open::database_url(config, &data_dir(config));
    let path = url.expose().strip_prefix("sqlite:")?;
    Some(PathBuf::from(path.strip_prefix("//").unwrap_or(path)))
}

/// Returns whether the file can be written, and its companions beside it.
fn is_writable(file: &Path) -> bool {
    let directory = directory_of(file);
    rustix::fs::access(file, Access::READ_OK | Access::WRITE_OK).is_ok() && is_ours(directory)
}

fn missing(config: &Config, file: &Path) -> Finding {
    let shown = file.display();
    let directory = directory_of(file);
    // The data directory is made with the database.
    let can_be_made = directory.is_dir() && is_ours(directory)
        || config.database_url.is_none() && nearest(directory).is_some_and(|above| is_ours(&above));
    match can_be_made && !file.exists() {
        true => Finding::ok(SUBJECT, format!("{shown} is not there yet: the first start makes it")),
        false if file.exists() => {
            Finding::failed(SUBJECT, format!("{shown} is no file: name another (AGORA_DATABASE_URL)"))
        }
        false => Finding::failed(
            SUBJECT,
            format!("{shown} is not there and cannot be made: make its directory, for the user of the service"),
        ),
    }
}

fn advised(error: OpenError) -> String {
    let advice = match &error {
        OpenError::Connect(_) => ": start the server, or correct AGORA_DATABASE_URL",
        OpenError::Newer { .. } => ", or restore a backup of the older one",
        _ => ": correct AGORA_DATABASE_URL, or restore a backup",
    };
    format!("{:#}{advice}", anyhow::Error::from(error))
}

fn schema(probe: &Probe) -> Finding {
    let Probe { product, schema, pending, .. } = probe;
    match (schema, pending) {
        (None, _) => Finding::ok(SUBJECT, format!("{product}, still empty: the first start makes its tables")),
        (Some(schema), 0) => Finding::ok(SUBJECT, format!("{product}, its schema {schema} is up to date")),
        (Some(schema), pending) => Finding::warning(
            SUBJECT,
            format!(
                "{product}, its schema {schema} lacks {pending} of the migrations, which the next start applies: make a \
                 backup first, with the version that made this schema"
            ),
        ),
    }
}

fn of_server(server: &ServerProbe, connections: usize) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !server.is_supported {
        findings.push(Finding::failed(SUBJECT, "the server is too old: use PostgreSQL 13 or newer"));
    }
    if !server.may_change_schema {
        let what =
            "the user of AGORA_DATABASE_URL cannot make tables: let it own the schema, or GRANT CREATE ON SCHEMA";
        findings.push(Finding::failed(SUBJECT, what));
    }
    // One for the sweep, and one for a command.
    let wanted = connections + 2;
    if wanted > server.connections {
        findings.push(Finding::warning(
            SUBJECT,
            format!(
                "a node takes up to {wanted} connections, and the server has {} for all: lower \
                 AGORA_DATABASE_CONNECTIONS, or raise max_connections of the server",
                server.connections
            ),
        ));
    }
    findings
}

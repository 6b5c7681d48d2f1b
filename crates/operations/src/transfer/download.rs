//! Backups that are streamed to an HTTP client while they are made.

use std::sync::Arc;
use std::thread;

use agora_database::Database;
use agora_domain::backups::{BackupBytes, BackupSource};
use agora_domain::{Error, Result};
use agora_media::ObjectImageStore;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::archive::Writer;
use super::backup::save;
use crate::progress::Progress;

/// Makes the archives of `agora backup`, but without the signing secret, so that nobody can forge tokens with one.
///
/// Each is made on a separate thread and a separate connection, as fast as the client reads it.
pub struct BackupDownloads {
    database: Arc<Database>,
    store: Arc<ObjectImageStore>,
    runtime: Handle,
    /// Allows one backup at a time.
    permit: Arc<Semaphore>,
}

impl BackupDownloads {
    /// Creates a source of backups of a database and a store. Must be called within the runtime that drives the connections.
    pub fn new(database: Arc<Database>, store: Arc<ObjectImageStore>) -> Self {
        Self { database, store, runtime: Handle::current(), permit: Arc::new(Semaphore::new(1)) }
    }
}

impl BackupSource for BackupDownloads {
    fn begin(&self) -> Result<BackupBytes> {
        let permit = Arc::clone(&self.permit).try_acquire_owned();
        let permit = permit.map_err(|_| Error::unavailable("another backup is being made"))?;
        let (archive, parts) = Writer::begin_parts();
        let (mut failed, failure) = oneshot::channel();
        let (database, store, runtime) = (Arc::clone(&self.database), Arc::clone(&self.store), self.runtime.clone());
        let work = move || {
            let made = runtime.block_on(async {
                tokio::select! {
                    made = make(&database, &store, archive) => made,
                    // The client has disconnected.
                    () = failed.closed() => Ok(()),
                }
            });
            drop(permit);
            if let Err(error) = made {
                // Fails only if the client has disconnected.
                let _ = failed.send(error);
            }
        };
        thread::Builder::new().name("agora-backup".to_owned()).spawn(work).map_err(Error::internal)?;
        Ok(ArchiveParts { parts, failure: Some(failure) }.into_stream())
    }
}

async fn make(database: &Database, store: &ObjectImageStore, archive: Writer) -> anyhow::Result<()> {
    let (_, warning) = save(database, store, None, archive, true, &mut Progress::hidden()).await?;
    if let Some(warning) = warning {
        tracing::warn!("made a backup without some images: {warning}");
    }
    Ok(())
}

/// The parts of an archive, and then the error that ended it early, if any.
struct ArchiveParts {
    parts: mpsc::Receiver<Bytes>,
    failure: Option<oneshot::Receiver<anyhow::Error>>,
}

impl ArchiveParts {
    fn into_stream(self) -> BackupBytes {
        stream::unfold(self, async |mut parts| parts.next().await.map(|part| (part, parts))).boxed()
    }

    async fn next(&mut self) -> Option<Result<Bytes>> {
        if let Some(part) = self.parts.recv().await {
            return Some(Ok(part));
        }
        // The parts have ended: with an error if one was sent, otherwise the archive is complete.
        let failure = self.failure.take()?.await.ok()?;
        Some(Err(Error::internal(failure)))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::time::Duration;

    use agora_database::Options;
    use agora_domain::accounts::{
        Account, AccountRepository, Biography, Email, NewAccount, PasswordHash, Privacy, Roles, Username,
    };
    use agora_domain::clock::{Clock, Timestamp};
    use agora_domain::id::IdGenerator;
    use futures_util::TryStreamExt;

    use super::*;
    use crate::system::{SystemClock, SystemIds};

    fn account(n: u32, created_at: Timestamp) -> NewAccount {
        let account = Account {
            id: SystemIds.generate().into(),
            username: Username::parse(&format!("user{n}")).unwrap(),
            email: Email::parse(&format!("user{n}@example.org")).unwrap(),
            display_name: None,
            biography: Biography::parse(&"long ".repeat(199)).unwrap(),
            profile_picture: None,
            privacy: Privacy::default(),
            roles: Roles::USER,
            enabled: true,
            email_verified: false,
            created_at,
        };
        NewAccount { account, password: PasswordHash::new("hash".to_owned()), entry: None }
    }

    /// A source of backups that are much longer than the channel holds.
    async fn downloads(directory: &tempfile::TempDir) -> BackupDownloads {
        let url = format!("sqlite:{}", directory.path().join("agora.db").display());
        let database = Arc::new(Database::open(&url, &Options::default()).await.unwrap());
        for n in 0..1_000 {
            database.create(&account(n, SystemClock.now()), None).await.unwrap();
        }
        BackupDownloads::new(database, Arc::new(agora_media::open("memory:").await.unwrap()))
    }

    /// Begins a backup as soon as no other is in progress.
    async fn begin(downloads: &BackupDownloads) -> BackupBytes {
        loop {
            match downloads.begin() {
                Ok(bytes) => return bytes,
                Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_backup_is_made_at_a_time_and_is_aborted_when_its_stream_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let downloads = downloads(&directory).await;
        let mut first = downloads.begin().unwrap();
        assert!(!first.next().await.unwrap().unwrap().is_empty());
        assert!(matches!(downloads.begin(), Err(Error::Unavailable(_))));
        drop(first);
        let parts: Vec<Bytes> = begin(&downloads).await.try_collect().await.unwrap();
        assert!(parts.iter().all(|part| part.len() <= 64 * 1024));
        let bytes = parts.concat();
        let mut archive = tar::Archive::new(&*bytes);
        let mut names = Vec::new();
        let mut text = String::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            names.push(String::from_utf8(entry.path_bytes().into_owned()).unwrap());
            entry.read_to_string(&mut text).unwrap();
        }
        assert_eq!(names[..3], ["agora-backup.json", "unnamed-images", "rows/users-000001.jsonl"]);
        assert!(text.contains("user999@example.org") && names.last().unwrap() == "sha256");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_failure_is_the_last_item_of_the_stream() {
        let directory = tempfile::tempdir().unwrap();
        let downloads = downloads(&directory).await;
        std::fs::remove_file(directory.path().join("agora.db")).unwrap();
        let outcome: Result<Vec<Bytes>> = downloads.begin().unwrap().try_collect().await;
        assert!(matches!(outcome, Err(Error::Internal(_))), "{outcome:?}");
    }
}

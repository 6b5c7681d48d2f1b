//! A check that a store writes, reads and deletes an object.

use std::path::PathBuf;

use agora_domain::clock::Timestamp;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};

use crate::failure::Failure;
use crate::limit::{CALL_TIMEOUT, with_timeout};
use crate::location::{OpenError, Opened, open_existing};

/// The result of a probe.
#[derive(Debug)]
pub enum Probe {
    /// All operations succeeded. The time is when the object was written, by the clock of the store.
    Works(Timestamp),
    /// The named operation failed for this reason.
    Fails(&'static str, Failure),
    /// The store returned other content than was written.
    Garbles,
    /// The directory of the store does not exist.
    Missing(PathBuf),
}

/// Writes an object of this name, which must not be in use, to the store of the URL, reads it and deletes it. The store is
/// otherwise left as it is; in particular, a missing directory is not created.
///
/// # Errors
/// [`OpenError`] when the URL is not one of a store, or the settings to reach the store are missing or invalid.
pub async fn probe(url: &str, name: &str) -> Result<Probe, OpenError> {
    match open_existing(url).await? {
        Opened::MissingDirectory(directory) => Ok(Probe::Missing(directory)),
        Opened::Objects(objects) => Ok(probe_objects(objects.as_ref(), &Path::from(name)).await),
    }
}

async fn probe_objects(objects: &dyn ObjectStore, path: &Path) -> Probe {
    const CONTENT: &[u8] = b"agora doctor";
    if let Err(error) = with_timeout(CALL_TIMEOUT, objects.put(path, PutPayload::from_static(CONTENT))).await {
        // The object may have been written all the same, if only the response was lost.
        let _ = with_timeout(CALL_TIMEOUT, objects.delete(path)).await;
        return Probe::Fails("write", error.into());
    }
    let read = with_timeout(CALL_TIMEOUT, async {
        let found = objects.get(path).await?;
        Ok((found.meta.last_modified.timestamp_millis(), found.bytes().await?))
    });
    let read = read.await;
    // Even if the read failed, so that nothing is left behind.
    let deleted = with_timeout(CALL_TIMEOUT, objects.delete(path)).await;
    match (read, deleted) {
        (Err(error), _) => Probe::Fails("read", error.into()),
        (_, Err(error)) => Probe::Fails("delete", error.into()),
        (Ok((_, bytes)), _) if bytes != CONTENT => Probe::Garbles,
        (Ok((modified, _)), _) => Probe::Works(Timestamp::from_unix_millis(modified)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn probing_a_directory_leaves_it_as_it_was() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("media");
        let url = format!("file://{}", directory.display());
        let missing = probe(&url, "probe").await.unwrap();
        assert!(matches!(missing, Probe::Missing(path) if path == directory));
        assert!(!directory.exists());

        fs::create_dir(&directory).unwrap();
        let works = probe(&url, "probe").await.unwrap();
        assert!(matches!(works, Probe::Works(modified) if modified.unix_seconds() > 1_000_000_000));
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);

        // A directory in the place of the object cannot be written.
        fs::create_dir(directory.join("probe")).unwrap();
        let fails = probe(&url, "probe").await.unwrap();
        assert!(matches!(&fails, Probe::Fails("write", _)), "{fails:?}");
    }

    #[tokio::test]
    async fn a_url_of_no_store_is_rejected() {
        for url in ["media", "s3://", "ftp://localhost/media", "memory"] {
            assert!(probe(url, "probe").await.is_err(), "{url}");
        }
        assert!(matches!(probe("memory:", "probe").await, Ok(Probe::Works(_))));
    }
}

//! Whether a store takes an object, returns it and deletes it.

use std::path::PathBuf;

use agora_domain::clock::Timestamp;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};

use crate::failure::Failure;
use crate::limit::{ANSWER, within};
use crate::location::{Found, OpenError, find};

/// What became of a probe.
#[derive(Debug)]
pub enum Probe {
    /// The store did all that it should. When it says the object was written.
    Works(Timestamp),
    /// The store did not do this, for this reason.
    Fails(&'static str, Failure),
    /// The store returned something else than was stored.
    Garbles,
    /// The directory of the store is not there.
    Missing(PathBuf),
}

/// Stores an object of this name, which nothing else has, in the store that the URL names; reads it and deletes it. The
/// store is otherwise left as it is: no directory is made.
///
/// # Errors
/// [`OpenError`] when the URL names no store, or what is needed to reach it is not known.
pub async fn probe(url: &str, name: &str) -> Result<Probe, OpenError> {
    match find(url).await? {
        Found::Missing(directory) => Ok(Probe::Missing(directory)),
        Found::Objects(objects) => Ok(try_out(objects.as_ref(), &Path::from(name)).await),
    }
}

async fn try_out(objects: &dyn ObjectStore, path: &Path) -> Probe {
    const CONTENT: &[u8] = b"agora doctor";
    if let Err(error) = within(ANSWER, objects.put(path, PutPayload::from_static(CONTENT))).await {
        // The object may be there all the same, when the answer alone was lost.
        let _ = within(ANSWER, objects.delete(path)).await;
        return Probe::Fails("write", error.into());
    }
    let read = within(ANSWER, async {
        let found = objects.get(path).await?;
        Ok((found.meta.last_modified.timestamp_millis(), found.bytes().await?))
    });
    let read = read.await;
    // In any case, so that nothing is left.
    let deleted = within(ANSWER, objects.delete(path)).await;
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
    async fn a_directory_is_tried_out_and_left_as_it_was() {
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

        // What nothing can be written into.
        fs::create_dir(directory.join("probe")).unwrap();
        let fails = probe(&url, "probe").await.unwrap();
        assert!(matches!(&fails, Probe::Fails("write", _)), "{fails:?}");
    }

    #[tokio::test]
    async fn what_names_no_store_is_refused() {
        for url in ["media", "s3://", "ftp://localhost/media", "memory"] {
            assert!(probe(url, "probe").await.is_err(), "{url}");
        }
        assert!(matches!(probe("memory:", "probe").await, Ok(Probe::Works(_))));
    }
}

//! The health check of the store.

use agora_domain::health::Probe;
use agora_domain::{Error, Result};
use async_trait::async_trait;
use object_store::GetOptions;
use object_store::path::Path;
use rustix::fs::{Access, access};

use crate::ObjectImageStore;
use crate::limit::{CALL_TIMEOUT, with_timeout};
use crate::store::none_if_not_found;

/// The name of an object that does not exist, and that no image can have.
const MISSING_OBJECT: &str = "health";

#[async_trait]
impl Probe for ObjectImageStore {
    /// If images are files, checks that their directory exists and is writable. Otherwise requests a missing object, which the
    /// store must report as not found: only this tells a missing object from a missing bucket.
    async fn probe(&self) -> Result<()> {
        if let Some(directory) = self.directory.clone() {
            // An unavailable file system, such as one on a network, would block the thread.
            let checked = tokio::task::spawn_blocking(move || access(directory, Access::WRITE_OK | Access::EXEC_OK));
            return checked.await.map_err(Error::internal)?.map_err(Error::unavailable);
        }
        let path = Path::from(MISSING_OBJECT);
        let request = self.objects.get_opts(&path, GetOptions::default());
        none_if_not_found(with_timeout(CALL_TIMEOUT, request).await).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use url::Url;

    use super::*;
    use crate::open;

    #[tokio::test]
    async fn a_missing_directory_is_unavailable() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("media");
        let store = open(Url::from_file_path(&path).unwrap().as_str()).await.unwrap();
        store.probe().await.unwrap();
        assert!(fs::read_dir(&path).unwrap().next().is_none(), "it left something");
        fs::remove_dir(&path).unwrap();
        assert!(matches!(store.probe().await, Err(Error::Unavailable(_))));
    }

    #[tokio::test]
    async fn memory_is_always_available() {
        open("memory:").await.unwrap().probe().await.unwrap();
    }
}

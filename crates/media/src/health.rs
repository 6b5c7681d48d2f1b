//! Whether the store answers.

use agora_domain::health::Probe;
use agora_domain::{Error, Result};
use async_trait::async_trait;
use object_store::GetOptions;
use object_store::path::Path;
use rustix::fs::{Access, access};

use crate::ObjectImageStore;
use crate::limit::{ANSWER, within};
use crate::store::found;

/// The name of an object that is not there, and that no image can have.
const NOTHING: &str = "health";

#[async_trait]
impl Probe for ObjectImageStore {
    /// Where images are files, their directory must be there and may be written to. Elsewhere the store must say of an
    /// object that it is not there: only that tells a missing bucket from a missing object.
    async fn probe(&self) -> Result<()> {
        if let Some(directory) = self.directory.clone() {
            // A file system that is away, such as one on a network, would hold up the thread.
            let looked = tokio::task::spawn_blocking(move || access(directory, Access::WRITE_OK | Access::EXEC_OK));
            return looked.await.map_err(Error::internal)?.map_err(Error::unavailable);
        }
        let nothing = Path::from(NOTHING);
        let asked = self.objects.get_opts(&nothing, GetOptions::default());
        found(within(ANSWER, asked).await).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use url::Url;

    use super::*;
    use crate::open;

    #[tokio::test]
    async fn a_directory_must_be_there() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("media");
        let store = open(Url::from_file_path(&path).unwrap().as_str()).await.unwrap();
        store.probe().await.unwrap();
        assert!(fs::read_dir(&path).unwrap().next().is_none(), "it left something");
        fs::remove_dir(&path).unwrap();
        assert!(matches!(store.probe().await, Err(Error::Unavailable(_))));
    }

    #[tokio::test]
    async fn the_memory_is_always_there() {
        open("memory:").await.unwrap().probe().await.unwrap();
    }
}

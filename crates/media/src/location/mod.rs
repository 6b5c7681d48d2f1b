//! Which store the text of the setting `AGORA_MEDIA_URL` names.

mod bucket;
mod directory;

use std::path::PathBuf;
use std::sync::Arc;
use std::{env, io};

use object_store::ObjectStore;
use object_store::memory::InMemory;

use crate::ObjectImageStore;
use crate::failure::Failure;
#[cfg(test)]
pub(crate) use bucket::objects as bucket_objects;

/// Why a store cannot be opened. No message repeats a setting, which may hold a secret.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The text is no URL of a kind that is known.
    #[error("images can be kept at file:///absolute/path, s3://bucket/prefix, or memory: for tests")]
    Unsupported,
    /// The directory cannot be made.
    #[error("cannot make the directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The text names no bucket, or says more than that.
    #[error(
        "a bucket is written s3://bucket or s3://bucket/prefix and nothing more; \
         credentials and endpoint come from the AWS_* variables"
    )]
    Bucket,
    /// The endpoint is no address, or says more than that.
    #[error(
        "AWS_ENDPOINT_URL must be an http or https address such as http://127.0.0.1:9000, \
         without a user, a password, a query or a fragment"
    )]
    Endpoint,
    /// Half of the credentials is missing.
    #[error("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set together")]
    HalfOfCredentials,
    /// No variable names credentials, and the machine has none.
    #[error(
        "no credentials for S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and this machine has no role"
    )]
    NoCredentials(#[source] Failure),
    /// The storage cannot be used as it is set up.
    #[error("the storage cannot be used as it is set up")]
    Store(#[from] object_store::Error),
}

/// Checks that a text names a store, there or not.
///
/// # Errors
/// [`OpenError`] when it names none.
pub fn check_url(url: &str) -> Result<(), OpenError> {
    match url.split(':').next() {
        Some("memory") if url == "memory:" => Ok(()),
        Some("s3") => bucket::check(url),
        _ => directory::path(url).map(drop).ok_or(OpenError::Unsupported),
    }
}

/// A store, opened to see how it does, or its directory, when that is not there.
pub(crate) enum Found {
    Objects(Arc<dyn ObjectStore>),
    Missing(PathBuf),
}

/// Opens the store that `url` names as it is: no directory is made, and nothing is removed.
pub(crate) async fn find(url: &str) -> Result<Found, OpenError> {
    if let Some(path) = directory::path(url) {
        return if path.is_dir() {
            Ok(Found::Objects(directory::objects_at(&path)?))
        } else {
            Ok(Found::Missing(path))
        };
    }
    check_url(url)?;
    if url == "memory:" {
        Ok(Found::Objects(Arc::new(InMemory::new())))
    } else {
        Ok(Found::Objects(bucket_of(url).await?))
    }
}

async fn bucket_of(url: &str) -> Result<Arc<dyn ObjectStore>, OpenError> {
    let variables =
        env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    bucket::objects(url, variables).await
}

/// Opens the store that `url` names:
///
/// - `file:///absolute/path`, a directory, which is made with the mode 0700 when it is missing. An image is
///   written through to the disk before it counts as stored.
/// - `s3://bucket/prefix`, a bucket of S3 or of a server that speaks its protocol, or the part of a bucket below a
///   prefix. Endpoint, region and credentials come from the `AWS_*` variables of the environment. Neither the bucket
///   nor the server is asked for: a service can start while they are away.
/// - `memory:`, for tests. It starts empty and goes with the process.
///
/// # Errors
/// [`OpenError`] when the text names no such place, its directory cannot be made or read, or the variables for S3 are
/// wrong or without credentials.
pub async fn open(url: &str) -> Result<ObjectImageStore, OpenError> {
    match url.split(':').next() {
        Some("memory") if url == "memory:" => Ok(ObjectImageStore::new(Arc::new(InMemory::new()))),
        Some("s3") => Ok(ObjectImageStore::new(bucket_of(url).await?).describing()),
        _ => {
            let (path, objects) = directory::objects(url)?;
            Ok(ObjectImageStore::new(objects).in_directory(path))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn any_other_text_is_refused_with_the_supported_schemes() {
        for url in
            ["", "memory", "memory:a", "/var/media", "file:media", "file:/var/media", "file://var/media", "file:///a?b"]
        {
            let error = open(url).await.err().unwrap();
            assert!(matches!(&error, OpenError::Unsupported), "{url}");
            assert!(error.to_string().contains("file:///absolute/path"), "{error}");
        }
        open("memory:").await.unwrap();
    }
}

//! Opening the store that the setting `AGORA_MEDIA_URL` names.

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

/// The reason why a store cannot be opened. No message repeats a setting, which may contain a secret.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The text is not a URL with a supported scheme.
    #[error("the image store must be file:///absolute/path, s3://bucket/prefix or, for tests, memory:")]
    Unsupported,
    /// The directory cannot be created.
    #[error("cannot create the directory {}", path.display())]
    Directory {
        /// The path of the directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The URL does not name a bucket, or has other parts besides bucket and prefix.
    #[error(
        "the URL of a bucket must be s3://bucket or s3://bucket/prefix; \
         credentials and endpoint come from the AWS_* variables"
    )]
    Bucket,
    /// The endpoint is not a URL with a host, or has a user, a password, a query or a fragment.
    #[error(
        "AWS_ENDPOINT_URL must be an http or https address such as http://127.0.0.1:9000, \
         without a user, a password, a query or a fragment"
    )]
    Endpoint,
    /// Only one half of the credentials is set.
    #[error("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set together")]
    HalfOfCredentials,
    /// No variable sets credentials, and the machine has no role.
    #[error(
        "no credentials for S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and this machine has no role"
    )]
    NoCredentials(#[source] Failure),
    /// The configuration of the storage is invalid.
    #[error("invalid configuration of the image store")]
    Store(#[from] object_store::Error),
}

/// Checks that a text is the URL of a store, whether or not the store exists.
///
/// # Errors
/// [`OpenError`] when it is not.
pub fn check_url(url: &str) -> Result<(), OpenError> {
    match url.split(':').next() {
        Some("memory") if url == "memory:" => Ok(()),
        Some("s3") => bucket::check(url),
        _ => directory::path(url).map(drop).ok_or(OpenError::Unsupported),
    }
}

/// A store opened as it is, or the path of its directory if that is missing.
pub(crate) enum Opened {
    Objects(Arc<dyn ObjectStore>),
    MissingDirectory(PathBuf),
}

/// Opens the store that `url` names as it is, without creating a directory or removing anything.
pub(crate) async fn open_existing(url: &str) -> Result<Opened, OpenError> {
    if let Some(path) = directory::path(url) {
        return if path.is_dir() {
            Ok(Opened::Objects(directory::objects_at(&path)?))
        } else {
            Ok(Opened::MissingDirectory(path))
        };
    }
    check_url(url)?;
    if url == "memory:" {
        Ok(Opened::Objects(Arc::new(InMemory::new())))
    } else {
        Ok(Opened::Objects(open_bucket(url).await?))
    }
}

async fn open_bucket(url: &str) -> Result<Arc<dyn ObjectStore>, OpenError> {
    let variables =
        env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    bucket::objects(url, variables).await
}

/// Opens the store that `url` names:
///
/// - `file:///absolute/path`, a directory, which is created with the mode 0700 if it is missing. An image is synced to
///   the disk before it counts as stored.
/// - `s3://bucket/prefix`, a bucket of S3 or of a server that speaks its protocol, or the part of a bucket below a
///   prefix. Endpoint, region and credentials come from the `AWS_*` variables of the environment. Opening contacts neither
///   the bucket nor the server, so that a service can start while they are unavailable.
/// - `memory:`, for tests. It starts empty and is lost with the process.
///
/// # Errors
/// [`OpenError`] when the text is not such a URL, its directory cannot be created or read, or the variables for S3 are
/// invalid or have no credentials.
pub async fn open(url: &str) -> Result<ObjectImageStore, OpenError> {
    match url.split(':').next() {
        Some("memory") if url == "memory:" => Ok(ObjectImageStore::new(Arc::new(InMemory::new()))),
        Some("s3") => Ok(ObjectImageStore::new(open_bucket(url).await?).with_object_headers()),
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
    async fn unsupported_urls_are_rejected_with_the_supported_schemes() {
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

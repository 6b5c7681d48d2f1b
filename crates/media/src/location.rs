//! Which store the text of the setting `AGORA_MEDIA_URL` names.

use std::{
    fs::{DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use object_store::{local::LocalFileSystem, memory::InMemory};
use url::Url;

use crate::ObjectImageStore;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The text is no URL of a kind that is known.
    #[error("images can be kept at file:///absolute/path, or memory: for tests, but not at {0:?}")]
    Unsupported(String),
    /// The directory cannot be made.
    #[error("cannot make the directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The directory cannot be used.
    #[error("cannot open the image store")]
    Store(#[from] object_store::Error),
}

/// Opens the store that `url` names:
///
/// - `file:///absolute/path`, a directory, which is made with the mode 0700 when it is missing. An image is
///   written through to the disk before it counts as stored.
/// - `memory:`, for tests. It starts empty and goes with the process.
///
/// # Errors
/// [`OpenError`] when the text names no such place, or its directory cannot be made or read.
pub fn open(url: &str) -> Result<ObjectImageStore, OpenError> {
    if url == "memory:" {
        return Ok(ObjectImageStore::new(Arc::new(InMemory::new())));
    }
    let path = directory(url).ok_or_else(|| OpenError::Unsupported(url.to_owned()))?;
    make_directory(&path).map_err(|source| OpenError::Directory { path: path.clone(), source })?;
    Ok(ObjectImageStore::new(Arc::new(LocalFileSystem::new_with_prefix(&path)?.with_fsync(true))))
}

/// The path of a `file:` URL. Without the three slashes a URL's first directory would be taken for a host, or a
/// relative path for an absolute one.
fn directory(url: &str) -> Option<PathBuf> {
    let parsed = Url::parse(url).ok().filter(|_| url.starts_with("file:///"))?;
    (parsed.query().is_none() && parsed.fragment().is_none()).then(|| parsed.to_file_path().ok()).flatten()
}

/// Makes a directory, and those it is in, that outlast a power failure.
fn make_directory(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|directory| !directory.exists()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    missing.iter().filter_map(|directory| directory.parent()).try_for_each(|parent| File::open(parent)?.sync_all())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use agora_domain::media::{CleanImage, ImageFormat, ImageStore};

    use super::*;

    #[tokio::test]
    async fn a_file_url_makes_its_private_directory_and_keeps_images_in_it() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("var/with space/media");
        let url = Url::from_file_path(&path).unwrap();
        let image = CleanImage { format: ImageFormat::Gif, bytes: "GIF89a".into() };
        let key = open(url.as_str()).unwrap().put(image).await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(open(url.as_str()).unwrap().open(&key, None).await.unwrap().is_some(), "kept after reopening");
    }

    #[test]
    fn an_existing_directory_keeps_its_mode() {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o750)).unwrap();
        open(Url::from_file_path(directory.path()).unwrap().as_str()).unwrap();
        assert_eq!(fs::metadata(directory.path()).unwrap().permissions().mode() & 0o777, 0o750);
    }

    #[test]
    fn a_file_in_the_place_of_the_directory_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = open(Url::from_file_path(file.path()).unwrap().as_str()).err().unwrap();
        assert!(matches!(error, OpenError::Directory { .. }), "{error:?}");
    }

    #[test]
    fn any_other_text_is_refused_with_the_supported_schemes() {
        let bad =
            ["", "/var/media", "file:media", "file:/var/media", "file://var/media", "file:///a?b", "s3://bucket/a"];
        for url in bad {
            let error = open(url).err().unwrap();
            assert!(matches!(&error, OpenError::Unsupported(text) if text == url), "{url}");
            assert!(error.to_string().contains("file:///absolute/path"), "{error}");
        }
        open("memory:").unwrap();
    }
}

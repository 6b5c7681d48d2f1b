//! Images as files in a directory.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use agora_domain::media::ImageKey;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use url::Url;

use super::OpenError;

/// Opens the directory of a `file:` URL, creating it if it is missing; returns its path and the store in it.
pub(super) fn objects(url: &str) -> Result<(PathBuf, Arc<dyn ObjectStore>), OpenError> {
    let path = path(url).ok_or(OpenError::Unsupported)?;
    create_directory(&path).map_err(|source| OpenError::Directory { path: path.clone(), source })?;
    remove_abandoned(&path);
    let objects = objects_at(&path)?;
    Ok((path, objects))
}

/// Opens an existing directory.
pub(super) fn objects_at(path: &Path) -> Result<Arc<dyn ObjectStore>, OpenError> {
    Ok(Arc::new(LocalFileSystem::new_with_prefix(path)?.with_fsync(true)))
}

/// The age at which a half-written file counts as abandoned, much longer than any upload takes.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// Removes half-written files that crashes left behind. The store writes to `NAME#N`, which it never lists, and then renames
/// the file. Files that cannot be read or removed are left for the next time.
fn remove_abandoned(directory: &Path) {
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let files =
        entries(directory).filter(|entry| entry.file_name().len() == 2).flat_map(|entry| entries(&entry.path()));
    let is_half_written = |file: &fs::DirEntry| {
        let name = file.file_name();
        let name = name.to_str().and_then(|name| name.split_once('#')).map(|(name, _)| name);
        name.and_then(ImageKey::parse_file_name).is_some()
    };
    let is_old = |file: &fs::DirEntry| {
        let age = file.metadata().and_then(|it| it.modified()).map(|modified| modified.elapsed().unwrap_or_default());
        age.is_ok_and(|age| age > ABANDONED_AFTER)
    };
    for file in files.filter(|file| is_half_written(file) && is_old(file)) {
        let path = file.path();
        match fs::remove_file(&path) {
            Ok(()) => tracing::info!(file = %path.display(), "removed a half-written image"),
            Err(error) => tracing::warn!(file = %path.display(), %error, "could not remove a half-written image"),
        }
    }
}

/// Returns the path of a `file:` URL. It must have three slashes, or else its first directory would be taken for a host, or
/// a relative path for an absolute one.
pub(super) fn path(url: &str) -> Option<PathBuf> {
    let parsed = Url::parse(url).ok().filter(|_| url.starts_with("file:///"))?;
    (parsed.query().is_none() && parsed.fragment().is_none()).then(|| parsed.to_file_path().ok()).flatten()
}

/// Creates a directory and its missing parents, and syncs them so that they survive a power failure.
fn create_directory(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|directory| !directory.exists()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    missing.iter().filter_map(|directory| directory.parent()).try_for_each(|parent| File::open(parent)?.sync_all())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    use agora_domain::media::{ImageFormat, ImageStore, Rendition};

    use super::*;
    use crate::open;

    #[test]
    fn old_half_written_files_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("ab");
        fs::create_dir(&folder).unwrap();
        let key = format!("ab{}.png", "0".repeat(30));
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        for (name, is_old) in [
            (format!("{key}#1"), true),
            (format!("{key}#2"), false),
            (format!("{key}.thumb.jpg#1"), true),
            (key.clone(), true),
            ("notes#1".to_owned(), true),
        ] {
            let file = File::create(folder.join(name)).unwrap();
            if is_old {
                file.set_modified(old).unwrap();
            }
        }
        objects(&format!("file://{}", root.path().display())).unwrap();
        let mut left: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [key.as_str(), &format!("{key}#2"), "notes#1"]);
    }

    #[tokio::test]
    async fn a_file_url_makes_its_private_directory_and_keeps_images_in_it() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("var/with space/media");
        let url = Url::from_file_path(&path).unwrap();
        let store = open(url.as_str()).await.unwrap();
        let key = store.new_key(ImageFormat::Gif).unwrap();
        store.put(&key, Rendition::Original, "GIF89a".into()).await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        let reopened = open(url.as_str()).await.unwrap();
        assert!(reopened.open(&key, Rendition::Original, None).await.unwrap().is_some(), "kept after reopening");
    }

    #[test]
    fn an_existing_directory_keeps_its_mode() {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o750)).unwrap();
        objects(Url::from_file_path(directory.path()).unwrap().as_str()).unwrap();
        assert_eq!(fs::metadata(directory.path()).unwrap().permissions().mode() & 0o777, 0o750);
    }

    #[test]
    fn opening_a_file_as_a_directory_fails() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = objects(Url::from_file_path(file.path()).unwrap().as_str()).err().unwrap();
        assert!(matches!(error, OpenError::Directory { .. }), "{error:?}");
    }
}

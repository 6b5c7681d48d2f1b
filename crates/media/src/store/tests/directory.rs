//! Tests of images as files.

use super::*;

fn store() -> (ObjectImageStore, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let objects = LocalFileSystem::new_with_prefix(directory.path()).unwrap().with_fsync(true);
    (ObjectImageStore::new(Arc::new(objects)), directory)
}

#[tokio::test]
async fn other_folders_are_never_read() {
    let (store, directory) = store();
    // Listing this file would fail, since its name is not UTF-8.
    let odd: PathBuf = directory.path().join("lost+found").join(invalid_name());
    fs::create_dir_all(odd.parent().unwrap()).unwrap();
    fs::write(odd, "x").unwrap();
    assert!(keys(&store).await.is_empty());
}

fn invalid_name() -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(vec![0xff, 0xfe])
}

#[tokio::test]
async fn an_image_is_the_only_file_in_the_folder_of_its_first_two_digits() {
    let (store, directory) = store();
    let key = put(&store, "0123456789").await.unwrap();
    let folder = directory.path().join(&key.as_str()[..2]);
    assert_eq!(fs::read(folder.join(key.as_str())).unwrap(), b"0123456789");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn an_image_whose_thumbnail_cannot_be_deleted_stays_listed() {
    let (store, directory) = store();
    let key = put(&store, "0123456789").await.unwrap();
    let folder = directory.path().join(&key.as_str()[..2]);
    let thumbnail = folder.join(key.file_name(Rendition::Thumbnail));
    // A directory, which cannot be deleted like a file.
    fs::create_dir(&thumbnail).unwrap();
    assert!(matches!(store.delete(&key).await, Err(Error::Unavailable(_))));
    assert_eq!(keys(&store).await, HashSet::from([key.clone()]));
    fs::remove_dir(thumbnail).unwrap();
    store.delete(&key).await.unwrap();
    assert!(keys(&store).await.is_empty());
}

#[tokio::test]
async fn nothing_counts_as_deleted_while_the_directory_is_missing() {
    let (store, directory) = store();
    let store = store.in_directory(directory.path().to_owned());
    let key = put(&store, "0123456789").await.unwrap();
    let elsewhere = directory.path().with_extension("unmounted");
    fs::rename(directory.path(), &elsewhere).unwrap();
    assert!(matches!(store.delete(&key).await, Err(Error::Unavailable(_))));
    fs::rename(&elsewhere, directory.path()).unwrap();
    store.delete(&key).await.unwrap();
    store.delete(&key).await.unwrap();
    assert!(keys(&store).await.is_empty());
}

#[tokio::test]
async fn failing_storage_is_unavailable() {
    let (store, directory) = store();
    let key = put(&store, "0123456789").await.unwrap();
    // A file where the folder was.
    let folder = directory.path().join(&key.as_str()[..2]);
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "x").unwrap();
    assert!(matches!(store.open(&key, Rendition::Original, None).await, Err(Error::Unavailable(_))));
    assert!(matches!(store.delete(&key).await, Err(Error::Unavailable(_))));
    fs::remove_dir_all(directory.path()).unwrap();
    fs::write(directory.path(), "x").unwrap();
    assert!(matches!(put(&store, "0123456789").await, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn a_read_of_a_file_truncated_meanwhile_ends_with_an_error() {
    let (store, directory) = store();
    let key = store.new_key(ImageFormat::Png).unwrap();
    store.put(&key, Rendition::Original, Bytes::from(vec![1; 100_000])).await.unwrap();
    let mut image = store.open(&key, Rendition::Original, None).await.unwrap().unwrap().bytes;
    assert!(!image.try_next().await.unwrap().unwrap().is_empty());
    let path = directory.path().join(&key.as_str()[..2]).join(key.as_str());
    fs::File::options().write(true).open(path).unwrap().set_len(10).unwrap();
    let rest: Result<Vec<Bytes>> = image.try_collect().await;
    assert!(matches!(rest, Err(Error::Unavailable(_))), "{rest:?}");
}

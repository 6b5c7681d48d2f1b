use std::{collections::HashSet, fs, path::PathBuf};

use agora_domain::media::ImageFormat;
use object_store::{local::LocalFileSystem, memory::InMemory, prefix::PrefixStore};
use tempfile::TempDir;

use super::*;

const FUTURE: Timestamp = Timestamp::from_unix_millis(i64::MAX);

/// A store and the objects it is over.
type Store = (ObjectImageStore, Arc<dyn ObjectStore>);

/// A store on every kind of object storage; the first keeps files in the directory.
fn stores() -> (Vec<Store>, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let file = LocalFileSystem::new_with_prefix(directory.path()).unwrap().with_fsync(true);
    let objects: [Arc<dyn ObjectStore>; 3] =
        [Arc::new(file), Arc::new(InMemory::new()), Arc::new(PrefixStore::new(InMemory::new(), "agora/images"))];
    let stores = objects.map(|objects| (ObjectImageStore::new(Arc::clone(&objects)), objects));
    (stores.into(), directory)
}

fn image(bytes: &'static str) -> CleanImage {
    CleanImage { format: ImageFormat::WebP, bytes: bytes.into() }
}

async fn read(store: &ObjectImageStore, key: &ImageKey, range: Option<ByteRange>) -> (OpenImage, Vec<u8>) {
    let mut open = store.open(key, range).await.unwrap().unwrap();
    let bytes = std::mem::replace(&mut open.bytes, stream::empty().boxed());
    let parts: Vec<Bytes> = bytes.try_collect().await.unwrap();
    (open, parts.concat())
}

async fn keys_before(store: &ObjectImageStore, cutoff: Timestamp) -> HashSet<ImageKey> {
    store.stored_before(cutoff).await.unwrap().try_collect().await.unwrap()
}

#[tokio::test]
async fn an_image_is_read_back_whole_under_a_fresh_key_of_its_format() {
    let (stores, _directory) = stores();
    for (store, _) in stores {
        let key = store.put(image("0123456789")).await.unwrap();
        assert_eq!(key.format(), ImageFormat::WebP);
        assert_ne!(key, store.put(image("0123456789")).await.unwrap());
        let (open, bytes) = read(&store, &key, None).await;
        assert_eq!((open.size, open.range, bytes.as_slice()), (10, Some(0..10), b"0123456789".as_slice()));
    }
}

#[tokio::test]
async fn a_large_image_is_read_back_as_it_was() {
    let (stores, _directory) = stores();
    let large: Bytes = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    for (store, _) in stores {
        let key = store.put(CleanImage { format: ImageFormat::Jpeg, bytes: large.clone() }).await.unwrap();
        assert_eq!(read(&store, &key, None).await.1, large);
        assert_eq!(read(&store, &key, Some(ByteRange::Last(9_000))).await.1, large[large.len() - 9_000..]);
    }
}

#[tokio::test]
async fn a_range_gives_these_bytes_cut_to_the_image() {
    let (stores, _directory) = stores();
    for (store, _) in stores {
        let key = store.put(image("0123456789")).await.unwrap();
        for (asked, given, expected) in [
            (ByteRange::FromTo(0, 0), 0..1, "0"),
            (ByteRange::FromTo(7, u64::MAX), 7..10, "789"),
            (ByteRange::From(9), 9..10, "9"),
            (ByteRange::Last(2), 8..10, "89"),
            (ByteRange::Last(99), 0..10, "0123456789"),
        ] {
            let (open, bytes) = read(&store, &key, Some(asked)).await;
            assert_eq!((open.size, open.range, bytes.as_slice()), (10, Some(given), expected.as_bytes()));
        }
    }
}

#[tokio::test]
async fn a_range_outside_gives_the_size_and_no_bytes() {
    let (stores, _directory) = stores();
    for (store, _) in stores {
        let key = store.put(image("0123456789")).await.unwrap();
        for outside in [ByteRange::From(10), ByteRange::FromTo(10, 12), ByteRange::FromTo(5, 4), ByteRange::Last(0)] {
            let (open, bytes) = read(&store, &key, Some(outside)).await;
            assert_eq!((open.size, open.range, bytes.len()), (10, None, 0), "{outside:?}");
        }
    }
}

#[tokio::test]
async fn a_deleted_image_is_gone_and_a_missing_one_is_no_error() {
    let (stores, _directory) = stores();
    for (store, _) in stores {
        let key = store.put(image("0123456789")).await.unwrap();
        store.delete(&key).await.unwrap();
        store.delete(&key).await.unwrap();
        assert!(store.open(&key, None).await.unwrap().is_none());
        assert!(store.open(&key, Some(ByteRange::From(0))).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn the_images_stored_before_a_cutoff_are_listed() {
    let (stores, _directory) = stores();
    for (store, objects) in stores {
        assert!(keys_before(&store, FUTURE).await.is_empty());
        let mut keys = HashSet::new();
        for _ in 0..20 {
            keys.insert(store.put(image("0123456789")).await.unwrap());
        }
        assert_eq!(keys_before(&store, FUTURE).await, keys);
        assert!(keys_before(&store, Timestamp::from_unix_millis(0)).await.is_empty());

        let one = keys.iter().next().unwrap();
        let stored = objects.head(&path_of(one)).await.unwrap().last_modified.timestamp_millis();
        assert!(!keys_before(&store, Timestamp::from_unix_millis(stored)).await.contains(one), "at the cutoff");
        assert!(keys_before(&store, Timestamp::from_unix_millis(stored + 1)).await.contains(one));
    }
}

#[tokio::test]
async fn objects_that_are_no_images_are_passed_over() {
    let (stores, _directory) = stores();
    let name = "abababababababababababababababab.png";
    for (store, objects) in stores {
        let key = store.put(image("0123456789")).await.unwrap();
        for foreign in [
            "README".to_owned(),
            "backup/notes.txt".to_owned(),
            format!("{}/notes.txt", &key.as_str()[..2]),
            name.to_owned(),
            format!("cd/{name}"),
            format!("ab/ab/{name}"),
        ] {
            objects.put(&Path::from(foreign), "x".into()).await.unwrap();
        }
        assert_eq!(keys_before(&store, FUTURE).await, HashSet::from([key]));
    }
}

#[tokio::test]
async fn folders_of_others_are_never_looked_into() {
    let (stores, directory) = stores();
    // Listing this one would fail: its name is no text.
    let odd: PathBuf = directory.path().join("lost+found").join(invalid_name());
    fs::create_dir_all(odd.parent().unwrap()).unwrap();
    fs::write(odd, "x").unwrap();
    assert!(keys_before(&stores[0].0, FUTURE).await.is_empty());
}

fn invalid_name() -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(vec![0xff, 0xfe])
}

#[tokio::test]
async fn an_image_lies_in_the_folder_of_its_first_two_digits_and_nothing_else_is_left_behind() {
    let (stores, directory) = stores();
    let key = stores[0].0.put(image("0123456789")).await.unwrap();
    let folder = directory.path().join(&key.as_str()[..2]);
    assert_eq!(fs::read(folder.join(key.as_str())).unwrap(), b"0123456789");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_storage_that_fails_is_unavailable() {
    let (stores, directory) = stores();
    let store = &stores[0].0;
    let key = store.put(image("0123456789")).await.unwrap();
    // A file where the folder was.
    let folder = directory.path().join(&key.as_str()[..2]);
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "x").unwrap();
    assert!(matches!(store.open(&key, None).await, Err(Error::Unavailable(_))));
    assert!(matches!(store.delete(&key).await, Err(Error::Unavailable(_))));
    fs::remove_dir_all(directory.path()).unwrap();
    fs::write(directory.path(), "x").unwrap();
    assert!(matches!(store.put(image("0123456789")).await, Err(Error::Unavailable(_))));
}

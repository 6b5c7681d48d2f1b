//! Tests that every kind of storage must pass; the submodules test single kinds.

mod bucket;
mod directory;

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::prefix::PrefixStore;
use tempfile::TempDir;

use super::*;
use crate::location::bucket_objects;
use crate::s3_server::S3Server;

/// The bucket that the tests use.
const BUCKET: &str = "agora";

/// An image store and its underlying object store.
type Store = (ObjectImageStore, Arc<dyn ObjectStore>);

/// Image stores, and the server and the directory that they use.
struct Stores {
    all: Vec<Store>,
    _server: S3Server,
    _directory: TempDir,
}

/// Creates an image store on every kind of storage.
async fn stores() -> Stores {
    let directory = tempfile::tempdir().unwrap();
    let file = LocalFileSystem::new_with_prefix(directory.path()).unwrap().with_fsync(true);
    let objects: [Arc<dyn ObjectStore>; 3] =
        [Arc::new(file), Arc::new(InMemory::new()), Arc::new(PrefixStore::new(InMemory::new(), "agora/images"))];
    let mut all: Vec<_> =
        objects.map(|objects| (ObjectImageStore::new(Arc::clone(&objects)), objects)).into_iter().collect();
    let server = S3Server::start();
    server.make_bucket(BUCKET);
    server.make_bucket("prefixed");
    for url in ["s3://agora", "s3://prefixed/agora/images"] {
        all.push(bucket(&server, url).await);
    }
    Stores { all, _server: server, _directory: directory }
}

/// Returns the store at a URL on this server.
async fn bucket(server: &S3Server, url: &str) -> Store {
    let objects = bucket_objects(url, server.variables().into_iter()).await.unwrap();
    (ObjectImageStore::new(Arc::clone(&objects)).with_object_headers(), objects)
}

/// Stores an image under a new key, and returns the key.
async fn put(store: &ObjectImageStore, bytes: &'static str) -> Result<ImageKey> {
    put_as(store, ImageFormat::WebP, bytes.into()).await
}

async fn put_as(store: &ObjectImageStore, format: ImageFormat, bytes: Bytes) -> Result<ImageKey> {
    let key = store.new_key(format)?;
    store.put(&key, Rendition::Original, bytes).await?;
    Ok(key)
}

async fn read(store: &ObjectImageStore, key: &ImageKey, range: Option<ByteRange>) -> (OpenImage, Vec<u8>) {
    read_file(store, key, Rendition::Original, range).await
}

async fn read_file(
    store: &ObjectImageStore,
    key: &ImageKey,
    rendition: Rendition,
    range: Option<ByteRange>,
) -> (OpenImage, Vec<u8>) {
    let mut open = store.open(key, rendition, range).await.unwrap().unwrap();
    let bytes = std::mem::replace(&mut open.bytes, stream::empty().boxed());
    let parts: Vec<Bytes> = bytes.try_collect().await.unwrap();
    (open, parts.concat())
}

async fn keys(store: &ObjectImageStore) -> HashSet<ImageKey> {
    store.list().await.unwrap().try_collect().await.unwrap()
}

#[tokio::test]
async fn an_image_is_read_back_under_a_new_key_of_its_format() {
    let stores = stores().await;
    for (store, _) in &stores.all {
        let key = put(store, "0123456789").await.unwrap();
        assert_eq!(key.format(), ImageFormat::WebP);
        assert_ne!(key, put(store, "0123456789").await.unwrap());
        let (open, bytes) = read(store, &key, None).await;
        assert_eq!((open.size, open.range, bytes.as_slice()), (10, Some(0..10), b"0123456789".as_slice()));
    }
}

#[tokio::test]
async fn a_large_image_is_read_back_as_it_was() {
    let stores = stores().await;
    let large: Bytes = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    for (store, _) in &stores.all {
        let key = put_as(store, ImageFormat::Jpeg, large.clone()).await.unwrap();
        assert_eq!(read(store, &key, None).await.1, large);
        assert_eq!(read(store, &key, Some(ByteRange::Last(9_000))).await.1, large[large.len() - 9_000..]);
    }
}

#[tokio::test]
async fn a_range_returns_its_bytes_clamped_to_the_image() {
    let stores = stores().await;
    for (store, _) in &stores.all {
        let key = put(store, "0123456789").await.unwrap();
        for (asked, given, expected) in [
            (ByteRange::FromTo(0, 0), 0..1, "0"),
            (ByteRange::FromTo(7, u64::MAX), 7..10, "789"),
            (ByteRange::From(9), 9..10, "9"),
            (ByteRange::Last(2), 8..10, "89"),
            (ByteRange::Last(99), 0..10, "0123456789"),
        ] {
            let (open, bytes) = read(store, &key, Some(asked)).await;
            assert_eq!((open.size, open.range, bytes.as_slice()), (10, Some(given), expected.as_bytes()));
        }
    }
}

#[tokio::test]
async fn a_range_outside_the_image_returns_the_size_and_no_bytes() {
    let stores = stores().await;
    for (store, _) in &stores.all {
        let key = put(store, "0123456789").await.unwrap();
        for outside in [ByteRange::From(10), ByteRange::FromTo(10, 12), ByteRange::FromTo(5, 4), ByteRange::Last(0)] {
            let (open, bytes) = read(store, &key, Some(outside)).await;
            assert_eq!((open.size, open.range, bytes.len()), (10, None, 0), "{outside:?}");
        }
    }
}

#[tokio::test]
async fn deletion_removes_the_thumbnail_too_and_is_idempotent() {
    let stores = stores().await;
    for (store, _) in &stores.all {
        let key = put(store, "0123456789").await.unwrap();
        store.put(&key, Rendition::Thumbnail, "thumbnail".into()).await.unwrap();
        store.delete(&key).await.unwrap();
        store.delete(&key).await.unwrap();
        for rendition in Rendition::ALL {
            assert!(store.open(&key, rendition, None).await.unwrap().is_none());
            assert!(store.open(&key, rendition, Some(ByteRange::From(0))).await.unwrap().is_none());
        }
    }
}

#[tokio::test]
async fn a_thumbnail_is_read_back_beside_its_image() {
    let stores = stores().await;
    for (store, _) in &stores.all {
        let key = put(store, "0123456789").await.unwrap();
        assert!(store.open(&key, Rendition::Thumbnail, None).await.unwrap().is_none(), "there is none yet");
        store.put(&key, Rendition::Thumbnail, "thumbnail".into()).await.unwrap();
        let (open, bytes) = read_file(store, &key, Rendition::Thumbnail, Some(ByteRange::Last(4))).await;
        assert_eq!((open.size, bytes.as_slice()), (9, b"nail".as_slice()));
        assert_eq!(read(store, &key, None).await.1, b"0123456789");
    }
}

#[tokio::test]
async fn every_image_is_listed_once() {
    let stores = stores().await;
    for (store, _) in &stores.all {
        assert!(keys(store).await.is_empty());
        let mut stored = HashSet::new();
        for _ in 0..20 {
            let key = put(store, "0123456789").await.unwrap();
            store.put(&key, Rendition::Thumbnail, "thumbnail".into()).await.unwrap();
            stored.insert(key);
        }
        assert_eq!(keys(store).await, stored);
        let listed: Vec<_> = store.list().await.unwrap().try_collect().await.unwrap();
        assert_eq!(listed.len(), stored.len());
        // A thumbnail without its original does not count as an image.
        let key = store.new_key(ImageFormat::Png).unwrap();
        store.put(&key, Rendition::Thumbnail, "thumbnail".into()).await.unwrap();
        assert_eq!(keys(store).await, stored);
    }
}

#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "files and servers stamp what they keep with the time of the system")]
async fn the_files_of_a_folder_are_listed_with_their_sizes_and_times() {
    let stores = stores().await;
    for (store, objects) in &stores.all {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        let started = i64::try_from(started).unwrap();
        let keys = ["ab".repeat(16), "ab".to_owned() + &"cd".repeat(15), "cd".repeat(16)];
        let keys = keys.map(|stem| ImageKey::parse(&format!("{stem}.png")).unwrap());
        for (key, bytes) in keys.iter().zip(["0", "01", "012"]) {
            store.put(key, Rendition::Original, bytes.into()).await.unwrap();
        }
        store.put(&keys[0], Rendition::Thumbnail, "0123".into()).await.unwrap();
        objects.put(&Path::from("ab/notes.txt"), "x".into()).await.unwrap();
        let listed = async |folder| -> Vec<(ImageKey, Rendition, u64)> {
            let images: Vec<_> = store.list_folder(folder).await.unwrap().try_collect().await.unwrap();
            for image in &images {
                // A store may round times to seconds.
                assert!((started - 2_000..started + 600_000).contains(&image.modified.unix_millis()), "{image:?}");
            }
            let mut files: Vec<_> = images.into_iter().map(|it| (it.key, it.rendition, it.bytes)).collect();
            files.sort_by_key(|(_, _, bytes)| *bytes);
            files
        };
        let [one, two, three] = keys;
        let original = |key: &ImageKey, bytes| (key.clone(), Rendition::Original, bytes);
        let expected = [original(&one, 1), original(&two, 2), (one, Rendition::Thumbnail, 4)];
        assert_eq!(listed(0xab).await, expected);
        assert_eq!(listed(0xcd).await, [original(&three, 3)]);
        assert_eq!(listed(0xef).await, []);
    }
}

#[tokio::test]
async fn objects_that_are_not_images_are_skipped() {
    let stores = stores().await;
    let name = "abababababababababababababababab.png";
    for (store, objects) in &stores.all {
        let key = put(store, "0123456789").await.unwrap();
        for foreign in [
            "README".to_owned(),
            "backup/notes.txt".to_owned(),
            format!("{}/notes.txt", &key.as_str()[..2]),
            name.to_owned(),
            format!("cd/{name}"),
            format!("ab/ab/{name}"),
            format!("cd/{name}.thumb.jpg"),
            format!("ab/{name}.thumb.png"),
            format!("ab/{name}.thumb.jpg.thumb.jpg"),
        ] {
            objects.put(&Path::from(foreign), "x".into()).await.unwrap();
        }
        assert_eq!(keys(store).await, HashSet::from([key]));
        let listed: Vec<_> = store.list_folder(0xcd).await.unwrap().try_collect().await.unwrap();
        assert!(listed.iter().all(|file| file.key.as_str() != name), "{listed:?}");
    }
}

#[tokio::test]
async fn public_urls_are_below_the_public_base_if_there_is_one() {
    let stores = stores().await;
    for (store, objects) in stores.all {
        let key = ImageKey::parse("abababababababababababababababab.png").unwrap();
        assert_eq!(store.public_url(&key, Rendition::Original), None);
        let store = store.with_public_base(Some("https://cdn.example.org/agora".to_owned()));
        let url = "https://cdn.example.org/agora/ab/abababababababababababababababab.png";
        assert_eq!(store.public_url(&key, Rendition::Original).as_deref(), Some(url));
        let thumbnail = format!("{url}.thumb.jpg");
        assert_eq!(store.public_url(&key, Rendition::Thumbnail), Some(thumbnail));
        let key = put(&store, "0123456789").await.unwrap();
        store.put(&key, Rendition::Thumbnail, "thumbnail".into()).await.unwrap();
        for rendition in Rendition::ALL {
            let path = store.public_url(&key, rendition).unwrap().replace("https://cdn.example.org/agora/", "");
            objects.head(&Path::from(path)).await.expect("the object is where the address says");
        }
    }
}

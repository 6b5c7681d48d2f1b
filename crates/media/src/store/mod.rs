//! The image store over object storage.

#[cfg(test)]
mod tests;

use std::io;
use std::io::{ErrorKind, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use agora_domain::clock::Timestamp;
use agora_domain::error::{Error, Result};
use agora_domain::media::{ByteRange, ImageFormat, ImageKey, ImageStore, OpenImage, Rendition, StoredImage};
use async_trait::async_trait;
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, TryStreamExt, future, stream};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, GetOptions, GetResult, GetResultPayload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode,
    PutOptions, PutPayload,
};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::failure::Failure;
use crate::limit::{CALL_TIMEOUT, upload_timeout, with_item_timeout, with_timeout};

/// An image store that stores each file of an image as one object.
///
/// The image with the key `ab….jpg` is the object `ab/ab….jpg`, and its thumbnail is `ab/ab….jpg.thumb.jpg`. These 256 folders
/// spread even millions of images so that each folder can still be listed by hand. The store reads only these folders, and in
/// them only objects with the name of an image's file, so that other objects may be next to them.
///
/// To store the images under a prefix, pass an [`object_store::prefix::PrefixStore`].
///
/// Calls that the storage does not answer in time fail as unavailable.
#[derive(Clone)]
pub struct ObjectImageStore {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// The directory that has the objects, if they are files.
    pub(crate) directory: Option<PathBuf>,
    stores_headers: bool,
    public_base: Option<String>,
}

impl ObjectImageStore {
    /// Creates a store over `objects`, where an object MUST be complete and durable once its write is acknowledged.
    pub fn new(objects: Arc<dyn ObjectStore>) -> Self {
        Self { objects, directory: None, stores_headers: false, public_base: None }
    }

    /// Sets the directory that has the objects as files. The store uses it to detect when it is gone, and to sync deletions so
    /// that they survive a power failure.
    pub fn in_directory(self, directory: PathBuf) -> Self {
        Self { directory: Some(directory), ..self }
    }

    /// Returns the directory that has the objects as files; `None` if they are not files.
    pub fn directory(&self) -> Option<&std::path::Path> {
        self.directory.as_deref()
    }

    /// Stores each object with headers for its media type and for caching it forever, so that the storage can serve it to
    /// clients. For storage that supports such headers, which files do not.
    pub fn with_object_headers(self) -> Self {
        Self { stores_headers: true, ..self }
    }

    /// Sets the base URL at which clients fetch objects directly, without a trailing slash; `None` if they cannot.
    pub fn with_public_base(self, base: Option<String>) -> Self {
        Self { public_base: base, ..self }
    }

    /// Reads an object, or part of it; returns `None` when there is none at that path.
    async fn read(&self, path: &Path, range: Option<Range<u64>>) -> Result<Option<OpenImage>> {
        let options = GetOptions { range: range.map(Into::into), ..GetOptions::default() };
        let outcome = traced("get", with_timeout(CALL_TIMEOUT, self.objects.get_opts(path, options))).await;
        let Some(found) = none_if_not_found(outcome)? else { return Ok(None) };
        Ok(Some(OpenImage {
            size: found.meta.size,
            range: Some(found.range.clone()),
            bytes: with_item_timeout(CALL_TIMEOUT, object_chunks(found)).map_err(unavailable).boxed(),
        }))
    }

    fn attributes(&self, format: ImageFormat) -> Attributes {
        if !self.stores_headers {
            return Attributes::new();
        }
        Attributes::from_iter([
            (Attribute::ContentType, format.media_type()),
            (Attribute::CacheControl, "public, max-age=31536000, immutable"),
        ])
    }
}

#[async_trait]
impl ImageStore for ObjectImageStore {
    fn new_key(&self, format: ImageFormat) -> Result<ImageKey> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(Error::internal)?;
        Ok(ImageKey::new(random, format))
    }

    async fn put(&self, key: &ImageKey, rendition: Rendition, bytes: Bytes) -> Result<()> {
        let limit = upload_timeout(bytes.len());
        // Not on the condition that the object is new: 128 random bits do not repeat, not every S3 server supports conditions,
        // and with one, a retry after a lost response would fail on the object of the first attempt.
        let attributes = self.attributes(key.format_of(rendition));
        let options = PutOptions { mode: PutMode::Overwrite, attributes, ..PutOptions::default() };
        let path = path_of(key, rendition);
        let put = self.objects.put_opts(&path, PutPayload::from(bytes), options);
        traced("put", with_timeout(limit, put)).await.map_err(unavailable)?;
        Ok(())
    }

    async fn open(&self, key: &ImageKey, rendition: Rendition, range: Option<ByteRange>) -> Result<Option<OpenImage>> {
        let path = path_of(key, rendition);
        let Some(range) = range else { return self.read(&path, None).await };
        let Some(meta) = none_if_not_found(traced("head", with_timeout(CALL_TIMEOUT, self.objects.head(&path))).await)?
        else {
            // The response to HEAD has no body: only the one to GET tells a missing bucket from a missing image.
            self.read(&path, None).await?;
            return Ok(None);
        };
        match range.within(meta.size) {
            Some(range) => self.read(&path, Some(range)).await,
            None => {
                Ok(Some(OpenImage { size: meta.size, range: None, bytes: stream::empty::<Result<Bytes>>().boxed() }))
            }
        }
    }

    async fn delete(&self, key: &ImageKey) -> Result<()> {
        // The original last: as long as it exists, the image is listed, so that its remaining files are found.
        for rendition in [Rendition::Thumbnail, Rendition::Original] {
            none_if_not_found(
                traced("delete", with_timeout(CALL_TIMEOUT, self.objects.delete(&path_of(key, rendition)))).await,
            )?;
        }
        // The caller deletes the record of the image next. A file that came back after a power failure would be unknown then.
        match self.directory.clone() {
            Some(directory) => sync_directory(directory, folder_of(key)).await,
            None => Ok(()),
        }
    }

    async fn list(&self) -> Result<BoxStream<'static, Result<ImageKey>>> {
        let objects = Arc::clone(&self.objects);
        let listed = stream::iter(0..=u8::MAX).flat_map(move |folder| list_objects(&*objects, folder));
        let keys = listed.try_filter_map(|meta| {
            let original = file_of(&meta).filter(|(_, rendition)| *rendition == Rendition::Original);
            future::ok(original.map(|(key, _)| key))
        });
        Ok(keys.map_err(unavailable).boxed())
    }

    async fn list_folder(&self, folder: u8) -> Result<BoxStream<'static, Result<StoredImage>>> {
        let files = list_objects(&*self.objects, folder).try_filter_map(|meta| {
            let modified = Timestamp::from_unix_millis(meta.last_modified.timestamp_millis());
            let file = file_of(&meta);
            future::ok(file.map(|(key, rendition)| StoredImage { key, rendition, bytes: meta.size, modified }))
        });
        Ok(files.map_err(unavailable).boxed())
    }

    fn public_url(&self, key: &ImageKey, rendition: Rendition) -> Option<String> {
        self.public_base.as_ref().map(|base| format!("{base}/{}", path_of(key, rendition)))
    }
}

/// Wraps a call of the storage in a span for traces if it is part of a request.
async fn traced<T>(
    operation: &'static str,
    call: impl Future<Output = object_store::Result<T>>,
) -> object_store::Result<T> {
    if Span::current().is_none() {
        return call.await;
    }
    let span = tracing::info_span!(
        "object store",
        otel.name = %format_args!("object_store.{operation}"),
        otel.kind = "client",
        otel.status_code = Empty
    );
    let outcome = call.instrument(span.clone()).await;
    if outcome.as_ref().is_err_and(|error| !matches!(error, object_store::Error::NotFound { .. })) {
        span.record("otel.status_code", "ERROR");
    }
    outcome
}

/// Lists the objects in the folder of the keys that begin with this byte.
fn list_objects(objects: &dyn ObjectStore, folder: u8) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
    with_item_timeout(CALL_TIMEOUT, objects.list(Some(&Path::from(format!("{folder:02x}")))))
}

/// Syncs a folder of a directory, if it exists, so that changes of its entries survive a power failure. If the directory itself is
/// missing, as one below a mount that is gone, that is an error: its images would exist again later.
async fn sync_directory(directory: PathBuf, folder: String) -> Result<()> {
    let synced = tokio::task::spawn_blocking(move || match std::fs::File::open(directory.join(folder)) {
        Err(error) if error.kind() == ErrorKind::NotFound => directory.metadata().map(drop),
        folder => folder?.sync_all(),
    });
    let synced = async { synced.await.unwrap_or_else(|error| Err(error.into())).map_err(io_error) };
    with_timeout(CALL_TIMEOUT, synced).await.map_err(unavailable)
}

fn folder_of(key: &ImageKey) -> String {
    key.as_str().chars().take(2).collect()
}

fn path_of(key: &ImageKey, rendition: Rendition) -> Path {
    Path::from_iter([folder_of(key), key.file_name(rendition)])
}

/// Returns which file of which image an object is; `None` for any other object.
fn file_of(meta: &ObjectMeta) -> Option<(ImageKey, Rendition)> {
    let (key, rendition) = ImageKey::parse_file_name(meta.location.filename()?)?;
    (path_of(&key, rendition) == meta.location).then_some((key, rendition))
}

/// Converts the error for a missing object into `None`. A missing bucket stays an error, or else every image would seem to be
/// gone.
pub(crate) fn none_if_not_found<T>(outcome: object_store::Result<T>) -> Result<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(object_store::Error::NotFound { source, .. }) if !source.to_string().contains("NoSuchBucket") => Ok(None),
        Err(error) => Err(unavailable(error)),
    }
}

/// The most bytes of a file that are read at once. Each read is a task for another thread; `object_store` reads an eighth of
/// this.
const READ_CHUNK_BYTES: usize = 64 * 1024;

/// Returns the content of an object in chunks.
fn object_chunks(found: GetResult) -> BoxStream<'static, object_store::Result<Bytes>> {
    match found.payload {
        GetResultPayload::File(file, _) => file_chunks(file, found.range).map_err(io_error).boxed(),
        GetResultPayload::Stream(parts) => parts,
    }
}

/// Returns a range of a file in chunks, or an error if the file ends before the range, which means that it was truncated
/// meanwhile.
fn file_chunks(file: std::fs::File, range: Range<u64>) -> impl Stream<Item = io::Result<Bytes>> {
    let opened = async move {
        let mut file = File::from_std(file);
        file.set_max_buf_size(READ_CHUNK_BYTES);
        file.seek(SeekFrom::Start(range.start)).await?;
        let left = range.end.saturating_sub(range.start);
        Ok::<_, io::Error>(stream::try_unfold((file, left), |(mut file, left)| async move {
            if left == 0 {
                return Ok(None);
            }
            let most = usize::try_from(left).unwrap_or(READ_CHUNK_BYTES).min(READ_CHUNK_BYTES);
            let mut part = BytesMut::with_capacity(most).limit(most);
            match file.read_buf(&mut part).await? {
                0 => Err(ErrorKind::UnexpectedEof.into()),
                read => Ok(Some((part.into_inner().freeze(), (file, left.saturating_sub(read as u64))))),
            }
        }))
    };
    stream::once(opened).try_flatten()
}

fn io_error(error: io::Error) -> object_store::Error {
    object_store::Error::Generic { store: "image", source: error.into() }
}

pub(crate) fn unavailable(error: object_store::Error) -> Error {
    Error::unavailable(Failure::from(error))
}

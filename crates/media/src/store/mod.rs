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
use crate::limit::{ANSWER, each_within, for_upload, within};

/// Keeps each file of an image as one object.
///
/// The image of key `ab….jpg` is the object `ab/ab….jpg`, its thumbnail `ab/ab….jpg.thumb.jpg`: on 256 folders even millions of images are spread so
/// that each of them can still be listed by hand. Only these folders are ever looked into, and in them only objects
/// that are named like a file of an image, so that others may lie next to them.
///
/// To keep the images under a prefix, pass an [`object_store::prefix::PrefixStore`].
///
/// Nothing waits long for storage that is away: what it does not answer in time fails as unavailable.
#[derive(Clone)]
pub struct ObjectImageStore {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// Where the objects are files.
    pub(crate) directory: Option<PathBuf>,
    describes: bool,
    public_base: Option<String>,
}

impl ObjectImageStore {
    /// The images in `objects`, which MUST have an object whole and durable when it acknowledges it.
    pub fn new(objects: Arc<dyn ObjectStore>) -> Self {
        Self { objects, directory: None, describes: false, public_base: None }
    }

    /// Says in which directory the objects are files, to notice when it is gone, and to have deletions outlast a power failure.
    pub fn in_directory(self, directory: PathBuf) -> Self {
        Self { directory: Some(directory), ..self }
    }

    /// Returns the directory in which the objects are files; nothing when they are none.
    pub fn directory(&self) -> Option<&std::path::Path> {
        self.directory.as_deref()
    }

    /// Has each object carry its media type and that it may be cached for ever, so that it can be served from where it
    /// is. For storage that keeps such headers, which files do not.
    pub fn describing(self) -> Self {
        Self { describes: true, ..self }
    }

    /// Says where clients reach the objects by themselves, without a slash at the end; `None` when they do not.
    pub fn with_public_base(self, base: Option<String>) -> Self {
        Self { public_base: base, ..self }
    }

    /// Reads part of an object, or all of it. `None` when there is none at that path.
    async fn read(&self, path: &Path, range: Option<Range<u64>>) -> Result<Option<OpenImage>> {
        let options = GetOptions { range: range.map(Into::into), ..GetOptions::default() };
        let outcome = traced("get", within(ANSWER, self.objects.get_opts(path, options))).await;
        let Some(found) = found(outcome)? else { return Ok(None) };
        Ok(Some(OpenImage {
            size: found.meta.size,
            range: Some(found.range.clone()),
            bytes: each_within(ANSWER, parts(found)).map_err(unavailable).boxed(),
        }))
    }

    fn attributes(&self, format: ImageFormat) -> Attributes {
        if !self.describes {
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
        let limit = for_upload(bytes.len());
        // Without the condition that nothing is there: 128 random bits are not drawn twice, not every S3 server knows
        // conditions, and with one, a second attempt after a lost answer would fail on the first one's object.
        let attributes = self.attributes(key.format_of(rendition));
        let options = PutOptions { mode: PutMode::Overwrite, attributes, ..PutOptions::default() };
        let path = path_of(key, rendition);
        let put = self.objects.put_opts(&path, PutPayload::from(bytes), options);
        traced("put", within(limit, put)).await.map_err(unavailable)?;
        Ok(())
    }

    async fn open(&self, key: &ImageKey, rendition: Rendition, range: Option<ByteRange>) -> Result<Option<OpenImage>> {
        let path = path_of(key, rendition);
        let Some(range) = range else { return self.read(&path, None).await };
        let Some(meta) = found(traced("head", within(ANSWER, self.objects.head(&path))).await)? else {
            // The answer to HEAD has no body: only that to GET tells a missing bucket from a missing image.
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
        // The original last: as long as it is there, the image is listed, and whatever is left of it is found.
        for rendition in [Rendition::Thumbnail, Rendition::Original] {
            found(traced("delete", within(ANSWER, self.objects.delete(&path_of(key, rendition)))).await)?;
        }
        // The record of the image is forgotten next: after a power failure nothing would know of a file that is back.
        match self.directory.clone() {
            Some(directory) => sync(directory.join(folder_of(key))).await,
            None => Ok(()),
        }
    }

    async fn list(&self) -> Result<BoxStream<'static, Result<ImageKey>>> {
        let objects = Arc::clone(&self.objects);
        let listed = stream::iter(0..=u8::MAX).flat_map(move |folder| listed(&*objects, folder));
        let keys = listed.try_filter_map(|meta| {
            let original = file_of(&meta).filter(|(_, rendition)| *rendition == Rendition::Original);
            future::ok(original.map(|(key, _)| key))
        });
        Ok(keys.map_err(unavailable).boxed())
    }

    async fn list_folder(&self, folder: u8) -> Result<BoxStream<'static, Result<StoredImage>>> {
        let files = listed(&*self.objects, folder).try_filter_map(|meta| {
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

/// Has a call of the storage have a span, for traces, as part of a request.
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

/// Returns the objects in the folder of the keys that begin with this byte.
fn listed(objects: &dyn ObjectStore, folder: u8) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
    each_within(ANSWER, objects.list(Some(&Path::from(format!("{folder:02x}")))))
}

/// Has what was done to a folder outlast a power failure, if the folder is there.
async fn sync(folder: PathBuf) -> Result<()> {
    let synced = tokio::task::spawn_blocking(|| match std::fs::File::open(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        folder => folder?.sync_all(),
    });
    let synced = async { synced.await.unwrap_or_else(|error| Err(error.into())).map_err(unreadable) };
    within(ANSWER, synced).await.map_err(unavailable)
}

fn folder_of(key: &ImageKey) -> String {
    key.as_str().chars().take(2).collect()
}

fn path_of(key: &ImageKey, rendition: Rendition) -> Path {
    Path::from_iter([folder_of(key), key.file_name(rendition)])
}

/// Returns the image, and which file of it an object is; `None` for anything else.
fn file_of(meta: &ObjectMeta) -> Option<(ImageKey, Rendition)> {
    let (key, rendition) = ImageKey::parse_file_name(meta.location.filename()?)?;
    (path_of(&key, rendition) == meta.location).then_some((key, rendition))
}

/// Returns what was found; `None` when there is no such object. That there is no such bucket is a failure: else every
/// image would seem to be gone.
pub(crate) fn found<T>(outcome: object_store::Result<T>) -> Result<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(object_store::Error::NotFound { source, .. }) if !source.to_string().contains("NoSuchBucket") => Ok(None),
        Err(error) => Err(unavailable(error)),
    }
}

/// How much of a file is read at once. Each time is work for another thread; `object_store` reads an eighth of it.
const PART: usize = 64 * 1024;

/// Returns the parts of an object.
fn parts(found: GetResult) -> BoxStream<'static, object_store::Result<Bytes>> {
    match found.payload {
        GetResultPayload::File(file, _) => parts_of_file(file, found.range).map_err(unreadable).boxed(),
        GetResultPayload::Stream(parts) => parts,
    }
}

/// Returns the parts of a file, or a failure when it ends before the range does: it was shortened while it is read.
fn parts_of_file(file: std::fs::File, range: Range<u64>) -> impl Stream<Item = io::Result<Bytes>> {
    let opened = async move {
        let mut file = File::from_std(file);
        file.set_max_buf_size(PART);
        file.seek(SeekFrom::Start(range.start)).await?;
        let left = range.end.saturating_sub(range.start);
        Ok::<_, io::Error>(stream::try_unfold((file, left), |(mut file, left)| async move {
            if left == 0 {
                return Ok(None);
            }
            let most = usize::try_from(left).unwrap_or(PART).min(PART);
            let mut part = BytesMut::with_capacity(most).limit(most);
            match file.read_buf(&mut part).await? {
                0 => Err(ErrorKind::UnexpectedEof.into()),
                read => Ok(Some((part.into_inner().freeze(), (file, left.saturating_sub(read as u64))))),
            }
        }))
    };
    stream::once(opened).try_flatten()
}

fn unreadable(error: io::Error) -> object_store::Error {
    object_store::Error::Generic { store: "image", source: error.into() }
}

pub(crate) fn unavailable(error: object_store::Error) -> Error {
    Error::unavailable(Failure::from(error))
}

//! `/api/users/me/export`: a ZIP archive of everything that the caller has stored.

use std::collections::VecDeque;
use std::io;
use std::io::Write;
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};

use actix_web::http::{Method, header};
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse, body};
use agora_domain::accounts::Caller;
use agora_domain::comments::Reply;
use agora_domain::export::{Export, ExportPart, ExportedComment, ExportedRelation, RelationKind};
use agora_domain::media::{Attachment, ImageKey, OpenImage};
use agora_domain::posts::Post;
use agora_domain::reports::Report;
use agora_domain::{Error, Result};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde_json::{Value, json};
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use crate::core::{RequestContext, State};
use crate::request::Auth;
use crate::response::{Archive, HandlerResult, Instant, UNBUFFERED, UserBody};

/// The media type of the archive.
const ZIP: &str = "application/zip";

/// Export the caller's account
///
/// A ZIP archive, made while it is sent. It contains `account.ndjson`, `posts.ndjson`, `comments.ndjson`, `likes.ndjson`,
/// `comment-likes.ndjson`, `follows.ndjson`, `blocks.ndjson`, `mutes.ndjson`, `bookmarks.ndjson` and `reports.ndjson`, each with
/// one JSON object per line, and the images below `images/`. One an hour (then 429), whether it is read to the end or not. An
/// answer that breaks off is no valid archive.
#[utoipa::path(get, path = "", operation_id = "exportAccount", tag = "Users", responses(Archive))]
pub(crate) async fn export(state: Data<State>, caller: Auth<Caller>, request: HttpRequest) -> HandlerResult {
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CONTENT_TYPE, ZIP))
        .insert_header((header::CONTENT_DISPOSITION, "attachment; filename=\"agora-export.zip\""))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header(UNBUFFERED);
    if request.method() == Method::HEAD {
        // Without a length, which nobody knows.
        return Ok(response.body(body::None::new()));
    }
    let request_id = RequestContext::of(&request)?.id();
    let archive = OpenArchive::new(state.services.exports.begin(&caller)?, Data::clone(&state));
    let chunks =
        stream::try_unfold(archive, async |mut archive| Ok(archive.next().await?.map(|bytes| (bytes, archive))));
    // The head of the response has been sent by now, so a failure can only cut the body off.
    let chunks = chunks.map(move |chunk: Result<Bytes>| {
        chunk.inspect_err(|error| {
            tracing::error!(%request_id, cause = error.cause(), "could not complete an export");
        })
    });
    Ok(response
        .streaming(Box::pin(chunks.map(|chunk| chunk.map_err(|error| Box::new(error) as Box<dyn std::error::Error>)))))
}

/// A buffer of bytes that are written and not sent yet.
#[derive(Clone, Default)]
struct OutputBuffer(Arc<Mutex<Vec<u8>>>);

impl OutputBuffer {
    fn take(&self) -> Bytes {
        take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

impl Write for OutputBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An archive that is being written, one part of the export at a time. Images are copied in the chunks in which the store returns
/// them.
struct OpenArchive {
    export: Export,
    state: Data<State>,
    /// `None` once the archive is finished.
    zip: Option<ZipWriter<StreamWriter<OutputBuffer>>>,
    output: OutputBuffer,
    /// The name of the current file.
    file: String,
    /// The rest of the image that is being written.
    image: Option<OpenImage>,
    /// Lines that are rendered and not written yet.
    lines: VecDeque<Vec<u8>>,
}

/// The approximate size in bytes of a chunk of lines.
const CHUNK_BYTES: usize = 32 * 1024;

impl OpenArchive {
    fn new(export: Export, state: Data<State>) -> Self {
        let output = OutputBuffer::default();
        let zip = Some(ZipWriter::new_stream(output.clone()));
        Self { export, state, zip, output, file: String::new(), image: None, lines: VecDeque::new() }
    }

    /// Returns the next bytes of the archive, or `None` at its end.
    async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let bytes = self.output.take();
            if !bytes.is_empty() {
                return Ok(Some(bytes));
            }
            if self.zip.is_none() {
                return Ok(None);
            }
            self.advance().await?;
        }
    }

    /// Writes some more of the archive: of the current image or lines, or else of the next part of the export.
    async fn advance(&mut self) -> Result<()> {
        if let Some(image) = &mut self.image {
            match image.bytes.next().await {
                Some(bytes) => self.write(&bytes?)?,
                None => self.image = None,
            }
            return Ok(());
        }
        if !self.lines.is_empty() {
            let mut bytes = 0;
            while bytes < CHUNK_BYTES
                && let Some(line) = self.lines.pop_front()
            {
                bytes += line.len();
                self.write(&line)?;
            }
            return Ok(());
        }
        let Some(part) = self.export.next().await? else {
            let zip = self.zip.take().map(ZipWriter::finish);
            zip.transpose().map_err(Error::internal)?;
            return Ok(());
        };
        match part {
            ExportPart::Account(account) => {
                let line = ndjson_line(&UserBody::of(&account, &self.state))?;
                self.add("account.ndjson", [line])
            }
            ExportPart::Posts(posts) => self.add_each("posts.ndjson", &posts, post),
            ExportPart::Comments(comments) => self.add_each("comments.ndjson", &comments, comment),
            ExportPart::Relations(kind, relations) => {
                let (file, to) = match kind {
                    RelationKind::Like => ("likes.ndjson", "postId"),
                    RelationKind::CommentLike => ("comment-likes.ndjson", "commentId"),
                    RelationKind::Follow => ("follows.ndjson", "userId"),
                    RelationKind::Block => ("blocks.ndjson", "userId"),
                    RelationKind::Mute => ("mutes.ndjson", "userId"),
                    RelationKind::Bookmark => ("bookmarks.ndjson", "postId"),
                };
                self.add_each(
                    file,
                    &relations,
                    |relation: &ExportedRelation| json!({ to: relation.to, "createdAt": Instant(relation.key.at) }),
                )
            }
            ExportPart::Reports(reports) => self.add_each("reports.ndjson", &reports, report),
            ExportPart::Image(key, image) => {
                self.begin(&image_path(&key))?;
                self.image = Some(image);
                Ok(())
            }
        }
    }

    fn add_each<T>(&mut self, file: &str, items: &[T], render: impl Fn(&T) -> Value) -> Result<()> {
        let lines = items.iter().map(|item| ndjson_line(&render(item))).collect::<Result<Vec<_>>>()?;
        self.add(file, lines)
    }

    /// Adds lines to a file. Begins the file unless it is the current one.
    fn add(&mut self, file: &str, lines: impl IntoIterator<Item = Vec<u8>>) -> Result<()> {
        if self.file != file {
            self.begin(file)?;
        }
        self.lines.extend(lines);
        Ok(())
    }

    fn begin(&mut self, file: &str) -> Result<()> {
        file.clone_into(&mut self.file);
        // Uncompressed: images are compressed already, and compressing the rest would take time of a thread that serves requests.
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        let Some(zip) = &mut self.zip else { return Ok(()) };
        zip.start_file(file, options).map_err(Error::internal)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(zip) = &mut self.zip else { return Ok(()) };
        zip.write_all(bytes).map_err(Error::internal)
    }
}

fn ndjson_line(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value).map_err(Error::internal)?;
    line.push(b'\n');
    Ok(line)
}

/// Returns the path of an image in the archive.
fn image_path(key: &ImageKey) -> String {
    format!("images/{}", key.as_str())
}

fn post(post: &Post) -> Value {
    json!({
        "id": post.id.uuid(),
        "content": post.text.as_str(),
        "image": post.shown_attachments().first().map(|first| image_path(&first.key)),
        "attachments": post.shown_attachments().iter().map(attachment).collect::<Vec<_>>(),
        "visibility": post.visibility.as_str(),
        "hidden": post.is_hidden,
        "createdAt": Instant(post.created_at),
        "updatedAt": Instant(post.updated_at),
    })
}

fn attachment(attachment: &Attachment) -> Value {
    json!({ "image": image_path(&attachment.key), "alt": attachment.alt.as_ref().map(|alt| alt.as_str()) })
}

fn comment(ExportedComment { comment, reply }: &ExportedComment) -> Value {
    let (thread, to) = reply.map(|Reply { thread, to }| (thread.uuid(), to.uuid())).unzip();
    json!({
        "id": comment.id.uuid(),
        "postId": comment.post.uuid(),
        "parentId": thread,
        "replyToId": to,
        "content": comment.content.as_str(),
        "hidden": comment.is_hidden,
        "createdAt": Instant(comment.created_at),
        "updatedAt": Instant(comment.updated_at),
    })
}

fn report(report: &Report) -> Value {
    json!({
        "id": report.id.uuid(),
        "targetType": report.target.kind().as_str(),
        "targetId": report.target.id(),
        "category": report.category.as_str(),
        "comment": report.comment.as_ref().map(|comment| comment.as_str()),
        "status": report.status.as_str(),
        "createdAt": Instant(report.created_at),
    })
}

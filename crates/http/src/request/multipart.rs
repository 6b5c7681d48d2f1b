//! Bodies that may carry an image: multipart form data, or JSON with the same fields.

use std::collections::HashSet;

use actix_multipart::{Field, Multipart, MultipartError};
use agora_domain::FieldErrors;
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use serde::de::DeserializeOwned;

use crate::{
    core::{error::ApiError, limits::JSON_LIMIT},
    request::{
        body::{Body, ContentType, DRAIN_LIMIT, parse_object},
        body_deadline::is_too_slow,
    },
};

/// The most parts a form has.
const MAX_PARTS: usize = 64;

/// The fields of a form: texts by name, and one image.
#[derive(Debug, Default)]
pub(crate) struct Form {
    texts: Vec<(&'static str, String)>,
    image: Option<Bytes>,
    /// What is wrong with the parts themselves.
    pub(crate) errors: FieldErrors,
}

impl Form {
    /// Takes the text of a field out.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let index = self.texts.iter().position(|(field, _)| *field == name)?;
        Some(self.texts.swap_remove(index).1)
    }

    /// Takes the image out.
    pub(crate) fn take_image(&mut self) -> Option<Bytes> {
        self.image.take()
    }
}

/// The fields that an endpoint takes from a form; others are ignored.
pub(crate) struct Accepts {
    /// The names of the text fields, each with the preferred one of its spellings.
    pub(crate) texts: &'static [(&'static str, &'static str)],
    /// The name of the image field.
    pub(crate) image: &'static str,
}

impl Accepts {
    /// The name of the field that a part is called, and the name under which its errors are told.
    fn find(&self, part: &str) -> Option<(&'static str, &'static str)> {
        let image = (self.image, self.image);
        self.texts.iter().copied().chain([image]).find(|(name, _)| *name == part)
    }
}

/// A body that is one or the other.
pub(crate) enum FormOrJson<T> {
    Form(Form),
    Json(T),
}

impl Body {
    /// The fields of the body. No body and no content type is a body without fields.
    pub(crate) async fn form_or_json<T: DeserializeOwned + Default>(
        self,
        accepts: Accepts,
        max_image_bytes: usize,
    ) -> Result<FormOrJson<T>, ApiError> {
        let content_type = self.content_type();
        if content_type == ContentType::Form {
            return read_form(self, &accepts, max_image_bytes).await.map(FormOrJson::Form);
        }
        let bytes = self.bytes(JSON_LIMIT).await?;
        match content_type {
            ContentType::Json => parse_object(&bytes).map(FormOrJson::Json),
            ContentType::None if bytes.is_empty() => Ok(FormOrJson::Json(T::default())),
            _ => Err(ApiError::UnsupportedMediaType("multipart/form-data or application/json")),
        }
    }
}

/// How many bytes of a form are kept at most: the image, as many as the texts of any form may take, and more.
pub(crate) fn most_bytes(max_image_bytes: usize) -> usize {
    max_image_bytes.saturating_add(16 * JSON_LIMIT)
}

/// What is wrong with a form is told only when it has been read to its end, so that the client sees it.
#[derive(Default)]
struct Reading {
    form: Form,
    seen: HashSet<&'static str>,
    too_large: Option<String>,
    /// The bytes to expect of all parts together.
    expected: usize,
    /// Bytes read and thrown away.
    drained: usize,
}

async fn read_form(mut body: Body, accepts: &Accepts, max_image_bytes: usize) -> Result<Form, ApiError> {
    body.make_room(most_bytes(max_image_bytes), 1).await?;
    let expected = body.expected(max_image_bytes);
    let first = body.payload.next().await;
    let no_bytes = first.is_none();
    let mut parts = Multipart::new(body.request.headers(), stream::iter(first).chain(body.payload));
    let mut reading = Reading { expected, ..Reading::default() };
    let mut count = 0;
    while let Some(part) = parts.next().await {
        let part = match part {
            // How some clients send a form without fields: not even its boundary.
            Err(MultipartError::Incomplete) if no_bytes => break,
            part => part.map_err(malformed)?,
        };
        count += 1;
        if count > MAX_PARTS {
            return Err(ApiError::Malformed(format!("A form has at most {MAX_PARTS} parts")));
        }
        reading.part(part, accepts, max_image_bytes).await?;
    }
    if let Some(message) = reading.too_large {
        return Err(ApiError::TooLarge(message));
    }
    Ok(reading.form)
}

impl Reading {
    async fn part(&mut self, part: Field, accepts: &Accepts, max_image_bytes: usize) -> Result<(), ApiError> {
        let Some((name, preferred)) = accepts.find(part.name().unwrap_or_default()) else {
            return self.read(part, 0).await.map(drop);
        };
        if !self.seen.insert(name) {
            self.form.errors.add(preferred, format!("{name} occurs more than once"));
            return self.read(part, 0).await.map(drop);
        }
        if name == accepts.image {
            self.image(name, part, max_image_bytes).await
        } else {
            self.text(name, preferred, part).await
        }
    }

    async fn text(&mut self, name: &'static str, preferred: &'static str, part: Field) -> Result<(), ApiError> {
        let Some(bytes) = self.read(part, JSON_LIMIT).await? else {
            self.too_large.get_or_insert_with(|| format!("{name} must be at most {} KiB", JSON_LIMIT / 1024));
            return Ok(());
        };
        match String::from_utf8(bytes.into()) {
            Ok(text) => self.form.texts.push((name, text)),
            Err(_) => self.form.errors.add(preferred, format!("{name} must be UTF-8 text")),
        }
        Ok(())
    }

    async fn image(&mut self, name: &str, part: Field, max_bytes: usize) -> Result<(), ApiError> {
        let has_file_name =
            part.content_disposition().and_then(|it| it.get_filename()).is_some_and(|name| !name.is_empty());
        match self.read(part, max_bytes).await? {
            // What a browser sends for a file that was not chosen.
            Some(bytes) if bytes.is_empty() && !has_file_name => {}
            Some(bytes) => self.form.image = Some(bytes),
            None => {
                let limit = format!("{name} must be at most {}", in_mebibytes(max_bytes));
                self.too_large.get_or_insert(limit);
            }
        }
        Ok(())
    }

    /// The bytes of a part, unless there are more than `limit`; then they are thrown away.
    async fn read(&mut self, mut part: Field, limit: usize) -> Result<Option<Bytes>, ApiError> {
        // Only an image is worth it.
        let capacity = if limit > JSON_LIMIT { self.expected.min(limit) } else { 0 };
        let mut bytes = BytesMut::with_capacity(capacity);
        let mut total = 0_usize;
        while let Some(chunk) = part.next().await {
            let chunk = chunk.map_err(malformed)?;
            total = total.saturating_add(chunk.len());
            if total <= limit {
                bytes.extend_from_slice(&chunk);
                continue;
            }
            self.drained = self.drained.saturating_add(chunk.len());
            if self.drained > DRAIN_LIMIT {
                return Err(ApiError::TooLarge(format!("A form must be at most {}", in_mebibytes(DRAIN_LIMIT))));
            }
        }
        Ok((total <= limit).then(|| bytes.freeze()))
    }
}

fn in_mebibytes(bytes: usize) -> String {
    const MEBIBYTE: usize = 1024 * 1024;
    if bytes.is_multiple_of(MEBIBYTE) { format!("{} MiB", bytes / MEBIBYTE) } else { format!("{bytes} bytes") }
}

fn malformed(error: MultipartError) -> ApiError {
    match error {
        MultipartError::Payload(error) if is_too_slow(&error) => ApiError::TooSlow,
        _ => ApiError::Malformed("Malformed multipart body".to_owned()),
    }
}

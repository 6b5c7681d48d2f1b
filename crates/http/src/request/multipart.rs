//! Bodies that may carry an image: multipart form data, or JSON with the same fields.

use std::collections::HashSet;

use actix_multipart::{Field, Multipart, MultipartError};
use agora_domain::FieldErrors;
use agora_domain::error::{FieldName, Violation, ViolationKind};
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use garde::Validate;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::core::{ApiError, DRAIN_LIMIT, JSON_LIMIT, MAX_PARTS, spelling};
use crate::request::{Body, ContentType, is_too_slow, parse_object, violations};

/// A body that may be a form. Its fields are the same as in JSON, except for the image, which only a form can contain.
pub(crate) trait FormBody: DeserializeOwned + Validate<Context = ()> {
    /// The text fields.
    const TEXTS: &'static [FieldName];
    /// Other spellings of text fields.
    const ALIASES: &'static [(&'static str, FieldName)] = &[];
    /// The text fields that are `true` or `false`.
    const FLAGS: &'static [FieldName] = &[];
    /// The image field.
    const IMAGE: FieldName;
}

/// A body that was parsed, some fields of which may be invalid.
pub(crate) struct Submission<T> {
    pub(crate) body: T,
    pub(crate) image: Option<Bytes>,
    /// The violations of its fields.
    pub(crate) errors: FieldErrors,
}

impl<T: FormBody> Submission<T> {
    /// Parses the fields from a JSON object, and validates them.
    fn of(json: &[u8], image: Option<Bytes>, mut errors: FieldErrors) -> Result<Self, ApiError> {
        let body = parse_object::<T>(json)?;
        errors.merge(violations(&body)?);
        Ok(Self { body, image, errors })
    }
}

impl Body {
    /// Reads a form. An empty body without a content type counts as a form without fields.
    pub(crate) async fn form<T: FormBody>(self, max_image_bytes: usize) -> Result<Submission<T>, ApiError> {
        match self.content_type() {
            ContentType::Form => read_form(self, max_image_bytes).await,
            ContentType::None if self.bytes(JSON_LIMIT).await?.is_empty() => {
                Submission::of(b"{}", None, FieldErrors::default())
            }
            _ => Err(ApiError::UnsupportedMediaType("multipart/form-data")),
        }
    }

    /// Reads a form, or a JSON object with the same fields. An empty body without a content type has no fields.
    pub(crate) async fn form_or_json<T: FormBody>(self, max_image_bytes: usize) -> Result<Submission<T>, ApiError> {
        let content_type = self.content_type();
        if content_type == ContentType::Form {
            return read_form(self, max_image_bytes).await;
        }
        let bytes = self.bytes(JSON_LIMIT).await?;
        let json = match content_type {
            ContentType::Json => &*bytes,
            ContentType::None if bytes.is_empty() => b"{}",
            _ => return Err(ApiError::UnsupportedMediaType("multipart/form-data or application/json")),
        };
        Submission::of(json, None, FieldErrors::default())
    }
}

/// Returns the most bytes of a form that are kept: the image, and at least the limits of the texts of any form together.
pub(crate) fn most_bytes(max_image_bytes: usize) -> usize {
    max_image_bytes.saturating_add(16 * JSON_LIMIT)
}

/// A form that is being read. Its errors are reported only after it has been read to its end, so that the client sees them.
#[derive(Default)]
struct Form {
    /// The text fields, as JSON.
    fields: Map<String, Value>,
    image: Option<Bytes>,
    errors: FieldErrors,
    /// The names of the parts so far.
    names: HashSet<&'static str>,
    /// The message about the first part that exceeds its limit.
    too_large: Option<String>,
    /// The bytes to expect of all parts together.
    expected: usize,
    /// The bytes that were read and discarded.
    drained: usize,
}

async fn read_form<T: FormBody>(mut body: Body, max_image_bytes: usize) -> Result<Submission<T>, ApiError> {
    body.reserve_memory(most_bytes(max_image_bytes), 1).await?;
    let mut form = Form { expected: body.expected(max_image_bytes), ..Form::default() };
    let first = body.payload.next().await;
    let is_empty = first.is_none();
    let parts = Multipart::new(body.request.headers(), stream::iter(first).chain(body.payload));
    let read = form.read_parts::<T>(parts, is_empty, max_image_bytes).await;
    match (read, form.too_large) {
        // A part that is too large takes precedence over a malformed rest.
        (Ok(()) | Err(ApiError::Malformed(_)), Some(message)) => return Err(ApiError::TooLarge(message)),
        (read, _) => read?,
    }
    let json = serde_json::to_vec(&form.fields).map_err(agora_domain::Error::internal)?;
    Submission::of(&json, form.image, form.errors)
}

impl Form {
    async fn read_parts<T: FormBody>(
        &mut self,
        mut parts: Multipart,
        is_empty: bool,
        max_image_bytes: usize,
    ) -> Result<(), ApiError> {
        let mut count = 0;
        while let Some(part) = parts.next().await {
            let part = match part {
                // Some clients send a form without fields as an empty body, without even its boundary.
                Err(MultipartError::Incomplete) if is_empty => break,
                part => part.map_err(malformed)?,
            };
            count += 1;
            if count > MAX_PARTS {
                return Err(ApiError::Malformed(format!("A form has at most {MAX_PARTS} parts")));
            }
            self.read_part::<T>(part, max_image_bytes).await?;
        }
        Ok(())
    }

    async fn read_part<T: FormBody>(&mut self, part: Field, max_image_bytes: usize) -> Result<(), ApiError> {
        let fields = T::TEXTS.iter().copied().chain([T::IMAGE]).map(|field| (spelling(field), field));
        let mut names = fields.chain(T::ALIASES.iter().copied());
        let Some((name, field)) = names.find(|(name, _)| Some(*name) == part.name()) else {
            return self.read_bytes(part, 0).await.map(drop);
        };
        if !self.names.insert(name) {
            let message = format!("{name} occurs more than once");
            self.errors.add(field, Violation::new(ViolationKind::Duplicate, message));
            return self.read_bytes(part, 0).await.map(drop);
        }
        if field == T::IMAGE {
            self.read_image(name, part, max_image_bytes).await
        } else {
            self.read_text::<T>(name, field, part).await
        }
    }

    async fn read_text<T: FormBody>(
        &mut self,
        name: &'static str,
        field: FieldName,
        part: Field,
    ) -> Result<(), ApiError> {
        let Some(bytes) = self.read_bytes(part, JSON_LIMIT).await? else {
            self.too_large.get_or_insert_with(|| format!("{name} must be at most {} KiB", JSON_LIMIT / 1024));
            return Ok(());
        };
        let Ok(text) = String::from_utf8(bytes.into()) else {
            let message = format!("{name} must be UTF-8 text");
            self.errors.add(field, Violation::new(ViolationKind::InvalidFormat, message));
            return Ok(());
        };
        let value = match text.trim().to_ascii_lowercase().parse() {
            Ok(flag) if T::FLAGS.contains(&field) => Value::Bool(flag),
            _ if T::FLAGS.contains(&field) && text.trim().is_empty() => Value::Null,
            _ => Value::String(text),
        };
        self.fields.insert(name.to_owned(), value);
        Ok(())
    }

    async fn read_image(&mut self, name: &str, part: Field, max_bytes: usize) -> Result<(), ApiError> {
        let has_file_name =
            part.content_disposition().and_then(|it| it.get_filename()).is_some_and(|name| !name.is_empty());
        match self.read_bytes(part, max_bytes).await? {
            // Browsers send this if no file was chosen.
            Some(bytes) if bytes.is_empty() && !has_file_name => {}
            Some(bytes) => self.image = Some(bytes),
            None => {
                let limit = format!("{name} must be at most {}", in_mebibytes(max_bytes));
                self.too_large.get_or_insert(limit);
            }
        }
        Ok(())
    }

    /// Reads the bytes of a part. Returns `None` if there are more than `limit`: then they are discarded.
    async fn read_bytes(&mut self, mut part: Field, limit: usize) -> Result<Option<Bytes>, ApiError> {
        // Only an image is large enough for a buffer of its full size to pay off.
        let capacity = if limit > JSON_LIMIT { image_capacity(self.expected.min(limit)) } else { 0 };
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

/// Returns the capacity of the buffer of an image. For a large image it exceeds 32 MiB.
///
/// glibc maps a buffer of that size separately and unmaps it as soon as it is dropped, while it keeps a smaller one in its free
/// lists. Pages that are not written to take no memory. They count where the system does not overcommit, but only few images
/// that large are read at once.
fn image_capacity(bytes: usize) -> usize {
    const LARGE: usize = 4 << 20;
    const MAPPED: usize = 33 << 20;
    if bytes > LARGE { bytes.max(MAPPED) } else { bytes }
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

//! `/api/media` and `/media`: images.

use actix_web::body::SizedStream;
use actix_web::http::{Method, StatusCode, header};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use agora_domain::Error;
use agora_domain::accounts::Member;
use agora_domain::error::{FieldName, Resource};
use agora_domain::media::{AltText, ByteRange, ImageKey, UploadFields};
use futures_util::TryStreamExt;
use garde::Validate;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::core::{ApiError, RequestContext, State, schema, schema_variants, spelling};
use crate::request::{
    Auth, Body, Field, FormBody, ImageConditions, PathText, RequestedBy, Submission, optional, preconditions,
};
use crate::response::{AttachmentBody, HandlerResult, Image, Rendered, answers, respond};

/// The description of an uploaded image.
#[derive(Deserialize, Validate, ToSchema)]
#[schema(as = UploadTexts)]
pub(crate) struct UploadRequest {
    #[garde(custom(optional))]
    #[schema(schema_with = schema::alt, required = false)]
    alt: Field<Option<AltText>>,
}

impl FormBody for UploadRequest {
    const TEXTS: &'static [FieldName] = &[FieldName::Alt];
    const IMAGE: FieldName = FieldName::Image;
}

schema_variants! {
    /// An image to attach to a post.
    NewUpload of UploadRequest: |form| {
        schema::set(form, spelling(UploadRequest::IMAGE), schema::image_file());
        form.required.push(spelling(UploadRequest::IMAGE).to_owned());
    };
}

answers! {
    /// An uploaded image.
    AttachmentAnswer { AttachmentBody<'static> }
}

/// Upload an image
///
/// To attach it to a post of the caller, name its `id` in `mediaIds`. After an hour it is deleted, unless a post has it.
#[utoipa::path(get, path = "", operation_id = "uploadMedia", tag = "Images",
    request_body(content((NewUpload = "multipart/form-data"))),
    responses((status = 201, description = "`Image uploaded successfully`", body = AttachmentAnswer)))]
pub(crate) async fn upload(
    state: Data<State>,
    caller: Auth<Member>,
    RequestedBy(requester): RequestedBy,
    body: Body,
) -> HandlerResult {
    let Submission { body, image, errors } = body.form::<UploadRequest>(state.max_image_bytes).await?;
    let fields = UploadFields { image, alt: body.alt.value().flatten(), errors };
    let upload = state.services.media.upload(&caller, &requester, fields).await?;
    respond(Rendered::created("Image uploaded successfully", AttachmentBody::of(&upload, &state)))
}

/// Get an image
///
/// Whoever knows the random key may read the image and its thumbnail. An image never changes and may be cached for ever. If
/// images are served from elsewhere, the answer redirects there, for any well-formed key.
#[utoipa::path(get, path = "", operation_id = "getImage", tag = "Images", params(ImageConditions), responses(Image))]
pub(crate) async fn get(state: Data<State>, PathText(key): PathText, request: HttpRequest) -> HandlerResult {
    // A key names the same bytes for ever: the answer may be cached without limit, and the key serves as its tag.
    let (key, rendition) = ImageKey::parse_file_name(&key).ok_or(Error::NotFound(Resource::Image))?;
    if let Some(url) = state.services.media.public_url(&key, rendition) {
        return Ok(redirect_to_image(url));
    }
    let tag = format!("\"{}\"", key.file_name(rendition));
    let range = requested_range(&request, &tag);
    let (known, head) = (preconditions::has(&request, &tag), request.method() == Method::HEAD);
    // A response without a body needs no bytes from the store.
    let fetched = if known || head { Some(ByteRange::Last(0)) } else { range };
    let image = state.services.media.open(&key, rendition, fetched).await?;
    if known {
        return Ok(with_cache_headers(HttpResponse::build(StatusCode::NOT_MODIFIED), &tag).finish());
    }
    let served = if head { Some(0..image.size) } else { image.range };
    let served = served.ok_or(ApiError::RangeNotSatisfiable(image.size))?;
    let status = if range.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let mut response = with_cache_headers(HttpResponse::build(status), &tag);
    response
        .insert_header((header::CONTENT_TYPE, key.format_of(rendition).media_type()))
        .insert_header((header::ACCEPT_RANGES, "bytes"));
    if range.is_some() {
        let last = served.end.saturating_sub(1);
        response.insert_header((header::CONTENT_RANGE, format!("bytes {}-{last}/{}", served.start, image.size)));
    }
    // The head of the response has been sent by now, so a failure can only cut the body off.
    let request_id = RequestContext::of(&request)?.id();
    let bytes = image.bytes.map_err(move |error| {
        tracing::error!(%request_id, cause = error.cause(), "could not finish reading an image");
        Box::new(error) as Box<dyn std::error::Error>
    });
    Ok(response.body(SizedStream::new(served.end - served.start, bytes)))
}

/// Redirects to an image that is served from elsewhere. The redirect is temporary, since the operator may move the images, and
/// may be cached for an hour, so that clients that keep old URLs do not repeat every request.
fn redirect_to_image(url: String) -> HttpResponse {
    HttpResponse::TemporaryRedirect()
        .insert_header((header::LOCATION, url))
        .insert_header((header::CACHE_CONTROL, "public, max-age=3600"))
        .finish()
}

fn with_cache_headers(mut response: actix_web::HttpResponseBuilder, tag: &str) -> actix_web::HttpResponseBuilder {
    response
        .insert_header((header::CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .insert_header((header::ETAG, tag));
    response
}

fn header_text(request: &HttpRequest, name: header::HeaderName) -> Option<&str> {
    request.headers().get(name)?.to_str().ok()
}

/// Returns the range that `Range` requests. As RFC 9110 allows, a header is ignored if it is malformed, requests several ranges,
/// comes with another method than GET, or if `If-Range` does not match.
fn requested_range(request: &HttpRequest, tag: &str) -> Option<ByteRange> {
    let other_version = header_text(request, header::IF_RANGE).is_some_and(|version| version != tag);
    if other_version || request.method() != Method::GET {
        return None;
    }
    parse_range(header_text(request, header::RANGE)?)
}

pub(crate) fn parse_range(header: &str) -> Option<ByteRange> {
    let (unit, range) = header.split_once('=')?;
    let (first, last) = range.trim().split_once('-')?;
    let number = |digits: &str| {
        let all_digits = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        all_digits.then(|| digits.parse().unwrap_or(u64::MAX))
    };
    let range = match (first, last) {
        ("", last) => ByteRange::Last(number(last)?),
        (first, "") => ByteRange::From(number(first)?),
        (first, last) => {
            ByteRange::FromTo(number(first)?, number(last).filter(|last| *last >= number(first).unwrap_or(0))?)
        }
    };
    unit.trim().eq_ignore_ascii_case("bytes").then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_byte_range_is_parsed_and_anything_else_is_ignored() {
        assert_eq!(parse_range("bytes=0-4"), Some(ByteRange::FromTo(0, 4)));
        assert_eq!(parse_range("bytes=5-"), Some(ByteRange::From(5)));
        assert_eq!(parse_range("Bytes= -7"), Some(ByteRange::Last(7)));
        assert_eq!(parse_range("bytes=0-99999999999999999999"), Some(ByteRange::FromTo(0, u64::MAX)));
        for ignored in
            ["", "bytes", "bytes=", "bytes=-", "bytes=4-2", "bytes=a-b", "bytes=0-1,3-4", "lines=0-4", "bytes=+1-2"]
        {
            assert_eq!(parse_range(ignored), None, "{ignored}");
        }
    }
}

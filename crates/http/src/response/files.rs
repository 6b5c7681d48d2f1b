//! The responses that have no envelope, for the OpenAPI document: images, event streams, archives, the document itself and
//! web pages.

use std::collections::BTreeMap;

use agora_domain::media::ImageFormat;
use utoipa::IntoResponses;
use utoipa::openapi::schema::AdditionalProperties;
use utoipa::openapi::{ContentBuilder, ObjectBuilder, RefOr, Response, ResponseBuilder, Type};

use crate::core::schema::format;
use crate::response::{ResponseHeader as Header, failures};

/// The formats that images may have.
const FORMATS: [ImageFormat; 4] = [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP];

/// Returns the media types of images.
pub(crate) fn media_types() -> [&'static str; 4] {
    FORMATS.map(ImageFormat::media_type)
}

/// Declares the responses of an operation.
macro_rules! answers {
    ($($(#[doc = $doc:literal])+ $name:ident = [$($answer:expr),+ $(,)?];)+) => {$(
        $(#[doc = $doc])+
        pub(crate) enum $name {}

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                [$($answer),+].into()
            }
        }
    )+};
}

answers! {
    /// An image, a part of it, or where else it is.
    Image = [
        answer(200, "The image.", images(), &[Header::IMAGE_TAG, Header::ACCEPT_RANGES]),
        answer(
            206, "The requested range of the image.", images(),
            &[Header::IMAGE_TAG, Header::ACCEPT_RANGES, Header::CONTENT_RANGE],
        ),
        answer(304, "Not modified: the client's copy is still valid.", [], &[Header::IMAGE_TAG]),
        answer(307, "The image is served from elsewhere.", [], &[Header::LOCATION]),
        ("404".to_owned(), failures::reference("NotFound")),
        ("416".to_owned(), failures::reference("RangeNotSatisfiable")),
    ];
    /// A stream of events.
    Events = [answer(
        200,
        "The events as they happen, each with its type as `event`, `data` in JSON and, except for `end`, an `id`. \
         `notification`: `{id, type, unread}`; `feed` and `public`: `{postId, authorId}`; `comment`: `{postId, commentId}`; \
         `like`: `{postId, likeCount}`; `post`: `{postId, change}` with `updated` or `deleted`; `reset`: `{}`; `end`: \
         `{reason}` with `session_ended`, `token_expired`, `shutting_down` or `too_slow`.",
        [("text/event-stream", text())],
        &[],
    )];
    /// An archive.
    Archive = [answer(200, "The archive.", [("application/zip", bytes())], &[])];
    /// A backup.
    BackupArchive = [answer(200, "The backup.", [("application/x-tar", bytes())], &[])];
    /// The document that describes the interface.
    Document = [answer(200, "The document.", [("application/json", any_object())], &[])];
    /// Leads to a page.
    ToPage = [answer(308, "The page is at the same path with a slash at the end.", [], &[Header::LOCATION])];
    /// A page.
    Page = [answer(200, "The page.", [("text/html", text())], &[Header::CONTENT_ENCODING])];
    /// A part of a page.
    PagePart = [answer(200, "The file.", page_parts(), &[Header::CONTENT_ENCODING])];
}

fn images() -> [(&'static str, ObjectBuilder); 4] {
    media_types().map(|media_type| (media_type, bytes()))
}

/// Returns the schema of an arbitrary object. It allows additional properties explicitly, since client generators otherwise make
/// a type without fields.
fn any_object() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Object).additional_properties(Some(AdditionalProperties::FreeForm(true)))
}

fn page_parts() -> [(&'static str, ObjectBuilder); 5] {
    [
        ("text/css", text()),
        ("text/html", text()),
        ("text/javascript", text()),
        ("image/png", bytes()),
        ("image/svg+xml", text()),
    ]
}

fn answer(
    status: u16,
    description: &str,
    content: impl IntoIterator<Item = (&'static str, ObjectBuilder)>,
    headers: &[Header],
) -> (String, RefOr<Response>) {
    let mut response = ResponseBuilder::new().description(description).build();
    for (media_type, schema) in content {
        response.content.insert(media_type.to_owned(), ContentBuilder::new().schema(Some(schema)).build().into());
    }
    for header in headers {
        header.add_to(&mut response);
    }
    (status.to_string(), RefOr::T(response))
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn bytes() -> ObjectBuilder {
    text().format(format("binary"))
}

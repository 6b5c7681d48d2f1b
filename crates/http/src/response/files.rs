//! The answers that are no envelope: images, this document, and the page to read it.

use std::collections::BTreeMap;

use agora_domain::media::ImageFormat;
use utoipa::{
    IntoResponses,
    openapi::{ContentBuilder, ObjectBuilder, RefOr, Response, ResponseBuilder, Type, schema::AdditionalProperties},
};

use crate::{
    core::schema::format,
    response::headers::ResponseHeader::{self, AcceptRanges, ContentEncoding, ContentRange, ImageTag, Location},
};

/// The formats that images have.
const FORMATS: [ImageFormat; 4] = [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP];

/// The media types of images.
pub(crate) fn media_types() -> [&'static str; 4] {
    FORMATS.map(ImageFormat::media_type)
}

/// An image, a part of it, or where else it is.
pub(crate) enum Image {}
/// The document that describes the interface.
pub(crate) enum Document {}
/// Leads to the interactive page.
pub(crate) enum ToPage {}
/// The interactive page.
pub(crate) enum Page {}
/// A part of the interactive page.
pub(crate) enum PagePart {}

type Responses = BTreeMap<String, RefOr<Response>>;

impl IntoResponses for Image {
    fn responses() -> Responses {
        let image = || media_types().map(|media_type| (media_type, bytes()));
        [
            answer(200, "The image.", image(), &[ImageTag, AcceptRanges]),
            answer(206, "The part of the image that was asked for.", image(), &[ImageTag, AcceptRanges, ContentRange]),
            answer(304, "The image is the one that is there already.", [], &[ImageTag]),
            answer(307, "The image is served elsewhere.", [], &[Location]),
        ]
        .into()
    }
}

impl IntoResponses for Document {
    fn responses() -> Responses {
        // Said outright, since clients are made for an object without any field otherwise.
        let document = ObjectBuilder::new().schema_type(Type::Object);
        let document = document.additional_properties(Some(AdditionalProperties::FreeForm(true)));
        [answer(200, "The document.", [("application/json", document)], &[])].into()
    }
}

impl IntoResponses for ToPage {
    fn responses() -> Responses {
        [answer(308, "The page is at the address with a slash at its end.", [], &[Location])].into()
    }
}

impl IntoResponses for Page {
    fn responses() -> Responses {
        [answer(200, "The page.", [("text/html", text())], &[ContentEncoding])].into()
    }
}

impl IntoResponses for PagePart {
    fn responses() -> Responses {
        let texts = ["text/css", "text/html", "text/javascript"].map(|media_type| (media_type, text()));
        let content = texts.into_iter().chain([("image/png", bytes())]);
        [answer(200, "The part.", content, &[ContentEncoding])].into()
    }
}

fn answer(
    status: u16,
    description: &str,
    content: impl IntoIterator<Item = (&'static str, ObjectBuilder)>,
    headers: &[ResponseHeader],
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

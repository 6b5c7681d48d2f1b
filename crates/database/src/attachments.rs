//! The storage format of a post's images: the key of the first one in a column of its own, where nodes of earlier releases read
//! it, and the metadata of all of them as one JSON text.

use agora_domain::media::{AltText, Attachment, ImageKey, Preview};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Outcome, corrupt};

/// The stored metadata of an image, which nodes of earlier releases do not know.
#[derive(Debug, Serialize, Deserialize)]
struct StoredAttachment {
    key: String,
    /// Absent without a preview, as are `height` and `blurhash`.
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blurhash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alt: Option<String>,
}

impl StoredAttachment {
    fn of(Attachment { key, preview, alt }: &Attachment) -> Self {
        Self {
            key: key.as_str().to_owned(),
            width: preview.as_ref().map(|preview| preview.width),
            height: preview.as_ref().map(|preview| preview.height),
            blurhash: preview.as_ref().map(|preview| preview.blurhash.clone()),
            alt: alt.as_ref().map(|alt| alt.as_str().to_owned()),
        }
    }

    fn attachment(self) -> Outcome<Attachment> {
        let Self { key, width, height, blurhash, alt } = self;
        let preview = match (width, height, blurhash) {
            (Some(width), Some(height), Some(blurhash)) => Some(Preview { width, height, blurhash }),
            _ => None,
        };
        Ok(Attachment { key: parse_key(&key)?, preview, alt: alt.map(AltText::restore) })
    }
}

/// Parses a stored image key.
pub(crate) fn parse_key(text: &str) -> Outcome<ImageKey> {
    ImageKey::parse(text).ok_or_else(|| corrupt("image key"))
}

/// Serializes the metadata of some images.
pub(crate) fn to_text(attachments: &[Attachment]) -> String {
    let stored = attachments.iter().map(StoredAttachment::of);
    Value::Array(stored.filter_map(|stored| serde_json::to_value(stored).ok()).collect()).to_string()
}

/// Parses a text made by [`to_text`].
pub(crate) fn from_text(text: &str) -> Outcome<Vec<Attachment>> {
    let stored: Vec<StoredAttachment> = serde_json::from_str(text).map_err(|_| corrupt("attachments"))?;
    stored.into_iter().map(StoredAttachment::attachment).collect()
}

/// Returns the text to store for the images of a post, or `None` if there are no images, or a single one with neither a preview
/// nor an alt text, which has yet to get its preview.
pub(crate) fn stored(attachments: &[Attachment]) -> Option<String> {
    match attachments {
        [] | [Attachment { preview: None, alt: None, .. }] => None,
        attachments => Some(to_text(attachments)),
    }
}

/// Returns the images of a post, given the column of the first one and the text of all. A node of an earlier release changes only
/// the column of the first image: then the post has only that image, and the text is obsolete.
pub(crate) fn of_post(image: Option<String>, text: Option<&str>) -> Outcome<Vec<Attachment>> {
    let Some(first) = image.as_deref().map(parse_key).transpose()? else { return Ok(Vec::new()) };
    let attachments = text.map(from_text).transpose()?.unwrap_or_default();
    match attachments.first() {
        Some(attachment) if attachment.key == first => Ok(attachments),
        _ => Ok(vec![Attachment::bare(first)]),
    }
}

#[cfg(test)]
mod tests {
    use agora_domain::media::ImageFormat;

    use super::*;

    fn attachment(n: u8) -> Attachment {
        let preview = Some(Preview { width: 4_000_000_000, height: 1, blurhash: "L\"EHV\\6".to_owned() });
        let alt = AltText::parse("a \"cat\"\n猫").unwrap();
        Attachment { key: ImageKey::new([n; 16], ImageFormat::Png), preview, alt }
    }

    fn key(attachment: &Attachment) -> Option<String> {
        Some(attachment.key.as_str().to_owned())
    }

    #[test]
    fn stored_attachments_are_read_back() {
        let bare = Attachment::bare(attachment(2).key);
        for images in [vec![attachment(1)], vec![attachment(1), bare.clone()], vec![bare.clone(), attachment(1)]] {
            let text = stored(&images).unwrap();
            assert_eq!(of_post(key(&images[0]), Some(&text)).unwrap(), images);
        }
        assert_eq!((stored(&[]), stored(&[bare])), (None, None));
    }

    #[test]
    fn an_image_set_by_an_earlier_release_replaces_all_images() {
        let text = to_text(&[attachment(1), attachment(2)]);
        let other = attachment(3);
        assert_eq!(of_post(key(&other), Some(&text)).unwrap(), [Attachment::bare(other.key)]);
        assert_eq!(of_post(None, Some(&text)).unwrap(), []);
    }

    #[test]
    fn invalid_text_is_an_error() {
        for text in ["", "{}", "[1]", r#"[{"key":"no key"}]"#] {
            assert!(from_text(text).is_err(), "{text}");
        }
    }
}

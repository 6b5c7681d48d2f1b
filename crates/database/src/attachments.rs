//! How the images of a post are stored: the key of the first beside the post, where nodes of releases before look for it, and
//! what is known of all of them as one text.

use agora_domain::media::{AltText, Attachment, ImageKey, Preview};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Outcome, corrupt};

/// What is stored of an image. Nodes of releases before know nothing of it.
#[derive(Debug, Serialize, Deserialize)]
struct StoredAttachment {
    key: String,
    /// Absent when it has no preview; and so is what follows.
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

/// Returns a stored key.
pub(crate) fn parse_key(text: &str) -> Outcome<ImageKey> {
    ImageKey::parse(text).ok_or_else(|| corrupt("image key"))
}

/// Returns the text of some images.
pub(crate) fn to_text(attachments: &[Attachment]) -> String {
    let stored = attachments.iter().map(StoredAttachment::of);
    Value::Array(stored.filter_map(|stored| serde_json::to_value(stored).ok()).collect()).to_string()
}

/// Returns the images of a text.
pub(crate) fn from_text(text: &str) -> Outcome<Vec<Attachment>> {
    let stored: Vec<StoredAttachment> = serde_json::from_str(text).map_err(|_| corrupt("attachments"))?;
    stored.into_iter().map(StoredAttachment::attachment).collect()
}

/// Returns the text that is stored of the images of a post; nothing while they still are to get a preview.
pub(crate) fn stored(attachments: &[Attachment]) -> Option<String> {
    match attachments {
        [] | [Attachment { preview: None, alt: None, .. }] => None,
        attachments => Some(to_text(attachments)),
    }
}

/// Returns the images of a post with this first one, and this text. A node of a release before changes the first one alone: then
/// there is no other, and the text is of no use.
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
    fn what_is_stored_is_read_back() {
        let bare = Attachment::bare(attachment(2).key);
        for images in [vec![attachment(1)], vec![attachment(1), bare.clone()], vec![bare.clone(), attachment(1)]] {
            let text = stored(&images).unwrap();
            assert_eq!(of_post(key(&images[0]), Some(&text)).unwrap(), images);
        }
        assert_eq!((stored(&[]), stored(&[bare])), (None, None));
    }

    #[test]
    fn an_image_that_a_release_before_set_stands_alone() {
        let text = to_text(&[attachment(1), attachment(2)]);
        let other = attachment(3);
        assert_eq!(of_post(key(&other), Some(&text)).unwrap(), [Attachment::bare(other.key)]);
        assert_eq!(of_post(None, Some(&text)).unwrap(), []);
    }

    #[test]
    fn what_is_no_such_text_is_told() {
        for text in ["", "{}", "[1]", r#"[{"key":"no key"}]"#] {
            assert!(from_text(text).is_err(), "{text}");
        }
    }
}

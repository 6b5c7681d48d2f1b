//! What posts, comments and products say, and the words of requests.

use agora_domain::comments::CommentText;
use agora_domain::idempotency::IdempotencyKey;
use agora_domain::media::{ImageFormat, ImageKey};
use agora_domain::posts::PostText;
use agora_domain::products::{Category, ImageUrl, Sku};
use proptest::prelude::*;

use super::{config, text, text_of_about};

fn fits(text: &str, most: usize) -> bool {
    !text.contains('\0') && text.trim().chars().count() <= most
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_post_is_trimmed_and_bounded_in_characters(
        text in prop_oneof![3 => text().boxed(), 1 => text_of_about(5000).boxed()]
    ) {
        match PostText::parse(&text) {
            Ok(post) => {
                prop_assert!(fits(post.as_str(), 5000));
                prop_assert_eq!(post.as_str(), text.trim());
                prop_assert_eq!(PostText::parse(post.as_str()), Ok(post));
            }
            Err(_) => prop_assert!(!fits(text.trim(), 5000)),
        }
    }

    #[test]
    fn a_comment_is_trimmed_and_says_something(
        text in prop_oneof![text().boxed(), text_of_about(500).boxed()]
    ) {
        match CommentText::parse(&text) {
            Ok(comment) => {
                prop_assert!(fits(comment.as_str(), 500) && !comment.as_str().is_empty());
                prop_assert_eq!(comment.as_str(), text.trim());
                prop_assert_eq!(CommentText::parse(comment.as_str()), Ok(comment));
            }
            Err(_) => prop_assert!(!fits(text.trim(), 500) || text.trim().is_empty()),
        }
    }

    #[test]
    fn a_sku_and_a_category_are_bounded_and_have_one_form(
        text in prop_oneof![text().boxed(), text_of_about(64).boxed(), text_of_about(100).boxed()]
    ) {
        let trimmed = text.trim();
        prop_assert_eq!(Sku::parse(&text).is_ok(), fits(trimmed, 64) && !trimmed.is_empty());
        prop_assert_eq!(Category::parse(&text).is_ok(), fits(trimmed, 100) && !trimmed.is_empty());
        if let (Ok(sku), Ok(lower)) = (Sku::parse(&text), Sku::parse(&text.to_lowercase())) {
            prop_assert_eq!(sku.key(), lower.key());
        }
    }

    #[test]
    fn the_address_of_an_image_is_one_word(text in prop_oneof![text().boxed(), "https?://.{0,12}".boxed()]) {
        let Ok(url) = ImageUrl::parse(&text) else { return Ok(()) };
        prop_assert!(!url.as_str().contains(|c: char| c.is_whitespace() || c.is_control()));
        prop_assert_eq!(ImageUrl::parse(url.as_str()), Ok(url));
    }

    #[test]
    fn a_key_of_an_image_is_parsed_as_what_it_was_made_of(random in any::<[u8; 16]>(), n in 0..4_usize) {
        let format = [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP][n];
        let key = ImageKey::new(random, format);
        prop_assert_eq!(key.format(), format);
        prop_assert_eq!(ImageKey::parse(key.as_str()), Some(key));
    }

    #[test]
    fn a_key_of_an_image_is_never_a_path(
        text in prop_oneof![text().boxed(), "[0-9a-fA-F/.%]{30,34}\\.(jpg|png|gif|webp|PNG)".boxed()]
    ) {
        let Some(key) = ImageKey::parse(&text) else { return Ok(()) };
        prop_assert_eq!(key.as_str(), &text);
        prop_assert!(text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'.'));
        prop_assert_eq!(text.matches('.').count(), 1);
    }

    #[test]
    fn an_idempotency_key_is_1_to_255_visible_characters(text in prop_oneof![text().boxed(), "[!-~]{250,260}".boxed()]) {
        let fits = (1..=255).contains(&text.len()) && text.bytes().all(|byte| (b'!'..=b'~').contains(&byte));
        match IdempotencyKey::parse(&text) {
            Some(key) => prop_assert!(fits && key.as_str() == text),
            None => prop_assert!(!fits),
        }
    }
}

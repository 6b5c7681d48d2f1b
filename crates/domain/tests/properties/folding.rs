//! The form in which names are compared.

use agora_domain::text::fold;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use proptest::prelude::*;

use super::{config, text};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_folded_text_is_its_own_form(text in text()) {
        let folded = fold(&text);
        prop_assert_eq!(fold(&folded), folded);
    }

    #[test]
    fn letter_case_makes_no_other_name(text in text()) {
        let text = DecomposingNormalizerBorrowed::new_nfd().normalize(&text);
        // Two have a capital that is another letter's: the Turkish one without a dot, and an accent (whose capital does
        // not keep its place among the accents). Both are folded as what they are.
        prop_assume!(!text.contains(['ı', '\u{345}']));
        prop_assert_eq!(fold(&text.to_lowercase()), fold(&text));
        prop_assert_eq!(fold(&text.to_uppercase()), fold(&text));
    }

    #[test]
    fn the_spelling_of_accents_makes_no_other_name(text in text()) {
        let composed = ComposingNormalizerBorrowed::new_nfc().normalize(&text);
        let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(&text);
        prop_assert_eq!(fold(&composed), fold(&text));
        prop_assert_eq!(fold(&decomposed), fold(&text));
    }

    #[test]
    fn what_is_invisible_makes_no_other_name(text in text(), invisible in "[\u{ad}\u{200b}-\u{200f}\u{2060}\u{feff}]") {
        let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        let mut other = text.clone();
        other.insert_str(middle, &invisible);
        prop_assert_eq!(fold(&other), fold(&text));
    }
}

#[test]
fn every_character_alone_is_folded_once_and_in_any_case() {
    // All letters; what lies beyond has neither case nor form.
    let assigned = ('\0'..='\u{1ffff}').chain('\u{2f800}'..='\u{2fa1f}').chain('\u{e0000}'..='\u{e0fff}');
    for character in assigned {
        let text = character.to_string();
        let folded = fold(&text);
        for other in [&folded, &text.to_uppercase(), &text.to_lowercase()] {
            assert!(*other == text || fold(other) == folded || character == 'ı', "{character:?} as {other:?}");
        }
    }
}

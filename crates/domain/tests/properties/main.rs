//! What holds of every value, whatever the text it is made of: made-up texts, with what Unicode has to offer.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod accounts;
mod folding;
mod numbers;
mod texts;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

/// The same cases each time, so that a failure has to do with the change that it stands beside. `PROPTEST_CASES` makes
/// them more.
fn config() -> Config {
    Config { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() }
}

/// Characters that are something else in another letter case or form, or cannot be seen, or are white space to some.
const ODD: [char; 64] = [
    '\0', '\t', '\n', '\u{b}', '\r', ' ', '@', 'a', 'K', 'Z', '\u{7f}', '\u{85}', '\u{a0}', '\u{ad}', 'µ', 'ß', 'ẞ',
    'É', 'İ', 'ı', 'ŉ', 'ſ', 'ǅ', 'ǰ', '\u{301}', '\u{307}', '\u{308}', '\u{327}', '\u{345}', '\u{34f}', 'Σ', 'ς', 'ΐ',
    'ϒ', 'Я', 'א', '\u{5b0}', '\u{61c}', 'Ꭰ', 'ᏸ', '\u{115f}', 'ᾳ', 'ᾼ', '\u{180e}', '\u{200b}', '\u{200d}',
    '\u{200e}', '\u{202e}', '\u{2028}', '\u{2066}', 'K', 'Å', '℃', 'Ⅷ', '\u{3000}', 'か', '\u{3099}', '가', '\u{1100}',
    '\u{fe0f}', '\u{feff}', '＠', 'ﬁ', '🇩',
];

fn odd_character() -> impl Strategy<Value = char> {
    let accent = proptest::char::range('\u{300}', '\u{36f}');
    prop_oneof![4 => proptest::sample::select(&ODD[..]), 1 => any::<char>(), 1 => accent]
}

/// Any text: of odd characters, of any, or nearly a usual one.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::collection::vec(odd_character(), 0..12).prop_map(String::from_iter),
        any::<String>(),
        "[ a-zA-Z0-9._@-]{0,20}",
    ]
}

/// A text of about `most` characters, of one to four bytes each.
fn text_of_about(most: usize) -> impl Strategy<Value = String> {
    let character = prop_oneof![Just('a'), Just('ß'), Just('か'), Just('🦀'), Just(' ')];
    (character, most - 2..most + 3, "[ xß]{0,2}").prop_map(|(character, count, end)| {
        let mut text: String = std::iter::repeat_n(character, count).collect();
        text.insert_str(0, &end);
        text
    })
}

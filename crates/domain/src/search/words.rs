//! The words of a text.

use std::mem;

use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::props::Script;
use icu_properties::script::ScriptWithExtensions;
use unicode_segmentation::UnicodeSegmentation;

/// Returns the words of a text, in their order, as they are looked for (`contract`: Search).
///
/// Texts are folded first: compatibility forms, letter case and the accents from U+0300 to U+036F make no difference, nor
/// does the shape of an apostrophe. Then Unicode's word segmentation (UAX 29) cuts them; what has neither letter nor digit is
/// no word. In scripts that are written without spaces, Han, kana, Thai, Lao, Khmer and Myanmar, each character is a word: any
/// part of a run of them is found as words side by side.
pub fn words(text: &str) -> Vec<String> {
    runs(text).into_iter().flatten().collect()
}

/// Returns the words of a text by runs: a run is one word, or the characters side by side of scripts without spaces.
pub(super) fn runs(text: &str) -> Vec<Vec<String>> {
    let mut runs = Vec::new();
    let mut unspaced = Vec::new();
    for segment in fold(text).split_word_bounds() {
        let mut word = String::new();
        for c in segment.chars() {
            if is_unspaced(c) {
                end_word(&mut word, &mut runs);
                unspaced.push(c.to_string());
            } else {
                end_run(&mut unspaced, &mut runs);
                word.push(c);
            }
        }
        end_word(&mut word, &mut runs);
    }
    end_run(&mut unspaced, &mut runs);
    runs
}

fn end_word(word: &mut String, runs: &mut Vec<Vec<String>>) {
    let word = mem::take(word);
    if word.contains(char::is_alphanumeric) {
        runs.push(vec![word]);
    }
}

fn end_run(unspaced: &mut Vec<String>, runs: &mut Vec<Vec<String>>) {
    if !unspaced.is_empty() {
        runs.push(mem::take(unspaced));
    }
}

/// Returns the form in which texts and queries are compared.
fn fold(text: &str) -> String {
    let compatible = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
    let folded = CaseMapper::new().fold_string(&compatible);
    let apart = DecomposingNormalizerBorrowed::new_nfd().normalize(&folded);
    let bare: String = apart.chars().filter(|c| !('\u{300}'..='\u{36F}').contains(c)).collect();
    ComposingNormalizerBorrowed::new_nfc().normalize(&bare).replace('\u{2019}', "'")
}

/// Returns whether a character belongs to a script that is written without spaces.
fn is_unspaced(c: char) -> bool {
    const SCRIPTS: [Script; 7] =
        [Script::Han, Script::Hiragana, Script::Katakana, Script::Thai, Script::Lao, Script::Khmer, Script::Myanmar];
    // Most texts have none: that much can be told without a look into the table.
    c >= '\u{E00}' && SCRIPTS.into_iter().any(|script| ScriptWithExtensions::new().has_script(c, script))
}

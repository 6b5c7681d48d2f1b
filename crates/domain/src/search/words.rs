//! The words of a text.

use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategoryGroup, Script};
use icu_properties::script::ScriptWithExtensions;
use unicode_segmentation::UnicodeSegmentation;

/// Returns the words of a text, in their order, as they are looked for (`contract`: Search).
///
/// Texts are folded first: compatibility forms, letter case and the accents from U+0300 to U+036F make no difference, nor
/// does the shape of an apostrophe. Then Unicode's word segmentation (UAX 29) cuts them; what has neither letter nor digit is
/// no word. In scripts that are written without spaces, Han, kana, Thai, Lao, Khmer and Myanmar, each character is a word: any
/// part of a run of them is found as words side by side.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, |word| words.push(word.to_owned()));
    words
}

/// Calls a function with each word of a text, in their order.
pub(super) fn each_word(text: &str, mut take: impl FnMut(&str)) {
    each_run(&fold(text), |run, is_unspaced| match is_unspaced {
        true => run.chars().for_each(|c| take(c.encode_utf8(&mut [0; 4]))),
        false => take(run),
    });
}

/// Returns the words of a text by runs: a run is one word, or the characters side by side of scripts without spaces.
pub(super) fn runs(text: &str) -> Vec<Vec<String>> {
    let mut runs = Vec::new();
    each_run(&fold(text), |run, is_unspaced| match is_unspaced {
        true => runs.push(run.chars().map(String::from).collect()),
        false => runs.push(vec![run.to_owned()]),
    });
    runs
}

/// Calls a function with each run of a folded text, and whether it is one of characters of a script without spaces.
fn each_run(folded: &str, mut take: impl FnMut(&str, bool)) {
    let mut rest = folded;
    while let Some(first) = rest.chars().next() {
        let is_unspaced_run = is_unspaced(first);
        let end = rest.find(|c| is_unspaced(c) != is_unspaced_run).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        if is_unspaced_run {
            take(run, true);
        } else {
            run.unicode_words().for_each(|word| take(word, false));
        }
        rest = after;
    }
}

/// Returns the form in which texts and queries are compared.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let compatible = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
    let folded = CaseMapper::new().fold_string(&compatible);
    let apart = DecomposingNormalizerBorrowed::new_nfd().normalize(&folded);
    let bare: String = apart.chars().filter(|c| !('\u{300}'..='\u{36F}').contains(c)).collect();
    ComposingNormalizerBorrowed::new_nfc().normalize(&bare).replace('\u{2019}', "'")
}

/// Returns whether a character is a letter, digit or mark of a script that is written without spaces.
fn is_unspaced(c: char) -> bool {
    const SCRIPTS: [Script; 7] =
        [Script::Han, Script::Hiragana, Script::Katakana, Script::Thai, Script::Lao, Script::Khmer, Script::Myanmar];
    const MARKS: GeneralCategoryGroup = GeneralCategoryGroup::Mark;
    // The first of them is Thai: most texts need no look into the tables.
    c >= '\u{E00}'
        && SCRIPTS.into_iter().any(|script| ScriptWithExtensions::new().has_script(c, script))
        && (c.is_alphanumeric() || MARKS.contains(CodePointMapData::new().get(c)))
}

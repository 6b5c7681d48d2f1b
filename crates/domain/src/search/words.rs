//! Splitting texts into words.

use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategoryGroup, Script};
use icu_properties::script::ScriptWithExtensions;
use unicode_segmentation::UnicodeSegmentation;

/// Returns the words of a text, in order, in the form in which they are searched (`contract`: Search).
///
/// Texts are folded first: compatibility forms, letter case, the accents from U+0300 to U+036F and the shape of an apostrophe
/// make no difference. Then Unicode's word segmentation (UAX 29) splits them; segments with neither letter nor digit are
/// dropped. In scripts that are written without spaces (Han, kana, Thai, Lao, Khmer and Myanmar), each character is a word, so
/// that any part of a run of them is found as adjacent words.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for_each_word(text, |word| words.push(word.to_owned()));
    words
}

/// Calls a function with each word of a text, in order.
pub(super) fn for_each_word(text: &str, mut visit: impl FnMut(&str)) {
    for_each_run(&fold(text), |run, is_unspaced| match is_unspaced {
        true => run.chars().for_each(|c| visit(c.encode_utf8(&mut [0; 4]))),
        false => visit(run),
    });
}

/// Returns the words of a text, grouped into runs: a run is a single word, or adjacent characters of scripts without spaces.
pub(super) fn runs(text: &str) -> Vec<Vec<String>> {
    let mut runs = Vec::new();
    for_each_run(&fold(text), |run, is_unspaced| match is_unspaced {
        true => runs.push(run.chars().map(String::from).collect()),
        false => runs.push(vec![run.to_owned()]),
    });
    runs
}

/// Calls a function with each run of a folded text, and whether it consists of characters of scripts without spaces.
fn for_each_run(folded: &str, mut visit: impl FnMut(&str, bool)) {
    let mut rest = folded;
    while let Some(first) = rest.chars().next() {
        let is_unspaced_run = is_unspaced(first);
        let end = rest.find(|c| is_unspaced(c) != is_unspaced_run).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        if is_unspaced_run {
            visit(run, true);
        } else {
            run.unicode_words().for_each(|word| visit(word, false));
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
    let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(&folded);
    let unaccented: String = decomposed.chars().filter(|c| !('\u{300}'..='\u{36F}').contains(c)).collect();
    ComposingNormalizerBorrowed::new_nfc().normalize(&unaccented).replace('\u{2019}', "'")
}

/// Returns whether a character is a letter, digit or mark of a script that is written without spaces.
fn is_unspaced(c: char) -> bool {
    const SCRIPTS: [Script; 7] =
        [Script::Han, Script::Hiragana, Script::Katakana, Script::Thai, Script::Lao, Script::Khmer, Script::Myanmar];
    const MARKS: GeneralCategoryGroup = GeneralCategoryGroup::Mark;
    // Thai comes first of them in Unicode, so that most texts need no lookup in the tables.
    c >= '\u{E00}'
        && SCRIPTS.into_iter().any(|script| ScriptWithExtensions::new().has_script(c, script))
        && (c.is_alphanumeric() || MARKS.contains(CodePointMapData::new().get(c)))
}

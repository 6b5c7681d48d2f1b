use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::accounts::{DisplayName, Username};
use crate::entities::{Candidates, Hashtag, Named};
use crate::id::UserId;
use crate::posts::PostText;

mod finding;

fn finds(query: &str, text: &str) -> bool {
    Query::parse(query).unwrap().finds(&[text], &BTreeSet::new())
}

#[test]
fn words_follow_unicode_segmentation_without_case_and_accents() {
    for (text, expected) in [
        ("Hello, World!", &["hello", "world"][..]),
        ("don't stop: it’s", &["don't", "stop", "it's"]),
        ("foo_bar foo-bar 3.14 v1.2", &["foo_bar", "foo", "bar", "3.14", "v1.2"]),
        ("Crème BRÛLÉE", &["creme", "brulee"]),
        ("Straße STRASSE", &["strasse", "strasse"]),
        ("ﬁne ＡＢＣ", &["fine", "abc"]),
        ("Ольга ΟΔΥΣΣΕΥΣ", &["ольга", "οδυσσευσ"]),
        ("東京タワー", &["東", "京", "タ", "ワ", "ー"]),
        ("かがく", &["か", "が", "く"]),
        ("สวัสดี", &["ส", "ว", "ั", "ส", "ด", "ี"]),
        ("한국어 검색", &["한국어", "검색"]),
        ("iPhone16東京", &["iphone16", "東", "京"]),
        ("昨日、\u{3099}한'国국", &["昨", "日", "\u{3099}", "한", "国", "국"]),
        ("... -- \u{1F980} _ '", &[]),
    ] {
        assert_eq!(words(text), expected, "{text}");
    }
}

#[test]
fn a_query_matches_all_its_words_in_any_order_and_the_last_as_a_prefix() {
    let text = "The quick brown fox doesn't jump";
    for found in ["fox", "FOX quick", "quick br", "jump", "ju", "the", "doesn’t", "the!!! +fox-", "(brown OR) fox NOT"]
    {
        let expected = !found.contains("OR");
        assert_eq!(finds(found, text), expected, "{found}");
    }
    for missing in ["foxes", "qui fox", "j", "quick cat", "ox", "doesn"] {
        assert_eq!(finds(missing, text), missing == "doesn", "{missing}");
    }
}

#[test]
fn a_phrase_matches_adjacent_words_within_one_field() {
    let query = Query::parse("\"brown fox\"").unwrap();
    let none = BTreeSet::new();
    assert!(query.finds(&["a quick Brown, fox."], &none));
    assert!(!query.finds(&["fox brown"], &none));
    assert!(!query.finds(&["brown", "fox"], &none));
    assert!(Query::parse("brown fox").unwrap().finds(&["brown", "fox"], &none));
    assert!(!finds("\"brown fo\"", "brown fox"), "a phrase has whole words");
    assert!(finds("\"brown fox", "fox, foxes, brown"), "an unclosed quote is none");
    assert!(finds("a \"b c\" d", "b c d a"));
    assert!(finds("\"\" fox", "fox"));
    assert!(finds("צה\"ל דו\"ח", "דו\"ח של צה\"ל"));
}

#[test]
fn text_without_spaces_is_found_by_any_part_of_it() {
    let text = "昨日、東京タワーに行った";
    for found in ["東", "京タ", "東京タワー", "行", "ー", "東京 昨日"] {
        assert!(finds(found, text), "{found}");
    }
    for missing in ["東タ", "タ京", "大阪"] {
        assert!(!finds(missing, text), "{missing}");
    }
    assert!(finds("ัสด", "สวัสดี"));
    assert!(!finds("국", "한국어"));
    assert!(finds("한국", "한국어"));
}

#[test]
fn a_hashtag_term_matches_only_that_hashtag() {
    let tags = BTreeSet::from([Hashtag::parse("Café").unwrap()]);
    let query = |text| Query::parse(text).unwrap();
    assert!(query("#CAFÉ").finds(&[""], &tags));
    assert!(query("good #café").finds(&["all is good"], &tags));
    assert!(!query("#cafe").finds(&["cafe"], &tags));
    assert!(!query("#caf").finds(&["café"], &tags));
    assert!(query("#cafe").without_hashtags().finds(&["Café"], &BTreeSet::new()));
    assert!(query("\"#café\"").finds(&["cafe"], &BTreeSet::new()), "in quotes it is a word");
}

#[test]
fn a_query_without_words_or_too_long_is_rejected() {
    for query in ["", "  ", "!?", "\"\"", "# @ _", "\u{1F980}", &"a".repeat(201)] {
        assert!(Query::parse(query).is_err(), "{query}");
    }
    assert!(Query::parse(&"a".repeat(200)).is_ok());
}

fn hashtags(text: &str) -> BTreeSet<Hashtag> {
    let entities = Candidates::find(text).resolve(&std::collections::BTreeMap::new());
    let tags = entities.into_iter().filter_map(|entity| match entity.named {
        Named::Hashtag(tag) => Some(tag),
        _ => None,
    });
    tags.collect()
}

/// Returns whether a query finds a post, after checking that the text, its indexed form and its keys agree on that.
fn finds_post(query: &Query, text: &str) -> bool {
    let found = query.finds(&[text], &hashtags(text));
    let [author, other] = [1, 2].map(|n| UserId::new(uuid::Uuid::from_u128(n)));
    let indexed = IndexedText::of_post(&PostText::restore(text.to_owned())).by(author);
    let indexed = IndexedText::restore(indexed.as_str().to_owned());
    let needles = Needles::of(query, None);
    assert_eq!(needles.are_in(&indexed), found, "{query:?} in {indexed:?}");
    assert_eq!(Needles::of(query, Some(author)).are_in(&indexed), found, "{query:?} in {indexed:?}");
    assert!(!Needles::of(query, Some(other)).are_in(&indexed));
    let keys: BTreeSet<&str> = indexed.keys().collect();
    assert!(keys.iter().all(|key| key.chars().count() <= IndexedText::MAX_KEY_CHARS));
    if found {
        assert!(needles.keys.iter().all(|key| keys.contains(key.as_str())), "{needles:?} by {keys:?}");
        let has = |prefix: &String| keys.iter().any(|key| key.starts_with(prefix.as_str()));
        assert!(needles.prefix.iter().all(has), "{needles:?} by {keys:?}");
    }
    found
}

#[test]
fn an_indexed_text_consists_of_delimited_words_and_marks() {
    let post = |text: &str| IndexedText::of_post(&PostText::restore(text.to_owned()));
    assert_eq!(post("Hello, #World of #Ünïcode").as_str(), "\nhello\nworld\nof\nunicode\n\r#world\r#ünïcode\r");
    assert_eq!(post("\u{1F980}").as_str(), "");
    let author = UserId::new(uuid::Uuid::from_u128(1));
    assert_eq!(post("a").by(author).as_str(), "\na\n\r@00000000000000000000000000000001\r");
    let names = (Username::restore("ada".to_owned()), DisplayName::restore("Ada L.".to_owned()));
    assert_eq!(IndexedText::of_account(&names.0, Some(&names.1)).as_str(), "\nada\n\nada\nl\n");
    assert_eq!(IndexedText::of_account(&names.0, None).as_str(), "\nada\n");
    let long = "x".repeat(5000);
    assert_eq!(Vec::from_iter(post(&format!("{long} {long}y b a")).keys()), [&long[..32], &long[..32], "b", "a"]);
}

#[test]
fn long_words_are_looked_up_by_a_truncated_key_but_compared_in_full() {
    let word = "x".repeat(150);
    for (query, found) in [
        (word.clone(), true),
        (format!("\"{word}\""), true),
        (word[..149].to_owned(), true),
        (format!("\"{}\"", &word[..149]), false),
        (format!("{word}y"), false),
        (word[..31].to_owned(), true),
        (word[..32].to_owned(), true),
    ] {
        assert_eq!(finds_post(&Query::parse(&query).unwrap(), &format!("a {word} b")), found, "{query}");
    }
}

proptest! {
    #[test]
    fn an_indexed_text_has_the_needles_exactly_if_the_query_matches(
        query in prop_oneof![any::<String>(), "[ \"#a東'_b\u{93f}\u{300}-]{0,40}", "(\"?#?[ab]{1,2}\"? ?){1,4}"],
        text in prop_oneof![any::<String>(), "[ \"#a東'_b\n\u{93f}\u{300}-]{0,40}", "(#?[ab]{1,2} ){1,6}"],
        other in prop_oneof![any::<String>(), "[ \"#a東'_b\u{93f}-]{0,10}", "(#?[ab]{1,2} ){1,3}"],
    ) {
        let Ok(query) = Query::parse(&query) else { return Ok(()) };
        finds_post(&query, &text);
        let query = query.without_hashtags();
        let fields = [text.as_str(), &other];
        let indexed = IndexedText::of_fields(fields);
        prop_assert_eq!(Needles::of(&query, None).are_in(&indexed), query.finds(&fields, &BTreeSet::new()));
    }

    #[test]
    fn a_text_is_found_by_each_of_its_words(text in any::<String>(), odd in "[ a-zA-Z0-9_'’.:,\"#@éßſ東カーกำ국\u{300}\u{3099}]{0,60}") {
        for text in [text, odd] {
            // The character before a combining mark may be a quote.
            for word in words(&text).into_iter().filter(|word| !word.starts_with('"')) {
                prop_assert_eq!(words(&word), [word.clone()], "folding a word again changes nothing");
                let query = Query::parse(&format!("\"{word}\"")).unwrap();
                prop_assert!(query.finds(&[&text], &BTreeSet::new()));
            }
        }
    }

    #[test]
    fn no_query_panics(query in any::<String>(), odd in "[ \"#a東'_-]{0,40}", text in any::<String>()) {
        for query in [query, odd] {
            if let Ok(query) = Query::parse(&query) {
                query.finds(&[&text], &BTreeSet::new());
            }
        }
    }
}

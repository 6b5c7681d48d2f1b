use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::entities::Hashtag;

fn finds(query: &str, text: &str) -> bool {
    Query::parse(query).unwrap().finds(&[text], &BTreeSet::new())
}

#[test]
fn words_are_those_of_unicode_without_case_and_accents() {
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
fn all_words_occur_in_any_order_and_the_last_may_go_on() {
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
fn a_phrase_is_side_by_side_within_one_field() {
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
fn scripts_without_spaces_are_found_by_any_part() {
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
fn a_hashtag_is_found_as_such() {
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
fn a_query_without_a_word_is_refused() {
    for query in ["", "  ", "!?", "\"\"", "# @ _", "\u{1F980}", &"a".repeat(201)] {
        assert!(Query::parse(query).is_err(), "{query}");
    }
    assert!(Query::parse(&"a".repeat(200)).is_ok());
}

proptest! {
    #[test]
    fn a_text_is_found_by_each_of_its_words(text in any::<String>(), odd in "[ a-zA-Z0-9_'’.:,\"#@éßſ東カーกำ국\u{300}\u{3099}]{0,60}") {
        for text in [text, odd] {
            // A mark may have a quote as what it stands on.
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

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::accounts::MockAccountRepository;

const ADA: UserId = UserId::new(Uuid::from_u128(1));
const ADA_LOVELACE: UserId = UserId::new(Uuid::from_u128(2));
const STRANGE: UserId = UserId::new(Uuid::from_u128(3));

fn accounts() -> BTreeMap<String, UserId> {
    [("ada", ADA), ("ada.lovelace", ADA_LOVELACE), ("i am #1", STRANGE)].map(|(key, id)| (key.to_owned(), id)).into()
}

/// Returns the entities of a text, each as the part of the text that it covers and what it refers to.
fn entities(text: &str) -> Vec<(String, String)> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let entities = Candidates::find(text).resolve(&accounts());
    let shown = entities.into_iter().map(|Entity { start, end, named }| {
        let named = match named {
            Named::Account(id) => format!("user {}", id.uuid().as_u128()),
            Named::Hashtag(tag) => format!("tag {}", tag.as_str()),
            Named::Url(url) => format!("url {url}"),
        };
        (String::from_utf16(&units[start..end]).unwrap(), named)
    });
    shown.collect()
}

fn assert_names(text: &str, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(part, named)| ((*part).to_owned(), (*named).to_owned())).collect();
    assert_eq!(entities(text), expected, "{text}");
}

#[test]
fn a_mention_is_the_longest_username_that_ends_where_a_word_does() {
    for (text, expected) in [
        ("@ada", &[("@ada", "user 1")][..]),
        ("hi @ADA!", &[("@ADA", "user 1")]),
        ("(@ada)", &[("@ada", "user 1")]),
        ("@ada.", &[("@ada", "user 1")]),
        ("@ada.lovelace, @ada.love", &[("@ada.lovelace", "user 2"), ("@ada", "user 1")]),
        ("@ada-", &[("@ada", "user 1")]),
        ("@ada's", &[("@ada", "user 1")]),
        ("@adam @ada1 @ada\u{301} @nobody @ @. @-", &[]),
        ("ada@ada.example, x@ada, @@ada, #@ada, a/@ada, _@ada", &[]),
        ("@{ada} @{I am #1}", &[("@{ada}", "user 1"), ("@{I am #1}", "user 3")]),
        ("@{nobody #tag} @{ada", &[("#tag", "tag tag")]),
        ("@{} @{ ada}", &[]),
    ] {
        assert_names(text, expected);
    }
}

#[test]
fn a_hashtag_has_a_letter_and_at_most_100_characters() {
    for (text, expected) in [
        ("#Rust", &[("#Rust", "tag rust")][..]),
        ("#Straße #CAFÉ", &[("#Straße", "tag strasse"), ("#CAFÉ", "tag café")]),
        ("#snake_case, #2026 #_1 #1a", &[("#snake_case", "tag snake_case"), ("#1a", "tag 1a")]),
        ("a#b #c#d /#e ##f", &[("#c", "tag c")]),
        ("\u{1F980} #हिन्दी!", &[("#हिन्दी", "tag हिन्दी")]),
        ("#", &[]),
    ] {
        assert_names(text, expected);
    }
    let (longest, longer) = ("a".repeat(100), "a".repeat(101));
    assert_names(&format!("#{longest}"), &[(&format!("#{longest}"), &format!("tag {longest}"))]);
    assert_names(&format!("#{longer}"), &[]);
}

#[test]
fn a_url_takes_precedence_over_entities_inside_and_ends_before_closing_punctuation() {
    for (text, expected) in [
        ("see https://a.example/x#y.", &[("https://a.example/x#y", "url https://a.example/x#y")][..]),
        ("(http://a.example/@ada)", &[("http://a.example/@ada", "url http://a.example/@ada")]),
        ("HTTPS://A.example", &[("HTTPS://A.example", "url HTTPS://A.example")]),
        ("https://a.example/b_(c)", &[("https://a.example/b_(c)", "url https://a.example/b_(c)")]),
        ("https://a.example/?\"!» #t", &[("https://a.example/", "url https://a.example/"), ("#t", "tag t")]),
        ("http:// https://... ftp://a", &[]),
        ("\u{1F980}https://\u{e4}", &[("https://\u{e4}", "url https://\u{e4}")]),
    ] {
        assert_names(text, expected);
    }
}

#[test]
fn a_url_with_very_many_brackets_ends_before_the_first_that_it_does_not_open() {
    let (opened, closed) = ("(".repeat(2_000), ")".repeat(2_900));
    let expected = format!("https://{opened}{}", ")".repeat(2_000));
    assert_names(&format!("https://{opened}{closed}"), &[(&expected, &format!("url {expected}"))]);
}

#[test]
fn entities_survive_a_round_trip_through_their_notation() {
    let text = "#Rust, @ada: https://a.example/@x#y, #rust #\u{928}\u{92e}";
    let entities = Entities::of(&Candidates::find(text).resolve(&accounts()));
    let notation = "0 5 #rust\n7 11 @00000000-0000-0000-0000-000000000001\n13 35 https://a.example/@x#y\n\
        37 42 #rust\n43 46 #\u{928}\u{92e}";
    assert_eq!(entities.as_str(), notation);
    let again = Entities::restore(notation.to_owned());
    assert_eq!(again, entities);
    assert_eq!(Entities::of(&again.iter().collect::<Vec<_>>()), entities);
    let tags: Vec<_> = entities.hashtags().into_iter().map(|tag| tag.as_str().to_owned()).collect();
    assert_eq!(tags, ["rust", "\u{928}\u{92e}"]);
    assert_eq!(Entities::default().iter().count(), 0);
}

#[test]
fn a_tag_is_parsed_with_or_without_its_number_sign() {
    for tag in ["Rust", "#rUST"] {
        assert_eq!(Hashtag::parse(tag).unwrap().as_str(), "rust");
    }
    assert_ne!(Hashtag::parse("cafe").unwrap(), Hashtag::parse("café").unwrap());
    for tag in ["", "#", "1", "##a", "a b", "a-b", "a#", &"a".repeat(301), &"A".repeat(101)] {
        assert!(Hashtag::parse(tag).is_err(), "{tag}");
    }
}

#[tokio::test]
async fn accounts_are_looked_up_once_for_all_of_a_text_and_only_when_it_may_mention_any() {
    let author = UserId::new(Uuid::from_u128(9));
    let mut repository = MockAccountRepository::new();
    let asked = move |keys: &[String], by: &UserId| keys == ["ada", "bob"] && *by == author;
    repository.expect_find_ids().once().withf(asked).returning(|_, _| Ok(accounts()));
    let found = entities_of_text(&repository, "@Ada #tag @bob @ada", author).await.unwrap();
    let ada = "@00000000-0000-0000-0000-000000000001";
    assert_eq!(found.as_str(), format!("0 4 {ada}\n5 9 #tag\n15 19 {ada}"));

    let never = MockAccountRepository::new();
    for (text, expected) in [("#tag mail@ada.example", "0 4 #tag"), ("", "")] {
        assert_eq!(entities_of_text(&never, text, author).await.unwrap().as_str(), expected);
    }

    let mut many = MockAccountRepository::new();
    many.expect_find_ids().times(2).returning(|keys, _| {
        assert!(keys.len() <= LOOKUP_BATCH_SIZE);
        Ok(BTreeMap::new())
    });
    let text: String = (0..=LOOKUP_BATCH_SIZE).map(|n| format!("@u{n} ")).collect();
    entities_of_text(&many, &text, author).await.unwrap();
}

#[test]
fn only_names_that_may_be_usernames_are_looked_up() {
    let candidates = Candidates::find(&format!("@A.b @A.b. @{} @{{x y}}", "z".repeat(51)));
    assert_eq!(candidates.username_keys().into_iter().collect::<Vec<_>>(), ["a", "a.b", "a.b.", "x y"]);
}

proptest! {
    #[test]
    fn entities_are_in_order_and_within_any_text(text in any::<String>(), odd in "([@#{}./:_ -]|https?://|ada|é){0,40}") {
        for text in [text, odd] {
            let length = text.encode_utf16().count();
            let mut last = 0;
            for Entity { start, end, .. } in Candidates::find(&text).resolve(&accounts()) {
                prop_assert!(last <= start && start < end && end <= length);
                last = end;
            }
        }
    }

    #[test]
    fn every_hashtag_found_in_a_text_can_be_parsed(text in "[#a-zA-Z0-9_éß\u{300} ]{0,40}|#[aßΐ]{90,101}") {
        for Entity { named, .. } in Candidates::find(&text).resolve(&BTreeMap::new()) {
            if let Named::Hashtag(tag) = named {
                prop_assert_eq!(Hashtag::parse(tag.as_str()).unwrap(), tag);
            }
        }
    }
}

//! Registration, the value types of accounts, and profiles.

use bytes::Bytes;
use mockall::Sequence;

use super::*;
use crate::error::{Conflict, Resource, Violation};
use crate::idempotency::Attempt;
use crate::media::{CleanImage, ImageFormat, ImageKey, ImageProblem, Preview, Rendition};

/// Returns the parsed value, or the message of the violation.
fn parsed<T>(result: Result<T, Violation>, show: impl Fn(&T) -> &str) -> Result<String, String> {
    result.map(|value| show(&value).to_owned()).map_err(|violation| violation.to_string())
}

#[test]
fn a_username_is_1_to_50_characters_without_control_characters_and_at() {
    let (longest, too_long) = ("ä".repeat(50), "ä".repeat(51));
    for (given, expected) in [
        ("alice", Ok("alice")),
        (" Alice Ä. \n", Ok("Alice Ä.")),
        ("x", Ok("x")),
        ("李", Ok("李")),
        (&longest, Ok(longest.as_str())),
        (&too_long, Err("Username must be at most 50 characters")),
        ("", Err("Username is required")),
        (" \t ", Err("Username is required")),
        ("al@ice", Err("Username must not contain @")),
        ("al\u{ff20}ice", Err("Username must not contain @")),
        ("\u{200b}\u{feff}", Err("Username is required")),
        ("\u{2800}", Err("Username is required")),
        ("\u{200b} alice", Err("Username must not begin or end with a blank")),
        ("alice \u{ad}", Err("Username must not begin or end with a blank")),
        ("alice\u{2800}", Err("Username must not begin or end with a blank")),
        ("I❤\u{fe0f}", Ok("I❤\u{fe0f}")),
        ("´alice´", Ok("´alice´")),
        ("@", Err("Username must not contain @")),
        ("al\nice", Err("Username must not contain control characters")),
        ("al\u{7f}ice", Err("Username must not contain control characters")),
        ("al\u{85}ice", Err("Username must not contain control characters")),
        ("al\0ice", Err("Username must not contain a NUL character")),
    ] {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(parsed(Username::parse(given), Username::as_str), expected, "{given:?}");
    }
}

#[test]
fn an_email_is_a_bare_address_of_at_most_254_characters() {
    let label = "x".repeat(63);
    let local = "a".repeat(64);
    let longest = format!("{local}@{label}.{label}.{}", "x".repeat(61));
    assert_eq!(longest.len(), 254);
    for given in [
        "alice@example.com",
        "ALICE@Example.COM",
        "a.b+c_d-e@sub.example.co.uk",
        "o'hara@example.com",
        "alice@xn--exmple-cua.com",
        &longest,
    ] {
        assert_eq!(parsed(Email::parse(given), Email::as_str), Ok(given.to_owned()));
    }
    assert_eq!(Email::parse("  alice@example.com\n").unwrap().as_str(), "alice@example.com");
    for given in [
        "alice",
        "@example.com",
        "alice@",
        "alice@@example.com",
        "alice@bob@example.com",
        "al ice@example.com",
        "alice@exam ple.com",
        "alice@example..com",
        ".alice@example.com",
        "alice.@example.com",
        "alice@-example.com",
        "Alice <alice@example.com>",
        "<alice@example.com>",
        "alice@[127.0.0.1]",
        "ali\u{1}ce@example.com",
        "\"ali\nce\"@example.com",
        &format!("a{local}@example.com"),
    ] {
        let expected = Err("Email must be a valid email address".to_owned());
        assert_eq!(parsed(Email::parse(given), Email::as_str), expected, "{given:?}");
    }
    for (given, expected) in [
        ("", "Email is required"),
        (" ", "Email is required"),
        ("a\0@example.com", "Email must not contain a NUL character"),
        (&format!("{longest}x"), "Email must be at most 254 characters"),
    ] {
        assert_eq!(parsed(Email::parse(given), Email::as_str), Err(expected.to_owned()), "{given:?}");
    }
}

#[test]
fn names_are_unique_in_any_letter_case_and_kept_as_given() {
    let (one, other) = (Username::parse("Émile").unwrap(), Username::parse("éMILE").unwrap());
    assert_eq!(one.key(), other.key());
    assert_ne!(one.as_str(), other.as_str());
    let (one, other) = (Email::parse("A@Example.com").unwrap(), Email::parse("a@eXAMPLE.com").unwrap());
    assert_eq!(one.key(), other.key());
    assert_eq!(one.as_str(), "A@Example.com");
}

#[test]
fn a_password_is_8_to_72_bytes_and_not_trimmed() {
    let valid = |given: &str| Ok(given.to_owned());
    let wrong = |message: &str| Err(message.to_owned());
    for (given, expected) in [
        ("x".repeat(7), wrong("Password must be 8 to 72 bytes")),
        ("x".repeat(8), valid("xxxxxxxx")),
        ("x".repeat(72), valid(&"x".repeat(72))),
        ("x".repeat(73), wrong("Password must be 8 to 72 bytes")),
        ("äöü".to_owned(), wrong("Password must be 8 to 72 bytes")),
        ("äöüß".to_owned(), valid("äöüß")),
        ("😀".repeat(18), valid(&"😀".repeat(18))),
        ("😀".repeat(18) + "x", wrong("Password must be 8 to 72 bytes")),
        (" secret ".to_owned(), valid(" secret ")),
        (String::new(), wrong("Password is required")),
        (" ".repeat(8), wrong("Password is required")),
        ("passw\0rd".to_owned(), wrong("Password must not contain a NUL character")),
    ] {
        assert_eq!(parsed(Password::parse(&given), Password::expose), expected, "{given:?}");
    }
}

#[test]
fn a_biography_is_up_to_1000_characters_and_a_blank_one_counts_as_none() {
    for (given, expected) in [
        (String::new(), Ok(None)),
        (" \n ".to_owned(), Ok(None)),
        (" Hello\nthere ".to_owned(), Ok(Some("Hello\nthere".to_owned()))),
        ("ä".repeat(1000), Ok(Some("ä".repeat(1000)))),
        ("ä".repeat(1001), Err("Biography must be at most 1000 characters".to_owned())),
    ] {
        let biography = Biography::parse(&given).map(|biography| biography.map(|b| b.as_str().to_owned()));
        assert_eq!(biography.map_err(|violation| violation.to_string()), expected, "{given:?}");
    }
}

#[test]
fn secrets_are_not_shown_in_debug_output() {
    let attempt = PasswordAttempt::parse("hunter22").unwrap();
    let shown = format!("{:?} {attempt:?} {:?}", Password::parse("hunter22").unwrap(), hash("hunter22"));
    assert_eq!(shown, "Password(..) PasswordAttempt(..) PasswordHash(..)");
}

fn registration() -> Registration {
    Registration {
        username: Username::parse("Alice").unwrap(),
        email: Email::parse("alice@example.com").unwrap(),
        password: Password::parse("password").unwrap(),
        biography: Biography::parse(" Hello ").unwrap(),
    }
}

/// Returns ports where the name and the email are free, and which hash `password` for this requester.
fn ports_with_free_name(requester: Requester) -> Ports {
    let mut ports = Ports::default();
    ports.accounts.expect_find_id().times(2).returning(|_| Ok(None));
    ports
        .passwords
        .expect_hash()
        .once()
        .withf(move |password, by| password.expose() == "password" && *by == requester)
        .returning(|_, _| Ok(hash("hashed")));
    ports
}

/// Returns a requester at the address [`elsewhere`] that has no account yet.
fn stranger() -> Requester {
    Requester { account: None, address: elsewhere() }
}

#[tokio::test]
async fn registration_stores_an_enabled_user_and_the_hash_of_the_password() {
    for (roles, by_operator) in [(Roles::USER, false), (Roles::ADMIN_AND_USER, true)] {
        let mut ports = ports_with_free_name(if by_operator { Requester::local() } else { stranger() });
        let expected = Account {
            id: UserId::new(NEW_ID),
            username: Username::parse("Alice").unwrap(),
            email: Email::parse("alice@example.com").unwrap(),
            biography: Biography::parse("Hello").unwrap(),
            created_at: NOW,
            ..account(roles, true)
        };
        ports
            .accounts
            .expect_create()
            .once()
            .withf(move |new, _| new.account == expected && new.password == hash("hashed"))
            .returning(|_, _| Ok(()));
        let accounts = ports.accounts();
        let created = match by_operator {
            true => accounts.create_admin(registration()).await,
            false => accounts.register(registration(), elsewhere(), Attempt::Unnamed).await,
        };
        assert_eq!(created.unwrap(), UserId::new(NEW_ID));
    }
}

#[tokio::test]
async fn a_taken_username_or_email_is_a_conflict_before_anything_is_hashed() {
    let username = LoginIdentifier::Username("alice".to_owned());
    let email = LoginIdentifier::Email("alice@example.com".to_owned());
    for (taken, expected) in [
        (vec![username.clone()], Conflict::Username),
        (vec![email.clone()], Conflict::Email),
        (vec![username, email], Conflict::Username),
    ] {
        let mut ports = Ports::default();
        ports.accounts.expect_find_id().returning(move |identifier| Ok(taken.contains(identifier).then_some(BOB)));
        match ports.accounts().register(registration(), elsewhere(), Attempt::Unnamed).await {
            Err(Error::Conflict(reported)) => assert_eq!(reported, expected),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn the_repository_decides_between_concurrent_registrations() {
    for conflict in [Conflict::Username, Conflict::Email] {
        let mut ports = ports_with_free_name(stranger());
        ports.accounts.expect_create().returning(move |_, _| Err(Error::Conflict(conflict)));
        match ports.accounts().register(registration(), elsewhere(), Attempt::Unnamed).await {
            Err(Error::Conflict(reported)) => assert_eq!(reported, conflict),
            other => panic!("{other:?}"),
        }
    }
}

const OLD: [u8; 16] = [1; 16];
const NEW: [u8; 16] = [2; 16];

fn key(random: [u8; 16]) -> ImageKey {
    ImageKey::new(random, ImageFormat::Png)
}

fn clean() -> CleanImage {
    let preview = Preview { width: 3, height: 2, blurhash: "LEHV".to_owned() };
    let (bytes, thumbnail) = (Bytes::from_static(b"clean"), Bytes::from_static(b"small"));
    CleanImage { format: ImageFormat::Png, bytes, preview, thumbnail }
}

/// Returns ports that clean the picture and store it under `NEW`.
fn ports_storing_picture() -> Ports {
    let mut ports = Ports::default();
    ports.cleaner.expect_clean().once().withf(|_, by| *by == requester()).returning(|_, _| Ok(clean()));
    expect_picture_stored(&mut ports, &mut Sequence::new());
    ports
}

/// Expects the clean picture to be put on record, then into the store under `NEW`.
fn expect_picture_stored(ports: &mut Ports, order: &mut Sequence) {
    ports.images.expect_new_key().withf(|format| *format == clean().format).returning(|_| Ok(key(NEW)));
    ports
        .unreferenced
        .expect_announce()
        .once()
        .in_sequence(order)
        .withf(|new, at| (new, *at) == (&key(NEW), NOW))
        .returning(|_, _| Ok(()));
    for (rendition, file) in [(Rendition::Original, clean().bytes), (Rendition::Thumbnail, clean().thumbnail)] {
        ports
            .images
            .expect_put()
            .once()
            .in_sequence(order)
            .withf(move |new, of, bytes| (new, *of, bytes) == (&key(NEW), rendition, &file))
            .returning(|_, _, _| Ok(()));
    }
}

fn with_picture() -> ProfileFields {
    ProfileFields { picture: Some(Bytes::from_static(b"upload")), ..ProfileFields::default() }
}

#[tokio::test]
async fn an_absent_biography_stays_and_a_blank_one_is_removed() {
    for expected in [None, Some(None), Some(Biography::parse(" Hi ").unwrap())] {
        let mut ports = Ports::default();
        let fields = ProfileFields { biography: expected.clone(), ..ProfileFields::default() };
        let expected = ProfileChanges { biography: expected, ..ProfileChanges::default() };
        ports
            .accounts
            .expect_update_profile()
            .once()
            .withf(move |id, changes, at| (*id, *at) == (ALICE, NOW) && *changes == expected)
            .returning(|_, _, _| Ok(UpdatedProfile { account: account(Roles::USER, true), replaced_picture: None }));
        let updated = ports.accounts().update_profile(&member(), &requester(), fields).await.unwrap();
        assert_eq!(updated, account(Roles::USER, true));
    }
}

#[tokio::test]
async fn display_name_and_privacy_are_changed_as_given() {
    let (display_name, privacy) = (
        Some(DisplayName::parse("Bob 🐙").unwrap()),
        PrivacyChanges { searchable: Some(false), ..PrivacyChanges::default() },
    );
    let mut ports = Ports::default();
    let fields = ProfileFields { display_name: display_name.clone(), privacy, ..ProfileFields::default() };
    let expected = ProfileChanges { display_name, privacy, ..ProfileChanges::default() };
    ports
        .accounts
        .expect_update_profile()
        .once()
        .withf(move |_, changes, _| *changes == expected)
        .returning(|_, _, _| Ok(UpdatedProfile { account: account(Roles::USER, true), replaced_picture: None }));
    ports.accounts().update_profile(&member(), &requester(), fields).await.unwrap();
}

#[tokio::test]
async fn a_picture_is_removed_on_request() {
    for (remove_picture, expected) in [(true, Some(None)), (false, None)] {
        let mut ports = Ports::default();
        let expected = ProfileChanges { profile_picture: expected, ..ProfileChanges::default() };
        let updated = || Ok(UpdatedProfile { account: account(Roles::USER, true), replaced_picture: None });
        let update = ports.accounts.expect_update_profile().once();
        update.withf(move |_, changes, _| *changes == expected).returning(move |_, _, _| updated());
        let fields = ProfileFields { remove_picture, ..ProfileFields::default() };
        ports.accounts().update_profile(&member(), &requester(), fields).await.unwrap();
    }
}

#[test]
fn a_profile_change_leaves_absent_fields_as_they_are() {
    let name = |name: &str| DisplayName::parse(name).unwrap();
    let before = Account { display_name: name("Bob"), ..account(Roles::USER, true) };
    let changed = |changes: ProfileChanges| before.clone().with_profile(&changes).0;
    assert_eq!(changed(ProfileChanges::default()), before);
    let removed = ProfileChanges { display_name: Some(None), ..ProfileChanges::default() };
    assert_eq!(changed(removed), Account { display_name: None, ..before.clone() });
    for (discoverable, searchable, hide_counts) in [(false, true, false), (true, false, false), (true, true, true)] {
        let given = |now: bool, before: bool| (now != before).then_some(now);
        let privacy = PrivacyChanges {
            discoverable: given(discoverable, true),
            searchable: given(searchable, true),
            hide_counts: given(hide_counts, false),
        };
        let expected = Account { privacy: Privacy { discoverable, searchable, hide_counts }, ..before.clone() };
        assert_eq!(changed(ProfileChanges { privacy, ..ProfileChanges::default() }), expected);
    }
}

#[test]
fn a_display_name_has_no_characters_that_hide_text_or_change_its_direction() {
    let parse =
        |name: &str| DisplayName::parse(name).map(|name| name.map_or(String::new(), |it| it.as_str().to_owned()));
    for (name, expected) in [
        ("  Ada Lovelace ", "Ada Lovelace"),
        ("Ada", "Ada"),
        ("ada@example.org", "ada@example.org"),
        // Joiners and variation selectors are needed to write these.
        ("👩\u{200d}💻", "👩\u{200d}💻"),
        ("می\u{200c}خواهم", "می\u{200c}خواهم"),
        ("❤\u{fe0f}", "❤\u{fe0f}"),
        ("葛\u{e0100}", "葛\u{e0100}"),
        ("", ""),
        (" \t\u{3000} ", ""),
        ("\u{200d}", ""),
        ("\u{fe0f} \u{200c}", ""),
    ] {
        assert_eq!(parse(name).unwrap(), expected, "{name:?}");
    }
    let hidden = "\0\u{1}\u{7f}\u{85}\u{ad}\u{34f}\u{61c}\u{115f}\u{180e}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\
        \u{202d}\u{202e}\u{2060}\u{2066}\u{2067}\u{2068}\u{2069}\u{2800}\u{3164}\u{feff}\u{ffa0}\u{e0001}\u{e0041}";
    for c in hidden.chars() {
        let refused = parse(&format!("a{c}b")).unwrap_err();
        assert_eq!(refused.kind(), ViolationKind::InvalidFormat, "{c:?}");
    }
    assert!(parse(&"é".repeat(50)).is_ok());
    assert_eq!(parse(&"é".repeat(51)).unwrap_err().kind(), ViolationKind::TooLong);
}

#[tokio::test]
async fn a_new_picture_is_stored_before_and_the_old_one_deleted_after_the_change() {
    // A picture that cannot be deleted is left to the sweep: the change stands.
    for deletion_fails in [false, true] {
        let mut ports = Ports::default();
        let mut order = Sequence::new();
        ports.cleaner.expect_clean().once().in_sequence(&mut order).returning(|_, _| Ok(clean()));
        expect_picture_stored(&mut ports, &mut order);
        ports
            .accounts
            .expect_update_profile()
            .once()
            .in_sequence(&mut order)
            .withf(|_, changes, _| {
                *changes
                    == ProfileChanges {
                        profile_picture: Some(Some(ProfilePicture::new(key(NEW)))),
                        ..ProfileChanges::default()
                    }
            })
            .returning(|_, _, _| {
                Ok(UpdatedProfile { account: account(Roles::USER, true), replaced_picture: Some(key(OLD)) })
            });
        ports
            .images
            .expect_delete()
            .once()
            .in_sequence(&mut order)
            .withf(|old| *old == key(OLD))
            .returning(move |_| if deletion_fails { Err(Error::unavailable("no answer")) } else { Ok(()) });
        ports
            .unreferenced
            .expect_forget()
            .times(usize::from(!deletion_fails))
            .in_sequence(&mut order)
            .withf(|keys| keys == [key(OLD)])
            .returning(|_| Ok(()));
        ports.accounts().update_profile(&member(), &requester(), with_picture()).await.unwrap();
    }
}

#[tokio::test]
async fn every_invalid_field_of_a_profile_is_reported_at_once_and_nothing_stored() {
    let mut ports = Ports::default();
    ports.cleaner.expect_clean().returning(|_, _| Err(ImageProblem::Unacceptable("No image".to_owned())));
    let mut errors = FieldErrors::default();
    errors.add(FieldName::Biography, Biography::parse(&"x".repeat(1001)).unwrap_err());
    let refused =
        ports.accounts().update_profile(&member(), &requester(), ProfileFields { errors, ..with_picture() }).await;
    let expected =
        [(FieldName::Biography, "Biography must be at most 1000 characters"), (FieldName::ProfilePicture, "No image")];
    assert_eq!(invalid(refused), expected.map(|(field, message)| (field, message.to_owned())));
}

#[tokio::test]
async fn a_new_picture_is_deleted_only_if_the_change_was_certainly_refused() {
    let table: [(fn() -> Error, usize); 3] = [
        (|| Error::NotFound(Resource::User), 1),
        (|| Error::unavailable("lost acknowledgement"), 0),
        (|| Error::internal("disk I/O error"), 0),
    ];
    for (i, (failure, deletions)) in table.into_iter().enumerate() {
        let mut ports = ports_storing_picture();
        ports.accounts.expect_update_profile().once().returning(move |_, _, _| Err(failure()));
        ports.images.expect_delete().times(deletions).withf(|new| *new == key(NEW)).returning(|_| Ok(()));
        ports.unreferenced.expect_forget().times(deletions).withf(|keys| keys == [key(NEW)]).returning(|_| Ok(()));
        let failed = ports.accounts().update_profile(&member(), &requester(), with_picture()).await.unwrap_err();
        assert_eq!(matches!(failed, Error::NotFound(Resource::User)), deletions == 1, "row {i}: {failed:?}");
    }
}

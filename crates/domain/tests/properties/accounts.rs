//! The values of accounts.

use agora_domain::accounts::{Biography, DisplayName, Email, LoginIdentifier, Password, PasswordAttempt, Username};
use proptest::prelude::*;

use super::{config, text, text_of_about};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_username_is_visible_and_no_address(text in prop_oneof![3 => text().boxed(), 1 => text_of_about(50).boxed()]) {
        let Ok(name) = Username::parse(&text) else { return Ok(()) };
        prop_assert!((1..=Username::MAX_CHARS).contains(&name.as_str().chars().count()));
        prop_assert_eq!(name.as_str(), text.trim());
        prop_assert!(!name.as_str().contains(|c: char| c.is_control() || c == '@'));
        prop_assert!(!name.key().is_empty() && !name.key().contains('@'));
        prop_assert_eq!(Username::parse(name.as_str()), Ok(name));
    }

    #[test]
    fn whoever_has_a_username_logs_in_with_it(text in text(), blank in "[ \t\u{3000}]{0,2}") {
        let Ok(name) = Username::parse(&text) else { return Ok(()) };
        let identifier = LoginIdentifier::parse(&format!("{blank}{}{blank}", name.as_str()));
        prop_assert_eq!(identifier, Ok(LoginIdentifier::Username(name.key())));
    }

    #[test]
    fn names_of_up_to_50_letters_are_taken(name in "[a-zA-Zäöüßа-яぁ-ん]{1,50}") {
        prop_assert!(Username::parse(&name).is_ok());
    }

    #[test]
    fn an_email_address_is_kept_as_given(
        text in prop_oneof![text().boxed(), "[ a-z\"\\\\.+ß😀\u{0}\u{200b}]{1,6}@[a-z0-9.-]{1,8}\\.[a-z]{2}".boxed()]
    ) {
        let Ok(email) = Email::parse(&text) else { return Ok(()) };
        prop_assert_eq!(email.as_str(), text.trim());
        prop_assert!(email.as_str().chars().count() <= Email::MAX_CHARS);
        prop_assert!(email.as_str().contains('@') && !email.as_str().contains(char::is_control));
        let identifier = LoginIdentifier::parse(email.as_str());
        prop_assert_eq!(identifier, Ok(LoginIdentifier::Email(email.key())));
        prop_assert_eq!(Email::parse(email.as_str()), Ok(email));
    }

    #[test]
    fn the_domain_of_an_address_has_no_letter_case(local in "[a-z]{1,8}", domain in "[a-z]{1,8}\\.[a-z]{2,3}") {
        let one = Email::parse(&format!("{local}@{domain}")).unwrap();
        let other = Email::parse(&format!("{}@{}", local.to_uppercase(), domain.to_uppercase())).unwrap();
        prop_assert_eq!(one.key(), other.key());
    }

    #[test]
    fn an_identifier_is_refused_only_when_blank_or_with_nul(text in text()) {
        let blank = text.trim().is_empty();
        prop_assert_eq!(LoginIdentifier::parse(&text).is_err(), blank || text.contains('\0'));
        prop_assert_eq!(PasswordAttempt::parse(&text).is_err(), blank);
    }

    #[test]
    fn a_password_is_8_to_72_bytes_and_never_changed(text in prop_oneof![text().boxed(), "[a-zß🦀 \0]{6,40}".boxed()]) {
        let fits = (8..=72).contains(&text.len()) && !text.trim().is_empty() && !text.contains('\0');
        match Password::parse(&text) {
            Ok(password) => prop_assert!(fits && password.expose() == text),
            Err(_) => prop_assert!(!fits),
        }
    }

    #[test]
    fn a_blank_biography_is_none(text in prop_oneof![text().boxed(), text_of_about(1000).boxed()]) {
        let trimmed = text.trim();
        match Biography::parse(&text) {
            Ok(biography) => prop_assert_eq!(biography.map_or(String::new(), |it| it.as_str().to_owned()), trimmed),
            Err(_) => prop_assert!(trimmed.contains('\0') || trimmed.chars().count() > Biography::MAX_CHARS),
        }
    }
    #[test]
    fn a_display_name_is_trimmed_and_visible(text in prop_oneof![text().boxed(), text_of_about(50).boxed()]) {
        let Ok(Some(name)) = DisplayName::parse(&text) else { return Ok(()) };
        prop_assert!((1..=DisplayName::MAX_CHARS).contains(&name.as_str().chars().count()));
        prop_assert_eq!(name.as_str(), text.trim());
        prop_assert!(!name.as_str().contains(char::is_control));
        prop_assert_eq!(DisplayName::parse(name.as_str()), Ok(Some(name)));
    }
}

//! Logins, sessions, tokens and tickets.

use super::*;
use crate::error::Resource;
use crate::page::PageRequest;

const CLAIMS: TokenClaims = TokenClaims { user: ALICE, session: SESSION };
const EXPIRY: Timestamp = NOW.plus_millis(3_600_000);

fn verified(claims: TokenClaims) -> VerifiedToken {
    VerifiedToken { claims, expires_at: EXPIRY }
}

fn login() -> Login {
    attempt("Alice", "password")
}

#[test]
fn an_identifier_with_an_at_is_an_email_and_any_other_a_username() {
    for (given, expected) in [
        (" Alice ", LoginIdentifier::Username("alice".to_owned())),
        ("Alice@Example.com", LoginIdentifier::Email("alice@example.com".to_owned())),
        ("@", LoginIdentifier::Email("@".to_owned())),
        ("ÄRGER", LoginIdentifier::Username("ärger".to_owned())),
    ] {
        assert_eq!(LoginIdentifier::parse(given).unwrap(), expected);
    }
    let (longest, too_long) = ("\u{fdfa}".repeat(254), "\u{fdfa}".repeat(255));
    assert!(!LoginIdentifier::parse(&longest).unwrap().key().is_empty());
    assert_eq!(LoginIdentifier::parse(&too_long).unwrap().key(), "", "it names nobody");
    assert_eq!(LoginIdentifier::parse("a\0").unwrap_err().to_string(), "Identifier must not contain a NUL character");
}

#[test]
fn a_login_takes_any_identifier_and_password_that_are_not_blank() {
    for blank in ["", " "] {
        assert_eq!(LoginIdentifier::parse(blank).unwrap_err().to_string(), "Identifier is required");
        assert_eq!(PasswordAttempt::parse(blank).unwrap_err().to_string(), "Password is required");
    }
    for password in ["x", &"x".repeat(1000), "passw\0rd"] {
        assert!(PasswordAttempt::parse(password).is_ok());
    }
}

#[tokio::test]
async fn login_succeeds_with_the_right_password_of_an_enabled_account_and_verifies_once_in_every_case() {
    for (case, found, right, succeeds) in [
        ("unknown", None, false, false),
        ("unknown, whatever the hasher says", None, true, false),
        ("wrong password", Some(true), false, false),
        ("disabled", Some(false), true, false),
        ("disabled with wrong password", Some(false), false, false),
        ("right", Some(true), true, true),
    ] {
        let mut ports = Ports::default();
        ports
            .accounts
            .expect_find_credentials()
            .once()
            .withf(|identifier| *identifier == LoginIdentifier::Username("alice".to_owned()))
            .returning(move |_| {
                Ok(found.map(|enabled| Credentials { user: ALICE, password: hash("stored"), enabled }))
            });
        ports
            .passwords
            .expect_verify()
            .once()
            .withf(move |attempt, stored, _| {
                attempt.expose() == "password" && *stored == found.is_some().then(|| hash("stored"))
            })
            .returning(move |_, _, _| Ok(right));
        ports.passwords.expect_needs_rehash().return_const(false);
        let opened = Session { id: SessionId::new(NEW_ID), user: ALICE, opened_at: NOW };
        ports
            .sessions
            .expect_open()
            .times(usize::from(succeeds))
            .withf(move |session, verified, client| {
                let user_agent = client.as_ref().map(UserAgent::as_str);
                *session == opened && *verified == hash("stored") && user_agent == Some("a client")
            })
            .returning(|_, _, _| Ok(true));
        ports
            .tokens
            .expect_issue()
            .times(usize::from(succeeds))
            .withf(move |claims, now| *claims == TokenClaims { user: ALICE, session: opened.id } && *now == NOW)
            .returning(|_, _| Ok("token".to_owned()));
        match ports.authentication().login(&login(), client()).await {
            Ok(it) => assert!(succeeds && it.token == "token" && it.rehash.is_none(), "{case}"),
            Err(error) => assert!(!succeeds && matches!(error, Error::InvalidCredentials), "{case}: {error:?}"),
        }
    }
}

#[tokio::test]
async fn an_overloaded_hasher_is_not_reported_as_a_wrong_password() {
    let mut ports = Ports::default();
    ports.accounts.expect_find_credentials().returning(|_| Ok(None));
    ports.passwords.expect_verify().returning(|_, _, _| Err(Error::unavailable("too many")));
    assert!(matches!(ports.authentication().login(&login(), client()).await, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn no_token_is_issued_for_a_session_that_was_not_stored() {
    let mut ports = Ports::default();
    let credentials = || Credentials { user: ALICE, password: hash("stored"), enabled: true };
    ports.accounts.expect_find_credentials().returning(move |_| Ok(Some(credentials())));
    ports.passwords.expect_verify().returning(|_, _, _| Ok(true));
    ports.sessions.expect_open().returning(|_, _, _| Err(Error::unavailable("no connection")));
    assert!(matches!(ports.authentication().login(&login(), client()).await, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn a_token_authenticates_its_caller_while_session_and_account_are_valid() {
    let session = Session { id: SESSION, user: ALICE, opened_at: OPENED };
    let good = SessionState { session, revoked: false, enabled: true, roles: ADMIN, last_seen_at: NOW };
    let of_bob = SessionState { session: Session { user: BOB, ..session }, ..good };
    for (case, claims, state, accepted) in [
        ("good", Some(CLAIMS), Some(good), true),
        ("without a role", Some(CLAIMS), Some(SessionState { roles: Roles::NONE, ..good }), true),
        ("bad token", None, Some(good), false),
        ("unknown session", Some(CLAIMS), None, false),
        ("revoked", Some(CLAIMS), Some(SessionState { revoked: true, ..good }), false),
        ("disabled", Some(CLAIMS), Some(SessionState { enabled: false, ..good }), false),
        ("session of another user", Some(CLAIMS), Some(of_bob), false),
    ] {
        let mut ports = Ports::default();
        ports
            .tokens
            .expect_verify()
            .once()
            .withf(|token, now| token == "token" && *now == NOW)
            .returning(move |_, _| claims.map(verified).ok_or(Error::InvalidToken));
        ports
            .sessions
            .expect_find()
            .times(usize::from(claims.is_some()))
            .withf(|id| *id == SESSION)
            .returning(move |_| Ok(state));
        match ports.authentication().authenticate("token").await {
            Ok(authenticated) => {
                assert!(accepted, "{case}");
                let caller = alice(state.unwrap().roles);
                assert_eq!(authenticated, Authenticated { caller, token_expires_at: EXPIRY }, "{case}");
            }
            Err(error) => assert!(!accepted && matches!(error, Error::InvalidToken), "{case}: {error:?}"),
        }
    }
}

#[tokio::test]
async fn a_failed_session_lookup_is_not_reported_as_an_invalid_token() {
    let mut ports = Ports::default();
    ports.tokens.expect_verify().returning(|_, _| Ok(verified(CLAIMS)));
    ports.sessions.expect_find().returning(|_| Err(Error::unavailable("no connection")));
    assert!(matches!(ports.authentication().authenticate("token").await, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn a_ticket_carries_the_session_and_the_expiry_of_the_token() {
    let ticket = Ticket { id: NEW_ID.into(), token: verified(CLAIMS), expires_at: NOW.plus_millis(30_000) };
    let mut ports = Ports::default();
    let issue = ports.tokens.expect_issue_ticket().once();
    issue.withf(move |issued| *issued == ticket).returning(|_| Ok("ticket".to_owned()));
    let issued = ports.authentication().issue_ticket(&member(), EXPIRY).unwrap();
    assert_eq!(issued, ("ticket".to_owned(), ticket.expires_at));
}

#[tokio::test]
async fn a_ticket_authenticates_its_caller_once() {
    let session = Session { id: SESSION, user: ALICE, opened_at: OPENED };
    let good = SessionState { session, revoked: false, enabled: true, roles: ADMIN, last_seen_at: NOW };
    let revoked = SessionState { revoked: true, ..good };
    for (case, is_valid, state, is_unused, accepted) in [
        ("good", true, good, true, true),
        ("used before", true, good, false, false),
        ("revoked session", true, revoked, true, false),
        ("bad or expired", false, good, true, false),
    ] {
        let ticket = Ticket { id: NEW_ID.into(), token: verified(CLAIMS), expires_at: NOW.plus_millis(30_000) };
        let mut ports = Ports::default();
        ports
            .tokens
            .expect_verify_ticket()
            .withf(|given, now| given == "ticket" && *now == NOW)
            .returning(move |_, _| if is_valid { Ok(ticket) } else { Err(Error::InvalidToken) });
        ports.sessions.expect_find().returning(move |_| Ok(Some(state)));
        ports
            .sessions
            .expect_use_ticket()
            .times(usize::from(is_valid && !state.revoked))
            .withf(move |id, expires_at, now| (*id, *expires_at, *now) == (ticket.id, ticket.expires_at, NOW))
            .returning(move |_, _, _| Ok(is_unused));
        match ports.authentication().redeem_ticket("ticket").await {
            Ok(authenticated) => {
                let expected = Authenticated { caller: alice(ADMIN), token_expires_at: EXPIRY };
                assert!(accepted && authenticated == expected, "{case}");
            }
            Err(error) => assert!(!accepted && matches!(error, Error::InvalidToken), "{case}: {error:?}"),
        }
    }
}

#[tokio::test]
async fn a_token_is_renewed_for_the_same_session_until_30_days_after_login() {
    let limit = OPENED.plus_millis(30 * 24 * 60 * 60 * 1000);
    for (now, renewed) in [(OPENED, true), (limit.plus_millis(-1), true), (limit, false), (limit.plus_millis(1), false)]
    {
        let mut ports = Ports::default();
        ports
            .tokens
            .expect_issue()
            .times(usize::from(renewed))
            .withf(move |claims, at| *claims == CLAIMS && *at == now)
            .returning(|_, _| Ok("next".to_owned()));
        match ports.authentication_at(now).refresh(&member()).await {
            Ok(token) => assert!(renewed && token == "next", "{now:?}"),
            Err(error) => assert!(!renewed && matches!(error, Error::InvalidToken), "{now:?}: {error:?}"),
        }
    }
}

#[tokio::test]
async fn logout_revokes_the_session_of_the_token_also_without_a_role() {
    let mut ports = Ports::default();
    ports
        .sessions
        .expect_revoke()
        .once()
        .withf(|session, at| *session == SESSION && *at == NOW)
        .returning(|_, _| Ok(()));
    ports.authentication().logout(&alice(Roles::NONE)).await.unwrap();
}

/// Returns ports where the account changes from one read to the next: its stored hash, and whether it is enabled. The hash
/// `renewed` is of the same password, `changed` of another.
fn ports_with_account_states(states: [(&'static str, bool); 2]) -> Ports {
    let mut ports = Ports::default();
    let mut states = states.into_iter();
    ports.accounts.expect_find_credentials().returning(move |_| {
        Ok(states.next().map(|(stored, enabled)| Credentials { user: ALICE, password: hash(stored), enabled }))
    });
    ports.passwords.expect_verify().returning(|_, stored, _| Ok(stored != Some(hash("changed"))));
    ports.passwords.expect_needs_rehash().return_const(false);
    ports
        .sessions
        .expect_open()
        .once()
        .withf(|_, verified, _| *verified == hash("stored"))
        .returning(|_, _, _| Ok(false));
    ports
}

#[tokio::test]
async fn a_login_is_refused_when_the_password_was_changed_or_the_account_disabled_meanwhile() {
    for now in [("changed", true), ("stored", false)] {
        let ports = ports_with_account_states([("stored", true), now]);
        let refused = ports.authentication().login(&login(), client()).await;
        assert!(matches!(refused, Err(Error::InvalidCredentials)), "{now:?}: {refused:?}");
    }
}

#[tokio::test]
async fn a_login_succeeds_when_the_same_password_was_rehashed_meanwhile() {
    let mut ports = ports_with_account_states([("stored", true), ("renewed", true)]);
    ports
        .sessions
        .expect_open()
        .once()
        .withf(|_, verified, _| *verified == hash("renewed"))
        .returning(|_, _, _| Ok(true));
    ports.tokens.expect_issue().once().returning(|_, _| Ok("token".to_owned()));
    assert_eq!(ports.authentication().login(&login(), client()).await.unwrap().token, "token");
}

#[tokio::test]
async fn a_login_is_refused_when_the_hash_is_replaced_during_every_verification() {
    let mut ports = ports_with_account_states([("stored", true), ("renewed", true)]);
    ports.sessions.expect_open().once().returning(|_, _, _| Ok(false));
    let refused = ports.authentication().login(&login(), client()).await;
    assert!(matches!(refused, Err(Error::InvalidCredentials)), "{refused:?}");
}

#[test]
fn a_user_agent_is_kept_without_control_characters_and_cut_to_its_maximum_length() {
    for (sent, kept) in [("", None), (" \t ", None), ("\u{7} \u{7}", None), (" Agora\u{7}\n 1.0 ", Some("Agora 1.0"))] {
        assert_eq!(UserAgent::of(sent).as_ref().map(UserAgent::as_str), kept, "{sent:?}");
    }
    assert_eq!(UserAgent::of(&"é".repeat(300)).unwrap().as_str(), "é".repeat(200));
}

#[tokio::test]
async fn the_use_of_a_session_is_recorded_once_an_hour() {
    const HOUR: i64 = 3_600_000;
    for (last_seen, now, noted) in [
        (0, HOUR - 1, None),
        (0, HOUR, Some(HOUR)),
        (HOUR - 1, HOUR + 5, Some(HOUR)),
        (HOUR, 2 * HOUR - 1, None),
        (3 * HOUR, HOUR, None),
    ] {
        let session = Session { id: SESSION, user: ALICE, opened_at: OPENED };
        let last_seen_at = Timestamp::from_unix_millis(last_seen);
        let state = SessionState { session, revoked: false, enabled: true, roles: ADMIN, last_seen_at };
        let mut ports = Ports::default();
        ports.tokens.expect_verify().returning(|_, _| Ok(verified(CLAIMS)));
        ports.sessions.expect_find().returning(move |_| Ok(Some(state)));
        ports
            .sessions
            .expect_record_last_seen()
            .times(usize::from(noted.is_some()))
            .withf(move |id, hour| *id == SESSION && Some(hour.unix_millis()) == noted)
            .return_const(());
        ports.authentication_at(Timestamp::from_unix_millis(now)).authenticate("token").await.unwrap();
    }
}

#[tokio::test]
async fn a_user_lists_and_ends_own_sessions() {
    let mut ports = Ports::default();
    let oldest = LIFETIME.oldest_session(NOW);
    ports
        .sessions
        .expect_list()
        .once()
        .withf(move |user, opened_after, page| (*user, *opened_after, *page) == (ALICE, oldest, PageRequest::FIRST))
        .returning(|_, _, page| Ok(page.page_of(vec![], |_| unreachable!("there is none"))));
    let mut found = vec![false, true];
    ports
        .sessions
        .expect_revoke_of()
        .times(2)
        .withf(|user, id, at| (*user, *id, *at) == (ALICE, SESSION, NOW))
        .returning(move |_, _, _| Ok(found.pop().unwrap()));
    ports
        .sessions
        .expect_revoke_others()
        .once()
        .withf(|user, keep, at| (*user, *keep, *at) == (ALICE, SESSION, NOW))
        .returning(|_, _, _| Ok(()));
    let (authentication, caller) = (ports.authentication(), alice(Roles::NONE));
    authentication.list_sessions(&caller, PageRequest::FIRST).await.unwrap();
    authentication.end_session(&caller, SESSION).await.unwrap();
    assert!(matches!(authentication.end_session(&caller, SESSION).await, Err(Error::NotFound(Resource::Session))));
    authentication.end_other_sessions(&caller).await.unwrap();
}

//! The rules of mail.

use std::sync::Arc;

use mockall::predicate::eq;
use uuid::Uuid;

use super::*;
use crate::accounts::{
    Account, Admin, ConfirmedPassword, Email, LoginIdentifier, Member, MockAccountRepository, MockPasswordHasher,
    MockSessionRepository, Password, PasswordAttempt, PasswordChecks, PasswordHash, Roles,
};
use crate::clock::Timestamp;
use crate::error::{Conflict, Disallowed, Error, FieldName, Resource};
use crate::fixtures::{self, clock};
use crate::id::{MailId, MockIdGenerator, UserId};
use crate::limits::tests::CountersInMemory;
use crate::limits::{ClientAddress, Limits, Requester};

const ALICE: UserId = UserId::new(Uuid::from_u128(1));
const BOB: UserId = UserId::new(Uuid::from_u128(2));
const NEW_ID: Uuid = Uuid::from_u128(4);
const NOW: Timestamp = Timestamp::from_unix_millis(5_000);

fn client() -> ClientAddress {
    ClientAddress::of(std::net::Ipv4Addr::new(192, 0, 2, 1).into())
}

fn email(address: &str) -> Email {
    Email::parse(address).unwrap()
}

fn member() -> Member {
    fixtures::member(ALICE, Roles::USER)
}

fn admin() -> Admin {
    fixtures::caller(BOB, Roles::ADMIN_AND_USER).admin().unwrap()
}

fn alice(email_verified: bool) -> Account {
    Account { email: email("alice@example.org"), email_verified, ..fixtures::account(ALICE, "Alice") }
}

/// Alice, whose password is "right".
fn confirmed() -> ConfirmedPassword {
    ConfirmedPassword { user: ALICE, password: PasswordHash::new("hash".to_owned()) }
}

fn token() -> MailToken {
    MailToken::parse(" right ").unwrap()
}

fn digest() -> TokenDigest {
    TokenDigest::new("digest of right".to_owned())
}

/// A token source that always draws [`token`].
fn tokens() -> MockMailTokens {
    let mut tokens = MockMailTokens::new();
    tokens.expect_draw().returning(|| Ok(token()));
    tokens.expect_digest().returning(|token| TokenDigest::new(format!("digest of {}", token.expose())));
    tokens
}

/// The ports; a call that is not expected fails the test.
#[derive(Default)]
struct Ports {
    accounts: MockAccountRepository,
    sessions: MockSessionRepository,
    passwords: MockPasswordHasher,
    outbox: MockOutbox,
    redemption: MockTokenRedemption,
}

impl Ports {
    /// Alice's account, with the password "right".
    fn of_alice() -> Self {
        let mut ports = Self::default();
        ports.accounts.expect_find().with(eq(ALICE)).returning(|_| Ok(Some(alice(false))));
        ports.accounts.expect_find_password().returning(|_| Ok(Some(confirmed().password)));
        ports.passwords.expect_verify().returning(|attempt, _, _| Ok(attempt.expose() == "right"));
        ports
    }

    fn account_mail(self, is_mail_configured: bool) -> AccountMail {
        let mut ids = MockIdGenerator::new();
        ids.expect_generate().return_const(NEW_ID);
        AccountMail {
            checks: PasswordChecks {
                accounts: Arc::new(self.accounts),
                passwords: Arc::new(self.passwords),
                limits: Limits { counters: Arc::new(CountersInMemory::default()), clock: clock(NOW) },
            },
            sessions: Arc::new(self.sessions),
            outbox: Arc::new(self.outbox),
            redemption: Arc::new(self.redemption),
            tokens: Arc::new(tokens()),
            is_mail_configured,
            clock: clock(NOW),
            ids: Arc::new(ids),
        }
    }
}

fn mail(kind: MailKind, address: &str) -> NewMail {
    NewMail { id: MailId::new(NEW_ID), user: ALICE, kind, address: email(address), created_at: NOW }
}

fn password() -> Password {
    Password::parse("another one").unwrap()
}

fn attempt(password: &str) -> PasswordAttempt {
    PasswordAttempt::parse(password).unwrap()
}

#[track_caller]
fn expect_invalid_token<T: std::fmt::Debug>(outcome: crate::Result<T>) {
    let Err(Error::Invalid(fields)) = outcome else { panic!("{outcome:?}") };
    assert!(fields.contains(FieldName::Token), "{fields:?}");
}

#[test]
fn the_retry_delay_doubles_up_to_an_hour() {
    let pauses: Vec<_> = [0, 1, 2, 3, 10, 11, 63, 64, 65, u32::MAX].into_iter().map(retry_delay_millis).collect();
    let hour = 3_600_000;
    assert_eq!(pauses, [5_000, 5_000, 10_000, 20_000, 2_560_000, hour, hour, hour, hour, hour]);
}

#[test]
fn a_blank_token_is_rejected_and_debug_output_hides_tokens() {
    assert!(MailToken::parse(" \n").is_err());
    assert_eq!(format!("{:?}", token()), "MailToken(..)");
}

#[tokio::test]
async fn without_a_mail_server_requests_fail_except_forgotten_passwords() {
    Ports::default().account_mail(false).forgot_password(&LoginIdentifier::parse("alice").unwrap()).await.unwrap();
    let mail = Ports::default().account_mail(false);
    for outcome in [
        mail.reset_password(client(), &token(), &password()).await,
        mail.verify_email(&token()).await,
        mail.request_verification(&member()).await.map(drop),
    ] {
        assert!(matches!(outcome, Err(Error::Disallowed(Disallowed::MailNotConfigured))), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_forgotten_password_is_stored_without_looking_up_the_account() {
    let mut ports = Ports::default();
    let named = LoginIdentifier::parse("Alice").unwrap();
    ports
        .outbox
        .expect_request_reset()
        .once()
        .with(eq(MailId::new(NEW_ID)), eq(named.clone()), eq(NOW))
        .returning(|_, _, _| Ok(()));
    ports.account_mail(true).forgot_password(&named).await.unwrap();
}

#[tokio::test]
async fn an_invalid_token_is_rejected_before_the_password_is_hashed() {
    let mut ports = Ports::default();
    ports.redemption.expect_find_reset().with(eq(digest()), eq(NOW)).returning(|_, _| Ok(None));
    expect_invalid_token(ports.account_mail(true).reset_password(client(), &token(), &password()).await);
}

#[tokio::test]
async fn a_valid_token_sets_the_password_and_invalidates_cached_sessions() {
    for is_still_valid in [true, false] {
        let mut ports = Ports::default();
        let new = PasswordHash::new("new".to_owned());
        ports.redemption.expect_find_reset().returning(|_, _| Ok(Some(ALICE)));
        let requester = Requester { account: Some(ALICE), address: client() };
        let hashed = new.clone();
        ports
            .passwords
            .expect_hash()
            .once()
            .withf(move |_, actual| *actual == requester)
            .returning(move |_, _| Ok(hashed.clone()));
        ports
            .redemption
            .expect_reset_password()
            .once()
            .with(eq(digest()), eq(new), eq(NOW))
            .returning(move |_, _, _| Ok(is_still_valid));
        ports.sessions.expect_invalidate_account().once().with(eq(ALICE)).return_const(());
        let reset = ports.account_mail(true).reset_password(client(), &token(), &password()).await;
        if is_still_valid { reset.unwrap() } else { expect_invalid_token(reset) }
    }
}

#[tokio::test]
async fn a_verified_address_is_sent_no_verification_mail() {
    let mut ports = Ports::default();
    ports.accounts.expect_find().returning(|_| Ok(Some(alice(true))));
    assert_eq!(ports.account_mail(true).request_verification(&member()).await.unwrap(), Verification::Done);
    let mut ports = Ports::of_alice();
    let expected = [mail(MailKind::EmailVerification, "alice@example.org")];
    ports.outbox.expect_create().once().withf(move |mails| mails == expected).returning(|_| Ok(()));
    assert_eq!(ports.account_mail(true).request_verification(&member()).await.unwrap(), Verification::Requested);
}

#[tokio::test]
async fn a_token_verifies_an_address_once() {
    for is_valid in [true, false] {
        let mut ports = Ports::default();
        ports.redemption.expect_verify_email().once().with(eq(digest()), eq(NOW)).returning(move |_, _| Ok(is_valid));
        let verified = ports.account_mail(true).verify_email(&token()).await;
        if is_valid { verified.unwrap() } else { expect_invalid_token(verified) }
    }
}

#[tokio::test]
async fn changing_the_address_mails_a_token_to_the_new_one_and_notifies_the_present_one() {
    let mut ports = Ports::of_alice();
    ports.accounts.expect_find_id().returning(|_| Ok(None));
    let expected = [mail(MailKind::EmailChange, "new@example.org"), mail(MailKind::EmailChanged, "alice@example.org")];
    let of_alice = move |mails: &[_], account: &_| mails == expected && *account == confirmed();
    ports.outbox.expect_create_confirmed().once().withf(of_alice).returning(|_, _| Ok(()));
    let mail = ports.account_mail(true);
    let account = mail.change_email(&member(), client(), &attempt("right"), email("new@example.org")).await.unwrap();
    assert_eq!(account, alice(false));
}

#[tokio::test]
async fn without_a_mail_server_a_new_address_takes_effect_at_once_and_is_unverified() {
    let mut ports = Ports::of_alice();
    // The same address in another letter case belongs to the caller.
    ports.accounts.expect_find_id().returning(|_| Ok(Some(ALICE)));
    let new = email("ALICE@example.org");
    ports
        .redemption
        .expect_set_email()
        .once()
        .with(eq(confirmed()), eq(new.clone()), eq(NOW))
        .returning(|_, _, _| Ok(()));
    let mail = ports.account_mail(false);
    let account = mail.change_email(&member(), client(), &attempt("right"), new.clone()).await.unwrap();
    assert_eq!(account, Account { email: new, ..alice(false) });
}

#[tokio::test]
async fn changing_the_address_needs_the_password_and_an_address_that_is_not_taken() {
    let mail = Ports::of_alice().account_mail(true);
    let wrong = mail.change_email(&member(), client(), &attempt("wrong"), email("new@example.org")).await;
    let Err(Error::Invalid(fields)) = wrong else { panic!("{wrong:?}") };
    assert!(fields.contains(FieldName::CurrentPassword));
    // The present address again: nothing is stored.
    mail.change_email(&member(), client(), &attempt("right"), email("alice@example.org")).await.unwrap();
    let mut ports = Ports::of_alice();
    ports.accounts.expect_find_id().returning(|_| Ok(Some(BOB)));
    let mail = ports.account_mail(true);
    let taken = mail.change_email(&member(), client(), &attempt("right"), email("bob@example.org")).await;
    assert!(matches!(taken, Err(Error::Conflict(Conflict::Email))), "{taken:?}");
}

#[tokio::test]
async fn changing_the_address_is_repeated_if_the_hash_of_the_password_was_replaced_meanwhile() {
    for is_mail_configured in [false, true] {
        let mut ports = Ports::of_alice();
        ports.accounts.expect_find_id().returning(|_| Ok(None));
        if is_mail_configured {
            ports.outbox.expect_create_confirmed().once().returning(|_, _| Err(Error::Stale));
            ports.outbox.expect_create_confirmed().once().returning(|_, _| Ok(()));
        } else {
            ports.redemption.expect_set_email().once().returning(|_, _, _| Err(Error::Stale));
            ports.redemption.expect_set_email().once().returning(|_, _, _| Ok(()));
        }
        let mail = ports.account_mail(is_mail_configured);
        mail.change_email(&member(), client(), &attempt("right"), email("new@example.org")).await.unwrap();
    }
}

#[tokio::test]
async fn changes_to_one_address_are_limited_per_hour_across_all_accounts() {
    let mut ports = Ports::of_alice();
    ports.accounts.expect_find_id().returning(|_| Ok(None));
    ports.outbox.expect_create_confirmed().times(4).returning(|_, _| Ok(()));
    let mail = ports.account_mail(true);
    let ask = async |address| mail.change_email(&member(), client(), &attempt("right"), email(address)).await;
    for address in ["new@example.org", "NEW@example.org", "new@EXAMPLE.org"] {
        ask(address).await.unwrap();
    }
    let refused = ask("New@example.org").await;
    assert!(matches!(&refused, Err(Error::TooMany(allowance)) if allowance.limit == MAILS_AN_HOUR), "{refused:?}");
    ask("other@example.org").await.unwrap();
}

#[tokio::test]
async fn attempts_to_change_the_address_with_wrong_passwords_are_limited() {
    let mail = Ports::of_alice().account_mail(true);
    for n in 0..20 {
        let refused = mail.change_email(&member(), client(), &attempt("wrong"), email("new@example.org")).await;
        assert_eq!(matches!(refused, Err(Error::TooMany(_))), n >= 10, "{n}: {refused:?}");
    }
}

fn claimed(kind: MailKind, give_up_at: Timestamp) -> Claim {
    let (id, address, username) = (MailId::new(NEW_ID), email("alice@example.org"), alice(false).username);
    Claim::Mail(ClaimedMail { id, kind, address, username, attempts: 2, give_up_at })
}

/// Delivers a claimed mail through a transport that returns `response`, with the expectations of `expect` on the outbox.
async fn deliver(
    claim: Claim,
    response: Result<(), &'static str>,
    expect: impl FnOnce(&mut MockOutbox),
) -> (Option<Delivery>, Vec<OutgoingMail>) {
    let mut outbox = MockOutbox::new();
    outbox.expect_claim().once().with(eq(digest()), eq(NOW)).return_once(|_, _| Ok(claim));
    expect(&mut outbox);
    let sent = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut transport = MockMailTransport::new();
    let taken = Arc::clone(&sent);
    transport.expect_send().returning(move |mail| {
        taken.lock().unwrap().push(mail.clone());
        response.map_err(|why| SendError(why.to_owned()))
    });
    let delivery = MailDelivery {
        outbox: Arc::new(outbox),
        tokens: Arc::new(tokens()),
        transport: Arc::new(transport),
        clock: clock(NOW),
    };
    let delivered = delivery.deliver_next().await.unwrap();
    let sent = sent.lock().unwrap().clone();
    (delivered, sent)
}

#[tokio::test]
async fn a_mail_is_sent_with_the_token_whose_digest_was_stored() {
    for kind in MailKind::ALL {
        let later = NOW.plus_millis(1);
        let (delivered, sent) = deliver(claimed(kind, later), Ok(()), |outbox| {
            outbox.expect_set_sent().once().with(eq(MailId::new(NEW_ID)), eq(NOW)).returning(|_, _| Ok(()));
        })
        .await;
        assert_eq!(delivered, Some(Delivery::Sent));
        let has_token = kind != MailKind::EmailChanged;
        assert_eq!(sent.iter().map(|mail| mail.token.clone()).collect::<Vec<_>>(), [has_token.then(token)]);
    }
}

#[tokio::test]
async fn a_mail_that_is_not_accepted_is_given_up_after_its_deadline() {
    // Unless a retry was requested meanwhile.
    for (give_up_at, is_late, is_dead) in [(NOW.plus_millis(1), false, false), (NOW, true, true), (NOW, true, false)] {
        let kind = MailKind::PasswordReset;
        let (delivered, _) = deliver(claimed(kind, give_up_at), Err("no such mailbox"), |outbox| {
            outbox
                .expect_set_failed()
                .once()
                .with(eq(MailId::new(NEW_ID)), eq("no such mailbox"), eq(is_late), eq(NOW))
                .returning(move |_, _, _, _| Ok(is_dead));
        })
        .await;
        assert_eq!(delivered, Some(Delivery::Failed { id: MailId::new(NEW_ID), kind, attempts: 2, is_dead }));
    }
}

#[tokio::test]
async fn nothing_is_sent_for_a_dropped_request() {
    for (claim, expected) in [(Claim::Nothing, None), (Claim::Dropped, Some(Delivery::Dropped))] {
        let (delivered, sent) = deliver(claim, Ok(()), |_| {}).await;
        assert_eq!((delivered, sent), (expected, vec![]));
    }
}

#[tokio::test]
async fn administrators_list_a_limited_number_of_mails_and_retry_one_that_was_not_sent() {
    let mut outbox = MockOutbox::new();
    outbox.expect_list().once().with(eq(MailStatus::Dead), eq(MAILS_LISTED)).returning(|_, _| Ok(Vec::new()));
    let mut found = vec![0, 1];
    let one = Some(MailId::new(NEW_ID));
    outbox.expect_retry().times(2).with(eq(one), eq(NOW)).returning(move |_, _| Ok(found.pop().unwrap()));
    let outbox = OutboxAdmin { outbox: Arc::new(outbox), clock: clock(NOW) };
    assert_eq!(outbox.list(&admin(), MailStatus::Dead).await.unwrap(), []);
    outbox.retry(&admin(), MailId::new(NEW_ID)).await.unwrap();
    let missing = outbox.retry(&admin(), MailId::new(NEW_ID)).await;
    assert!(matches!(missing, Err(Error::NotFound(Resource::Mail))), "{missing:?}");
}

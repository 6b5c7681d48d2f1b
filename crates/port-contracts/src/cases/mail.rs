//! The outbox, and the redemption of the tokens in mails.

use std::slice::from_ref;

use agora_domain::Error;
use agora_domain::accounts::{Account, LoginIdentifier, PasswordChange, PasswordHash, Session};
use agora_domain::clock::Timestamp;
use agora_domain::error::{Conflict, Resource};
use agora_domain::id::{SessionId, UserId};
use agora_domain::limits::Allowance;
use agora_domain::mail::{
    Claim, ClaimedMail, DEAD_KEPT_MILLIS, MAILS_AN_HOUR, MailKind, MailStatus, NewMail, RETRY_PERIOD_MILLIS,
    SENT_KEPT_MILLIS, TokenDigest, retry_delay_millis,
};

use crate::Repositories;
use crate::run::{assert_fails, concurrently};
use crate::world::{World, at, email, username};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

fn digest(text: &str) -> TokenDigest {
    TokenDigest::new(text.to_owned())
}

fn new_mail(w: &World, account: &Account, kind: MailKind, created_at: Timestamp) -> NewMail {
    NewMail { id: w.id(), user: account.id, kind, address: account.email.clone(), created_at }
}

/// Claims the next due mail; panics if there is none.
pub(super) async fn claim(db: &Repositories, token: &str, now: Timestamp) -> ClaimedMail {
    match db.outbox.claim(&digest(token), now).await.unwrap() {
        Claim::Mail(mail) => mail,
        other => panic!("{other:?}"),
    }
}

/// Creates, claims and sends a mail of a kind to an account, with a token.
async fn send(db: &Repositories, w: &World, account: &Account, kind: MailKind, token: &str, now: Timestamp) {
    db.outbox.create(&[new_mail(w, account, kind, now)]).await.unwrap();
    let mail = claim(db, token, now).await;
    assert_eq!(mail.kind, kind);
    db.outbox.set_sent(mail.id, now).await.unwrap();
}

fn identifier(account: &Account) -> LoginIdentifier {
    LoginIdentifier::parse(account.username.as_str()).unwrap()
}

async fn ids(db: &Repositories, status: MailStatus) -> Vec<agora_domain::id::MailId> {
    db.outbox.list(status, 100).await.unwrap().iter().map(|mail| mail.id).collect()
}

pub async fn the_longest_due_mail_is_claimed_first_and_due_again_after_a_pause(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let [first, second] = [(MailKind::EmailVerification, 1_000), (MailKind::EmailChanged, 2_000)]
        .map(|(kind, millis)| new_mail(&w, &ada, kind, at(millis)));
    db.outbox.create(from_ref(&second)).await.unwrap();
    db.outbox.create(from_ref(&first)).await.unwrap();
    assert!(!db.outbox.is_due(at(999)).await.unwrap());
    assert_eq!(db.outbox.claim(&digest("0"), at(999)).await.unwrap(), Claim::Nothing);
    assert!(db.outbox.is_due(at(1_000)).await.unwrap());
    let expected = |mail: &NewMail, attempts| ClaimedMail {
        id: mail.id,
        kind: mail.kind,
        address: mail.address.clone(),
        username: ada.username.clone(),
        attempts,
        give_up_at: mail.created_at.plus_millis(RETRY_PERIOD_MILLIS),
    };
    assert_eq!(claim(&db, "1", at(5_000)).await, expected(&first, 1));
    assert_eq!(claim(&db, "2", at(5_000)).await, expected(&second, 1));
    assert_eq!(db.outbox.claim(&digest("3"), at(5_000)).await.unwrap(), Claim::Nothing);
    let again = 5_000 + retry_delay_millis(1);
    assert!(!db.outbox.is_due(at(again - 1)).await.unwrap());
    assert_eq!(claim(&db, "4", at(again)).await, expected(&first, 2));
    db.outbox.set_sent(first.id, at(again)).await.unwrap();
    assert_eq!(claim(&db, "5", at(again)).await, expected(&second, 2));
    assert_eq!(db.outbox.claim(&digest("6"), at(again + retry_delay_millis(2) - 1)).await.unwrap(), Claim::Nothing);
    assert_eq!(claim(&db, "7", at(again + retry_delay_millis(2))).await, expected(&second, 3));
}

pub async fn the_mails_of_one_request_are_stored_all_or_none(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let change = || [MailKind::EmailChanged, MailKind::EmailChange].map(|kind| new_mail(&w, &ada, kind, at(0)));
    for _ in 0..MAILS_AN_HOUR.most {
        db.outbox.create(&change()).await.unwrap();
    }
    assert_fails!(db.outbox.create(&change()).await, Error::TooMany(_));
    assert_eq!(ids(&db, MailStatus::Waiting).await.len(), 2 * MAILS_AN_HOUR.most as usize);
    let nobody = NewMail { user: w.id(), ..new_mail(&w, &ada, MailKind::EmailVerification, at(0)) };
    assert_fails!(db.outbox.create(&[nobody]).await, Error::NotFound(Resource::User));
}

pub async fn the_mails_of_an_account_are_limited_by_kind_and_hour(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada").await, w.account("Bob").await);
    let kind = MailKind::EmailVerification;
    let outcomes = concurrently((0..8).map(|n| {
        let (db, mail) = (db.clone(), new_mail(&w, &ada, kind, at(n)));
        async move { (db.outbox.create(from_ref(&mail)).await, mail) }
    }))
    .await;
    let (asked, refused): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(|(outcome, _)| outcome.is_ok());
    assert_eq!((asked.len(), refused.len()), (3, 5));
    db.outbox.create(&[new_mail(&w, &ada, MailKind::EmailChange, at(9))]).await.unwrap();
    db.outbox.create(&[new_mail(&w, &bob, kind, at(9))]).await.unwrap();
    // Sent mails count as well.
    for (_, mail) in &asked {
        db.outbox.set_sent(mail.id, at(20)).await.unwrap();
    }
    let oldest = asked.iter().map(|(_, mail)| mail.created_at).min().unwrap();
    match db.outbox.create(&[new_mail(&w, &ada, kind, oldest.plus_millis(HOUR - 1_500))]).await {
        Err(Error::TooMany(Allowance { limit, remaining: 0, reset_seconds: 2 })) => assert_eq!(limit, MAILS_AN_HOUR),
        other => panic!("{other:?}"),
    }
    db.outbox.create(&[new_mail(&w, &ada, kind, oldest.plus_millis(HOUR))]).await.unwrap();

    // Those of a time when the clock was far ahead do not count once it is right.
    for n in 0..4 {
        let asked = db.outbox.create(&[new_mail(&w, &bob, kind, at(30 * 24 * HOUR + n))]).await;
        assert_eq!(asked.is_ok(), n < 3);
    }
    db.outbox.create(&[new_mail(&w, &bob, kind, at(10))]).await.unwrap();
}

pub async fn a_reset_request_becomes_a_mail_only_for_an_enabled_account(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada").await, w.account("Bob").await);
    db.accounts.set_enabled(bob.id, false, &w.entry()).await.unwrap();
    // The unique forms of these names are much longer than the names, or begin with a blank.
    let long = w.account_with("Long", |account| account.username = username(&"\u{fdfa}".repeat(15))).await;
    let accented = w.account_with("Accented", |account| account.username = username("´cleo´")).await;
    let by_email = LoginIdentifier::parse(&ada.email.as_str().to_uppercase()).unwrap();
    let nobody = ["nobody", "nobody@example.org"].map(|name| LoginIdentifier::parse(name).unwrap());
    let [unknown, unknown_email] = nobody;
    for (n, (named, mailed)) in [
        (identifier(&ada), Some(&ada)),
        (by_email, Some(&ada)),
        (identifier(&long), Some(&long)),
        (identifier(&accented), Some(&accented)),
        (unknown, None),
        (unknown_email, None),
        (identifier(&bob), None),
        (LoginIdentifier::parse("\u{200b}").unwrap(), None),
    ]
    .into_iter()
    .enumerate()
    {
        let (id, now) = (w.id(), at(i64::try_from(n).unwrap()));
        db.outbox.request_reset(id, &named, now).await.unwrap();
        assert!(db.outbox.is_due(now).await.unwrap());
        let claimed = db.outbox.claim(&digest(&format!("token {n}")), now).await.unwrap();
        if let Some(account) = mailed {
            let Claim::Mail(mail) = claimed else { panic!("{named:?}: {claimed:?}") };
            assert_eq!((mail.id, mail.kind, &mail.username), (id, MailKind::PasswordReset, &account.username));
            assert_eq!((&mail.address, mail.attempts), (&account.email, 1));
            db.outbox.set_sent(id, now).await.unwrap();
        } else {
            assert_eq!(claimed, Claim::Dropped, "{named:?}");
            assert!(!db.outbox.is_due(now).await.unwrap(), "the mail is deleted");
        }
    }
}

pub async fn reset_mails_of_an_account_are_limited_per_hour(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let named = identifier(&ada);
    for (minute, is_mailed) in [(0, true), (1, true), (2, true), (3, false), (59, false), (60, true), (61, true)] {
        let now = at(minute * MINUTE);
        db.outbox.request_reset(w.id(), &named, now).await.unwrap();
        let claimed = db.outbox.claim(&digest(&format!("{minute}")), now).await.unwrap();
        assert_eq!(matches!(claimed, Claim::Mail(_)), is_mailed, "{minute}: {claimed:?}");
        if let Claim::Mail(mail) = claimed {
            db.outbox.set_sent(mail.id, now).await.unwrap();
        }
    }
}

pub async fn reset_requests_that_waited_long_are_limited_as_well(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    for minute in 0..10 {
        db.outbox.request_reset(w.id(), &identifier(&ada), at(minute * MINUTE)).await.unwrap();
    }
    let mut mailed = 0;
    for minute in 0..10 {
        let now = at(5 * HOUR + minute);
        if let Claim::Mail(mail) = db.outbox.claim(&digest(&format!("{minute}")), now).await.unwrap() {
            db.outbox.set_sent(mail.id, now).await.unwrap();
            mailed += 1;
        }
    }
    assert_eq!(mailed, MAILS_AN_HOUR.most);
    db.outbox.request_reset(w.id(), &identifier(&ada), at(10 * HOUR)).await.unwrap();
    let late = at(10 * HOUR + RETRY_PERIOD_MILLIS);
    assert_eq!(db.outbox.claim(&digest("late"), late).await.unwrap(), Claim::Dropped, "the retry period is over");
}

pub async fn a_failed_mail_shows_why_until_it_is_sent_or_deleted(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let mail = new_mail(&w, &ada, MailKind::EmailChanged, at(0));
    db.outbox.create(from_ref(&mail)).await.unwrap();
    claim(&db, "1", at(10)).await;
    db.outbox.set_failed(mail.id, "no\0 such mailbox", false, at(20)).await.unwrap();
    let view = db.outbox.list(MailStatus::Waiting, 1).await.unwrap().remove(0);
    assert_eq!((view.id, view.kind, view.address), (mail.id, mail.kind, ada.email.as_str().to_owned()));
    assert_eq!((view.created_at, view.attempts, view.due_at), (at(0), 1, at(10 + retry_delay_millis(1))));
    assert_eq!(view.failure.as_deref(), Some("no such mailbox"));
    // A mail that took longer than its pause queues behind those that became due meanwhile.
    let again = at(10 + retry_delay_millis(1));
    claim(&db, "1b", again).await;
    let end = again.plus_millis(10 * MINUTE);
    db.outbox.set_failed(mail.id, "took longer", false, end).await.unwrap();
    assert_eq!(db.outbox.list(MailStatus::Waiting, 1).await.unwrap()[0].due_at, end);
    let late = at(RETRY_PERIOD_MILLIS);
    claim(&db, "2", late).await;
    db.outbox.set_failed(mail.id, &"é".repeat(10_000), true, late).await.unwrap();
    assert!(!db.outbox.is_due(late.plus_millis(DEAD_KEPT_MILLIS)).await.unwrap(), "the mail is given up");
    let view = db.outbox.list(MailStatus::Dead, 1).await.unwrap().remove(0);
    assert_eq!(view.failure, Some("é".repeat(500)));
    // The operator retries it, for as long as a new mail.
    assert_eq!(db.outbox.retry(Some(w.id()), late).await.unwrap(), 0);
    assert_eq!(db.outbox.retry(Some(mail.id), late).await.unwrap(), 1);
    let again = claim(&db, "3", late).await;
    assert_eq!((again.attempts, again.give_up_at), (1, late.plus_millis(RETRY_PERIOD_MILLIS)));
    db.outbox.set_sent(mail.id, late).await.unwrap();
    assert_eq!(db.outbox.list(MailStatus::Sent, 1).await.unwrap().remove(0).failure, None);
    assert_eq!(db.outbox.retry(Some(mail.id), late).await.unwrap(), 0, "the mail was sent");
}

pub async fn all_unsent_mails_can_be_retried_together(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let mails: Vec<_> = (0..4).map(|n| new_mail(&w, &ada, MailKind::EmailChanged, at(n))).collect();
    db.outbox.create(&mails).await.unwrap();
    for mail in &mails[..3] {
        claim(&db, &mail.id.to_string(), at(10)).await;
    }
    db.outbox.set_sent(mails[0].id, at(10)).await.unwrap();
    db.outbox.set_failed(mails[1].id, "no", true, at(10)).await.unwrap();
    assert_eq!(db.outbox.retry(None, at(20)).await.unwrap(), 3);
    assert_eq!(ids(&db, MailStatus::Waiting).await, [mails[1].id, mails[2].id, mails[3].id]);
    assert_eq!(ids(&db, MailStatus::Sent).await, [mails[0].id]);

    // During the last attempt.
    claim(&db, "last", at(20)).await;
    assert_eq!(db.outbox.retry(Some(mails[1].id), at(21)).await.unwrap(), 1);
    assert!(!db.outbox.set_failed(mails[1].id, "no", true, at(22)).await.unwrap());
    assert!(ids(&db, MailStatus::Dead).await.is_empty());
}

pub async fn outdated_mails_and_tokens_are_deleted(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    send(&db, &w, &ada, MailKind::PasswordReset, "reset", at(0)).await;
    let dead = new_mail(&w, &ada, MailKind::EmailChanged, at(0));
    db.outbox.create(from_ref(&dead)).await.unwrap();
    claim(&db, "none", at(0)).await;
    db.outbox.set_failed(dead.id, "no", true, at(0)).await.unwrap();
    let waiting = new_mail(&w, &ada, MailKind::EmailChanged, at(0));
    db.outbox.create(from_ref(&waiting)).await.unwrap();
    for (now, deleted) in [
        (30 * MINUTE - 1, 0),
        (30 * MINUTE, 1),
        (SENT_KEPT_MILLIS - 1, 0),
        (SENT_KEPT_MILLIS, 1),
        (DEAD_KEPT_MILLIS - 1, 0),
        (DEAD_KEPT_MILLIS, 1),
        (2 * DEAD_KEPT_MILLIS, 0),
    ] {
        assert_eq!(db.outbox.delete_outdated(at(now)).await.unwrap(), deleted, "{now}");
    }
    assert_eq!(ids(&db, MailStatus::Waiting).await, [waiting.id], "a waiting mail is never outdated");
}

async fn password(db: &Repositories, user: UserId) -> PasswordHash {
    db.accounts.find_password(user).await.unwrap().unwrap()
}

async fn open_session(db: &Repositories, w: &World, user: UserId) -> SessionId {
    let session = Session { id: w.id(), user, opened_at: w.now() };
    assert!(db.sessions.open(&session, &password(db, user).await, None).await.unwrap());
    session.id
}

pub async fn a_token_resets_the_password_once_and_revokes_sessions_and_other_resets(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada").await, w.account("Bob").await);
    let kind = MailKind::PasswordReset;
    for (account, token) in [(&ada, "one"), (&ada, "other"), (&bob, "bob's")] {
        send(&db, &w, account, kind, token, at(0)).await;
    }
    send(&db, &w, &ada, MailKind::EmailVerification, "verification", at(0)).await;
    db.outbox.create(&[new_mail(&w, &ada, kind, at(0))]).await.unwrap();
    let sessions = [open_session(&db, &w, ada.id).await, open_session(&db, &w, bob.id).await];
    let new = PasswordHash::new("new".to_owned());
    let now = at(30 * MINUTE - 1);
    for bad in ["another", "verification"] {
        assert_eq!(db.redemption.find_reset(&digest(bad), now).await.unwrap(), None);
        assert!(!db.redemption.reset_password(&digest(bad), &new, now).await.unwrap());
    }
    assert_eq!(db.redemption.find_reset(&digest("one"), at(30 * MINUTE)).await.unwrap(), None, "the token has expired");
    assert!(!db.redemption.reset_password(&digest("one"), &new, at(30 * MINUTE)).await.unwrap());
    assert_eq!(db.redemption.find_reset(&digest("one"), now).await.unwrap(), Some(ada.id));
    let outcomes = concurrently((0..6).map(|n| {
        let (db, new) = (db.clone(), PasswordHash::new(format!("new {n}")));
        async move { (db.redemption.reset_password(&digest("one"), &new, now).await.unwrap(), new) }
    }))
    .await;
    let used: Vec<_> = outcomes.into_iter().filter(|(is_good, _)| *is_good).map(|(_, new)| new).collect();
    assert_eq!(used.len(), 1, "a token can be used once");
    assert_eq!(password(&db, ada.id).await, used[0]);
    let revoked = db.sessions.find_all(sessions.to_vec()).await.unwrap();
    for state in revoked {
        assert_eq!(state.revoked, state.session.user == ada.id);
    }
    assert_eq!(
        db.redemption.find_reset(&digest("other"), now).await.unwrap(),
        None,
        "other tokens of the account are invalid"
    );
    assert_eq!(ids(&db, MailStatus::Waiting).await, [], "waiting mails with such tokens are dropped");
    assert_eq!(db.redemption.find_reset(&digest("bob's"), now).await.unwrap(), Some(bob.id));
    assert!(db.redemption.verify_email(&digest("verification"), now).await.unwrap());
}

pub async fn changing_the_password_invalidates_older_reset_tokens(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    send(&db, &w, &ada, MailKind::PasswordReset, "token", at(0)).await;
    let (verified, new) = (password(&db, ada.id).await, PasswordHash::new("new".to_owned()));
    let change = PasswordChange { user: ada.id, verified, new, keep: None, at: at(1), entry: None };
    assert!(db.accounts.change_password(&change).await.unwrap());
    assert_eq!(db.redemption.find_reset(&digest("token"), at(2)).await.unwrap(), None);
}

pub async fn changing_or_resetting_the_password_cancels_changes_of_the_address(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let thief = || {
        let address = email("thief@example.org");
        NewMail { address, ..new_mail(&w, &ada, MailKind::EmailChange, at(0)) }
    };
    let request = async |token: &str| {
        db.outbox.create(&[thief()]).await.unwrap();
        let mail = claim(&db, token, at(0)).await;
        db.outbox.set_sent(mail.id, at(0)).await.unwrap();
    };
    request("one").await;
    send(&db, &w, &ada, MailKind::PasswordReset, "reset", at(0)).await;
    db.outbox.create(&[thief()]).await.unwrap();
    let new = PasswordHash::new("new".to_owned());
    assert!(db.redemption.reset_password(&digest("reset"), &new, at(1)).await.unwrap());
    assert_eq!(ids(&db, MailStatus::Waiting).await, []);
    request("two").await;
    let change = PasswordChange { user: ada.id, verified: new.clone(), new, keep: None, at: at(2), entry: None };
    assert!(db.accounts.change_password(&change).await.unwrap());
    for token in ["one", "two"] {
        assert!(!db.redemption.verify_email(&digest(token), at(3)).await.unwrap(), "{token}");
    }
    assert_eq!(db.accounts.find(ada.id).await.unwrap(), Some(ada));
}

pub async fn a_confirmation_is_invalid_once_the_password_has_changed(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let old = w.confirmed(ada.id).await;
    let (verified, new) = (old.password.clone(), PasswordHash::new("new".to_owned()));
    let change = PasswordChange { user: ada.id, verified, new, keep: None, at: at(1), entry: None };
    assert!(db.accounts.change_password(&change).await.unwrap());
    let asked = [new_mail(&w, &ada, MailKind::EmailChange, at(2))];
    assert_fails!(db.outbox.create_confirmed(&asked, &old).await, Error::Stale);
    assert_fails!(db.redemption.set_email(&old, &email("new@example.org"), at(2)).await, Error::Stale);
    assert_fails!(db.deletions.delete(&old, at(2)).await, Error::Stale);
    assert_eq!(ids(&db, MailStatus::Waiting).await, []);
    assert_eq!(db.accounts.find(ada.id).await.unwrap(), Some(ada.clone()));
    db.outbox.create_confirmed(&asked, &w.confirmed(ada.id).await).await.unwrap();
    assert_eq!(ids(&db, MailStatus::Waiting).await, [asked[0].id]);
}

pub async fn changing_the_address_prevents_retries_of_dead_mails(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let mail = new_mail(&w, &ada, MailKind::PasswordReset, at(0));
    db.outbox.create(from_ref(&mail)).await.unwrap();
    claim(&db, "token", at(0)).await;
    db.outbox.set_failed(mail.id, "no", true, at(1)).await.unwrap();
    db.redemption.set_email(&w.confirmed(ada.id).await, &email("new@example.org"), at(2)).await.unwrap();
    assert_eq!(db.outbox.retry(None, at(3)).await.unwrap(), 0);
}

pub async fn tokens_of_a_disabled_account_are_invalid(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    send(&db, &w, &ada, MailKind::PasswordReset, "token", at(0)).await;
    for (kind, token) in [(MailKind::EmailVerification, "verification"), (MailKind::EmailChange, "change")] {
        send(&db, &w, &ada, kind, token, at(0)).await;
    }
    db.accounts.set_enabled(ada.id, false, &w.entry()).await.unwrap();
    for token in ["verification", "change"] {
        assert!(!db.redemption.verify_email(&digest(token), at(1)).await.unwrap(), "{token}");
    }
    assert_eq!(db.redemption.find_reset(&digest("token"), at(1)).await.unwrap(), None);
    let new = PasswordHash::new("new".to_owned());
    assert!(!db.redemption.reset_password(&digest("token"), &new, at(1)).await.unwrap());
    db.accounts.set_enabled(ada.id, true, &w.entry()).await.unwrap();
    assert_eq!(db.redemption.find_reset(&digest("token"), at(1)).await.unwrap(), None, "the token is invalid");
}

pub async fn a_token_verifies_the_address_that_it_was_sent_to(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let kind = MailKind::EmailVerification;
    for token in ["one", "two", "three"] {
        send(&db, &w, &ada, kind, token, at(0)).await;
    }
    send(&db, &w, &ada, MailKind::PasswordReset, "reset", at(0)).await;
    let find = async || db.accounts.find(ada.id).await.unwrap().unwrap();
    let day = 24 * HOUR;
    for (bad, now) in [("another", 1), ("reset", 1), ("one", day)] {
        assert!(!db.redemption.verify_email(&digest(bad), at(now)).await.unwrap(), "{bad}");
    }
    assert_eq!(find().await, ada);
    assert!(db.redemption.verify_email(&digest("one"), at(day - 1)).await.unwrap());
    assert_eq!(find().await, Account { email_verified: true, ..ada.clone() });
    assert!(!db.redemption.verify_email(&digest("one"), at(1)).await.unwrap(), "the token was used");
    let new = email("new@example.org");
    db.redemption.set_email(&w.confirmed(ada.id).await, &new, at(1)).await.unwrap();
    assert_eq!(find().await, Account { email: new, email_verified: false, ..ada.clone() });
    assert!(!db.redemption.verify_email(&digest("two"), at(1)).await.unwrap(), "the token is for another address");
    assert_eq!(
        db.redemption.find_reset(&digest("reset"), at(1)).await.unwrap(),
        None,
        "the token was sent to another address"
    );
}

pub async fn a_new_address_takes_effect_when_its_token_is_used(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada").await, w.account("Bob").await);
    let change =
        |address: &str| NewMail { address: email(address), ..new_mail(&w, &ada, MailKind::EmailChange, at(0)) };
    for (address, token) in [("new@example.org", "new"), ("other@example.org", "other")] {
        db.outbox.create(&[change(address)]).await.unwrap();
        let mail = claim(&db, token, at(0)).await;
        assert_eq!(mail.address, email(address));
        db.outbox.set_sent(mail.id, at(0)).await.unwrap();
    }
    db.outbox.create(&[change(&bob.email.as_str().to_uppercase())]).await.unwrap();
    claim(&db, "taken", at(0)).await;
    send(&db, &w, &ada, MailKind::PasswordReset, "reset", at(0)).await;
    for _ in 0..2 {
        let taken = db.redemption.verify_email(&digest("taken"), at(1)).await;
        assert_fails!(taken, Error::Conflict(Conflict::Email));
    }
    assert_eq!(db.accounts.find(ada.id).await.unwrap().unwrap(), ada, "the previous address is still valid");
    assert!(db.redemption.verify_email(&digest("new"), at(1)).await.unwrap());
    let expected = Account { email: email("new@example.org"), email_verified: true, ..ada.clone() };
    assert_eq!(db.accounts.find(ada.id).await.unwrap().unwrap(), expected);
    for (address, owner) in [("NEW@example.org", Some(ada.id)), (ada.email.as_str(), None)] {
        let named = LoginIdentifier::parse(address).unwrap();
        assert_eq!(db.accounts.find_id(&named).await.unwrap(), owner, "{address}");
    }
    assert_eq!(
        db.redemption.find_reset(&digest("reset"), at(1)).await.unwrap(),
        None,
        "the token was sent to another address"
    );
    assert!(
        !db.redemption.verify_email(&digest("other"), at(1)).await.unwrap(),
        "the token was requested before the change"
    );
    let taken = db.redemption.set_email(&w.confirmed(ada.id).await, &bob.email, at(1)).await;
    assert_fails!(taken, Error::Conflict(Conflict::Email));
    assert_fails!(
        db.redemption.set_email(&w.confirmed(w.id()).await, &email("x@example.org"), at(1)).await,
        Error::NotFound(Resource::User)
    );
}

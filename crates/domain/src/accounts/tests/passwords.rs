//! Password changes and rehashing: what is hashed, how often, and for which requester.

use mockall::Sequence;

use super::*;

const WRONG: &str = "Current password is wrong";

/// Returns Alice as the requester, calling from [`elsewhere`].
fn alice_elsewhere() -> Requester {
    Requester { account: Some(ALICE), address: elsewhere() }
}

/// Returns the ports of a service where alice's password is `password`, with the hash `stored`, which expect passwords to be
/// verified and hashed this often.
fn ports(verified: usize, hashed: usize) -> Ports {
    let mut ports = Ports::default();
    ports.accounts.expect_find_password().withf(|id| *id == ALICE).returning(|_| Ok(Some(hash("stored"))));
    ports
        .passwords
        .expect_verify()
        .times(verified)
        .withf(|_, stored, by| *stored == Some(hash("stored")) && *by == alice_elsewhere())
        .returning(|attempt, _, _| Ok(attempt.expose() == "password"));
    ports
        .passwords
        .expect_hash()
        .times(hashed)
        .withf(|password, by| password.expose() == "new password" && *by == alice_elsewhere())
        .returning(|_, _| Ok(hash("hashed")));
    ports
}

/// Expects a change to the password with this hash, and then that cached sessions are invalidated.
fn expect_change(ports: &mut Ports, new: &'static str) {
    let mut order = Sequence::new();
    ports
        .accounts
        .expect_change_password()
        .once()
        .in_sequence(&mut order)
        .withf(move |change| {
            let (verified, new) = (hash("stored"), hash(new));
            *change == PasswordChange { user: ALICE, verified, new, keep: Some(SESSION), at: NOW, entry: None }
        })
        .returning(|_| Ok(true));
    ports.sessions.expect_invalidate_account().once().in_sequence(&mut order).withf(|id| *id == ALICE).return_const(());
}

fn parsed(current: &str, new: &str) -> (PasswordAttempt, Password) {
    (PasswordAttempt::parse(current).unwrap(), Password::parse(new).unwrap())
}

async fn change(ports: Ports, current: &str, new: &str) -> Result<()> {
    let (current, new) = parsed(current, new);
    ports.authentication().change_password(&member(), elsewhere(), &current, &new).await
}

#[tokio::test]
async fn a_wrong_current_password_is_reported_and_the_new_one_not_hashed() {
    let refused = change(ports(1, 0), "wrong", "new password").await;
    assert_eq!(invalid(refused), [(FieldName::CurrentPassword, WRONG.to_owned())]);
}

#[tokio::test]
async fn a_new_password_is_stored_hashed_and_ends_every_other_session_at_once() {
    let mut ports = ports(1, 1);
    expect_change(&mut ports, "hashed");
    change(ports, "password", "new password").await.unwrap();
}

#[tokio::test]
async fn the_same_password_again_ends_every_other_session_without_another_hash() {
    let mut ports = ports(1, 0);
    ports.passwords.expect_needs_rehash().once().return_const(false);
    expect_change(&mut ports, "stored");
    change(ports, "password", "password").await.unwrap();
}

#[tokio::test]
async fn the_same_password_again_is_hashed_if_its_hash_is_of_lower_cost() {
    let mut ports = ports(1, 0);
    ports.passwords.expect_needs_rehash().once().withf(|it| *it == hash("stored")).return_const(true);
    ports.passwords.expect_hash().once().returning(|_, _| Ok(hash("dearer")));
    expect_change(&mut ports, "dearer");
    change(ports, "password", "password").await.unwrap();
}

#[tokio::test]
async fn ten_changes_a_minute_may_be_tried_from_an_address_whatever_their_outcome() {
    let counters = Arc::<CountersInMemory>::default();
    let with = |mut ports: Ports| {
        ports.counters = Arc::clone(&counters);
        ports
    };
    for n in 0..10 {
        let mut ports = Ports::default();
        ports.accounts.expect_find_password().returning(|_| Ok(Some(hash("stored"))));
        ports.passwords.expect_verify().once().returning(move |_, _, _| match n % 3 {
            0 => Ok(false),
            1 => Err(Error::unavailable("too many")),
            _ => Ok(true),
        });
        ports.passwords.expect_hash().returning(|_, _| Ok(hash("hashed")));
        ports.accounts.expect_change_password().returning(|_| Ok(true));
        ports.sessions.expect_invalidate_account().return_const(());
        let outcome = change(with(ports), "password", "new password").await;
        assert!(!matches!(outcome, Err(Error::TooMany(_))), "{n}: {outcome:?}");
    }
    let refused = change(with(Ports::default()), "password", "new password").await;
    assert!(matches!(refused, Err(Error::TooMany(allowance)) if allowance.reset_seconds == 60), "{refused:?}");
    // The thief of a token does not keep the owner from ending the stolen session.
    let mut owner = Ports::default();
    owner.accounts.expect_find_password().returning(|_| Ok(Some(hash("stored"))));
    owner.passwords.expect_verify().once().returning(|_, _, _| Ok(true));
    owner.passwords.expect_hash().once().returning(|_, _| Ok(hash("hashed")));
    expect_change(&mut owner, "hashed");
    let owner = with(owner).authentication();
    let (current, new) = parsed("password", "new password");
    owner.change_password(&member(), client(), &current, &new).await.unwrap();
}

/// Returns ports where the stored hash is replaced from one read to the next; `changed` is the hash of another password.
fn ports_with_hashes(hashes: [&'static str; 2]) -> Ports {
    let mut ports = Ports::default();
    let mut hashes = hashes.into_iter();
    ports.accounts.expect_find_password().times(2).returning(move |_| Ok(hashes.next().map(hash)));
    ports.passwords.expect_verify().times(2).returning(|_, stored, _| Ok(stored != Some(hash("changed"))));
    ports.passwords.expect_hash().returning(|_, _| Ok(hash("hashed")));
    ports.sessions.expect_invalidate_account().return_const(());
    ports
        .accounts
        .expect_change_password()
        .once()
        .withf(|change| change.verified == hash("stored"))
        .returning(|_| Ok(false));
    ports
}

#[tokio::test]
async fn a_password_that_was_changed_meanwhile_is_no_longer_the_current_one() {
    let refused = change(ports_with_hashes(["stored", "changed"]), "password", "new password").await;
    assert_eq!(invalid(refused), [(FieldName::CurrentPassword, WRONG.to_owned())]);
}

#[tokio::test]
async fn a_change_succeeds_if_the_hash_of_the_same_password_is_replaced_once_meanwhile_but_not_twice() {
    for is_replaced_twice in [false, true] {
        let mut ports = ports_with_hashes(["stored", "renewed"]);
        ports
            .accounts
            .expect_change_password()
            .once()
            .withf(|change| change.verified == hash("renewed"))
            .returning(move |_| Ok(!is_replaced_twice));
        let outcome = change(ports, "password", "new password").await;
        assert_eq!(outcome.is_err(), is_replaced_twice, "{outcome:?}");
    }
}

/// Expects alice to log in with this password from [`elsewhere`]; its hash is outdated if it has a lower cost than new ones.
fn expect_login(ports: &mut Ports, password: &'static str, is_outdated: bool) {
    let found = || Credentials { user: ALICE, password: hash("stored"), enabled: true };
    ports.accounts.expect_find_credentials().returning(move |_| Ok(Some(found())));
    ports
        .passwords
        .expect_verify()
        .once()
        // Somebody who floods the service with logins under her name does not take up her share.
        .withf(move |attempt, _, by| {
            attempt.expose() == password && *by == Requester { account: None, address: elsewhere() }
        })
        .returning(|_, _, _| Ok(true));
    ports.passwords.expect_needs_rehash().once().withf(|it| *it == hash("stored")).return_const(is_outdated);
    ports.sessions.expect_open().once().returning(|_, _, _| Ok(true));
    ports.tokens.expect_issue().once().returning(|_, _| Ok("token".to_owned()));
}

fn login(password: &str) -> Login {
    attempt("alice", password)
}

#[tokio::test]
async fn a_hash_of_lower_cost_is_replaced_after_a_login() {
    let mut ports = Ports::default();
    expect_login(&mut ports, "password", true);
    ports
        .passwords
        .expect_hash()
        .once()
        .withf(|password, by| password.expose() == "password" && *by == alice_elsewhere())
        .returning(|_, _| Ok(hash("dearer")));
    ports
        .accounts
        .expect_renew_password_hash()
        .once()
        .withf(|user, verified, new| (*user, verified, new) == (ALICE, &hash("stored"), &hash("dearer")))
        .returning(|_, _, _| Ok(()));
    let authentication = ports.authentication();
    let logged_in = authentication.login(&login("password"), elsewhere()).await.unwrap();
    assert_eq!(logged_in.token, "token");
    authentication.rehash(logged_in.rehash.unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_login_does_not_wait_for_the_rehash() {
    for (password, is_outdated, is_rehash_left) in [
        ("password", true, true),
        ("password", false, false),
        // Set before the minimum length applied: it is right, although no new account could have it.
        ("short", true, false),
    ] {
        let mut ports = Ports::default();
        expect_login(&mut ports, password, is_outdated);
        let logged_in = ports.authentication().login(&login(password), elsewhere()).await.unwrap();
        assert_eq!(logged_in.rehash.is_some(), is_rehash_left, "{password}, {is_outdated}");
    }
}

#[tokio::test]
async fn a_failed_rehash_leaves_the_stored_hash_as_it_is() {
    let mut ports = Ports::default();
    expect_login(&mut ports, "password", true);
    ports.passwords.expect_hash().once().returning(|_, _| Err(Error::unavailable("too many")));
    let authentication = ports.authentication();
    let rehash = authentication.login(&login("password"), elsewhere()).await.unwrap().rehash.unwrap();
    assert!(matches!(authentication.rehash(rehash).await, Err(Error::Unavailable(_))));
}

//! Limits that keep passwords from being guessed.

use super::*;

/// Returns the ports of a service where alice has the password `password`; any number of calls is allowed.
fn ports(counters: &Arc<CountersInMemory>) -> Ports {
    let mut ports = Ports { counters: Arc::clone(counters), ..Ports::default() };
    ports.accounts.expect_find_credentials().returning(|identifier| {
        let names = ["alice", "alice@example.com"].map(|name| LoginIdentifier::parse(name).unwrap());
        let found = Credentials { user: ALICE, password: hash("stored"), enabled: true };
        Ok(names.contains(identifier).then_some(found))
    });
    ports.accounts.expect_find_password().returning(|_| Ok(Some(hash("stored"))));
    ports
        .passwords
        .expect_verify()
        .returning(|attempt, stored, _| Ok(stored == Some(hash("stored")) && attempt.expose() == "password"));
    ports.passwords.expect_needs_rehash().return_const(false);
    ports.sessions.expect_open().returning(|_, _, _| Ok(true));
    ports.tokens.expect_issue().returning(|_, _| Ok("token".to_owned()));
    ports
}

async fn log_in(
    counters: &Arc<CountersInMemory>,
    (name, password): (&str, &str),
    client: ClientAddress,
) -> Result<String> {
    let login = attempt(name, password);
    Ok(ports(counters).authentication().login(&login, client).await?.token)
}

#[tokio::test]
async fn after_ten_wrong_passwords_even_the_right_one_is_refused_under_every_identifier_of_the_account() {
    let counters = Arc::default();
    for name in ["alice", " ALICE", "alice@example.com", "Alice@Example.COM", "alice"] {
        for _ in 0..2 {
            let refused = log_in(&counters, (name, "a guess"), client()).await;
            assert!(matches!(refused, Err(Error::InvalidCredentials)), "{name}: {refused:?}");
        }
    }
    for name in ["alice", "alice@example.com"] {
        for password in ["a guess", "password"] {
            let refused = log_in(&counters, (name, password), client()).await;
            assert!(matches!(refused, Err(Error::TooMany(_))), "{name}: {refused:?}");
        }
    }
    log_in(&counters, ("alice", "password"), elsewhere()).await.unwrap();
}

#[tokio::test]
async fn an_unknown_name_is_limited_like_that_of_an_account() {
    let counters = Arc::default();
    for _ in 0..10 {
        let refused = log_in(&counters, ("nobody", "a guess"), client()).await;
        assert!(matches!(refused, Err(Error::InvalidCredentials)), "{refused:?}");
    }
    assert!(matches!(log_in(&counters, ("Nobody", "a guess"), client()).await, Err(Error::TooMany(_))));
    assert!(matches!(log_in(&counters, ("another", "a guess"), client()).await, Err(Error::InvalidCredentials)));
}

#[tokio::test]
async fn right_passwords_are_not_counted() {
    let counters = Arc::default();
    for _ in 0..20 {
        log_in(&counters, ("alice", "password"), client()).await.unwrap();
    }
}

#[tokio::test]
async fn a_refused_attempt_costs_no_hash() {
    let counters = Arc::default();
    for _ in 0..10 {
        let _ = log_in(&counters, ("alice", "a guess"), client()).await;
    }
    let mut ports = ports(&counters);
    ports.passwords = MockPasswordHasher::new();
    let login = attempt("alice", "a guess");
    assert!(matches!(ports.authentication().login(&login, client()).await, Err(Error::TooMany(_))));
}

#[tokio::test]
async fn concurrent_guesses_learn_no_more_than_ten_sequential_ones() {
    let counters = Arc::<CountersInMemory>::default();
    let mut ports = ports(&counters);
    ports.passwords = MockPasswordHasher::new();
    let others = Arc::clone(&counters);
    // While this guess is verified, ten others turn out wrong.
    ports.passwords.expect_verify().returning(move |attempt, _, _| {
        for _ in 0..10 {
            others.add(&Counted::WrongPasswords(ALICE, client()), NOW);
        }
        Ok(attempt.expose() == "password")
    });
    let authentication = ports.authentication();
    for password in ["password", "a guess"] {
        let login = attempt("alice", password);
        let refused = authentication.login(&login, client()).await;
        assert!(matches!(refused, Err(Error::TooMany(_))), "{password}: {refused:?}");
    }
}

#[tokio::test]
async fn the_current_password_cannot_be_guessed_with_a_stolen_token_either() {
    let counters = Arc::default();
    let change = async |current: &'static str| {
        let authentication = ports(&counters).authentication();
        let (current, new) = (PasswordAttempt::parse(current).unwrap(), Password::parse("new password").unwrap());
        authentication.change_password(&member(), client(), &current, &new).await
    };
    for _ in 0..10 {
        assert_eq!(invalid(change("a guess").await)[0].0, FieldName::CurrentPassword);
    }
    assert!(matches!(change("password").await, Err(Error::TooMany(_))));
    assert!(matches!(log_in(&counters, ("alice", "password"), client()).await, Err(Error::TooMany(_))));
}

//! Raising the cost of password hashes.

use diesel::dsl::sql;
use diesel::sql_types::Text;
use diesel::{Connection as _, RunQueryDsl as _, SqliteConnection};

use crate::client::{PASSWORD, eventually};
use crate::process::Home;

/// Returns the password hash of an account in the database.
fn stored_hash(home: &Home, username: &str) -> String {
    let mut conn = SqliteConnection::establish(home.data_dir().join("agora.db").to_str().unwrap()).unwrap();
    let query = format!("SELECT password_hash FROM users WHERE username = '{username}'");
    sql::<Text>(&query).get_result(&mut conn).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hash_is_renewed_at_the_first_login_after_the_cost_was_raised() {
    let home = Home::new();
    let service = home.start();
    let before = service.api.user("alice").await;
    service.api.user("bob").await;
    service.stop();
    assert!(stored_hash(&home, "alice").starts_with("$2b$04$"));

    let service = home.start_with(&[("AGORA_BCRYPT_COST", "5")]);
    let now = service.api.log_in("alice").await;
    let is_renewed = async || stored_hash(&home, "alice").starts_with("$2b$05$").then_some(());
    eventually("the hash is renewed", is_renewed).await;
    for session in [&before, &now] {
        service.api.get(session, "/api/users/me").await.expect(200);
    }
    service.api.login("alice", PASSWORD).await.expect(200);
    assert!(stored_hash(&home, "bob").starts_with("$2b$04$"), "bob has not logged in");
    service.stop();
}

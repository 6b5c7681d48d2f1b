//! `/api/auth`

use serde_json::json;

use crate::support::Server;

#[tokio::test(flavor = "multi_thread")]
async fn registration_answers_a_message_alone() {
    let server = Server::start().await;
    let body = json!({ "username": "alice", "email": "alice@example.org", "password": "correct horse" });
    let answer = server.register(body).await.expect(201);
    assert_eq!(answer.json(), json!({ "message": "User registered successfully" }));
}

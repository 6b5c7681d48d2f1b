//! PgBouncer between the service and PostgreSQL.

use tokio::task::block_in_place;

use super::load::Load;
use crate::private_postgres::{Pooler, Server};
use crate::process::{Home, run};

#[tokio::test(flavor = "multi_thread")]
async fn the_service_works_with_session_pooling() {
    let server = block_in_place(|| Server::start(5432, |_| "-c listen_addresses=".to_owned()));
    block_in_place(|| server.database("agora"));
    let pooler = block_in_place(|| Pooler::start(&server, "session"));
    let home = Home::new();
    let service = home.start_with(&[("AGORA_DATABASE_URL", &pooler.url("agora"))]);
    let load = Load::start(&service.api).await;
    load.successes(200).await;
    load.finish().await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_refuses_to_start_with_transaction_or_statement_pooling() {
    let server = block_in_place(|| Server::start(5432, |_| "-c listen_addresses=".to_owned()));
    block_in_place(|| server.database("agora"));
    // With statement pooling, PgBouncer itself may refuse first, with its own message.
    for (mode, words) in [("transaction", "pool_mode = session"), ("statement", "pool")] {
        let pooler = block_in_place(|| Pooler::start(&server, mode));
        let home = Home::new();
        let agora = |arguments: &[&str]| {
            let mut command = home.agora(arguments);
            command.env("AGORA_DATABASE_URL", pooler.url("agora"));
            block_in_place(|| run(command, ""))
        };
        agora(&[]).expect_refusal(&[words]);
        let checked = agora(&["doctor"]);
        let is_finding = |line: &str| line.starts_with("failed   database: ") && line.contains(words);
        assert!(checked.code == Some(1) && checked.stdout.lines().any(is_finding), "{checked:?}");
    }
}

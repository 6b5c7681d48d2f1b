//! A pooler between the service and PostgreSQL.

use tokio::task::block_in_place;

use super::load::Load;
use crate::private_postgres::{Pooler, Server};
use crate::process::{Home, run};

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_that_lends_connections_for_a_session_is_worked_with() {
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
async fn a_pooler_that_lends_connections_for_less_is_refused_at_the_start_with_the_reason() {
    let server = block_in_place(|| Server::start(5432, |_| "-c listen_addresses=".to_owned()));
    block_in_place(|| server.database("agora"));
    // The last may say so by itself first.
    for (mode, words) in [("transaction", "pool_mode = session"), ("statement", "pool")] {
        let pooler = block_in_place(|| Pooler::start(&server, mode));
        let home = Home::new();
        let agora = |arguments: &[&str]| {
            let mut command = home.agora(arguments);
            command.env("AGORA_DATABASE_URL", pooler.url("agora"));
            block_in_place(|| run(command, ""))
        };
        agora(&[]).expect_refusal(&[words]);
        let told = agora(&["doctor"]);
        let is_told = |line: &str| line.starts_with("failed   database: ") && line.contains(words);
        assert!(told.code == Some(1) && told.stdout.lines().any(is_told), "{told:?}");
    }
}

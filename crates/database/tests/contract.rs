//! The port-contract suite on each database: every case on a database of its own.

#![forbid(unsafe_code)]
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use agora_database::{Database, Flavor, Options};
use agora_port_contracts::Repositories;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

#[path = "../../../tests/support/postgres.rs"]
mod private_postgres;

fn options(flavor: Flavor) -> Options {
    Options { connections: 8, flavor, ..Options::default() }
}

/// Opens a fresh database of the shared server: a copy of one that was migrated once.
async fn open_fresh(flavor: Flavor, template: &'static OnceCell<String>, parameters: &str) -> Repositories {
    let migrated = async || {
        let (name, url) = spawn_blocking(private_postgres::fresh_database_by_name).await.expect("a database");
        Database::migrate(&url, &options(flavor)).await.expect("a fresh database");
        name
    };
    let template = template.get_or_init(migrated).await;
    let url = spawn_blocking(|| private_postgres::copy_of(template)).await.expect("a database");
    open(&format!("{url}{parameters}"), flavor).await
}

async fn open(url: &str, flavor: Flavor) -> Repositories {
    let database = Database::open(url, &options(flavor)).await.expect("a fresh database").packing(4);
    Repositories::of(&Arc::new(database))
}

mod sqlite {
    use super::*;

    async fn fresh_database() -> (Repositories, tempfile::TempDir) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let url = format!("sqlite:{}", directory.path().join("agora.db").display());
        (open(&url, Flavor::default()).await, directory)
    }

    agora_port_contracts::repository_contract!(fresh_database);
}

mod postgres {
    use super::*;

    async fn fresh_database() -> (Repositories, ()) {
        static TEMPLATE: OnceCell<String> = OnceCell::const_new();
        (open_fresh(Flavor::Postgresql, &TEMPLATE, "").await, ())
    }

    agora_port_contracts::repository_contract!(fresh_database);
}

/// PostgreSQL as engines over many machines are: what conflicts is refused, and nothing is asked that only one server knows.
mod distributed {
    use super::*;

    async fn fresh_database() -> (Repositories, ()) {
        static TEMPLATE: OnceCell<String> = OnceCell::const_new();
        let serializable = "?options=-c%20default_transaction_isolation%3Dserializable";
        (open_fresh(Flavor::Distributed, &TEMPLATE, serializable).await, ())
    }

    agora_port_contracts::repository_contract!(fresh_database);
}

//! The port-contract suite on SQLite: every case on a database file of its own.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use agora_database::Database;
use agora_port_contracts::Repositories;
use tempfile::TempDir;

async fn fresh_database() -> (Repositories, TempDir) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("sqlite:{}", directory.path().join("agora.db").display());
    let database = Database::open(&url).expect("a fresh database");
    let repositories = Repositories {
        accounts: database.accounts(),
        sessions: database.sessions(),
        posts: database.posts(),
        comments: database.comments(),
        follows: database.follows(),
        products: database.products(),
        images: database.image_references(),
    };
    (repositories, directory)
}

agora_port_contracts::repository_contract!(fresh_database);

//! Probing a database, which does not change it.

#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use agora_database::{Database, OpenError, Options, check_url, probe, schema_version};

#[path = "../../../tests/support/postgres.rs"]
mod private_postgres;

async fn open(url: &str) -> Database {
    Database::open(url, &Options::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_of_a_server_returns_its_version_its_schema_and_the_users_rights() {
    let (name, url) = tokio::task::spawn_blocking(private_postgres::fresh_database_by_name).await.unwrap();
    let options = Options::default();
    let empty = probe(&url, &options).await.unwrap();
    assert!(empty.product.starts_with("PostgreSQL "), "{empty:?}");
    assert!(empty.schema.is_none() && empty.pending > 0, "{empty:?}");
    let server = empty.server.unwrap();
    assert!(server.is_supported && server.may_change_schema && server.connections > 100, "{server:?}");
    assert!(probe(&url, &options).await.unwrap().schema.is_none(), "it made a table");

    open(&url).await.close();
    let current = probe(&url, &options).await.unwrap();
    assert_eq!((current.schema.as_deref(), current.pending), (Some(schema_version().as_str()), 0));

    let mut session = private_postgres::shared().session(&name);
    session.run("REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE ROLE onlooker LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO onlooker;");
    let onlooker = probe(&url.replace("agora@", "onlooker@"), &options).await.unwrap();
    assert!(!onlooker.server.unwrap().may_change_schema);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_does_not_change_a_file_whether_or_not_it_is_open() {
    let directory = tempfile::tempdir().unwrap();
    let contents = || -> BTreeMap<_, _> {
        let entries = fs::read_dir(directory.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
    };
    let url = format!("sqlite:{}", directory.path().join("it's #1?.db").display());
    let options = Options::default();
    assert!(matches!(probe(&url, &options).await, Err(OpenError::Missing(_))));
    assert!(contents().is_empty());

    let database = open(&url).await;
    let names = contents().into_keys().collect::<Vec<_>>();
    let probed = probe(&url, &options).await.unwrap();
    assert_eq!((probed.schema.as_deref(), probed.pending), (Some(schema_version().as_str()), 0));
    assert!(probed.product.starts_with("SQLite ") && probed.server.is_none(), "{probed:?}");
    assert_eq!(contents().into_keys().collect::<Vec<_>>(), names);
    database.close();

    let before = contents();
    assert_eq!(probe(&url, &options).await.unwrap().pending, 0);
    assert_eq!(contents(), before);
}

#[test]
fn a_url_is_checked_without_accessing_the_database() {
    for url in ["sqlite:agora.db", "sqlite:///no/such/agora.db", "postgres://a@nowhere.invalid/b?sslmode=verify-full"] {
        check_url(url).unwrap();
    }
    for url in
        ["agora.db", "sqlite:", "sqlite::memory:", "mysql://a/b", "postgres://hunter2:b:c/d", "postgres://a/b?sslkey=c"]
    {
        let error = check_url(url).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
    assert!(!Path::new("agora.db").exists());
}

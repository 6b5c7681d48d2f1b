//! What one request may cost, however much there is: with the real binary, on both databases.

mod follows;

use crate::process::{Home, Service};
use crate::store::{Kind, Store};

/// A service on a database of each kind, one after the other: a home for it, the database, and the service.
fn services() -> impl Iterator<Item = (Home, Store, Service)> {
    [Kind::Sqlite, Kind::Postgres].into_iter().map(|kind| {
        let home = Home::new();
        let store = Store::new(kind, &home, "bounds");
        let service = home.start_with(&[("AGORA_DATABASE_URL", &store.url)]);
        (home, store, service)
    })
}

/// The numbers from 1 to so many, as the table `n` with the column `i`.
fn numbers(to: usize) -> String {
    format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {to})")
}

//! Limits on the number of rows of an account, with the real binary, on both databases.

mod follows;

use crate::process::{Home, Service};
use crate::store::{Kind, Store};

/// Starts a service on each kind of database, one after the other. Yields its home, its database, and the service.
fn services() -> impl Iterator<Item = (Home, Store, Service)> {
    [Kind::Sqlite, Kind::Postgres].into_iter().map(|kind| {
        let home = Home::new();
        let store = Store::new(kind, &home, "bounds");
        let service = home.start_with(&[("AGORA_DATABASE_URL", &store.url)]);
        (home, store, service)
    })
}

/// Returns an SQL clause that defines the table `n`, whose column `i` has the numbers from 1 to `to`.
fn numbers(to: usize) -> String {
    format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {to})")
}

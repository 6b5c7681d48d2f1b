//! Health checks: whether the database responds, and has the schema that this program needs.

use std::sync::Arc;

use agora_domain::health::Probe;
use agora_domain::{Error, Result};
use async_trait::async_trait;

use crate::backend::Backend;
use crate::{Database, Migrations, call};

impl Database {
    /// Returns a probe that checks whether the database has the schema of this program or a newer one. During a rolling upgrade
    /// the first new node migrates the schema, and nodes of the old version keep running.
    pub fn migrations_probe(self: &Arc<Self>) -> Arc<dyn Probe> {
        Arc::new(MigrationsProbe(Arc::clone(self)))
    }
}

#[async_trait]
impl Probe for Database {
    async fn probe(&self) -> Result<()> {
        if let Backend::Sqlite(database) = &self.backend {
            database.check_file()?;
        }
        call!(self, read transfer::has_migrations()).map(drop)
    }
}

struct MigrationsProbe(Arc<Database>);

#[async_trait]
impl Probe for MigrationsProbe {
    async fn probe(&self) -> Result<()> {
        let Migrations { applied, pending, .. } = Migrations::of(call!(self.0, read transfer::applied())?);
        match pending.as_slice() {
            [] => Ok(()),
            _ if applied.is_empty() => Err(Error::unavailable("the database has no Agora schema")),
            [first, ..] => Err(Error::unavailable(format!("the database lacks the migration {first}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::Options;

    async fn open(directory: &TempDir) -> Arc<Database> {
        let url = format!("sqlite:{}", directory.path().join("agora.db").display());
        Arc::new(Database::open(&url, &Options::default()).await.unwrap())
    }

    /// Changes the database on a connection other than the service's.
    fn run(directory: &TempDir, statement: &str) {
        use diesel::Connection as _;
        use diesel::connection::SimpleConnection as _;
        let file = directory.path().join("agora.db");
        let mut conn = diesel::SqliteConnection::establish(file.to_str().unwrap()).unwrap();
        conn.batch_execute(statement).unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_open_database_is_healthy_until_it_is_closed() {
        let directory = tempfile::tempdir().unwrap();
        let database = open(&directory).await;
        database.probe().await.unwrap();
        database.migrations_probe().probe().await.unwrap();
        database.close();
        assert!(matches!(database.probe().await, Err(Error::Unavailable(_))));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_database_whose_file_was_deleted_or_replaced_is_unhealthy() {
        let directory = tempfile::tempdir().unwrap();
        let database = open(&directory).await;
        let (file, moved) = (directory.path().join("agora.db"), directory.path().join("moved.db"));
        fs::rename(&file, &moved).unwrap();
        assert!(matches!(database.probe().await, Err(Error::Unavailable(_))));
        fs::copy(&moved, &file).unwrap();
        assert!(matches!(database.probe().await, Err(Error::Unavailable(_))));
        fs::rename(&moved, &file).unwrap();
        database.probe().await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_migrations_probe_accepts_this_programs_schema_or_a_newer_one() {
        let directory = tempfile::tempdir().unwrap();
        let database = open(&directory).await;
        let probe = database.migrations_probe();
        let forget_last = "DELETE FROM __diesel_schema_migrations \
            WHERE version = (SELECT max(version) FROM __diesel_schema_migrations)";
        run(&directory, "INSERT INTO __diesel_schema_migrations (version) VALUES ('99990101000000')");
        probe.probe().await.unwrap();
        run(&directory, forget_last);
        run(&directory, forget_last);
        assert!(matches!(probe.probe().await, Err(Error::Unavailable(_))));
        database.probe().await.unwrap();
        run(&directory, "DROP TABLE __diesel_schema_migrations");
        assert!(matches!(probe.probe().await, Err(Error::Unavailable(_))));
    }
}

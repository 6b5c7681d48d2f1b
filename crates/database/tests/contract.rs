//! The port-contract suite on each database. Every case has a database of its own.

#![forbid(unsafe_code)]
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};

use agora_database::{Database, Flavor, Options};
use agora_port_contracts::Repositories;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

use crate::private_postgres::Session;

#[path = "../../../tests/support/postgres.rs"]
mod private_postgres;

fn options(flavor: Flavor) -> Options {
    Options { connections: 8, flavor, ..Options::default() }
}

/// Stores the current contents of a database, and creates a procedure that restores them. Deleting the rows of a case takes a
/// tenth of the time of copying the database. Connections that are still open belong to a case that has ended.
const CREATE_RESET_PROCEDURE: &str = r#"
    CREATE SCHEMA seed;
    CREATE TABLE seed.sequences AS SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public';
    DO $$ DECLARE name text; is_used boolean; BEGIN
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
            EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', name) INTO is_used;
            IF is_used THEN EXECUTE format('CREATE TABLE seed.%1$I AS TABLE public.%1$I', name); END IF;
        END LOOP;
    END $$;
    CREATE PROCEDURE seed.reset() LANGUAGE plpgsql SET client_min_messages = error AS $$ DECLARE name text; value bigint; BEGIN
        LOOP
            PERFORM pg_stat_clear_snapshot();
            PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid();
            EXIT WHEN NOT FOUND;
        END LOOP;
        SET LOCAL session_replication_role = replica;
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
            IF pg_relation_size(format('public.%I', name)::regclass) > 65536 THEN
                EXECUTE format('TRUNCATE public.%I CASCADE', name);
            ELSE
                EXECUTE format('DELETE FROM public.%I', name);
            END IF;
        END LOOP;
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'seed' AND tablename <> 'sequences' LOOP
            EXECUTE format('INSERT INTO public.%1$I SELECT * FROM seed.%1$I', name);
        END LOOP;
        FOR name, value IN SELECT sequencename, last_value FROM seed.sequences LOOP
            EXECUTE format('ALTER SEQUENCE public.%I RESTART', name);
            IF value IS NOT NULL THEN PERFORM setval(format('public.%I', name)::regclass, value); END IF;
        END LOOP;
    END $$;
"#;

/// A pool of databases of one flavor on the shared server, which cases reuse one after another.
struct Pool {
    flavor: Flavor,
    parameters: &'static str,
    /// The name of a migrated database that no case uses, for copies.
    template: OnceCell<String>,
    free: Mutex<Vec<Pooled>>,
}

struct Pooled {
    url: String,
    session: Session,
}

/// A database lent to a case, and returned to the pool on drop.
struct Lent {
    pool: &'static Pool,
    database: Option<Pooled>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.pool.free.lock().expect("nobody panicked").extend(self.database.take());
    }
}

impl Pool {
    const fn new(flavor: Flavor, parameters: &'static str) -> Self {
        Self { flavor, parameters, template: OnceCell::const_new(), free: Mutex::new(Vec::new()) }
    }

    /// Lends a database in its initial state.
    async fn lend(&'static self) -> (Repositories, Lent) {
        let template = self.template.get_or_init(|| self.make_template()).await;
        let free = self.free.lock().expect("nobody panicked").pop();
        let database = spawn_blocking(move || {
            let mut database = free.unwrap_or_else(|| {
                let (name, url) = private_postgres::copy_of(template);
                Pooled { url, session: private_postgres::shared().session(&name) }
            });
            database.session.run("\\set ON_ERROR_STOP on\nCALL seed.reset();");
            database
        });
        let database = database.await.expect("a database");
        let repositories = open(&format!("{}{}", database.url, self.parameters), self.flavor).await;
        (repositories, Lent { pool: self, database: Some(database) })
    }

    async fn make_template(&self) -> String {
        let (name, url) = spawn_blocking(private_postgres::fresh_database_by_name).await.expect("a database");
        Database::migrate(&url, &options(self.flavor)).await.expect("a fresh database");
        let template = name.clone();
        let create = move || private_postgres::shared().session(&template).run(CREATE_RESET_PROCEDURE);
        spawn_blocking(create).await.expect("a database");
        name
    }
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

    async fn fresh_database() -> (Repositories, Lent) {
        static POOL: Pool = Pool::new(Flavor::Postgresql, "");
        POOL.lend().await
    }

    agora_port_contracts::repository_contract!(fresh_database);
}

/// PostgreSQL used like a distributed database: conflicting transactions fail, and no features of a single server are used.
mod distributed {
    use super::*;

    async fn fresh_database() -> (Repositories, Lent) {
        static POOL: Pool =
            Pool::new(Flavor::Distributed, "?options=-c%20default_transaction_isolation%3Dserializable");
        POOL.lend().await
    }

    agora_port_contracts::repository_contract!(fresh_database);
}

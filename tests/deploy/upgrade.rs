//! Upgrades: this binary on databases of every earlier schema, the statements of earlier releases on this schema, and this binary
//! on what the next release may add.
//!
//! `fixtures/` has a file for each migration, with statements of a release with that schema, in SQL that both databases accept.
//! Each new migration needs one.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::files::read;
use super::migrations::{Migration, migrations};
use crate::client::{Client, User, list};
use crate::process::{Home, Service, run};
use crate::store::{Kind, Rows, Store};

/// Returns the statements of a release with the schema of a migration.
fn fixture(migration: &Migration) -> String {
    read(&format!("tests/deploy/fixtures/{}.sql", migration.name))
}

/// Creates a database of each kind. Returns each with its migrations.
fn stores(home: &Home, name: &str) -> [(Store, Vec<Migration>); 2] {
    [(Kind::Sqlite, "sqlite"), (Kind::Postgres, "postgres")]
        .map(|(kind, database)| (Store::new(kind, home, name), migrations(database)))
}

fn start(home: &Home, store: &Store) -> Service {
    home.start_with(&[("AGORA_DATABASE_URL", &store.url)])
}

/// Checks that clients see the rows of the fixtures, and that writes work.
async fn expect_fixtures(api: &Client) {
    expect_fixtures_with_others(api, 0).await;
}

/// Checks the same, if this many other accounts were created.
async fn expect_fixtures_with_others(api: &Client, others: usize) {
    let (ada, bob) = (api.log_in("ada").await, api.log_in("bob").await);
    api.login("eve", crate::client::PASSWORD).await.expect(401);
    let post = api.view(&bob, &id(21)).await;
    assert_eq!((&post["content"], &post["author"]["username"]), (&json!("Before the upgrade"), &json!("ada")));
    assert_eq!((&post["likeCount"], &post["commentCount"], &post["likedByMe"]), (&json!(1), &json!(1), &json!(true)));
    assert_eq!(post["likedBy"][0]["username"], "Bob");
    let feed = contents(api, &bob, "/api/posts/following/all").await;
    assert_eq!(feed, ["For my followers: Ünïcødé, 'quoted'", "Before the upgrade"]);
    assert_eq!(contents(api, &ada, &format!("/api/posts/{}/all", ada.id)).await.len(), 3);
    assert_eq!(contents(api, &ada, &format!("/api/comments/all/{}", id(21))).await, ["Still here"]);
    let products = api.fetch("/api/products/findAll?q=SHIRT").await.expect(200).json();
    let product = &products["products"][0];
    assert_eq!(
        (&product["sku"], &product["price"], &product["variants"][0]["color"]),
        (&json!("T-1"), &json!(19.99), &json!("red"))
    );
    assert_eq!(list(&api.get(&ada, "/api/users/all").await.expect(200).data()).len(), 3 + others);

    // Writes work.
    api.call(&ada, Method::PUT, &format!("/api/posts/like/{}", id(21))).await.expect(200);
    api.send(api.commenting(&ada, &id(21), "So it is")).await.expect(201);
    api.post(&ada, "After the upgrade", None).await;
    let post = api.view(&bob, &id(21)).await;
    assert_eq!((&post["likeCount"], &post["commentCount"]), (&json!(2), &json!(2)));
    assert_eq!(contents(api, &bob, "/api/posts/following/all").await[0], "After the upgrade");
    api.call(&bob, Method::DELETE, &format!("/api/follow/follow/{}", ada.id)).await.expect(200);
    assert!(contents(api, &bob, "/api/posts/following/all").await.is_empty());
    api.call(&ada, Method::DELETE, &format!("/api/posts/delete/{}", id(21))).await.expect(200);
}

fn id(n: u32) -> String {
    format!("00000000-0000-7000-8000-{n:012}")
}

async fn contents(api: &Client, viewer: &User, path: &str) -> Vec<String> {
    let entries = api.get(viewer, path).await.expect(200).data();
    list(&entries).iter().map(|entry| crate::client::text(&entry["content"])).collect()
}

/// Checks that rows are unchanged. Ignores removed columns and tables, which the rule for migrations covers. Also ignores what the
/// service changes in the background: the search index, `indexed`, the version of the catalog (which the indexing changes), erased
/// data of deleted accounts, and tables whose rows are kept for minutes.
fn expect_same(before: &Rows, after: &Rows, what: &str) {
    let is_changed_in_background = |table: &str| {
        let others = ["catalog_version", "events", "event_log", "erasures", "write_positions"];
        table.starts_with("search_") || others.contains(&table)
    };
    for (table, rows) in before.iter().filter(|(table, _)| !is_changed_in_background(table)) {
        assert!(!rows.is_empty(), "the fixtures have no rows of {table}");
        let Some(now) = after.get(table) else { continue };
        let without = |rows: &[Map<String, Value>], others: &[Map<String, Value>]| -> BTreeSet<String> {
            let is_kept = |name: &String| name != "indexed" && others.first().is_some_and(|row| row.contains_key(name));
            let row =
                |row: &Map<_, _>| row.iter().filter(|(name, _)| is_kept(name)).map(|it| format!("{it:?}")).collect();
            rows.iter().map(row).collect()
        };
        assert_eq!(without(now, rows), without(rows, now), "{table}, {what}");
        assert_eq!(now.len(), rows.len(), "{table}, {what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_of_every_earlier_schema_are_migrated_with_their_rows() {
    let home = Home::new();
    for (earlier, migrations) in stores(&home, "earlier") {
        for migration in &migrations {
            earlier.migrate(&migration.version(), &migration.sql);
            earlier.run(&fixture(migration));
            let store = earlier.copy(&home, &format!("of-{}", migration.name));
            let before = store.rows(&store.columns());
            let service = start(&home, &store);
            let after = store.all_rows(&store.columns());
            expect_same(&before, &after, &migration.name);
            let has_deletion = migration.name.as_str() >= "2026-11-24-090000_search";
            let is = |value: &Value, number: &str| value.to_string().trim_matches('"') == number;
            let mut deletions = after["search_deletions"].iter();
            let deleted = deletions.any(|row| is(&row["kind"], "1") && is(&row["document"], "0"));
            assert_eq!(deleted, has_deletion, "{}", migration.name);
            expect_fixtures(&service.api).await;
            service.stop();
            assert_eq!(store.versions(), migrations.iter().map(Migration::version).collect::<Vec<_>>());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_every_earlier_release_work_on_the_current_schema() {
    let home = Home::new();
    for (current, migrations) in stores(&home, "current") {
        start(&home, &current).stop();
        for migration in &migrations {
            current.run(&fixture(migration));
            let store = current.copy(&home, &format!("under-{}", migration.name));
            let service = start(&home, &store);
            expect_fixtures(&service.api).await;
            service.stop();
        }
    }
}

/// Registers a user, and sends requests of every usual kind.
async fn use_normally(api: &Client, name: &str) {
    let (me, ada) = (api.user(name).await, api.log_in("ada").await);
    let post = crate::client::text(&api.post(&me, name, None).await["id"]);
    for (who, method, path) in [
        (&ada, Method::PUT, format!("/api/posts/like/{post}")),
        (&ada, Method::POST, format!("/api/follow/follow/{}", me.id)),
        (&me, Method::PUT, format!("/api/follow/follow/{}", ada.id)),
        (&ada, Method::GET, "/api/posts/following/all".to_owned()),
        (&me, Method::GET, format!("/api/posts/{}/all", ada.id)),
        (&me, Method::GET, format!("/api/posts/{post}/likes")),
        (&me, Method::GET, format!("/api/follow/followers/{}", me.id)),
        (&ada, Method::GET, "/api/posts/all".to_owned()),
        (&ada, Method::GET, "/api/users/all".to_owned()),
        (&me, Method::GET, "/api/products".to_owned()),
    ] {
        api.call(who, method, &path).await.expect(200);
    }
    api.send(api.commenting(&ada, &post, "So soon").header("Idempotency-Key", name)).await.expect(201);
    let update = format!("/api/posts/update/{post}");
    api.call_json(&me, Method::PUT, &update, json!({ "text": "changed" })).await.expect(200);
    let view = api.view(&ada, &post).await;
    assert_eq!(
        (&view["content"], &view["commentCount"], &view["likedByMe"]),
        (&json!("changed"), &json!(1), &json!(true))
    );
    api.product(&ada, json!({ "sku": name, "description": "", "price": 1 })).await;
    api.call(&me, Method::DELETE, &format!("/api/posts/delete/{post}")).await.expect(200);
    api.change_role(&ada, &me, "ADD", "ADMIN").await.expect(200);
    api.call(&me, Method::POST, "/api/auth/logout").await.expect(200);
}

/// Returns one change of each other kind that migrations may make, some of them only with a reason.
fn changes(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Sqlite => &[
            "CREATE TABLE more_later (id INTEGER NOT NULL PRIMARY KEY, n INTEGER) STRICT;",
            "DROP INDEX likes_by_time; CREATE INDEX likes_by_time ON likes (post_id, created_at, id, user_id);",
            "CREATE TRIGGER later AFTER INSERT ON posts BEGIN INSERT INTO more_later (n) VALUES (1); END;",
            "UPDATE users SET added_later = 8;",
        ],
        Kind::Postgres => &[
            "CREATE TABLE more_later (id serial PRIMARY KEY, n integer);",
            "DROP INDEX likes_by_time; CREATE INDEX likes_by_time ON likes (post_id, created_at, id, user_id);",
            "CREATE FUNCTION later() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO more_later (n) VALUES (1); \
             RETURN NULL; END $$; CREATE TRIGGER later AFTER INSERT ON posts FOR EACH ROW EXECUTE FUNCTION later();",
            "UPDATE users SET added_later = 8;",
            "ALTER TABLE posts ALTER COLUMN image TYPE text COLLATE \"POSIX\";",
            "ALTER TABLE users ALTER COLUMN profile_picture TYPE text COLLATE \"POSIX\";",
            "ALTER TABLE users ALTER COLUMN biography SET DEFAULT 'none';",
            "ALTER TABLE comments ALTER COLUMN content DROP NOT NULL;",
            "ALTER TABLE products ALTER COLUMN category_key TYPE text COLLATE \"POSIX\";",
            "ALTER TABLE follows DROP CONSTRAINT follows_check;",
        ],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_service_keeps_working_while_the_next_release_migrates_the_database() {
    let home = Home::new();
    for (store, migrations) in stores(&home, "next") {
        for migration in &migrations {
            store.migrate(&migration.version(), &migration.sql);
            store.run(&fixture(migration));
        }
        let service = start(&home, &store);
        // Prepares statements on several connections.
        for n in 0..3 {
            use_normally(&service.api, &format!("before-{n}")).await;
        }
        // As a node of the next release would do at its start.
        let more = |table| {
            format!(
                "ALTER TABLE {table} ADD COLUMN added_later INTEGER NOT NULL DEFAULT 7;
                CREATE INDEX {table}_later ON {table} (added_later);"
            )
        };
        store.run(&store.columns().keys().map(more).collect::<String>());
        store.run("CREATE TABLE made_later (id INTEGER NOT NULL PRIMARY KEY);");
        let kinds = changes(store.kind);
        for (n, change) in kinds.iter().enumerate() {
            store.run(change);
            use_normally(&service.api, &format!("after-{n}")).await;
        }
        expect_fixtures_with_others(&service.api, 3 + kinds.len()).await;
        assert!(!service.log().contains("status=50"), "{}", service.log());
        service.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_newer_release_is_refused_and_not_changed() {
    const NEWER: &str = "99991231000000";
    let home = Home::new();
    for (store, _) in stores(&home, "newer") {
        let service = start(&home, &store);
        service.api.register("alice").await.expect(201);
        service.stop();
        store.run(&format!("INSERT INTO __diesel_schema_migrations (version) VALUES ('{NEWER}');"));
        let before = (store.rows(&store.columns()), store.versions());
        let file = home.path("never.tar");
        for arguments in [&[][..], &["backup", file.to_str().unwrap()], &["admin", "grant", "alice"]] {
            let mut command = home.agora(arguments);
            command.env("AGORA_DATABASE_URL", &store.url);
            run(command, "").expect_refusal(&[NEWER, "is newer than this program", "use the newer version of Agora"]);
        }
        assert!(!file.exists());
        assert_eq!((store.rows(&store.columns()), store.versions()), before);
        // The release that migrated it can still use it.
        store.run(&format!("DELETE FROM __diesel_schema_migrations WHERE version = '{NEWER}';"));
        let service = start(&home, &store);
        service.api.log_in("alice").await;
        service.stop();
    }
}

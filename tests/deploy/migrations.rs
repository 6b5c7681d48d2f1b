//! The rule for migrations: the statements of the previous release must still work, since nodes of both releases run at the same
//! time during an upgrade.
//!
//! Migrations may only add. Each statement that removes or narrows something needs a comment above it, which tells since which
//! release it is not needed any more: `-- contract: no release after 1.4 reads this column`.

use std::collections::BTreeSet;

use super::files::{below, read};

/// The name and the SQL of a migration.
#[derive(Debug, Clone)]
pub(crate) struct Migration {
    /// Such as `2026-11-21-000000_initial`.
    pub(crate) name: String,
    pub(crate) sql: String,
}

impl Migration {
    /// Returns the version that Diesel records in the database.
    pub(crate) fn version(&self) -> String {
        self.name.split('_').next().unwrap().replace('-', "")
    }
}

/// Returns the migrations of a database, in order.
pub(crate) fn migrations(database: &str) -> Vec<Migration> {
    let directory = format!("migrations/{database}");
    let files = below(&directory).into_iter().filter(|path| path.ends_with("/up.sql"));
    let name = |path: &str| path.split('/').nth(2).unwrap().to_owned();
    files.map(|path| Migration { name: name(&path), sql: read(&path) }).collect()
}

/// A statement in upper case, with single spaces, and whether a comment with `contract:` and a reason is above it.
struct Statement {
    text: String,
    is_marked: bool,
}

fn statements(sql: &str) -> Vec<Statement> {
    let (mut found, mut text, mut is_marked) = (Vec::new(), String::new(), false);
    for line in sql.lines() {
        let (code, comment) = line.split_once("--").unwrap_or((line, ""));
        is_marked |= comment.trim().strip_prefix("contract:").is_some_and(|reason| !reason.trim().is_empty());
        for part in code.split_inclusive(';') {
            text += part.trim_end_matches(';');
            text += " ";
            if part.ends_with(';') && !is_within_body(&text) {
                let spaced = text.replace('(', " ( ").replace(')', " ) ").replace(',', " , ").to_uppercase();
                let words: Vec<_> = spaced.split_whitespace().collect();
                // An unlogged table differs only in that a crash empties it.
                let statement = words.join(" ").replace("CREATE UNLOGGED TABLE ", "CREATE TABLE ");
                found.push(Statement { text: statement, is_marked });
                (text, is_marked) = (String::new(), false);
            }
        }
    }
    assert_eq!(text.trim(), "", "the last statement has no semicolon");
    found
}

/// Returns whether a semicolon is within the body of a trigger, which ends with `END`, or of a function, which ends with `$$`.
fn is_within_body(text: &str) -> bool {
    let words: Vec<_> = text.split_whitespace().collect();
    let is_of_trigger = words.first() == Some(&"CREATE") && words.get(1) == Some(&"TRIGGER");
    let is_open = is_of_trigger && words.contains(&"BEGIN") && words.last() != Some(&"END");
    is_open || !text.matches("$$").count().is_multiple_of(2)
}

/// Returns the name after these words, if a statement begins with them.
fn name_after<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(words)?.trim_start();
    let rest =
        ["IF NOT EXISTS ", "IF EXISTS ", "ONLY "].iter().fold(rest, |rest, it| rest.strip_prefix(it).unwrap_or(rest));
    rest.split(' ').next()
}

/// Splits a text at the commas outside parentheses.
fn clauses(text: &str) -> Vec<String> {
    let (mut clauses, mut depth) = (vec![String::new()], 0);
    for word in text.split(' ') {
        depth += i32::from(word == "(") - i32::from(word == ")");
        match clauses.last_mut() {
            Some(clause) if word != "," || depth > 0 => *clause += &format!("{word} "),
            _ => clauses.push(String::new()),
        }
    }
    clauses
}

/// Returns how a clause of `ALTER TABLE` breaks the previous release.
fn broken_by(clause: &str) -> Option<&'static str> {
    let has = |words: &str| format!(" {clause}").contains(&format!(" {words} "));
    let column = clause.strip_prefix("ADD ").map(|rest| rest.strip_prefix("COLUMN ").unwrap_or(rest));
    match column {
        _ if clause.starts_with("RENAME ") => Some("removes a name"),
        _ if clause.starts_with("DROP CONSTRAINT ") => None,
        // Storage parameters.
        _ if clause.starts_with("SET ( ") => None,
        _ if clause.starts_with("DROP ") => Some("removes a column"),
        _ if clause.starts_with("ALTER ") => {
            let narrows =
                [" SET NOT NULL ", " DROP DEFAULT ", " DROP IDENTITY ", " TYPE "].iter().any(|it| clause.contains(it));
            narrows.then_some("rejects values that were valid")
        }
        Some(added) => {
            let rule = ["CONSTRAINT ", "CHECK ", "UNIQUE ", "PRIMARY ", "FOREIGN ", "EXCLUDE "];
            if rule.iter().any(|it| added.starts_with(it)) || has("UNIQUE") || has("PRIMARY KEY") {
                Some("rejects values that were valid")
            } else {
                (has("NOT NULL") && !has("DEFAULT") && !has("GENERATED")).then_some("rejects rows without the column")
            }
        }
        None => Some("is unknown to this test"),
    }
}

/// Returns how the statements of a migration without a reason break the previous release.
fn violations(sql: &str) -> Vec<String> {
    let statements = statements(sql);
    let created: BTreeSet<_> = statements.iter().filter_map(|it| name_after(&it.text, "CREATE TABLE ")).collect();
    let breaks = |text: &str| -> Option<&'static str> {
        let is_new = |table: Option<&str>| table.is_some_and(|table| created.contains(table));
        let on = || text.split_once(" ON ").and_then(|(_, rest)| rest.split(' ').next());
        if let Some(table) = name_after(text, "ALTER TABLE ") {
            let (_, change) = text.split_once(&format!(" {table} ")).unwrap_or_default();
            return clauses(change).iter().find_map(|clause| broken_by(clause)).filter(|_| !created.contains(table));
        }
        match text {
            _ if text.starts_with("CREATE TABLE ") || text.starts_with("CREATE INDEX ") => None,
            // The previous release does not use new sequences.
            _ if text.starts_with("CREATE SEQUENCE ") || text.starts_with("SELECT SETVAL ") => None,
            // The previous release does not use new functions and virtual tables.
            _ if text.starts_with("CREATE FUNCTION ") || text.starts_with("CREATE VIRTUAL TABLE ") => None,
            // The statements of the previous release do not depend on an index.
            _ if text.starts_with("DROP INDEX ") => None,
            _ if text.starts_with("INSERT ") || text.starts_with("UPDATE ") => None,
            _ if text.starts_with("CREATE UNIQUE INDEX ") && is_new(on()) => None,
            _ if text.starts_with("CREATE UNIQUE INDEX ") => Some("rejects values that were valid"),
            _ if text.starts_with("DROP TABLE ") => Some("removes a table"),
            _ if text.starts_with("DELETE ") || text.starts_with("TRUNCATE ") => Some("removes rows"),
            _ => Some("is unknown to this test"),
        }
    };
    let unmarked = statements.iter().filter(|it| !it.is_marked);
    unmarked.filter_map(|it| breaks(&it.text).map(|how| format!("{how}: {}", it.text))).collect()
}

#[test]
fn migrations_do_not_break_the_previous_release() {
    for database in ["sqlite", "postgres"] {
        // There is no release before the first migration.
        for Migration { name, sql } in &migrations(database)[1..] {
            assert_eq!(violations(sql), [""; 0], "{name} for {database}; see docs/operations.md on upgrades");
        }
    }
}

#[test]
fn both_databases_have_the_same_migrations() {
    let versions = |database: &str| migrations(database).into_iter().map(|it| it.name).collect::<Vec<_>>();
    assert_eq!(versions("sqlite"), versions("postgres"));
    assert!(versions("sqlite").len() >= 3);
}

#[test]
fn statements_that_add_are_allowed() {
    for sql in [
        "CREATE TABLE a (id uuid NOT NULL PRIMARY KEY, b text NOT NULL); CREATE UNIQUE INDEX a_b ON a (b);",
        "CREATE UNLOGGED TABLE a (b bigint); CREATE UNIQUE INDEX a_b ON a (b) WHERE b IS NOT NULL;",
        "ALTER TABLE users ADD COLUMN a bigint NOT NULL DEFAULT 0 CHECK (a IN (0, 1));",
        "ALTER TABLE users ADD a text, ADD COLUMN b text;",
        "ALTER TABLE users ALTER COLUMN a SET DEFAULT 1; ALTER TABLE users ALTER a DROP NOT NULL;",
        "ALTER TABLE users DROP CONSTRAINT users_a;",
        "ALTER TABLE users SET (fillfactor = 90);",
        "DROP INDEX a; -- recreated\nCREATE INDEX a ON users (b) INCLUDE (c);",
        "UPDATE users SET a = 1 WHERE a IS NULL;",
        "CREATE FUNCTION a() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\n    DELETE FROM b;\n    RETURN NULL;\nEND $$;",
        "-- contract: it changes only new tables\nCREATE TRIGGER a AFTER INSERT ON b BEGIN\n    DELETE FROM c;\nEND;",
        "-- contract: nothing since 1.4 reads it\nALTER TABLE users DROP COLUMN a;",
        "CREATE TABLE a (id uuid); ALTER TABLE a ADD COLUMN b text NOT NULL; ALTER TABLE a RENAME TO c;",
    ] {
        assert_eq!(violations(sql), [""; 0], "{sql}");
    }
}

#[test]
fn each_statement_that_removes_needs_its_own_reason() {
    for sql in [
        "DROP TABLE users;",
        "drop table if exists users;",
        "ALTER TABLE users DROP COLUMN a;",
        "ALTER TABLE users DROP a;",
        "ALTER TABLE users ADD COLUMN b text, DROP COLUMN a;",
        "ALTER TABLE users RENAME COLUMN a TO b;",
        "ALTER TABLE users\n    RENAME TO people;",
        "ALTER TABLE users ADD COLUMN a text NOT NULL;",
        "ALTER TABLE users ADD COLUMN a text UNIQUE;",
        "ALTER TABLE users ADD CONSTRAINT a CHECK (b > 0);",
        "ALTER TABLE users ALTER COLUMN a SET NOT NULL;",
        "ALTER TABLE users ALTER COLUMN a DROP DEFAULT;",
        "ALTER TABLE users ALTER COLUMN a TYPE bigint;",
        "ALTER TABLE users SET SCHEMA other;",
        "CREATE UNIQUE INDEX a ON users (b);",
        "CREATE TRIGGER a AFTER INSERT ON users EXECUTE FUNCTION b();",
        "CREATE TRIGGER a AFTER INSERT ON users BEGIN\n    DELETE FROM b;\n    DELETE FROM c;\nEND;",
        "DELETE FROM users;",
        "-- contract:\nDROP TABLE users;",
        "-- a reason, but of what?\nDROP TABLE users;",
    ] {
        assert_eq!(violations(sql).len(), 1, "{sql}");
    }
    // A reason applies only to the next statement.
    let two = "-- contract: nothing reads it\nDROP TABLE a;\nDROP TABLE b;";
    assert_eq!(violations(two), ["removes a table: DROP TABLE B"]);
    // Another table being new is no reason.
    assert_eq!(violations("CREATE TABLE a (b text); ALTER TABLE c DROP COLUMN b;").len(), 1);
}

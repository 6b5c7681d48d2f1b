//! The rule for migrations: what the release before says to the database must still be understood, since nodes of both
//! serve it while one replaces the other.
//!
//! A migration may add. What it takes away or narrows must be marked, statement by statement, by a comment above it that
//! says since which release nothing needs it any more: `-- contract: no release after 1.4 reads this column`.

use std::collections::BTreeSet;

use super::files::{below, read};

/// A migration's name and text.
#[derive(Debug, Clone)]
pub(crate) struct Migration {
    /// Such as `2026-11-21-000000_initial`.
    pub(crate) name: String,
    pub(crate) sql: String,
}

impl Migration {
    /// The version that the database keeps of it.
    pub(crate) fn version(&self) -> String {
        self.name.split('_').next().unwrap().replace('-', "")
    }
}

/// The migrations of a database, in their order.
pub(crate) fn migrations(database: &str) -> Vec<Migration> {
    let directory = format!("migrations/{database}");
    let files = below(&directory).into_iter().filter(|path| path.ends_with("/up.sql"));
    let name = |path: &str| path.split('/').nth(2).unwrap().to_owned();
    files.map(|path| Migration { name: name(&path), sql: read(&path) }).collect()
}

/// A statement in upper case, a blank between its words, and whether a comment above it gives the reason to contract.
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
                // A table like others, save that a crash empties it.
                let statement = words.join(" ").replace("CREATE UNLOGGED TABLE ", "CREATE TABLE ");
                found.push(Statement { text: statement, is_marked });
                (text, is_marked) = (String::new(), false);
            }
        }
    }
    assert_eq!(text.trim(), "", "a statement without its end");
    found
}

/// Whether a statement goes on behind its semicolon: that of a trigger until `END`, of a function until its second `$$`.
fn is_within_body(text: &str) -> bool {
    let words: Vec<_> = text.split_whitespace().collect();
    let is_of_trigger = words.first() == Some(&"CREATE") && words.get(1) == Some(&"TRIGGER");
    let is_open = is_of_trigger && words.contains(&"BEGIN") && words.last() != Some(&"END");
    is_open || !text.matches("$$").count().is_multiple_of(2)
}

/// The name after some words, when a statement begins with them.
fn named<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(words)?.trim_start();
    let rest =
        ["IF NOT EXISTS ", "IF EXISTS ", "ONLY "].iter().fold(rest, |rest, it| rest.strip_prefix(it).unwrap_or(rest));
    rest.split(' ').next()
}

/// The parts between the commas that stand in no parentheses.
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

/// What a change of a table takes from those who know it as it was.
fn taken_by(clause: &str) -> Option<&'static str> {
    let has = |words: &str| format!(" {clause}").contains(&format!(" {words} "));
    let column = clause.strip_prefix("ADD ").map(|rest| rest.strip_prefix("COLUMN ").unwrap_or(rest));
    match column {
        _ if clause.starts_with("RENAME ") => Some("a name"),
        _ if clause.starts_with("DROP CONSTRAINT ") => None,
        // How its rows are stored.
        _ if clause.starts_with("SET ( ") => None,
        _ if clause.starts_with("DROP ") => Some("a column"),
        _ if clause.starts_with("ALTER ") => {
            let narrows =
                [" SET NOT NULL ", " DROP DEFAULT ", " DROP IDENTITY ", " TYPE "].iter().any(|it| clause.contains(it));
            narrows.then_some("values that were good")
        }
        Some(added) => {
            let rule = ["CONSTRAINT ", "CHECK ", "UNIQUE ", "PRIMARY ", "FOREIGN ", "EXCLUDE "];
            if rule.iter().any(|it| added.starts_with(it)) || has("UNIQUE") || has("PRIMARY KEY") {
                Some("values that were good")
            } else {
                (has("NOT NULL") && !has("DEFAULT") && !has("GENERATED")).then_some("rows without the column")
            }
        }
        None => Some("something that this test does not know"),
    }
}

/// What a migration takes from the release before, without a reason.
fn violations(sql: &str) -> Vec<String> {
    let statements = statements(sql);
    let made: BTreeSet<_> = statements.iter().filter_map(|it| named(&it.text, "CREATE TABLE ")).collect();
    let takes = |text: &str| -> Option<&'static str> {
        let is_new = |table: Option<&str>| table.is_some_and(|table| made.contains(table));
        let on = || text.split_once(" ON ").and_then(|(_, rest)| rest.split(' ').next());
        if let Some(table) = named(text, "ALTER TABLE ") {
            let (_, change) = text.split_once(&format!(" {table} ")).unwrap_or_default();
            return clauses(change).iter().find_map(|clause| taken_by(clause)).filter(|_| !made.contains(table));
        }
        match text {
            _ if text.starts_with("CREATE TABLE ") || text.starts_with("CREATE INDEX ") => None,
            // Nobody takes numbers from it before.
            _ if text.starts_with("CREATE SEQUENCE ") || text.starts_with("SELECT SETVAL ") => None,
            // Nobody calls the one or reads the other before.
            _ if text.starts_with("CREATE FUNCTION ") || text.starts_with("CREATE VIRTUAL TABLE ") => None,
            // Whatever holds by it is still held by those who do not know that it is gone.
            _ if text.starts_with("DROP INDEX ") => None,
            _ if text.starts_with("INSERT ") || text.starts_with("UPDATE ") => None,
            _ if text.starts_with("CREATE UNIQUE INDEX ") && is_new(on()) => None,
            _ if text.starts_with("CREATE UNIQUE INDEX ") => Some("values that were good"),
            _ if text.starts_with("DROP TABLE ") => Some("a table"),
            _ if text.starts_with("DELETE ") || text.starts_with("TRUNCATE ") => Some("rows"),
            _ => Some("something that this test does not know"),
        }
    };
    let unmarked = statements.iter().filter(|it| !it.is_marked);
    unmarked.filter_map(|it| takes(&it.text).map(|what| format!("takes {what}: {}", it.text))).collect()
}

#[test]
fn migrations_take_nothing_from_the_release_before() {
    for database in ["sqlite", "postgres"] {
        // Before the first there was nothing.
        for Migration { name, sql } in &migrations(database)[1..] {
            assert_eq!(violations(sql), [""; 0], "{name} for {database}; see docs/operations.md on upgrades");
        }
    }
}

#[test]
fn both_databases_have_the_same_versions() {
    let versions = |database: &str| migrations(database).into_iter().map(|it| it.name).collect::<Vec<_>>();
    assert_eq!(versions("sqlite"), versions("postgres"));
    assert!(versions("sqlite").len() >= 3);
}

#[test]
fn what_adds_is_allowed() {
    for sql in [
        "CREATE TABLE a (id uuid NOT NULL PRIMARY KEY, b text NOT NULL); CREATE UNIQUE INDEX a_b ON a (b);",
        "CREATE UNLOGGED TABLE a (b bigint); CREATE UNIQUE INDEX a_b ON a (b) WHERE b IS NOT NULL;",
        "ALTER TABLE users ADD COLUMN a bigint NOT NULL DEFAULT 0 CHECK (a IN (0, 1));",
        "ALTER TABLE users ADD a text, ADD COLUMN b text;",
        "ALTER TABLE users ALTER COLUMN a SET DEFAULT 1; ALTER TABLE users ALTER a DROP NOT NULL;",
        "ALTER TABLE users DROP CONSTRAINT users_a;",
        "ALTER TABLE users SET (fillfactor = 90);",
        "DROP INDEX a; -- made anew\nCREATE INDEX a ON users (b) INCLUDE (c);",
        "UPDATE users SET a = 1 WHERE a IS NULL;",
        "CREATE FUNCTION a() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\n    DELETE FROM b;\n    RETURN NULL;\nEND $$;",
        "-- contract: it changes what is new alone\nCREATE TRIGGER a AFTER INSERT ON b BEGIN\n    DELETE FROM c;\nEND;",
        "-- contract: nothing since 1.4 reads it\nALTER TABLE users DROP COLUMN a;",
        "CREATE TABLE a (id uuid); ALTER TABLE a ADD COLUMN b text NOT NULL; ALTER TABLE a RENAME TO c;",
    ] {
        assert_eq!(violations(sql), [""; 0], "{sql}");
    }
}

#[test]
fn what_takes_needs_a_reason_of_its_own() {
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
    // The reason is that of the next statement alone.
    let two = "-- contract: nothing reads it\nDROP TABLE a;\nDROP TABLE b;";
    assert_eq!(violations(two), ["takes a table: DROP TABLE B"]);
    // Nor is it of use that a table of another name is new.
    assert_eq!(violations("CREATE TABLE a (b text); ALTER TABLE c DROP COLUMN b;").len(), 1);
}

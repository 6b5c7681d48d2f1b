//! The databases, and the insertion of rows into them by SQL.

use crate::names::{Names, entities, id, id_beginning, replace_words, tags};
use crate::private_postgres;
use crate::process::Home;

/// The earliest time of stored rows, in Unix seconds: the beginning of 2026.
const BEGIN: i64 = 1_767_225_600;

/// A database of the service.
pub(crate) enum Store {
    /// A file in the data directory.
    Sqlite,
    /// A database of the private server.
    Postgres { name: String, url: String },
}

impl Store {
    /// Creates an empty database on the private server.
    pub(crate) fn postgres() -> Self {
        let (name, url) = private_postgres::fresh_database_by_name();
        Self::Postgres { name, url }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres { .. } => "PostgreSQL",
        }
    }

    /// Returns the environment variable that configures the program for this database, if it needs one.
    pub(crate) fn variable(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Sqlite => None,
            Self::Postgres { url, .. } => Some(("AGORA_DATABASE_URL", url)),
        }
    }

    /// Inserts rows in one transaction, without checks of foreign keys. The placeholders are those of [`Names`] and:
    ///
    /// - `{rows 3}`: a table `n` of the numbers 0 to 2
    /// - `{user n + 1}` and the like: the identifier of the row of a kind with this number
    /// - `{entities 3}`: the stored entities of the text `{tags 3}`
    /// - `{by 3}`: the word in the search index of a post by which it is found by its author, the user with this number
    /// - `{at n}`: this many milliseconds after [`BEGIN`]
    /// - `{now}`
    pub(crate) fn fill(&self, home: &Home, names: &Names, sql: &str) {
        let sql = replace_words(sql, |word| Some(self.sql(names, word)));
        match self {
            Self::Sqlite => home.backend.sql(&home.data_dir(), &format!("BEGIN; {sql} COMMIT; ANALYZE;")),
            Self::Postgres { name, .. } => {
                let mut session = private_postgres::shared().session(name);
                session.run("\\set ON_ERROR_STOP on\nSET session_replication_role = replica;");
                session.run(&format!("BEGIN;\n{sql}\nCOMMIT;\nVACUUM ANALYZE;"));
            }
        }
    }

    /// Terminates the connections, and with them the queries, of services that have ended.
    pub(crate) fn settle(&self) {
        if let Self::Postgres { name, .. } = self {
            let others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
            let mut session = private_postgres::shared().session(name);
            // The server warns of connections that end by themselves meanwhile.
            session.run(&format!("SET client_min_messages = error; SELECT pg_terminate_backend(pid, 10000) {others};"));
        }
    }

    fn sql(&self, names: &Names, word: &str) -> String {
        let is_sqlite = matches!(self, Self::Sqlite);
        match word.split_once(' ') {
            Some(("rows", count)) => {
                format!("WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < {count})")
            }
            Some(("at", millis)) if is_sqlite => format!("({BEGIN}000000 + ({millis}) * 1000)"),
            Some(("at", millis)) => format!("(to_timestamp({BEGIN}) + ({millis}) * interval '1 millisecond')"),
            Some(("by", user)) => {
                let author = id("user", user.parse().unwrap()).replace('-', "");
                format!("\r@{author}\r")
            }
            Some(("long", count)) => "\u{1}".repeat(count.parse().unwrap()),
            Some(("x", count)) => "x".repeat(count.parse().unwrap()),
            Some(("tags", count)) => tags(count.parse().unwrap()),
            Some(("entities", count)) => entities(count.parse().unwrap()),
            Some((kind, number)) if is_sqlite => {
                format!("unhex('{}' || printf('%012x', {number}))", id_beginning(kind).replace('-', ""))
            }
            Some((kind, number)) => format!("('{}' || lpad(to_hex({number}), 12, '0'))::uuid", id_beginning(kind)),
            None if word == "now" => if is_sqlite { "(unixepoch() * 1000000)" } else { "now()" }.to_owned(),
            None if is_sqlite => format!("X'{}'", names.0[word].replace('-', "")),
            None => format!("'{}'::uuid", names.0[word]),
        }
    }
}

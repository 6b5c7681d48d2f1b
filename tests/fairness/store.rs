//! The databases, and how rows are put into them beside the program.

use crate::names::{Names, entities, id, id_beginning, replace_words, tags};
use crate::private_postgres;
use crate::process::Home;

/// The first instant of anything that is stored: 2026 begins.
const BEGIN: i64 = 1_767_225_600;

/// What keeps the rows.
pub(crate) enum Store {
    /// A file in the data directory.
    Sqlite,
    /// A database of the private server.
    Postgres { name: String, url: String },
}

impl Store {
    /// A fresh database of the private server.
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

    /// The variable that leads the program to it, if it needs one.
    pub(crate) fn variable(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Sqlite => None,
            Self::Postgres { url, .. } => Some(("AGORA_DATABASE_URL", url)),
        }
    }

    /// Stores rows, all or none, without a look at what they refer to. The words are those of [`Names`] and:
    ///
    /// - `{rows 3}`: a table `n` of the numbers 0 to 2
    /// - `{user n + 1}` and the like: the identifier of the thing of a kind that has this number
    /// - `{entities 3}`: what a text of `{tags 3}` names, as it is stored
    /// - `{by 3}`: what says in the words of a post that the user of this number wrote it
    /// - `{at n}`: so many milliseconds after the beginning
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

    /// Ends what the server still does for a service that is gone.
    pub(crate) fn settle(&self) {
        if let Self::Postgres { name, .. } = self {
            let others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
            let mut session = private_postgres::shared().session(name);
            // One may end by itself meanwhile, which the server warns of.
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

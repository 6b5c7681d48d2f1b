//! A database that is created by SQL statements, as a release with an earlier schema would have left it.

#![allow(dead_code, reason = "each suite uses a part")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use diesel::connection::SimpleConnection;
use diesel::sql_types::Text;
use diesel::{Connection, QueryableByName, RunQueryDsl, SqliteConnection};
use serde_json::{Map, Value};

use crate::private_postgres;
use crate::process::Home;

/// The bcrypt hash of `correct horse` at the lowest cost.
const PASSWORD: &str = "$2b$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e";

/// The columns of each table.
pub(crate) type Columns = BTreeMap<String, Vec<String>>;
/// The rows of each table, as objects with the columns as fields.
pub(crate) type Rows = BTreeMap<String, Vec<Map<String, Value>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) kind: Kind,
    /// The URL with which a service is configured.
    pub(crate) url: String,
    /// The path of the SQLite file, or the name of the PostgreSQL database.
    place: String,
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

impl Store {
    /// Creates an empty PostgreSQL database, or names an SQLite file that does not exist yet.
    pub(crate) fn new(kind: Kind, home: &Home, name: &str) -> Self {
        let (place, url) = match kind {
            Kind::Sqlite => {
                let file: PathBuf = home.path(&format!("{name}.db"));
                (file.display().to_string(), format!("sqlite:{}", file.display()))
            }
            Kind::Postgres => private_postgres::fresh_database_by_name(),
        };
        Self { kind, url, place }
    }

    /// Copies the database, to which nothing may be connected.
    pub(crate) fn copy(&self, home: &Home, name: &str) -> Self {
        match self.kind {
            Kind::Sqlite => {
                let copy = Self::new(self.kind, home, name);
                fs::copy(&self.place, &copy.place).unwrap();
                copy
            }
            Kind::Postgres => {
                let (place, url) = private_postgres::copy_of(&self.place);
                Self { kind: self.kind, place, url }
            }
        }
    }

    /// Runs statements with placeholders for values that the databases spell differently: the identifier `{id 1}`, the instant
    /// `{time 1}`, in seconds after ten minutes ago, `{bytes 00ff}` and `{password}`. Of an SQL expression, `{key n}` is the
    /// identifier, and `{at n}` the instant in milliseconds after 1970.
    pub(crate) fn run(&self, sql: &str) {
        let sql = self.fill_in(sql);
        match self.kind {
            Kind::Sqlite => self.sqlite().batch_execute(&sql).unwrap(),
            Kind::Postgres => drop(private_postgres::shared().session(&self.place).run(&exit_on_error(&sql))),
        }
    }

    /// Applies the migration of a version, and records it as the program does.
    pub(crate) fn migrate(&self, version: &str, sql: &str) {
        self.run(&format!(
            "CREATE TABLE IF NOT EXISTS __diesel_schema_migrations (version VARCHAR(50) PRIMARY KEY NOT NULL, run_on \
             TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);\n{sql}\nINSERT INTO __diesel_schema_migrations (version) VALUES \
             ('{version}');"
        ));
    }

    /// Returns the versions of the recorded migrations.
    pub(crate) fn versions(&self) -> Vec<String> {
        self.lines("SELECT version AS line FROM __diesel_schema_migrations ORDER BY 1")
    }

    /// Returns the columns of all tables of the schema.
    pub(crate) fn columns(&self) -> Columns {
        let listed = match self.kind {
            Kind::Sqlite => {
                "SELECT m.name || '.' || c.name AS line FROM sqlite_schema m, pragma_table_info(m.name) c \
                 WHERE m.type = 'table' AND m.name NOT LIKE '\\_\\_%' ESCAPE '\\' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
                 AND m.name NOT LIKE 'product\\_search%' ESCAPE '\\' AND m.name <> 'product_ngrams'"
            }
            Kind::Postgres => {
                "SELECT table_name || '.' || column_name AS line FROM information_schema.columns \
                 WHERE table_schema = 'public' AND table_name NOT LIKE '\\_\\_%'"
            }
        };
        let mut columns = Columns::new();
        for line in self.lines(listed) {
            let (table, column) = line.split_once('.').unwrap();
            columns.entry(table.to_owned()).or_default().push(column.to_owned());
        }
        columns
    }

    /// Returns the rows of these tables, in an arbitrary order, without search indexes: the program fills these, and keeps in the
    /// column `indexed` whether it did.
    pub(crate) fn rows(&self, columns: &Columns) -> Rows {
        let mut rows = self.all_rows(columns);
        rows.retain(|table, _| !table.starts_with("search_"));
        rows
    }

    /// Like [`rows`](Self::rows), with the tables of the search indexes.
    pub(crate) fn all_rows(&self, columns: &Columns) -> Rows {
        let select = |(table, columns): (&String, &Vec<String>)| match self.kind {
            Kind::Sqlite => {
                let columns = columns.iter().filter(|it| *it != "indexed");
                let pairs: Vec<_> = columns.map(|it| format!("'{it}', quote(\"{it}\")")).collect();
                format!("SELECT '{table} ' || json_object({}) AS line FROM {table}", pairs.join(", "))
            }
            Kind::Postgres => {
                format!("SELECT '{table} ' || (to_jsonb({table}) - 'indexed')::text AS line FROM {table}")
            }
        };
        let selects: Vec<_> = columns.iter().map(select).collect();
        let mut lines = self.lines(&selects.join(" UNION ALL "));
        lines.sort();
        let mut rows: Rows = columns.keys().map(|table| (table.clone(), Vec::new())).collect();
        for line in lines {
            let (table, row) = line.split_once(' ').unwrap();
            rows.get_mut(table).unwrap().push(serde_json::from_str(row).unwrap());
        }
        rows
    }

    fn lines(&self, select: &str) -> Vec<String> {
        match self.kind {
            Kind::Sqlite => {
                let lines: Vec<Line> = diesel::sql_query(select).load(&mut self.sqlite()).unwrap();
                lines.into_iter().map(|it| it.line).collect()
            }
            Kind::Postgres => {
                let written =
                    private_postgres::shared().session(&self.place).run(&exit_on_error(&format!("{select};")));
                written.lines().map(str::to_owned).collect()
            }
        }
    }

    fn sqlite(&self) -> SqliteConnection {
        let mut conn = SqliteConnection::establish(&self.place).unwrap();
        conn.batch_execute("PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON;").unwrap();
        conn
    }

    /// Replaces the placeholders of [`run`](Self::run) by this database's syntax.
    fn fill_in(&self, sql: &str) -> String {
        let mut filled = sql.replace("{password}", PASSWORD);
        while let Some(begin) = filled.find('{') {
            let length = filled[begin..].find('}').unwrap();
            let (name, value) = filled[begin + 1..begin + length].split_once(' ').unwrap();
            let value = match (name, self.kind) {
                ("id", Kind::Sqlite) => format!("X'00000000000070008000{value:0>12}'"),
                ("id", Kind::Postgres) => format!("'00000000-0000-7000-8000-{value:0>12}'"),
                // Recent enough that no sweep deletes the row.
                ("time", Kind::Sqlite) => format!("((unixepoch() - 600 + {value}) * 1000000)"),
                ("time", Kind::Postgres) => {
                    format!("(date_trunc('second', now()) - interval '600 s' + interval '{value} s')")
                }
                ("key", Kind::Sqlite) => format!("unhex(printf('%032x', {value}))"),
                ("key", Kind::Postgres) => format!("lpad(to_hex({value}), 32, '0')::uuid"),
                ("at", Kind::Sqlite) => format!("(({value}) * 1000)"),
                ("at", Kind::Postgres) => format!("to_timestamp(({value}) / 1000.0)"),
                ("bytes", Kind::Sqlite) => format!("X'{value}'"),
                ("bytes", Kind::Postgres) => format!("'\\x{value}'"),
                _ => panic!("no placeholder: {name}"),
            };
            filled.replace_range(begin..=begin + length, &value);
        }
        filled
    }
}

/// Prefixes statements with settings that make psql exit at the first error, so that [`run`](Store::run) panics.
fn exit_on_error(sql: &str) -> String {
    format!("\\set ON_ERROR_STOP on\nSET client_min_messages = warning;\n{sql}")
}

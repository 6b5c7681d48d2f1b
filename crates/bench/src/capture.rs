//! Captures the statements that the service sends to PostgreSQL for a request, from the server's log.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::api::{Api, Request};
use crate::postgres::{LOG_PREFIX, Postgres};

/// A statement with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    /// The values of `$1`, `$2` and so on; `None` for NULL.
    pub(crate) parameters: Vec<Option<String>>,
}

/// A statement, and the session in which it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Logged {
    session: String,
    statement: Statement,
}

/// Returns the statements of each group of requests. Left out are those of authentication, since the service rarely sends them,
/// those of background tasks, and empty ones, which check whether a connection is alive.
pub(crate) fn capture(postgres: &Postgres, api: &Api, groups: &[Vec<Request>]) -> Result<Vec<Vec<Statement>>> {
    // Warms up caches and prepared statements: work done once per session, connection or author is no cost of a request.
    for request in groups.iter().flatten() {
        api.expect(request)?;
    }
    postgres.log_statements(true)?;
    let captured = capture_groups(postgres, api, groups);
    postgres.log_statements(false)?;
    captured
}

/// The longest interval of the service's background tasks, except for those that run once a minute.
const BACKGROUND_INTERVAL: Duration = Duration::from_secs(6);

fn capture_groups(postgres: &Postgres, api: &Api, groups: &[Vec<Request>]) -> Result<Vec<Vec<Statement>>> {
    let position = postgres.log_length()?;
    thread::sleep(BACKGROUND_INTERVAL);
    let background = parse(&postgres.log_since(position)?)?;
    let is_background = |sql: &str| sql.contains("FROM") && background.iter().any(|logged| logged.statement.sql == sql);
    let left_out = |sql: &str| sql.trim().is_empty() || of_authentication(sql) || is_background(sql);
    groups.iter().map(|group| Ok(without(capture_group(postgres, api, group)?, left_out))).collect()
}

fn capture_group(postgres: &Postgres, api: &Api, group: &[Request]) -> Result<Vec<Logged>> {
    let position = postgres.log_length()?;
    for request in group {
        api.expect(request)?;
    }
    if group.iter().any(|request| request.method != "GET") {
        // Work that a write defers is part of its cost.
        thread::sleep(Duration::from_millis(50));
    }
    parse(&postgres.log_since(position)?)
}

/// Returns the statements except those left out, and without BEGIN and COMMIT of transactions of which no other statement is
/// left. A transaction of a background task may begin in one group and end in the next.
fn without(logged: Vec<Logged>, left_out: impl Fn(&str) -> bool) -> Vec<Statement> {
    let mut kept: Vec<Option<Statement>> = Vec::with_capacity(logged.len());
    // By session: transactions of which no statement was kept so far, with the position of their BEGIN; and all other ones.
    let (mut begun, mut used): (HashMap<String, (usize, Statement)>, HashSet<String>) = Default::default();
    for Logged { session, statement } in logged {
        let place = kept.len();
        kept.push(None);
        match statement.sql.split_whitespace().next() {
            Some("BEGIN") => {
                begun.insert(session, (place, statement));
            }
            Some("COMMIT" | "ROLLBACK") => {
                begun.remove(&session);
                if used.remove(&session) {
                    kept[place] = Some(statement);
                }
            }
            _ if left_out(&statement.sql) => {}
            _ => {
                kept[place] = Some(statement);
                if let Some((place, begin)) = begun.remove(&session) {
                    kept[place] = Some(begin);
                    used.insert(session);
                }
            }
        }
    }
    kept.into_iter().flatten().collect()
}

fn of_authentication(sql: &str) -> bool {
    sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == "sessions")
}

/// Parses the statements in a part of the log.
fn parse(log: &str) -> Result<Vec<Logged>> {
    let mut statements: Vec<Logged> = Vec::new();
    let mut entries = log.split(LOG_PREFIX);
    entries.next();
    for entry in entries {
        // Continuation lines of an entry begin with a tab.
        let entry = entry.strip_suffix('\n').unwrap_or(entry).replace("\n\t", "\n");
        let (session, entry) = entry.split_once(' ').context("an entry without a session in the log")?;
        let mut push = |sql: &str| {
            let statement = Statement { sql: sql.to_owned(), parameters: Vec::new() };
            statements.push(Logged { session: session.to_owned(), statement });
        };
        if let Some(executed) = entry.strip_prefix("LOG:  execute ") {
            let (_, sql) = executed.split_once(": ").context("a statement without a name in the log")?;
            push(sql);
        } else if let Some(sql) = entry.strip_prefix("LOG:  statement: ") {
            push(sql);
        } else if let Some(detail) = entry.strip_prefix("DETAIL:  ")
            && let Some(values) = detail.strip_prefix("parameters: ").or_else(|| detail.strip_prefix("Parameters: "))
            && let Some(logged) = statements.last_mut()
        {
            logged.statement.parameters =
                parse_values(values).with_context(|| format!("parameters in the log: {values}"))?;
        }
    }
    Ok(statements)
}

/// Parses values such as `$1 = 'it''s', $2 = NULL`.
fn parse_values(mut text: &str) -> Option<Vec<Option<String>>> {
    let mut values = Vec::new();
    loop {
        text = text.strip_prefix('$')?.split_once(" = ")?.1;
        if let Some(rest) = text.strip_prefix("NULL") {
            values.push(None);
            text = rest;
        } else {
            let mut value = String::new();
            text = text.strip_prefix('\'')?;
            loop {
                let (piece, rest) = text.split_once('\'')?;
                value.push_str(piece);
                text = rest;
                let Some(rest) = text.strip_prefix('\'') else { break };
                value.push('\'');
                text = rest;
            }
            values.push(Some(value));
        }
        match text.strip_prefix(", ") {
            Some(rest) => text = rest,
            None => return text.is_empty().then_some(values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_parsed_with_their_parameters() {
        let log = "the rest of a line\n\
            @entry 71 LOG:  statement: BEGIN\n\
            @entry 71 LOG:  execute s12: SELECT *\n\tFROM \"posts\" WHERE id = $1 AND $2 IS NULL\n\
            @entry 71 DETAIL:  parameters: $1 = 'it''s, $2 = ''a''\n\tb', $2 = NULL\n\
            @entry 9 LOG:  checkpoint starting: time\n\
            @entry 71 LOG:  execute <unnamed>: COMMIT\n";
        let statement = |sql: &str, parameters: Vec<Option<String>>| Statement { sql: sql.to_owned(), parameters };
        let second = "SELECT *\nFROM \"posts\" WHERE id = $1 AND $2 IS NULL";
        let expected = [
            statement("BEGIN", vec![]),
            statement(second, vec![Some("it's, $2 = 'a'\nb".to_owned()), None]),
            statement("COMMIT", vec![]),
        ];
        let expected = expected.map(|statement| Logged { session: "71".to_owned(), statement });
        assert_eq!(parse(log).unwrap(), expected);
    }

    #[test]
    fn transactions_of_background_tasks_are_left_out_even_if_they_span_groups() {
        let left = |sent: &[(u32, &str)]| -> Vec<String> {
            let logged = |&(session, sql): &(u32, &str)| {
                let statement = Statement { sql: sql.to_owned(), parameters: Vec::new() };
                Logged { session: session.to_string(), statement }
            };
            let left = without(sent.iter().map(logged).collect(), |sql| sql.starts_with("by itself"));
            left.into_iter().map(|statement| statement.sql).collect()
        };
        let background = [(1, "BEGIN"), (1, "by itself"), (1, "COMMIT")];
        let write = [(2, "BEGIN READ WRITE"), (2, "by itself 2"), (2, "write"), (2, "COMMIT")];
        assert_eq!(left(&background), [""; 0]);
        assert_eq!(left(&[&background[1..], &[(2, "read")], &background[..1]].concat()), ["read"]);
        let within = [&write[..1], &background[..2], &write[1..3], &background[2..], &write[3..]].concat();
        assert_eq!(left(&within), ["BEGIN READ WRITE", "write", "COMMIT"]);
        assert_eq!(left(&[&write[..], &[(2, "BEGIN"), (2, "ROLLBACK"), (2, "read")]].concat()).len(), 4);
    }

    #[test]
    fn parameters_are_also_parsed_with_the_capital_letter_of_other_versions() {
        let log = "@entry 7 LOG:  execute s: SELECT $1\n@entry 7 DETAIL:  Parameters: $1 = '1'\n";
        assert_eq!(parse(log).unwrap()[0].statement.parameters, [Some("1".to_owned())]);
        assert!(parse("@entry 7 LOG:  execute s: SELECT $1\n@entry 7 DETAIL:  parameters: $1 = '1\n").is_err());
    }
}

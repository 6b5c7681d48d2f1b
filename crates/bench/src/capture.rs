//! What the service sends to PostgreSQL for a request, from the server's log.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::api::{Api, Request};
use crate::postgres::{LOG_PREFIX, Postgres};

/// A statement as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    /// The values of `$1`, `$2` and so on; none is NULL.
    pub(crate) parameters: Vec<Option<String>>,
}

/// Returns the statements of each group of requests. Those of authentication are left out, since the service seldom
/// sends them, those that it sends without any request, and empty ones, which ask whether a connection is still there.
pub(crate) fn capture(postgres: &Postgres, api: &Api, groups: &[Vec<Request>]) -> Result<Vec<Vec<Statement>>> {
    // What is done once for each session, connection or author is not what a request costs.
    for request in groups.iter().flatten() {
        api.expect(request)?;
    }
    postgres.log_statements(true)?;
    let captured = capture_groups(postgres, api, groups);
    postgres.log_statements(false)?;
    captured
}

/// How long the service takes at most to begin anew with what it does by itself.
const BACKGROUND_INTERVAL: Duration = Duration::from_secs(2);

fn capture_groups(postgres: &Postgres, api: &Api, groups: &[Vec<Request>]) -> Result<Vec<Vec<Statement>>> {
    let position = postgres.log_length()?;
    thread::sleep(BACKGROUND_INTERVAL);
    let background = parse(&postgres.log_since(position)?)?;
    let is_background = |sql: &str| sql.contains("FROM") && background.iter().any(|statement| statement.sql == sql);
    let capture = |group: &[Request]| -> Result<_> {
        let mut statements = capture_group(postgres, api, group)?;
        statements.retain(|statement| !is_background(&statement.sql));
        Ok(statements)
    };
    groups.iter().map(|group| capture(group)).collect()
}

fn capture_group(postgres: &Postgres, api: &Api, group: &[Request]) -> Result<Vec<Statement>> {
    let position = postgres.log_length()?;
    for request in group {
        api.expect(request)?;
    }
    if group.iter().any(|request| request.method != "GET") {
        // What a write leaves for later is part of it.
        thread::sleep(Duration::from_millis(50));
    }
    let mut statements = parse(&postgres.log_since(position)?)?;
    statements.retain(|statement| !statement.sql.trim().is_empty() && !of_authentication(&statement.sql));
    Ok(statements)
}

fn of_authentication(sql: &str) -> bool {
    sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == "sessions")
}

/// Returns the statements in a piece of the log.
fn parse(log: &str) -> Result<Vec<Statement>> {
    let mut statements: Vec<Statement> = Vec::new();
    let mut entries = log.split(LOG_PREFIX);
    entries.next();
    for entry in entries {
        // A tab begins a line that continues the entry.
        let entry = entry.strip_suffix('\n').unwrap_or(entry).replace("\n\t", "\n");
        if let Some(executed) = entry.strip_prefix("LOG:  execute ") {
            let (_, sql) = executed.split_once(": ").context("a statement without a name in the log")?;
            statements.push(Statement { sql: sql.to_owned(), parameters: Vec::new() });
        } else if let Some(sql) = entry.strip_prefix("LOG:  statement: ") {
            statements.push(Statement { sql: sql.to_owned(), parameters: Vec::new() });
        } else if let Some(told) = entry.strip_prefix("DETAIL:  ")
            && let Some(values) = told.strip_prefix("parameters: ").or_else(|| told.strip_prefix("Parameters: "))
            && let Some(statement) = statements.last_mut()
        {
            statement.parameters = parse_values(values).with_context(|| format!("parameters in the log: {values}"))?;
        }
    }
    Ok(statements)
}

/// Returns the values in `$1 = 'it''s', $2 = NULL`.
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
    fn statements_are_read_with_their_parameters() {
        let log = "the rest of a line\n\
            @entry LOG:  statement: BEGIN\n\
            @entry LOG:  execute s12: SELECT *\n\tFROM \"posts\" WHERE id = $1 AND $2 IS NULL\n\
            @entry DETAIL:  parameters: $1 = 'it''s, $2 = ''a''\n\tb', $2 = NULL\n\
            @entry LOG:  checkpoint starting: time\n\
            @entry LOG:  execute <unnamed>: COMMIT\n";
        let statement = |sql: &str, parameters: Vec<Option<String>>| Statement { sql: sql.to_owned(), parameters };
        let second = "SELECT *\nFROM \"posts\" WHERE id = $1 AND $2 IS NULL";
        let expected = [
            statement("BEGIN", vec![]),
            statement(second, vec![Some("it's, $2 = 'a'\nb".to_owned()), None]),
            statement("COMMIT", vec![]),
        ];
        assert_eq!(parse(log).unwrap(), expected);
    }

    #[test]
    fn other_versions_write_parameters_large() {
        let log = "@entry LOG:  execute s: SELECT $1\n@entry DETAIL:  Parameters: $1 = '1'\n";
        assert_eq!(parse(log).unwrap()[0].parameters, [Some("1".to_owned())]);
        assert!(parse("@entry LOG:  execute s: SELECT $1\n@entry DETAIL:  parameters: $1 = '1\n").is_err());
    }
}

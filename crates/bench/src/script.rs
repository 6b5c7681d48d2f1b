//! Generates scripts for pgbench from captured statements. A run of a script sends the statements of one captured request.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result, ensure};
use uuid::Uuid;

use crate::capture::Statement;

/// A script for pgbench.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) text: String,
    /// The number of captured requests that it represents.
    pub(crate) weight: usize,
    /// The names and values of variables for the values that are the same in all requests. They are sent as parameters, as the
    /// service does, since PostgreSQL could plan a statement with constants differently.
    pub(crate) variables: Vec<(String, String)>,
}

/// How a script chooses among the captured requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Each run chooses any of them.
    Any,
    /// The requests are grouped by this many users; each connection chooses among those of one user.
    OfOwnUser(usize),
}

/// An upper bound on the duration of a capture.
const CAPTURE_MILLIS: u64 = 60 * 60 * 1000;

/// Generates one script for each distinct sequence of statements.
///
/// Values that differ between requests become elements of a constant array. Ids that the service generated after `since`, in
/// milliseconds, are generated again by each run. All other values are sent unchanged. `types` returns the types of a statement's
/// parameters.
pub(crate) fn scripts(
    captured: &[Vec<Statement>],
    since: u64,
    choice: Choice,
    mut types: impl FnMut(&str) -> Result<Vec<String>>,
) -> Result<Vec<Script>> {
    let mut kinds: BTreeMap<Vec<&str>, Vec<&Vec<Statement>>> = BTreeMap::new();
    for statements in captured {
        let sequence = statements.iter().map(|statement| statement.sql.as_str()).collect();
        kinds.entry(sequence).or_default().push(statements);
    }
    let one = kinds.len() == 1;
    ensure!(one || choice == Choice::Any, "the statements of the users are not the same");
    let kinds = kinds.into_iter().enumerate();
    kinds
        .map(|(number, (sequence, requests))| script(number, &sequence, &requests, since, choice, &mut types))
        .collect()
}

fn script(
    number: usize,
    sequence: &[&str],
    requests: &[&Vec<Statement>],
    since: u64,
    choice: Choice,
    types: &mut impl FnMut(&str) -> Result<Vec<String>>,
) -> Result<Script> {
    ensure!(!sequence.is_empty(), "a request sent no statement");
    let mut variables: Vec<(String, String)> = Vec::new();
    let fresh: Vec<Vec<&str>> = requests.iter().map(|statements| fresh_ids(statements, since)).collect();
    let mut text = match choice {
        Choice::Any => format!("\\set n random(1, {})\n", requests.len()),
        Choice::OfOwnUser(users) => {
            let own = requests.len() / users;
            format!("\\set n (:client_id % {users}) * {own} + random(1, {own})\n")
        }
    };
    let ids = fresh.first().map_or(0, Vec::len);
    if ids > 0 {
        // The value of `k` persists for the lifetime of the connection.
        text.push_str("\\set k :k + 1\n");
    }
    for id in 0..ids {
        writeln!(text, "\\set id{id} (:k * {ids} + {id}) * 256 + :client_id")?;
    }
    for (place, sql) in sequence.iter().enumerate() {
        let count = requests.iter().filter_map(|request| request.get(place)).map(|it| it.parameters.len()).max();
        let types = if count > Some(0) { types(sql)? } else { Vec::new() };
        let mut values = Vec::new();
        for parameter in 0..count.unwrap_or_default() {
            let column: Vec<Option<&str>> = requests.iter().map(|request| value(request, place, parameter)).collect();
            let kind = types.get(parameter).with_context(|| format!("the type of ${} in {sql}", parameter + 1))?;
            values.push(match (made_anew(&column, &fresh), constant(&column)) {
                (Some(id), _) => format!("('f' || lpad(to_hex(:id{id}::bigint), 31, '0'))::{kind}"),
                // pgbench does not accept empty variables.
                (None, Some("")) => format!("''::{kind}"),
                (None, Some(value)) => {
                    let name = format!("s{number}_{}", variables.len());
                    let place = format!(":{name}::{kind}");
                    variables.push((name, value.to_owned()));
                    place
                }
                (None, None) => chosen(&column, kind),
            });
        }
        writeln!(text, "{};", fill(sql, &values)?)?;
    }
    Ok(Script { text, weight: requests.len(), variables })
}

fn value(statements: &[Statement], place: usize, parameter: usize) -> Option<&str> {
    statements.get(place)?.parameters.get(parameter)?.as_deref()
}

/// Returns the ids among the parameters that were generated during the capture, by the time in a UUIDv7, in order.
fn fresh_ids(statements: &[Statement], since: u64) -> Vec<&str> {
    let moment = u128::from(since)..u128::from(since + CAPTURE_MILLIS);
    let mut ids = Vec::new();
    for text in statements.iter().flat_map(|statement| &statement.parameters).flatten() {
        let fresh = |id: &Uuid| id.get_version_num() == 7 && moment.contains(&(id.as_u128() >> 80));
        if Uuid::parse_str(text).as_ref().is_ok_and(fresh) && !ids.contains(&text.as_str()) {
            ids.push(text);
        }
    }
    ids
}

/// Returns the index of a parameter among the fresh ids, if it is the same in every request.
fn made_anew(column: &[Option<&str>], fresh: &[Vec<&str>]) -> Option<usize> {
    let places = column.iter().zip(fresh).map(|(value, fresh)| {
        let value = (*value)?;
        fresh.iter().position(|id| *id == value)
    });
    let mut places = places.collect::<Option<Vec<_>>>()?;
    places.dedup();
    if places.len() == 1 { places.pop() } else { None }
}

/// Returns the value of a parameter if it is the same in all requests.
fn constant<'a>(column: &[Option<&'a str>]) -> Option<&'a str> {
    let first = column.first().copied().flatten()?;
    column.iter().all(|value| *value == Some(first)).then_some(first)
}

/// Returns an expression for the value of a parameter in the request with the number `:n`.
fn chosen(column: &[Option<&str>], kind: &str) -> String {
    let literals: Vec<String> = column.iter().map(|value| value.map_or("NULL".to_owned(), literal)).collect();
    if !kind.ends_with("[]") {
        return format!("(ARRAY[{}]::{kind}[])[:n::bigint]", literals.join(","));
    }
    // Not an array of arrays, which would have to be rectangular.
    let mut text = "CASE :n::bigint".to_owned();
    for (literal, n) in literals.iter().zip(1..) {
        let _ = write!(text, " WHEN {n} THEN {literal}::{kind}");
    }
    text + " END"
}

/// Returns a string literal of SQL in which pgbench finds no variable: colons are escaped.
fn literal(value: &str) -> String {
    let escaped = value.replace('\\', r"\\").replace('\'', r"\'").replace(':', r"\x3A").replace('\n', r"\n");
    format!("E'{escaped}'")
}

/// Replaces `$1`, `$2` and so on in a statement by values.
fn fill(sql: &str, values: &[String]) -> Result<String> {
    let mut text = String::new();
    let mut pieces = sql.split('$');
    text.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let digits = piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len());
        let (number, rest) = piece.split_at(digits);
        let number: usize = number.parse().with_context(|| format!("a dollar sign in {sql}"))?;
        let value = number.checked_sub(1).and_then(|number| values.get(number));
        text.push_str(value.with_context(|| format!("no value of ${number} in {sql}"))?);
        text.push_str(rest);
    }
    Ok(text)
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;

//! What makes up most of what a network does, each one statement, sent without diesel (see `pipeline`).
//!
//! `sqlite/hot/` has functions of the same names; what both must do is one contract (`port-contracts`).

pub(crate) mod comments;
mod feeds;
pub(crate) mod follows;
pub(crate) mod posts;

use agora_domain::Error;
use tokio_postgres::{Row, types::FromSql};

use super::records::{Fields, Parsed, Records};
use crate::error::{Failure, Outcome};

fn records<'a, T>(records: &Records<'a>, row: impl Fn(&mut Fields<'a>) -> Parsed<T>) -> Outcome<Vec<T>> {
    records.read(row).map_err(|error| Failure::Rule(Error::internal(error)))
}

/// Takes the columns of a row one after the other.
struct Columns<'a> {
    row: &'a Row,
    next: usize,
}

impl<'a> Columns<'a> {
    fn of(row: &'a Row) -> Self {
        Self { row, next: 0 }
    }

    fn take<T: FromSql<'a>>(&mut self) -> Outcome<T> {
        let column = self.next;
        self.next += 1;
        self.row.try_get(column).map_err(|error| Failure::Rule(Error::internal(error.to_string())))
    }
}

#[cfg(test)]
mod tests;

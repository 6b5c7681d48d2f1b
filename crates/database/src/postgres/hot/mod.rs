//! What makes up most of what a network does, each one statement, sent without diesel (see `pipeline`).
//!
//! `sqlite/hot/` has functions of the same names; what both must do is one contract (`port-contracts`).

/// Makes both texts of a list of one macro, which writes the text with a comparison and with what is added to a column
/// to order by it.
macro_rules! both_ways {
    ($text:ident, $types:expr) => {
        $crate::postgres::hot::BothWays {
            older: $crate::postgres::pipeline::PreparedSql { sql: $text!("<", " DESC"), types: $types },
            newer: $crate::postgres::pipeline::PreparedSql { sql: $text!(">", ""), types: $types },
        }
    };
}

pub(crate) mod comments;
mod feeds;
pub(crate) mod follows;
pub(crate) mod health;
pub(crate) mod posts;
pub(crate) mod sessions;

use agora_domain::Error;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::pipeline::PreparedSql;
use super::records::{Fields, Parsed, Records};
use crate::error::{Failure, Outcome};
use crate::rows::Toward;

/// The texts by which a list is read towards older entries and towards newer ones.
struct BothWays {
    older: PreparedSql,
    newer: PreparedSql,
}

impl BothWays {
    const fn toward(&self, toward: Toward) -> &PreparedSql {
        match toward {
            Toward::Older => &self.older,
            Toward::Newer => &self.newer,
        }
    }
}

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

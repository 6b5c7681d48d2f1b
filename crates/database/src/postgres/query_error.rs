//! Why a statement has no answer.

use agora_domain::Error;
use agora_domain::error::{Conflict, Resource};
use tokio_postgres::error::SqlState;

use crate::error::Failure;

/// Why a statement has no answer.
#[derive(Debug)]
pub(crate) enum QueryError {
    /// It was not sent, or not answered in time.
    NotAnswered(Error),
    /// Its connection was lost.
    ConnectionLost,
    /// The server refused it.
    Statement(tokio_postgres::Error),
}

impl QueryError {
    /// Returns a function that maps a violated foreign key to a missing resource, for statements whose key can only refer
    /// to that.
    pub(crate) fn missing(resource: Resource) -> impl Fn(Self) -> Failure {
        move |error| match error {
            Self::Statement(error) if error.code() == Some(&SqlState::FOREIGN_KEY_VIOLATION) => {
                Failure::Rule(Error::NotFound(resource))
            }
            error => Failure::from(error),
        }
    }
}

impl From<Error> for QueryError {
    fn from(error: Error) -> Self {
        Self::NotAnswered(error)
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        let error = match error {
            QueryError::NotAnswered(error) => error,
            QueryError::ConnectionLost => Error::unavailable("the connection to the database was lost"),
            QueryError::Statement(error) => match error.as_db_error() {
                // Class 23: a constraint.
                Some(violation) if violation.code().code().starts_with("23") => {
                    tracing::warn!(message = violation.message(), "unforeseen conflict");
                    Error::Conflict(Conflict::Unforeseen)
                }
                // A limit of time, a full disk: conditions that pass.
                Some(error) => Error::unavailable(error.message().to_owned()),
                None => Error::internal(error),
            },
        };
        Self::Rule(error)
    }
}

/// Returns whether PostgreSQL rolled the statement back to resolve a conflict with others.
pub(super) fn is_rolled_back(error: &tokio_postgres::Error) -> bool {
    let rolled_back = [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE];
    error.code().is_some_and(|code| rolled_back.contains(code))
}

/// Returns whether a prepared statement is of no use any more: its result would be another since the schema was changed, or
/// the server has forgotten it.
pub(super) fn is_outdated(error: &tokio_postgres::Error) -> bool {
    let outdated = [SqlState::FEATURE_NOT_SUPPORTED, SqlState::INVALID_SQL_STATEMENT_NAME];
    error.code().is_some_and(|code| outdated.contains(code))
}

/// Returns whether the server shuts down, or has not started up: what it says last before it ends a connection.
pub(super) fn is_shutdown(error: &tokio_postgres::Error) -> bool {
    let shutdowns = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    error.code().is_some_and(|code| shutdowns.contains(code))
}

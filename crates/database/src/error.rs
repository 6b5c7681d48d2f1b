//! Errors of the database, and their conversion to the domain's errors.

use std::path::PathBuf;

use agora_domain::Error;
use agora_domain::error::{Conflict, Resource};
use diesel::result::{DatabaseErrorInformation, DatabaseErrorKind, Error as DieselError};

/// Why a query function failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An error of the database.
    #[error(transparent)]
    Database(#[from] DieselError),
    /// An error of the domain, such as a violated rule.
    #[error(transparent)]
    Rule(#[from] Error),
}

pub(crate) type Outcome<T> = Result<T, Failure>;

/// The unique constraints whose violation is an expected conflict.
const CONFLICTS: [(&str, Conflict); 3] = [
    ("users_username_key", Conflict::Username),
    ("users_email_key", Conflict::Email),
    ("products_sku_key", Conflict::Sku),
];

impl Failure {
    /// Returns a conversion that maps a foreign key violation to a missing resource, for statements where the key can only refer
    /// to that.
    pub(crate) fn missing(resource: Resource) -> impl Fn(DieselError) -> Self {
        move |error| match error {
            DieselError::DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _) => {
                Self::Rule(Error::NotFound(resource))
            }
            error => Self::Database(error),
        }
    }

    /// Returns whether the transaction may continue after rolling back this step alone, because a rule or a constraint rejected
    /// it. After any other failure (a full disk, an I/O error) SQLite may have rolled back the whole transaction.
    pub(crate) fn is_contained(&self) -> bool {
        match self {
            Self::Rule(_) => true,
            Self::Database(DieselError::DatabaseError(kind, _)) => is_constraint(kind),
            Self::Database(error) => matches!(error, DieselError::NotFound | DieselError::DeserializationError(_)),
        }
    }

    /// Returns whether the connection was lost before the response arrived.
    pub(crate) fn is_of_lost_connection(&self) -> bool {
        matches!(self, Self::Database(DieselError::DatabaseError(DatabaseErrorKind::UnableToSendCommand, _)))
    }

    /// Returns whether the server accepts no writes, because it is a replica or has become one.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Self::Database(DieselError::DatabaseError(DatabaseErrorKind::ReadOnlyTransaction, _)))
    }

    /// Returns whether the server rejected the statement for a reason unknown to the driver, without a detail or a hint. The
    /// driver does not expose the SQLSTATE, and messages are in the server's language.
    pub(crate) fn is_unexplained(&self) -> bool {
        match self {
            Self::Database(DieselError::DatabaseError(DatabaseErrorKind::Unknown, info)) => {
                info.details().is_none() && info.hint().is_none()
            }
            _ => false,
        }
    }
}

/// Returns the error for an invalid stored value, which something other than this program has written.
pub(crate) fn corrupt(what: &str) -> Failure {
    Failure::Rule(Error::internal(format!("the database holds an invalid {what}")))
}

fn is_constraint(kind: &DatabaseErrorKind) -> bool {
    use DatabaseErrorKind::{CheckViolation, ForeignKeyViolation, NotNullViolation, UniqueViolation};
    matches!(kind, UniqueViolation | ForeignKeyViolation | CheckViolation | NotNullViolation)
}

/// Returns the conflict of a violated unique constraint. SQLite reports its columns ("... failed: users.email_key"), PostgreSQL
/// its name.
fn conflict(info: &dyn DatabaseErrorInformation) -> Conflict {
    let name = info.constraint_name().map(str::to_owned);
    let name = name.or_else(|| info.message().rsplit(' ').next().map(|column| column.replace('.', "_")));
    let known = CONFLICTS.iter().find(|(constraint, _)| name.as_deref() == Some(constraint));
    known.map_or(Conflict::Unforeseen, |(_, conflict)| *conflict)
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Rule(error) => error,
            Failure::Database(DieselError::DatabaseError(DatabaseErrorKind::UniqueViolation, info)) => {
                Self::Conflict(conflict(info.as_ref()))
            }
            Failure::Database(DieselError::DatabaseError(kind, info)) => {
                if is_constraint(&kind) {
                    tracing::warn!(?kind, cause = info.message(), "unexpected constraint violation");
                    Self::Conflict(Conflict::Unforeseen)
                } else {
                    // Transient conditions: a full disk, a lost connection, a lock held too long.
                    Self::unavailable(info.message())
                }
            }
            // The connection was lost at a moment that leaves the state of the transaction unknown.
            Failure::Database(
                error @ (DieselError::BrokenTransactionManager | DieselError::RollbackErrorOnCommit { .. }),
            ) => Self::unavailable(error),
            Failure::Database(error) => Self::internal(error),
        }
    }
}

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL has no known scheme.
    #[error("the database URL must look like sqlite:///var/lib/agora/agora.db or postgres://user@host/database")]
    Scheme,
    /// The database was created as another flavor.
    #[error("the database was created with the flavor {0}: set AGORA_DATABASE_FLAVOR={0}")]
    Flavor(&'static str),
    /// A replica was requested of a database that cannot have one.
    #[error("only a PostgreSQL database can have a replica")]
    NoReplica,
    /// The path of the file is not valid Unicode.
    #[error("the path of the database file is not valid Unicode: {}", .0.display())]
    Path(PathBuf),
    /// The file is missing and cannot be created, or may not be written.
    #[error("cannot write the database file {}", .0.display())]
    Create(PathBuf, #[source] std::io::Error),
    /// The file does not exist.
    #[error("the database {} does not exist", .0.display())]
    Missing(PathBuf),
    /// The database belongs to another application.
    #[error("this is not an Agora database")]
    Foreign,
    /// The schema is that of a newer version of this program.
    #[error("the schema {found} is newer than this program, which has {ours}: use the newer version of Agora")]
    Newer {
        /// The version of its schema.
        found: String,
        /// [`crate::schema_version`].
        ours: String,
    },
    /// The schema is that of an older version of this program, and the database is not to be changed.
    #[error(
        "the schema {found} is older than this program, which has {ours}: use the version that made it, or run \
         `agora migrate run` (pending migrations: {pending})"
    )]
    Older {
        /// The version of its schema.
        found: String,
        /// [`crate::schema_version`].
        ours: String,
        /// The number of migrations that are not applied.
        pending: usize,
    },
    /// The database is to be filled, but has rows, and the schema of an older version of this program.
    #[error("the database is not empty, and has the older schema {0}: use a new one")]
    Filled(String),
    /// Another process serves the SQLite database.
    #[error(
        "another process serves {}: stop it first. Only one service can use a SQLite database; several nodes need PostgreSQL",
        .0.display()
    )]
    Served(PathBuf),
    /// The file cannot be opened.
    #[error("cannot open the database file {}", .0.display())]
    Open(PathBuf, #[source] diesel::ConnectionError),
    /// The file was opened but cannot be used, for instance because it is not a database.
    #[error("cannot use the database file {}", .0.display())]
    Setup(PathBuf, #[source] diesel::result::Error),
    /// The file was opened, but its disk has no room for the files that SQLite keeps beside it. SQLite may report this only as a
    /// "disk I/O error".
    #[error("the disk of the database file {} is full", .0.display())]
    Full(PathBuf, #[source] diesel::result::Error),
    /// The schema could not be brought up to date.
    #[error("cannot migrate the database schema")]
    Migration(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The backup that is made before the schema is changed failed, so the schema was not changed. Holds the path of the backup.
    #[error("cannot save a copy of the database before migrating it, at {}", .0.display())]
    Save(PathBuf, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// The URL of a PostgreSQL database cannot be parsed.
    #[error("invalid PostgreSQL URL: {0}")]
    Url(&'static str),
    /// The URL of a PostgreSQL database has a parameter about TLS that would have no effect.
    #[error("the PostgreSQL URL has the unsupported TLS parameter {0}: use only sslmode and sslrootcert")]
    Parameter(String),
    /// The CA certificates cannot be read.
    #[error("cannot set up TLS for PostgreSQL")]
    Tls(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The server cannot be reached, or rejects the connection.
    #[error("cannot connect to the PostgreSQL server")]
    Connect(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The URL leads to a pooler that assigns a server connection for each transaction or statement only.
    #[error(
        "the database URL leads to a connection pooler in transaction or statement mode: prepared statements and locks need \
         session pooling (with PgBouncer, pool_mode = session)"
    )]
    Pooled,
    /// No thread could be started.
    #[error("cannot start a database thread")]
    Thread(#[source] std::io::Error),
}

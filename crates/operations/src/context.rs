//! Error messages for operators.

use agora_domain::{Error, Result};

/// Converts errors of the domain, whose messages are for clients, into errors for an operator, with their cause.
pub trait OperatorContext<T> {
    /// Returns the value, or an error that says that `what` failed and why.
    ///
    /// # Errors
    /// When the result is an error.
    fn operator_context(self, what: &str) -> anyhow::Result<T>;
}

impl<T> OperatorContext<T> for Result<T> {
    fn operator_context(self, what: &str) -> anyhow::Result<T> {
        self.map_err(|error| match error {
            Error::Unavailable(cause) | Error::Internal(cause) => anyhow::anyhow!(cause).context(what.to_owned()),
            Error::Conflict(_) => {
                anyhow::anyhow!("{what} already has such a row: something else writes to it, or the source is damaged")
            }
            error => anyhow::Error::new(error).context(what.to_owned()),
        })
    }
}

//! What went wrong, in an operator's words.

use agora_domain::{Error, Result};

/// What went wrong in an operator's words: those of the domain are for clients.
pub trait OperatorContext<T> {
    /// Returns the outcome, or what went wrong with `what`.
    ///
    /// # Errors
    /// Those of the outcome.
    fn operator_context(self, what: &str) -> anyhow::Result<T>;
}

impl<T> OperatorContext<T> for Result<T> {
    fn operator_context(self, what: &str) -> anyhow::Result<T> {
        self.map_err(|error| match error {
            Error::Unavailable(cause) | Error::Internal(cause) => anyhow::anyhow!(cause).context(what.to_owned()),
            Error::Conflict(_) => {
                anyhow::anyhow!("{what} has such a row already: it is written to, or the source is damaged")
            }
            error => anyhow::Error::new(error).context(what.to_owned()),
        })
    }
}

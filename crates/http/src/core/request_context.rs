//! The context of a request: its id and when it began, which the log shows.

use std::time::{Duration, Instant};

use actix_web::{HttpMessage, HttpRequest};
use agora_domain::Error;
use agora_domain::id::IdGenerator;
use tracing::Span;
use uuid::Uuid;
use uuid::fmt::Simple;

/// The id of a request, and since when it has been worked on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestContext {
    id: Uuid,
    begun: Instant,
}

impl RequestContext {
    /// Creates the context of a request whose head was just read.
    pub(crate) fn begin(ids: &dyn IdGenerator) -> Self {
        Self { id: ids.generate(), begun: Instant::now() }
    }

    /// Returns the context of a request.
    ///
    /// # Errors
    /// [`Error::Internal`] when it was not begun.
    pub(crate) fn of(request: &HttpRequest) -> Result<Self, Error> {
        request.extensions().get::<Self>().copied().ok_or_else(|| Error::internal("a request was not begun"))
    }

    /// Returns the id of the request.
    pub(crate) fn id(self) -> Simple {
        self.id.simple()
    }

    /// Returns how long the request has been worked on.
    pub(crate) fn time(self) -> Duration {
        self.begun.elapsed()
    }

    /// Returns the span of the work on the request: log lines within it carry the id and the route.
    pub(crate) fn span(self, route: &'static str) -> Span {
        tracing::error_span!("request", request_id = %self.id(), route)
    }
}

//! The context of a request: its id and when it began, which the log shows.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use actix_web::{HttpMessage, HttpRequest};
use agora_domain::Error;
use agora_domain::id::IdGenerator;
use tracing::Span;
use uuid::Uuid;
use uuid::fmt::Simple;

/// After this time a request gets a span.
const LONG: Duration = Duration::from_millis(10);

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

    /// Runs work on the request. Log lines within it carry the id and the route: at level `debug` all of them, otherwise
    /// those after the request has taken 10 ms, since a span for quick requests would take more than a hundredth of their
    /// time.
    pub(crate) async fn instrument<T>(self, route: &'static str, work: impl Future<Output = T>) -> T {
        let span = tracing::debug_span!("request", request_id = %self.id(), route);
        let span = (!span.is_disabled()).then_some(span);
        Instrumented { context: self, route, span, work: pin!(Some(work)) }.await
    }
}

/// Work on a request, which ends or is cancelled within its span.
struct Instrumented<'a, F> {
    context: RequestContext,
    route: &'static str,
    span: Option<Span>,
    work: Pin<&'a mut Option<F>>,
}

impl<F> Instrumented<'_, F> {
    fn open_span_if_slow(&mut self) {
        if self.span.is_none() && self.context.time() >= LONG {
            self.span = Some(tracing::error_span!("request", request_id = %self.context.id(), route = self.route));
        }
    }
}

impl<F: Future> Future for Instrumented<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        this.open_span_if_slow();
        let _entered = this.span.as_ref().map(Span::enter);
        this.work.as_mut().as_pin_mut().map_or(Poll::Pending, |work| work.poll(cx))
    }
}

impl<F> Drop for Instrumented<'_, F> {
    fn drop(&mut self) {
        self.open_span_if_slow();
        let _entered = self.span.as_ref().map(Span::enter);
        self.work.set(None);
    }
}

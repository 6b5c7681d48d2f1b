//! What the log knows a request by while it is worked on.

use std::{
    future::Future,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use actix_web::{HttpMessage, HttpRequest};
use agora_domain::id::IdGenerator;
use tracing::Span;
use uuid::{Uuid, fmt::Simple};

/// From which time on a request takes long.
const LONG: Duration = Duration::from_millis(10);

/// The id of a request, and since when it has been worked on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trail {
    id: Uuid,
    begun: Instant,
}

impl Trail {
    /// That of a request whose head was just read.
    pub(crate) fn begin(ids: &dyn IdGenerator) -> Self {
        Self { id: ids.generate(), begun: Instant::now() }
    }

    /// That of a request that is worked on.
    pub(crate) fn of(request: &HttpRequest) -> Option<Self> {
        request.extensions().get::<Self>().copied()
    }

    /// The id of the request.
    pub(crate) fn id(self) -> Simple {
        self.id.simple()
    }

    /// How long the request has been worked on.
    pub(crate) fn time(self) -> Duration {
        self.begun.elapsed()
    }

    /// Does work on the request. What is logged of it has the id and the route: where `debug` is asked for all of it,
    /// otherwise what comes once the request takes long. To keep that at hand for the quick ones as well would take more
    /// than a hundredth of their time.
    pub(crate) async fn follow<T>(self, route: &'static str, work: impl Future<Output = T>) -> T {
        let span = tracing::debug_span!("request", request_id = %self.id(), route);
        let span = (!span.is_disabled()).then_some(span);
        Followed { trail: self, route, span, work: pin!(Some(work)) }.await
    }
}

/// Work on a request. It ends, or is given up, within the span.
struct Followed<'a, F> {
    trail: Trail,
    route: &'static str,
    span: Option<Span>,
    work: Pin<&'a mut Option<F>>,
}

impl<F> Followed<'_, F> {
    fn look_at_the_time(&mut self) {
        if self.span.is_none() && self.trail.time() >= LONG {
            self.span = Some(tracing::error_span!("request", request_id = %self.trail.id(), route = self.route));
        }
    }
}

impl<F: Future> Future for Followed<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        this.look_at_the_time();
        let _entered = this.span.as_ref().map(Span::enter);
        this.work.as_mut().as_pin_mut().map_or(Poll::Pending, |work| work.poll(cx))
    }
}

impl<F> Drop for Followed<'_, F> {
    fn drop(&mut self) {
        self.look_at_the_time();
        let _entered = self.span.as_ref().map(Span::enter);
        self.work.set(None);
    }
}

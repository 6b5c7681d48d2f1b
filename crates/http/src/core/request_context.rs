//! The context of a request for the log: its id and its start time.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use actix_web::http::header::HeaderValue;
use actix_web::{HttpMessage, HttpRequest};
use agora_domain::Error;
use agora_domain::id::IdGenerator;
use tracing::Span;

/// The time after which a request counts as slow and gets a span.
const SLOW: Duration = Duration::from_millis(10);

/// The id of a request, generated here or by a trusted proxy.
#[derive(Clone, Copy)]
pub(crate) struct RequestId {
    text: [u8; Self::MAX],
    length: usize,
}

impl RequestId {
    /// The most bytes of an id.
    const MAX: usize = 64;

    /// Generates a new id.
    fn generate(ids: &dyn IdGenerator) -> Self {
        let mut text = [0; Self::MAX];
        let length = ids.generate().simple().encode_lower(&mut text).len();
        Self { text, length }
    }

    /// Parses an id that a proxy generated. Returns `None` if it is empty, too long, or has characters with a meaning in a log
    /// or a shell.
    pub(crate) fn parse(given: &HeaderValue) -> Option<Self> {
        let given = given.as_bytes();
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:=+/@".contains(byte);
        if given.is_empty() || !given.iter().all(is_plain) {
            return None;
        }
        let mut text = [0; Self::MAX];
        text.get_mut(..given.len())?.copy_from_slice(given);
        Some(Self { text, length: given.len() })
    }

    /// Returns the id as text.
    pub(crate) fn as_str(&self) -> &str {
        self.text.get(..self.length).and_then(|text| str::from_utf8(text).ok()).unwrap_or_default()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The id of a request and when its handling began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestContext {
    id: RequestId,
    begun: Instant,
}

impl RequestContext {
    /// Creates the context of a request whose head was just read, with the given id or a new one.
    pub(crate) fn begin(given: Option<RequestId>, ids: &dyn IdGenerator) -> Self {
        Self { id: given.unwrap_or_else(|| RequestId::generate(ids)), begun: Instant::now() }
    }

    /// Returns the context of a request from its extensions.
    ///
    /// # Errors
    /// [`Error::Internal`] if there is none.
    pub(crate) fn of(request: &HttpRequest) -> Result<Self, Error> {
        request.extensions().get::<Self>().copied().ok_or_else(|| Error::internal("the request has no context"))
    }

    /// Returns the id of the request.
    pub(crate) fn id(self) -> RequestId {
        self.id
    }

    /// Returns the time since the head of the request was read.
    pub(crate) fn elapsed(self) -> Duration {
        self.begun.elapsed()
    }

    /// Runs `work` on the request in a span, so that log lines within it carry the id and the route.
    ///
    /// At level `debug` the span is open from the start; otherwise only once the request has taken 10 ms, since a span would
    /// take more than a hundredth of the time of a quick request.
    pub(crate) async fn instrument<T>(self, route: &'static str, work: impl Future<Output = T>) -> T {
        let span = tracing::debug_span!("request", request_id = %self.id(), route);
        let span = (!span.is_disabled()).then_some(span);
        Instrumented { context: self, route, span, work: pin!(Some(work)) }.await
    }
}

/// A future of work on a request that is polled, and dropped, within its span.
struct Instrumented<'a, F> {
    context: RequestContext,
    route: &'static str,
    span: Option<Span>,
    work: Pin<&'a mut Option<F>>,
}

impl<F> Instrumented<'_, F> {
    fn open_span_if_slow(&mut self) {
        if self.span.is_none() && self.context.elapsed() >= SLOW {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_a_proxy_is_accepted_if_it_has_plain_characters_and_is_short() {
        let longest = "a".repeat(64);
        for given in ["7", "01a219c9ee2f73fb88cff4ac84b0a5fa", "1-67a2-C0FFEE=:/+@._", &longest] {
            let parsed = RequestId::parse(&HeaderValue::from_str(given).unwrap()).unwrap();
            assert_eq!(parsed.to_string(), given);
        }
        for given in ["", " ", "a b", "a\"b", "a$b", "ä", &"a".repeat(65)] {
            assert!(RequestId::parse(&HeaderValue::from_bytes(given.as_bytes()).unwrap()).is_none(), "{given:?}");
        }
    }
}

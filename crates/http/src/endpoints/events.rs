//! `/api/events…`: live updates as server-sent events.

use std::convert::Infallible;
use std::fmt;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::Poll;

use actix_web::http::{Method, header};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, body};
use agora_domain::FieldErrors;
use agora_domain::accounts::Member;
use agora_domain::error::FieldName;
use agora_domain::events::{Delivery, EndReason, Message, Outlet, PostChange, Resume, Subscription, Topics};
use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::{poll_fn, unfold};
use serde::Serialize;
use tokio::sync::mpsc;
use url::form_urlencoded;
use utoipa::ToSchema;

use crate::core::{ApiError, EventStream, State, schema};
use crate::request::{Auth, AuthenticatedUntil, StreamParameters, parameters};
use crate::response::{Events, HandlerResult, Instant, NotFound, SUCCESS, UNBUFFERED, answers, ok};
use crate::transport::Connection;

/// The maximum number of messages that may wait for a listener. One with more is disconnected as too slow. An empty queue takes
/// no memory.
const QUEUE_CAPACITY: usize = 1024;

/// The approximate size in bytes of a chunk that is handed to the connection.
const CHUNK_BYTES: usize = 16 * 1024;

/// After how many milliseconds a client should reconnect (contract: Live updates).
const RETRY_MILLIS: u32 = 3_000;

answers! {
    /// A ticket for one stream of events.
    TicketAnswer { TicketBody }
}

/// A ticket for one stream of events.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TicketBody {
    /// The ticket: send it once, as the query parameter `ticket` of `GET /api/events`.
    ticket: String,
    /// When it expires.
    #[schema(schema_with = schema::expires_at)]
    expires_at: Instant,
}

/// Create a ticket for a stream of events
///
/// For an `EventSource`, which cannot send `Authorization`. A ticket opens one stream, within 30 seconds. The stream ends when
/// the token of this request expires.
#[utoipa::path(get, path = "", operation_id = "createEventTicket", tag = "Live updates",
    responses((status = 200, description = "The ticket.", body = TicketAnswer)))]
pub(crate) async fn issue_ticket(
    state: Data<State>,
    caller: Auth<Member>,
    AuthenticatedUntil(authenticated): AuthenticatedUntil,
) -> HandlerResult {
    let issued = state.services.authentication.issue_ticket(&caller, authenticated.token_expires_at)?;
    let (ticket, expires_at) = issued;
    ok(SUCCESS, TicketBody { ticket, expires_at: Instant(expires_at) })
}

/// Stream live updates
///
/// A stream of server-sent events (`text/event-stream`), until the client disconnects or the service sends `end`. Events are
/// hints with ids: read what they name through the other endpoints. See the section on live updates.
#[utoipa::path(
    get,
    path = "",
    operation_id = "streamEvents",
    tag = "Live updates",
    params(StreamParameters),
    responses(Events, NotFound)
)]
pub(crate) async fn stream(
    state: Data<State>,
    caller: Auth<Member>,
    AuthenticatedUntil(authenticated): AuthenticatedUntil,
    request: HttpRequest,
) -> HandlerResult {
    let parameters = Parameters::of(&request)?;
    if request.method() == Method::HEAD {
        // Without a length, which nobody knows.
        return Ok(headers(HttpResponse::Ok()).body(body::None::new()));
    }
    let (sender, messages) = mpsc::channel(QUEUE_CAPACITY);
    let queue = Arc::new(Queue { sender: Mutex::new(Some(sender)), end: OnceLock::new() });
    let expires_at = authenticated.token_expires_at;
    let (live, Parameters { topics, resume }) = (&state.services.live, parameters);
    let subscription = live.open(*caller, expires_at, topics, resume, Arc::clone(&queue) as Arc<dyn Outlet>).await?;
    let connection = request.conn_data::<Rc<Connection>>().map(Rc::clone);
    if let Some(connection) = &connection {
        connection.begin_stream();
    }
    // Without this check, a client that has disconnected would be noticed only at the next write.
    let has_closed_input = move || connection.as_ref().is_some_and(|connection| connection.has_closed_input());
    let mut chunks = Box::pin(chunks(state, subscription, queue, messages));
    let chunks = poll_fn(move |cx| if has_closed_input() { Poll::Ready(None) } else { chunks.as_mut().poll_next(cx) });
    let mut response = headers(HttpResponse::Ok()).streaming(chunks);
    response.extensions_mut().insert(EventStream);
    Ok(response)
}

fn headers(mut response: HttpResponseBuilder) -> HttpResponseBuilder {
    response
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header(UNBUFFERED);
    response
}

/// The parameters of a request for a stream.
struct Parameters {
    topics: Topics,
    resume: Resume,
}

impl Parameters {
    fn of(request: &HttpRequest) -> Result<Self, ApiError> {
        let query_value = |name: &str| {
            let mut all = form_urlencoded::parse(request.query_string().as_bytes());
            all.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        let topics = Topics::parse(&query_value("topics").unwrap_or_default());
        let topics = topics.map_err(|violation| {
            let mut errors = FieldErrors::default();
            errors.add(FieldName::Topics, violation);
            ApiError::from(errors)
        })?;
        let last =
            request.headers().get(parameters::LAST_EVENT_ID).map(|value| value.to_str().unwrap_or("?").to_owned());
        let is_present = |last: &String| !last.is_empty();
        let last = last.filter(is_present).or_else(|| query_value("lastEventId")).filter(is_present);
        let resume = last.map_or(Resume::Now, |last| Resume::After(last.parse().ok()));
        Ok(Self { topics, resume })
    }
}

/// The queue of messages for a listener.
struct Queue {
    /// `None` once the stream is to end.
    sender: Mutex<Option<mpsc::Sender<Arc<Delivery>>>>,
    end: OnceLock<EndReason>,
}

impl Outlet for Queue {
    fn send(&self, delivery: Arc<Delivery>) -> bool {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        // A stream that has already ended is not reported as too slow.
        sender.as_ref().is_none_or(|sender| sender.try_send(delivery).is_ok())
    }

    fn end(&self, reason: EndReason) {
        let _ = self.end.set(reason);
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// The phase that a stream is in.
enum Phase {
    /// The reconnection time and the first position are sent next.
    Start,
    /// Missed events are read from the database.
    Replay,
    /// Events are taken from the queue.
    Live,
    Finished,
}

struct Listener {
    state: Data<State>,
    subscription: Subscription,
    queue: Arc<Queue>,
    messages: mpsc::Receiver<Arc<Delivery>>,
    phase: Phase,
}

/// Returns the body of a stream.
fn chunks(
    state: Data<State>,
    subscription: Subscription,
    queue: Arc<Queue>,
    messages: mpsc::Receiver<Arc<Delivery>>,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let listener = Listener { state, subscription, queue, messages, phase: Phase::Start };
    unfold(listener, async |mut listener| listener.next().await.map(|chunk| (Ok(chunk), listener)))
}

impl Listener {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.phase {
                Phase::Start => {
                    self.phase = Phase::Replay;
                    let begins_at = self.subscription.begins_at();
                    return Some(format!("retry: {RETRY_MILLIS}\nid: {begins_at}\n\n").into());
                }
                Phase::Replay => match self.replay().await {
                    Ok(Some(missed)) => return Some(render_all(missed.iter())),
                    Ok(None) => self.phase = Phase::Live,
                    Err(error) => {
                        // The stream is cut off without an `end`, and the client reconnects. An outage of the database is logged
                        // by the task that reads events.
                        tracing::debug!(cause = error.cause(), "could not resume a stream of events");
                        self.phase = Phase::Finished;
                    }
                },
                Phase::Live => match self.messages.recv().await {
                    Some(first) => return Some(self.drain_chunk(&first)),
                    None => {
                        self.phase = Phase::Finished;
                        let reason = self.queue.end.get()?.as_str();
                        return Some(format!("event: end\ndata: {{\"reason\":\"{reason}\"}}\n\n").into());
                    }
                },
                Phase::Finished => return None,
            }
        }
    }

    /// Returns some of the missed events. A permit limits how many streams read theirs at once, since after a restart all clients
    /// reconnect together.
    async fn replay(&mut self) -> agora_domain::Result<Option<Vec<Arc<Delivery>>>> {
        let _permit = self.state.replays.acquire().await.map_err(agora_domain::Error::unavailable)?;
        self.subscription.replay().await
    }

    /// Renders a message and those queued behind it, up to the size of a chunk.
    fn drain_chunk(&mut self, first: &Delivery) -> Bytes {
        let mut text = EventText::default();
        text.write(first);
        while text.0.len() < CHUNK_BYTES {
            let Ok(next) = self.messages.try_recv() else { break };
            text.write(&next);
        }
        text.0.into()
    }
}

fn render_all<'a>(deliveries: impl Iterator<Item = &'a Arc<Delivery>>) -> Bytes {
    let mut text = EventText::default();
    deliveries.for_each(|delivery| text.write(delivery));
    text.0.into()
}

/// Messages in the format `text/event-stream`.
#[derive(Default)]
struct EventText(String);

impl EventText {
    fn write(&mut self, delivery: &Delivery) {
        // Writing to a string never fails.
        let _ = self.try_write(delivery);
    }

    fn try_write(&mut self, Delivery { position, message }: &Delivery) -> fmt::Result {
        let text = &mut self.0;
        match message {
            Message::Heartbeat => text.push_str(":\n"),
            Message::Reset => text.push_str("event: reset\ndata: {}\n"),
            Message::Notification(id, kind, unread) => {
                let kind = kind.as_str();
                write!(
                    text,
                    "event: notification\ndata: {{\"id\":\"{id}\",\"type\":\"{kind}\",\"unread\":{unread}}}\n"
                )?;
            }
            Message::Feed(post, author) => {
                write!(text, "event: feed\ndata: {{\"postId\":\"{post}\",\"authorId\":\"{author}\"}}\n")?;
            }
            Message::Public(post, author) => {
                write!(text, "event: public\ndata: {{\"postId\":\"{post}\",\"authorId\":\"{author}\"}}\n")?;
            }
            Message::Comment(post, comment) => {
                write!(text, "event: comment\ndata: {{\"postId\":\"{post}\",\"commentId\":\"{comment}\"}}\n")?;
            }
            Message::Like(post, count) => {
                write!(text, "event: like\ndata: {{\"postId\":\"{post}\",\"likeCount\":{count}}}\n")?;
            }
            Message::Post(post, change) => {
                let change = match change {
                    PostChange::Updated => "updated",
                    PostChange::Deleted => "deleted",
                };
                write!(text, "event: post\ndata: {{\"postId\":\"{post}\",\"change\":\"{change}\"}}\n")?;
            }
        }
        write!(text, "id: {position}\n\n")
    }
}

//! `/api/events…`: what happens, told while it does, as server-sent events.

use std::convert::Infallible;
use std::fmt;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::Poll;

use actix_web::http::{ConnectionType, Method, Version, header};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
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
use crate::request::{Auth, StreamParameters, Until, parameters};
use crate::response::{Events, HandlerResult, Instant, NotFound, SUCCESS, answers, ok};
use crate::transport::Connection;

/// How many messages wait for a listener at most; one with more is too slow. They take no memory while there are none.
const QUEUE: usize = 1024;

/// How many bytes are handed to the connection at once, about.
const CHUNK: usize = 16 * 1024;

/// After how many milliseconds a client is to come back (contract: Live updates).
const RETRY_MILLIS: u32 = 3_000;

answers! {
    /// What opens one stream.
    TicketAnswer { TicketBody }
}

/// What opens one stream of events.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TicketBody {
    /// To be sent as `ticket` in the query of `GET /api/events`, once.
    ticket: String,
    /// Until when.
    #[schema(schema_with = schema::expires_at)]
    expires_at: Instant,
}

/// Get a ticket for a stream of events
///
/// For an `EventSource`, which sends no `Authorization`. A ticket opens one stream, within 30 seconds, for as long as the token
/// of this request is valid.
#[utoipa::path(get, path = "", operation_id = "createEventTicket", tag = "Live updates",
    responses((status = 200, description = "The ticket.", body = TicketAnswer)))]
pub(crate) async fn issue_ticket(
    state: Data<State>,
    caller: Auth<Member>,
    Until(authenticated): Until,
) -> HandlerResult {
    let issued = state.services.authentication.issue_ticket(&caller, authenticated.token_expires_at)?;
    let (ticket, expires_at) = issued;
    ok(SUCCESS, TicketBody { ticket, expires_at: Instant(expires_at) })
}

/// Listen to what happens
///
/// A stream of server-sent events (`text/event-stream`), until the client leaves or an `end` comes. Events are hints: they carry
/// ids, and what these name is read through the other endpoints. See the section on live updates.
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
    Until(authenticated): Until,
    request: HttpRequest,
) -> HandlerResult {
    let parameters = Parameters::of(&request)?;
    if request.method() == Method::HEAD {
        return Ok(headers(HttpResponse::Ok()).finish());
    }
    let (sender, messages) = mpsc::channel(QUEUE);
    let queue = Arc::new(Queue { sender: Mutex::new(Some(sender)), end: OnceLock::new() });
    let expires_at = authenticated.token_expires_at;
    let (live, Parameters { topics, resume }) = (&state.services.live, parameters);
    let subscription = live.open(*caller, expires_at, topics, resume, Arc::clone(&queue) as Arc<dyn Outlet>).await?;
    let connection = request.conn_data::<Rc<Connection>>().map(Rc::clone);
    if let Some(connection) = &connection {
        connection.begin_stream();
    }
    // A reader that has gone would otherwise count as one until something is written to it.
    let has_left = move || connection.as_ref().is_some_and(|connection| connection.has_left());
    let mut chunks = Box::pin(chunks(state, subscription, queue, messages));
    let chunks = poll_fn(move |cx| if has_left() { Poll::Ready(None) } else { chunks.as_mut().poll_next(cx) });
    let mut response = headers(HttpResponse::Ok()).streaming(chunks);
    if request.version() < Version::HTTP_11 {
        // Which knows no chunks: it ends with the connection.
        response.head_mut().no_chunking(true);
        response.head_mut().set_connection_type(ConnectionType::Close);
    }
    response.extensions_mut().insert(EventStream);
    Ok(response)
}

fn headers(mut response: HttpResponseBuilder) -> HttpResponseBuilder {
    response
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        // nginx would keep events back until it has a buffer full of them.
        .insert_header(("x-accel-buffering", "no"));
    response
}

/// What a request for a stream says.
struct Parameters {
    topics: Topics,
    resume: Resume,
}

impl Parameters {
    fn of(request: &HttpRequest) -> Result<Self, ApiError> {
        let given = |name: &str| {
            let mut all = form_urlencoded::parse(request.query_string().as_bytes());
            all.find(|(given, _)| given == name).map(|(_, value)| value.into_owned())
        };
        let topics = Topics::parse(&given("topics").unwrap_or_default());
        let topics = topics.map_err(|violation| {
            let mut errors = FieldErrors::default();
            errors.add(FieldName::Topics, violation);
            ApiError::from(errors)
        })?;
        let last =
            request.headers().get(parameters::LAST_EVENT_ID).map(|value| value.to_str().unwrap_or("?").to_owned());
        let is_given = |last: &String| !last.is_empty();
        let last = last.filter(is_given).or_else(|| given("lastEventId")).filter(is_given);
        let resume = last.map_or(Resume::Now, |last| Resume::After(last.parse().ok()));
        Ok(Self { topics, resume })
    }
}

/// What waits for a listener.
struct Queue {
    /// Nothing once the stream is to end.
    sender: Mutex<Option<mpsc::Sender<Arc<Delivery>>>>,
    end: OnceLock<EndReason>,
}

impl Outlet for Queue {
    fn send(&self, delivery: Arc<Delivery>) -> bool {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        // Of one that has ended there is nothing to say.
        sender.as_ref().is_none_or(|sender| sender.try_send(delivery).is_ok())
    }

    fn end(&self, reason: EndReason) {
        let _ = self.end.set(reason);
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// What comes next on a stream.
enum Phase {
    Beginning,
    Replay,
    Present,
    Over,
}

struct Listener {
    state: Data<State>,
    subscription: Subscription,
    queue: Arc<Queue>,
    messages: mpsc::Receiver<Arc<Delivery>>,
    phase: Phase,
}

/// Returns the bytes of a stream.
fn chunks(
    state: Data<State>,
    subscription: Subscription,
    queue: Arc<Queue>,
    messages: mpsc::Receiver<Arc<Delivery>>,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let listener = Listener { state, subscription, queue, messages, phase: Phase::Beginning };
    unfold(listener, async |mut listener| listener.next().await.map(|chunk| (Ok(chunk), listener)))
}

impl Listener {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.phase {
                Phase::Beginning => {
                    self.phase = Phase::Replay;
                    let begins_at = self.subscription.begins_at();
                    return Some(format!("retry: {RETRY_MILLIS}\nid: {begins_at}\n\n").into());
                }
                Phase::Replay => match self.replay().await {
                    Ok(Some(missed)) => return Some(written(missed.iter())),
                    Ok(None) => self.phase = Phase::Present,
                    Err(error) => {
                        // It is cut off, and the client comes back. That the database is away is logged by what reads events.
                        tracing::debug!(cause = error.cause(), "a stream of events could not be resumed");
                        self.phase = Phase::Over;
                    }
                },
                Phase::Present => match self.messages.recv().await {
                    Some(first) => return Some(self.with_more(&first)),
                    None => {
                        self.phase = Phase::Over;
                        let reason = self.queue.end.get()?.as_str();
                        return Some(format!("event: end\ndata: {{\"reason\":\"{reason}\"}}\n\n").into());
                    }
                },
                Phase::Over => return None,
            }
        }
    }

    /// Returns some of what was missed, when it is this stream's turn: after a restart, all clients come back together.
    async fn replay(&mut self) -> agora_domain::Result<Option<Vec<Arc<Delivery>>>> {
        let _turn = self.state.replays.acquire().await.map_err(agora_domain::Error::unavailable)?;
        self.subscription.replay().await
    }

    /// Returns a message and what waits behind it, no more than is handed on at once.
    fn with_more(&mut self, first: &Delivery) -> Bytes {
        let mut text = Text::default();
        text.write(first);
        while text.0.len() < CHUNK {
            let Ok(next) = self.messages.try_recv() else { break };
            text.write(&next);
        }
        text.0.into()
    }
}

fn written<'a>(deliveries: impl Iterator<Item = &'a Arc<Delivery>>) -> Bytes {
    let mut text = Text::default();
    deliveries.for_each(|delivery| text.write(delivery));
    text.0.into()
}

/// Messages in the format of `text/event-stream`.
#[derive(Default)]
struct Text(String);

impl Text {
    fn write(&mut self, delivery: &Delivery) {
        // Writing to a string does not fail.
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

//! Access for the benchmarks of this crate to parts that are otherwise private.

use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use actix_web::http::{Method, StatusCode};
use agora_domain::limits::ClientAddress;
use agora_domain::page::{Page, Position};
use agora_domain::posts::PostView;

use crate::core::{MacKeys, Services};
use crate::middleware::HttpMetrics;
use crate::request::{List, cursor};
use crate::response::list::{JsonList, MAX_BODY};
use crate::response::{Entry, PostBody, SUCCESS, empty_list};
use crate::settings::{Settings, Shared};

/// Returns the cursor of a position in a list of posts, or `None` for the start of the list.
pub fn encode_cursor(mac_keys: &MacKeys, position: Position) -> Option<String> {
    cursor::encode(mac_keys, List::Posts, position)
}

/// Returns the position that a cursor of a list of posts stands for, or `None` if the cursor is invalid.
pub fn decode_cursor(mac_keys: &MacKeys, cursor: &str) -> Option<Position> {
    cursor::decode(mac_keys, List::Posts, cursor)
}

/// Renders lists of posts.
pub struct Rendering(Shared);

impl Rendering {
    /// Creates the state of a service, which determines the URLs of images.
    ///
    /// # Errors
    /// If the service could not be started.
    pub fn new(services: Services, settings: Settings) -> io::Result<Self> {
        Shared::new(services, None, settings).map(Self)
    }

    /// Renders a page of a list. Returns whether it succeeded.
    pub fn posts(&self, page: &Page<PostView>) -> bool {
        let mut list = JsonList::new(false, MAX_BODY);
        let local = ClientAddress::of([127, 0, 0, 1].into());
        let render = |view: &PostView, entry: Entry<'_>| entry.write(&PostBody::with_author(view, &self.0.state));
        let memory = || self.0.capacity.answers.try_acquire(local, MAX_BODY);
        let is_open = list.open(&empty_list(SUCCESS)).is_ok();
        let whole = poll_until_ready(list.extend(page, render, memory));
        is_open && whole.is_ok_and(|(count, _)| count == page.items.len()) && !list.close().0.is_empty()
    }
}

/// Polls a future that yields but never waits for a wakeup, until it is ready.
fn poll_until_ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

/// Counts a request of this route, as the service does after each response if metrics are exported.
pub fn count(metrics: &HttpMetrics, route: &'static str) {
    metrics.requests.count(Some(route), &Method::GET, StatusCode::OK, Duration::from_micros(400));
}

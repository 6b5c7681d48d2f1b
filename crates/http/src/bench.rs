//! What the benchmarks of this crate call, of what is otherwise its own.

use std::{io, time::Duration};

use actix_web::http::{Method, StatusCode};
use agora_domain::{page::Position, posts::PostView};

use crate::{
    Seal, Services, Settings,
    cursor::{self, List},
    envelope::{SUCCESS, empty_list},
    list::JsonList,
    metrics::HttpMetrics,
    render::PostBody,
    state::State,
};

/// The cursor of a position in a list of posts; nothing for the beginning.
pub fn encode_cursor(seal: &Seal, position: Position) -> Option<String> {
    cursor::encode(seal, List::Posts, position)
}

/// The position of a cursor of a list of posts; nothing when it is none.
pub fn decode_cursor(seal: &Seal, cursor: &str) -> Option<Position> {
    cursor::decode(seal, List::Posts, cursor)
}

/// Renders lists of posts.
pub struct Rendering(State);

impl Rendering {
    /// With the addresses of images that these services and settings give.
    ///
    /// # Errors
    /// When the service could not be started.
    pub fn new(services: Services, settings: Settings) -> io::Result<Self> {
        State::new(services, settings).map(Self)
    }

    /// Renders a list; whether that worked.
    pub fn posts(&self, posts: &[PostView]) -> bool {
        let mut list = JsonList::new(false, usize::MAX);
        let is_open = list.open(&empty_list(SUCCESS)).is_ok();
        let mut push = |view| list.push(|entry| entry.write(&PostBody::with_author(view, &self.0)));
        is_open && posts.iter().all(|view| push(view).is_ok()) && !list.close().is_empty()
    }
}

/// Counts a request of this route, as after each answer where metrics are shown.
pub fn count(metrics: &HttpMetrics, route: &str) {
    metrics.requests.count(Some(route), &Method::GET, StatusCode::OK, Duration::from_micros(400));
}

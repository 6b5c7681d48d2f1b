//! Listeners to the event stream of a feed, which reconnect whenever the stream ends, and track the posts that they know of.

use std::collections::BTreeSet;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::client::{eventually, text};
use crate::clients::Shared;
use crate::sse::{EventStream, listening};

/// The pause before a listener reconnects.
const PAUSE: Duration = Duration::from_millis(200);

/// The posts that a listener knows of.
#[derive(Default)]
struct Known {
    /// The posts that were announced by events since the last time that the feed had to be read. None may be announced twice.
    announced: BTreeSet<String>,
    /// The posts that were announced before, or read from the feed then.
    before: BTreeSet<String>,
}

/// A listener to the feed of the reader, who follows every writer. It stops when it is dropped.
pub(crate) struct Listener {
    task: JoinHandle<()>,
    known: Arc<Mutex<Known>>,
}

impl Listener {
    /// Starts a listener at the endpoints of the client with this number.
    pub(crate) fn start(shared: Arc<Shared>, number: usize) -> Self {
        let known = Arc::<Mutex<Known>>::default();
        Self { task: tokio::spawn(listen(shared, number, Arc::clone(&known))), known }
    }

    /// Waits until the listener knows of all these posts.
    pub(crate) async fn knows(&self, posts: impl Iterator<Item = &String> + Clone) {
        eventually("a listener knows of every post", async || {
            assert!(!self.task.is_finished());
            let known = self.known.lock().unwrap();
            posts.clone().all(|post| known.announced.contains(post) || known.before.contains(post)).then_some(())
        })
        .await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(shared: Arc<Shared>, number: usize, known: Arc<Mutex<Known>>) {
    let entrances = shared.entrances(number);
    let mut last: Option<String> = None;
    for attempt in 0.. {
        let request = listening(&entrances[attempt % entrances.len()], &shared.reader, "feed", last.as_deref());
        if let Some(mut stream) = EventStream::try_of(request).await {
            if last.is_none() {
                read_feed(&shared, attempt, &known).await;
            }
            while let Ok(Some(event)) = stream.try_next().await {
                match &*event.name {
                    "feed" => {
                        let id = text(&event.data["postId"]);
                        assert!(known.lock().unwrap().announced.insert(id), "announced twice: {event:?}");
                    }
                    "reset" => read_feed(&shared, attempt, &known).await,
                    "end" => break,
                    other => panic!("{other} in a stream of the feed: {event:?}"),
                }
            }
            last = Some(stream.last_id().to_owned());
        }
        sleep(PAUSE).await;
    }
}

/// Reads the feed up to the known posts: events may have been missed that the stream cannot replay.
async fn read_feed(shared: &Shared, attempt: usize, known: &Mutex<Known>) {
    let before = {
        let mut known = known.lock().unwrap();
        let announced = mem::take(&mut known.announced);
        known.before.extend(announced);
        known.before.clone()
    };
    let read = shared.newest(attempt, |post| before.contains(post)).await;
    known.lock().unwrap().before.extend(read);
}

//! Who listens to what happens in a feed, comes back whenever the stream ends, and shows what it is told.

use std::collections::BTreeSet;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::client::{eventually, text};
use crate::clients::Shared;
use crate::sse::{EventStream, listening};

/// How long it waits until it comes back.
const PAUSE: Duration = Duration::from_millis(200);

/// The posts that a listener knows of.
#[derive(Default)]
struct Known {
    /// Those that it was told of since a stream could last not tell what was missed.
    told: BTreeSet<String>,
    /// Those that it was told of before, or has read then.
    before: BTreeSet<String>,
}

/// One that listens for whom follows every writer. It ends when it is dropped.
pub(crate) struct Listener {
    task: JoinHandle<()>,
    known: Arc<Mutex<Known>>,
}

impl Listener {
    /// Has one listen where a client of this number does.
    pub(crate) fn start(shared: Arc<Shared>, number: usize) -> Self {
        let known = Arc::<Mutex<Known>>::default();
        Self { task: tokio::spawn(listen(shared, number, Arc::clone(&known))), known }
    }

    /// Waits until it knows of all these posts.
    pub(crate) async fn knows(&self, posts: impl Iterator<Item = &String> + Clone) {
        eventually("a listener knows of every post", async || {
            assert!(!self.task.is_finished());
            let known = self.known.lock().unwrap();
            posts.clone().all(|post| known.told.contains(post) || known.before.contains(post)).then_some(())
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
                read_anew(&shared, attempt, &known).await;
            }
            while let Ok(Some(event)) = stream.try_next().await {
                match &*event.name {
                    "feed" => {
                        let id = text(&event.data["postId"]);
                        assert!(known.lock().unwrap().told.insert(id), "told twice: {event:?}");
                    }
                    "reset" => read_anew(&shared, attempt, &known).await,
                    "end" => break,
                    other => panic!("{other} in a stream of the feed: {event:?}"),
                }
            }
            last = Some(stream.last_id().to_owned());
        }
        sleep(PAUSE).await;
    }
}

async fn read_anew(shared: &Shared, attempt: usize, known: &Mutex<Known>) {
    let before = {
        let mut known = known.lock().unwrap();
        let told = mem::take(&mut known.told);
        known.before.extend(told);
        known.before.clone()
    };
    let read = shared.newest(attempt, |post| before.contains(post)).await;
    known.lock().unwrap().before.extend(read);
}

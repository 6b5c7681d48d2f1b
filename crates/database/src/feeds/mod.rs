//! The following feed, without a look at each followed author's posts.
//!
//! To find the newest posts of a thousand authors takes a thousand looks into an index. So the positions of the newest
//! posts of a viewer's feed are remembered once they were read. The database is asked each time what has changed
//! since, in a statement whose cost depends on neither the number of authors nor that of posts: which state the
//! viewer's follows and mutes are in, and which posts came in since anybody on this node last asked. So what one node remembers
//! is as good as what it would read, whatever other nodes write.
//!
//! What is remembered are candidates: of each the row is read, and shown when it is there, when its author is followed
//! and when the viewer may see it. Only a post that is missing among them would be a mistake. Posts that the viewer may
//! not see are no candidates, so that a page costs what is on it, whatever is hidden between; one that is shown later
//! comes in like a new one.

mod recent;
mod timeline;
mod window;

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use agora_domain::Result;
use agora_domain::page::Keyset;
use agora_domain::posts::{FeedRequest, Post, PostView};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use self::recent::Recent;
pub(crate) use self::recent::{NewPost, Snapshot};
pub(crate) use self::timeline::Loaded;
use self::timeline::{Part, Timeline};
use self::window::Window;
use crate::account_filters::DbViewer;
use crate::backend::Backend;
use crate::mutex::lock;
use crate::rows::{Slice, Toward, visibility_code};
use crate::run;
use crate::sql_types::DbId;
use crate::values::Visible;

/// How many bytes the feeds that are remembered take at most, about.
const CAPACITY: u64 = 16 * 1024 * 1024;

/// About how many feeds that is.
const FEEDS: usize = 8 * 1024;

/// In how many parts these are locked: in few, so that one feed may take much of a part.
const SHARDS: usize = 8;

/// How long a feed is remembered. What it holds is asked about each time; this bounds what it costs if that were ever
/// answered wrongly, as after a database was put back in time.
const MAX_AGE: Duration = Duration::from_secs(600);

/// How many posts may have come in since somebody last asked; beyond that, feeds are read anew.
pub(crate) const MAX_CHANGES: usize = 4096;

/// Whose feeds are remembered: those who follow no more than so many.
pub(crate) const MAX_FOLLOWED: usize = 20_000;

/// How many older positions are read at a time, at least.
const CHUNK: usize = 64;

/// How many positions are read at a time, at most.
const MAX_CANDIDATES: usize = 4096;

/// How often a page is tried whose feed changes meanwhile.
const ATTEMPTS: usize = 5;

/// What has changed since a snapshot.
pub(crate) struct Changes {
    /// Which state the viewer's follows and mutes are in; nothing when there is no such user.
    pub(crate) version: Option<i64>,
    /// The posts that came to be seen since, [`MAX_CHANGES`] at most.
    pub(crate) posts: Vec<NewPost>,
    /// By which snapshot they were read.
    pub(crate) now: Snapshot,
}

/// Which posts are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FeedQuery {
    pub(crate) viewer: DbViewer,
    pub(crate) visible: Visible,
    /// In which order, the first ones first.
    pub(crate) toward: Toward,
    /// How many.
    pub(crate) limit: usize,
}

/// Returns a number of rows as the value of a query.
pub(crate) fn limit(of: usize) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}

/// Returns the posts at these positions.
pub(crate) fn ids(keys: Vec<Keyset>) -> Vec<DbId> {
    keys.into_iter().map(|key| DbId(key.id)).collect()
}

type Remembered = Arc<Mutex<Timeline>>;

/// What the cache holds: its weight must stay what it was when it was put there.
#[derive(Clone)]
struct Weighed {
    timeline: Remembered,
    weight: u64,
}

#[derive(Clone)]
struct ByWeight;

impl Weighter<DbId, Weighed> for ByWeight {
    fn weight(&self, _: &DbId, weighed: &Weighed) -> u64 {
        weighed.weight
    }
}

/// What is remembered of feeds.
pub(crate) struct Feeds {
    /// Whether anything is: it takes numbers of transactions.
    is_on: bool,
    timelines: Cache<DbId, Weighed, ByWeight>,
    recent: RwLock<Recent>,
}

impl Default for Feeds {
    fn default() -> Self {
        let mut options = OptionsBuilder::new();
        options.estimated_items_capacity(FEEDS).weight_capacity(CAPACITY).shards(SHARDS);
        let timelines = match options.build() {
            Ok(options) => {
                Cache::with_options(options, ByWeight, DefaultHashBuilder::default(), DefaultLifecycle::default())
            }
            // Every option that it needs is given.
            Err(_) => Cache::with_weighter(FEEDS, CAPACITY, ByWeight),
        };
        Self { is_on: true, timelines, recent: RwLock::default() }
    }
}

impl Feeds {
    /// Remembers nothing: each page is made from a look at each followed author's posts.
    pub(crate) fn forgetful() -> Self {
        Self { is_on: false, ..Self::default() }
    }
}

/// What became of an attempt to make a page of what is remembered.
enum Attempt {
    Done(Vec<PostView>),
    /// What is remembered has changed, or is forgotten.
    Again,
    /// What is remembered is as of a moment since the request began: what came in after that need not be shown.
    Current,
    /// More of the candidates turned out not to be shown than expected.
    Short,
    /// It cannot be made of what is remembered.
    Uncacheable,
}

/// The part of a feed that a page is made of, and what was known when it was taken.
struct Taken {
    part: Part,
    version: i64,
    known: Snapshot,
    generation: u64,
}

impl Feeds {
    /// Returns the posts of a page of the viewer's feed as they are come upon from its position, and one more if there
    /// is one.
    pub(crate) async fn page(
        &self,
        backend: &Backend,
        viewer: DbViewer,
        visible: Visible,
        feed: FeedRequest,
    ) -> Result<Vec<PostView>> {
        let window = Window::of(feed);
        let wanted = FeedQuery { viewer, visible, toward: window.toward, limit: feed.page.overfetch() };
        // Some of the candidates are gone, or not for this viewer.
        let mut candidates = wanted.limit + wanted.limit / 4;
        let mut is_current = false;
        for _ in 0..if self.is_on { ATTEMPTS } else { 0 } {
            match self.attempt(backend, wanted, &window, candidates, is_current).await? {
                Attempt::Done(posts) => return Ok(posts),
                Attempt::Again => {}
                Attempt::Current => is_current = true,
                Attempt::Short => candidates *= 2,
                Attempt::Uncacheable => break,
            }
        }
        page_from_authors(backend, wanted, window, candidates).await
    }

    async fn attempt(
        &self,
        backend: &Backend,
        wanted: FeedQuery,
        window: &Window,
        candidates: usize,
        is_current: bool,
    ) -> Result<Attempt> {
        let epoch = backend.epoch();
        if self.recent().epoch < epoch {
            self.recent_mut().renew(epoch);
        }
        let viewer = wanted.viewer.id;
        let remembered = self.timelines.get(&viewer).map(|weighed| weighed.timeline);
        let remembered = match remembered.filter(|remembered| lock(remembered).is_of(wanted.visible, MAX_AGE)) {
            Some(remembered) => remembered,
            None => return self.load(backend, wanted, candidates).await,
        };
        let Some(Taken { part, version, known, generation }) = self.take(&remembered, window, candidates) else {
            return Ok(self.forget(viewer));
        };
        let keys = match part {
            Part::Enough(keys) => keys,
            Part::Beyond(end) => return self.extend(backend, wanted, &remembered, end, candidates.max(CHUNK)).await,
            Part::Elsewhere => return Ok(Attempt::Uncacheable),
        };
        let are_all = keys.len() < candidates;
        let (changes, posts) = {
            let (keys, since) = (keys.clone(), known.clone());
            run!(backend, list feeds::read_with_changes(wanted, keys, since))?
        };
        if changes.now.end < known.end || changes.posts.len() >= MAX_CHANGES {
            // Transactions are counted anew, in another database perhaps; or too much came in to follow.
            let mut recent = self.recent_mut();
            if recent.generation == generation {
                recent.start(Some(changes.now));
            }
            return Ok(Attempt::Again);
        }
        if changes.version != Some(version) {
            return Ok(self.forget(viewer));
        }
        let looked_at =
            keys.last().filter(|_| !are_all).map_or(*window, |last| Window { until: Some(*last), ..*window });
        let has_changed = {
            let timeline = lock(&remembered);
            changes.posts.iter().any(|post| timeline.is_missing(post, &keys, &looked_at))
        };
        if !changes.posts.is_empty() || changes.now != known {
            self.recent_mut().extend(generation, changes.posts, changes.now);
        }
        Ok(match posts {
            _ if backend.epoch() != epoch => Attempt::Again,
            _ if has_changed && !is_current => Attempt::Current,
            posts if posts.len() >= wanted.limit || are_all => Attempt::Done(posts),
            _ => Attempt::Short,
        })
    }

    /// Returns the positions of a window, with what came in up to now; nothing when that is not known any more.
    fn take(&self, remembered: &Remembered, window: &Window, candidates: usize) -> Option<Taken> {
        let recent = self.recent();
        let mut timeline = lock(remembered);
        if timeline.generation != recent.generation {
            return None;
        }
        let next = timeline.next;
        timeline.absorb(recent.since(next)?);
        timeline.next = recent.next();
        let part = timeline.part(window, candidates);
        Some(Taken { part, version: timeline.version, known: recent.known()?.clone(), generation: recent.generation })
    }

    async fn load(
        &self,
        backend: &Backend,
        FeedQuery { viewer: DbViewer { id: viewer, .. }, visible, .. }: FeedQuery,
        limit: usize,
    ) -> Result<Attempt> {
        // Before it is read: what comes in from here on may be missing in it.
        let (generation, next, was_known) = {
            let recent = self.recent();
            (recent.generation, recent.next(), recent.known().is_some())
        };
        let Some(loaded) = run!(backend, search feeds::load(viewer, visible, limit))? else {
            return Ok(Attempt::Uncacheable);
        };
        if !self.recent_mut().join(generation, was_known, &loaded.snapshot) {
            return Ok(Attempt::Again);
        }
        self.remember(viewer, &Arc::new(Mutex::new(Timeline::new(loaded, visible, limit, (generation, next)))));
        Ok(Attempt::Current)
    }

    async fn extend(
        &self,
        backend: &Backend,
        FeedQuery { viewer: DbViewer { id: viewer, .. }, visible, .. }: FeedQuery,
        remembered: &Remembered,
        end: Keyset,
        limit: usize,
    ) -> Result<Attempt> {
        let next = lock(remembered).next;
        let slice = Slice::new(Toward::Older, Some(end), limit);
        let older = run!(backend, search feeds::positions(viewer, visible, slice))?;
        let has_room = lock(remembered).extend(end, older, limit, next);
        self.remember(viewer, remembered);
        Ok(if has_room { Attempt::Again } else { Attempt::Uncacheable })
    }

    fn remember(&self, viewer: DbId, timeline: &Remembered) {
        let weight = lock(timeline).weight();
        self.timelines.insert(viewer, Weighed { timeline: Arc::clone(timeline), weight });
    }

    fn forget(&self, viewer: DbId) -> Attempt {
        self.timelines.remove(&viewer);
        Attempt::Again
    }

    /// Says that a post is stored, or shown to others than before, where every one that is so is said.
    pub(crate) fn announce(&self, post: &Post) {
        if !self.is_on {
            return;
        }
        let (author, visibility) = (DbId(post.author.uuid()), visibility_code(post.visibility));
        let key = Keyset { at: post.created_at, id: post.id.uuid() };
        self.recent_mut().add([NewPost { transaction: 0, author, key, visibility }]);
    }

    fn recent(&self) -> RwLockReadGuard<'_, Recent> {
        self.recent.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent_mut(&self) -> RwLockWriteGuard<'_, Recent> {
        self.recent.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a page from a look at each followed author's posts.
async fn page_from_authors(
    backend: &Backend,
    mut wanted: FeedQuery,
    mut window: Window,
    mut candidates: usize,
) -> Result<Vec<PostView>> {
    let (mut found, viewer) = (Vec::new(), wanted.viewer.id);
    loop {
        let slice = Slice::new(window.toward, window.after, candidates);
        let mut keys = run!(backend, search feeds::positions(viewer, wanted.visible, slice))?;
        keys.retain(|key| window.contains(*key));
        let are_all = keys.len() < candidates;
        window = keys.last().map_or(window, |last| Window { after: Some(*last), ..window });
        let posts = run!(backend, list feeds::read(wanted, keys))?;
        wanted.limit -= posts.len();
        found.extend(posts);
        if are_all || wanted.limit == 0 {
            return Ok(found);
        }
        // Most of them are not for this viewer: the next look goes further, and no list grows without end.
        candidates = (candidates * 2).min(MAX_CANDIDATES);
    }
}

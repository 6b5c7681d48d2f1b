//! A cache of following feeds, which avoids an index lookup for each followed author.
//!
//! Finding the newest posts of a thousand authors takes a thousand index lookups. So once the positions of the newest posts of a
//! viewer's feed are read, they are cached. Each request then asks the database what has changed since, in a statement whose cost
//! depends on neither the number of authors nor that of posts: the version of the viewer's follows and mutes, and the posts that
//! were added since any request on this node last asked. So the cache of a node is never stale, whatever other nodes write.
//!
//! The cached positions are candidates: the row of each is read, and shown if it exists, if its author is followed and if the
//! viewer may see it. Only a missing candidate would be an error. Posts that the viewer may not see are no candidates, so that
//! the cost of a page does not depend on hidden posts in between. A post that becomes visible later is added like a new one.

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

/// The approximate maximum size of all cached feeds, in bytes.
const CAPACITY_BYTES: u64 = 16 * 1024 * 1024;

/// The approximate number of feeds that fit.
const ESTIMATED_FEEDS: usize = 8 * 1024;

/// The number of shards of the cache. It is small, so that a single feed may take much of the capacity of a shard.
const SHARDS: usize = 8;

/// The maximum age of a cached feed. Changes are read on each request; this bounds the damage if that ever fails to report one,
/// as after the database is restored to an earlier state.
const MAX_AGE: Duration = Duration::from_secs(600);

/// The maximum number of posts added between two requests for changes. Beyond that, feeds are reloaded.
pub(crate) const MAX_CHANGES: usize = 4096;

/// The maximum number of accounts that a viewer may follow for their feed to be cached.
pub(crate) const MAX_FOLLOWED: usize = 20_000;

/// The minimum number of older positions to read at a time.
const MIN_POSITIONS_PER_READ: usize = 64;

/// The maximum number of positions to read at a time.
const MAX_POSITIONS_PER_READ: usize = 4096;

/// How often making a page from the cache is attempted while the feed keeps changing.
const MAX_ATTEMPTS: usize = 5;

/// The changes since a snapshot.
pub(crate) struct Changes {
    /// The version of the viewer's follows and mutes, or `None` if there is no such user.
    pub(crate) version: Option<i64>,
    /// The posts that became visible since then, [`MAX_CHANGES`] at most.
    pub(crate) posts: Vec<NewPost>,
    /// The snapshot in which they were read.
    pub(crate) now: Snapshot,
}

/// The posts to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FeedQuery {
    pub(crate) viewer: DbViewer,
    pub(crate) visible: Visible,
    /// The order of the posts.
    pub(crate) toward: Toward,
    /// The maximum number of posts.
    pub(crate) limit: usize,
}

/// Converts a number of rows to the value of a query.
pub(crate) fn limit(of: usize) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}

/// Returns the ids of the posts at these positions.
pub(crate) fn ids(keys: Vec<Keyset>) -> Vec<DbId> {
    keys.into_iter().map(|key| DbId(key.id)).collect()
}

type SharedTimeline = Arc<Mutex<Timeline>>;

/// An entry of the cache. Its weight must not change while it is in the cache, whereas the timeline may grow.
#[derive(Clone)]
struct CachedTimeline {
    timeline: SharedTimeline,
    weight: u64,
}

#[derive(Clone)]
struct ByWeight;

impl Weighter<DbId, CachedTimeline> for ByWeight {
    fn weight(&self, _: &DbId, cached: &CachedTimeline) -> u64 {
        cached.weight
    }
}

/// The cache of feeds.
pub(crate) struct FeedCache {
    /// Whether feeds are cached. They are not on a distributed engine, which has no transaction ids.
    is_enabled: bool,
    timelines: Cache<DbId, CachedTimeline, ByWeight>,
    recent: RwLock<Recent>,
}

impl Default for FeedCache {
    fn default() -> Self {
        let mut options = OptionsBuilder::new();
        options.estimated_items_capacity(ESTIMATED_FEEDS).weight_capacity(CAPACITY_BYTES).shards(SHARDS);
        let timelines = match options.build() {
            Ok(options) => {
                Cache::with_options(options, ByWeight, DefaultHashBuilder::default(), DefaultLifecycle::default())
            }
            // Not reached: every required option is set.
            Err(_) => Cache::with_weighter(ESTIMATED_FEEDS, CAPACITY_BYTES, ByWeight),
        };
        Self { is_enabled: true, timelines, recent: RwLock::default() }
    }
}

impl FeedCache {
    /// Creates a cache that caches nothing: each page takes an index lookup for each followed author.
    pub(crate) fn disabled() -> Self {
        Self { is_enabled: false, ..Self::default() }
    }
}

/// The result of an attempt to make a page from the cache.
enum Attempt {
    Done(Vec<PostView>),
    /// The cached feed has changed, or was evicted.
    Retry,
    /// This cached feed now includes all posts added before the request began; later ones need not be shown.
    UpToDate(SharedTimeline),
    /// Fewer of the candidates are visible than expected.
    TooFewVisible,
    /// The page cannot be made from the cache.
    Uncacheable,
}

/// The part of a feed from which a page is made, and the state of the cache when it was taken.
struct TakenPart {
    part: Part,
    version: i64,
    known: Snapshot,
    generation: u64,
}

impl FeedCache {
    /// Returns the posts of a page of the viewer's feed in reading direction from its position, and one more if there is one.
    pub(crate) async fn page(
        &self,
        backend: &Backend,
        viewer: DbViewer,
        visible: Visible,
        feed: FeedRequest,
    ) -> Result<Vec<PostView>> {
        let window = Window::of(feed);
        let wanted = FeedQuery { viewer, visible, toward: window.toward, limit: feed.page.overfetch() };
        // Some of the candidates may be deleted, or not visible to this viewer.
        let mut candidates = wanted.limit + wanted.limit / 4;
        let mut up_to_date = None;
        for _ in 0..if self.is_enabled { MAX_ATTEMPTS } else { 0 } {
            match self.attempt(backend, wanted, &window, candidates, up_to_date.as_ref()).await? {
                Attempt::Done(posts) => return Ok(posts),
                Attempt::Retry => {}
                Attempt::UpToDate(timeline) => up_to_date = Some(timeline),
                Attempt::TooFewVisible => candidates *= 2,
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
        up_to_date: Option<&SharedTimeline>,
    ) -> Result<Attempt> {
        let epoch = backend.epoch();
        if self.recent().epoch < epoch {
            self.recent_mut().restart_in_epoch(epoch);
        }
        let viewer = wanted.viewer.id;
        let cached = self.timelines.get(&viewer).map(|cached| cached.timeline);
        let cached = match cached.filter(|cached| lock(cached).is_of(wanted.visible, MAX_AGE)) {
            Some(cached) => cached,
            None => return self.load(backend, wanted, candidates).await,
        };
        let Some(TakenPart { part, version, known, generation }) = self.take_part(&cached, window, candidates) else {
            return Ok(self.evict(viewer));
        };
        let keys = match part {
            Part::Enough(keys) => keys,
            Part::Beyond(end) => {
                return self.extend(backend, wanted, &cached, end, candidates.max(MIN_POSITIONS_PER_READ)).await;
            }
            Part::Elsewhere => return Ok(Attempt::Uncacheable),
        };
        let are_all = keys.len() < candidates;
        let (changes, posts) = {
            let (keys, since) = (keys.clone(), known.clone());
            run!(backend, list feeds::read_with_changes(wanted, keys, since))?
        };
        if changes.now.end < known.end || changes.posts.len() >= MAX_CHANGES {
            // The transaction ids went back, perhaps in another database; or too many posts were added.
            let mut recent = self.recent_mut();
            if recent.generation == generation {
                recent.restart(Some(changes.now));
            }
            return Ok(Attempt::Retry);
        }
        if changes.version != Some(version) {
            return Ok(self.evict(viewer));
        }
        let covered = keys.last().filter(|_| !are_all).map_or(*window, |last| Window { until: Some(*last), ..*window });
        let has_changed = {
            let timeline = lock(&cached);
            changes.posts.iter().any(|post| timeline.is_missing(post, &keys, &covered))
        };
        if !changes.posts.is_empty() || changes.now != known {
            self.recent_mut().extend(generation, changes.posts, changes.now);
        }
        Ok(match posts {
            _ if backend.epoch() != epoch => Attempt::Retry,
            // A concurrent request may have replaced the feed by one that it began to read earlier.
            _ if has_changed && !up_to_date.is_some_and(|it| Arc::ptr_eq(it, &cached)) => Attempt::UpToDate(cached),
            posts if posts.len() >= wanted.limit || are_all => Attempt::Done(posts),
            _ => Attempt::TooFewVisible,
        })
    }

    /// Returns the positions of a window after adding the recent posts to the timeline; `None` if some of these were dropped or
    /// belong to another generation.
    fn take_part(&self, cached: &SharedTimeline, window: &Window, candidates: usize) -> Option<TakenPart> {
        let recent = self.recent();
        let mut timeline = lock(cached);
        if timeline.generation != recent.generation {
            return None;
        }
        let next = timeline.next;
        timeline.add(recent.since(next)?);
        timeline.next = recent.next();
        let part = timeline.part(window, candidates);
        Some(TakenPart {
            part,
            version: timeline.version,
            known: recent.known()?.clone(),
            generation: recent.generation,
        })
    }

    async fn load(
        &self,
        backend: &Backend,
        FeedQuery { viewer: DbViewer { id: viewer, .. }, visible, .. }: FeedQuery,
        limit: usize,
    ) -> Result<Attempt> {
        // Before the feed is read: posts that are added from here on may be missing in it.
        let (generation, next, was_known) = {
            let recent = self.recent();
            (recent.generation, recent.next(), recent.known().is_some())
        };
        let Some(loaded) = run!(backend, search feeds::load(viewer, visible, limit))? else {
            return Ok(Attempt::Uncacheable);
        };
        if !self.recent_mut().register_read(generation, was_known, &loaded.snapshot) {
            return Ok(Attempt::Retry);
        }
        let timeline = Arc::new(Mutex::new(Timeline::new(loaded, visible, limit, (generation, next))));
        self.insert(viewer, &timeline);
        Ok(Attempt::UpToDate(timeline))
    }

    async fn extend(
        &self,
        backend: &Backend,
        FeedQuery { viewer: DbViewer { id: viewer, .. }, visible, .. }: FeedQuery,
        cached: &SharedTimeline,
        end: Keyset,
        limit: usize,
    ) -> Result<Attempt> {
        let next = lock(cached).next;
        let slice = Slice::new(Toward::Older, Some(end), limit);
        let older = run!(backend, search feeds::positions(viewer, visible, slice))?;
        let has_room = lock(cached).extend(end, older, limit, next);
        self.insert(viewer, cached);
        Ok(if has_room { Attempt::Retry } else { Attempt::Uncacheable })
    }

    fn insert(&self, viewer: DbId, timeline: &SharedTimeline) {
        let weight = lock(timeline).weight();
        self.timelines.insert(viewer, CachedTimeline { timeline: Arc::clone(timeline), weight });
    }

    fn evict(&self, viewer: DbId) -> Attempt {
        self.timelines.remove(&viewer);
        Attempt::Retry
    }

    /// Reports that a post was stored, or became visible to more people. Called on SQLite only, for each such post.
    pub(crate) fn announce(&self, post: &Post) {
        if !self.is_enabled {
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

/// Makes a page without the cache, by an index lookup for each followed author.
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
        // Most of them are not visible to this viewer: the next read takes more, up to a limit.
        candidates = (candidates * 2).min(MAX_POSITIONS_PER_READ);
    }
}

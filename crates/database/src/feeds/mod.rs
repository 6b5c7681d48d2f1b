//! The following feed, without a look at each followed author's posts.
//!
//! To find the newest posts of a thousand authors takes a thousand looks into an index. So the positions of the newest
//! posts of a viewer's feed are remembered once they were read. The database is asked each time what has changed
//! since, in a statement whose cost depends on neither the number of authors nor that of posts: which state the
//! viewer's follows are in, and which posts came in since anybody on this node last asked. So what one node remembers
//! is as good as what it would read, whatever other nodes write.
//!
//! What is remembered are candidates: of each the row is read, and shown when it is there, when its author is followed
//! and when the viewer may see it. Only a post that is missing among them would be a mistake.

mod recent;
mod timeline;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use agora_domain::page::{Keyset, PageRequest};
use quick_cache::{Weighter, sync::Cache};

use self::{recent::Recent, timeline::Part};
pub(crate) use self::{
    recent::{Mark, NewPost},
    timeline::{Loaded, Timeline},
};
use crate::{
    error::Outcome,
    rows::{AuthorRow, Slice},
    sql_types::DbId,
    values::{Seen, Visible},
};

/// How many bytes the feeds that are remembered take at most, about.
const CAPACITY: u64 = 16 * 1024 * 1024;

/// About how many feeds that is.
const FEEDS: usize = 8 * 1024;

/// How long a feed is remembered. What it holds is asked about each time; this bounds what it costs if that were ever
/// answered wrongly, as after a database was put back in time.
const MAX_AGE: Duration = Duration::from_secs(600);

/// How many posts may have come in since somebody last asked; beyond that, feeds are read anew.
pub(crate) const MAX_CHANGES: usize = 4096;

/// Whose feeds are remembered: those who follow no more than so many.
pub(crate) const MAX_FOLLOWED: usize = 20_000;

/// How many older positions are read at a time, at least.
const CHUNK: usize = 64;

/// How often a page is tried whose feed changes meanwhile.
const ATTEMPTS: usize = 4;

/// What has changed since a mark.
pub(crate) struct Changes {
    /// Which state the viewer's follows are in; nothing when there is no such user.
    pub(crate) version: Option<i64>,
    /// The posts from the mark on, [`MAX_CHANGES`] at most.
    pub(crate) posts: Vec<NewPost>,
    /// Up to where these are all.
    pub(crate) to: Mark,
}

/// What a feed is read from.
pub(crate) trait Source {
    /// Changes whenever there may be another database in the place of the one that was there: an older state of it, for
    /// instance, or a replica that had not received everything.
    fn epoch(&self) -> u64;

    /// Reads the newest positions of the viewer's feed, so many; nothing when the feed cannot be remembered.
    async fn load(&self, viewer: DbId, limit: usize) -> Outcome<Option<Loaded>>;

    /// Reads the positions of the viewer's feed from one on, so many.
    async fn older(&self, viewer: DbId, slice: Slice) -> Outcome<Vec<Keyset>>;

    /// Reads the posts at these positions that are there, whose author the viewer follows and that have one of the
    /// visibilities, newest first, so many; and before, or at the same moment, what has changed since a mark.
    async fn read(
        &self,
        viewer: DbId,
        visible: Visible,
        keys: Vec<Keyset>,
        limit: usize,
        since: Mark,
    ) -> Outcome<(Changes, Vec<Seen<AuthorRow>>)>;
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is remembered of feeds.
pub(crate) struct Feeds {
    timelines: Cache<DbId, Weighed, ByWeight>,
    recent: RwLock<Recent>,
    epoch: AtomicU64,
}

impl Default for Feeds {
    fn default() -> Self {
        Self {
            timelines: Cache::with_weighter(FEEDS, CAPACITY, ByWeight),
            recent: RwLock::default(),
            epoch: AtomicU64::default(),
        }
    }
}

/// What became of an attempt to make a page of what is remembered.
enum Attempt {
    Done(Vec<Seen<AuthorRow>>),
    /// What is remembered has changed.
    Again,
    /// More of the candidates turned out not to be shown than expected.
    Short,
    /// It cannot be made of what is remembered.
    Not,
}

/// A page that is asked for.
#[derive(Clone, Copy)]
struct Wanted {
    viewer: DbId,
    visible: Visible,
    after: Option<Keyset>,
    /// How many posts.
    posts: usize,
    /// How many candidates: some of them are gone, or not for this viewer.
    candidates: usize,
}

impl Feeds {
    /// A page of the viewer's feed, and one post more if there is one.
    pub(crate) async fn page(
        &self,
        source: &impl Source,
        viewer: DbId,
        visible: Visible,
        page: PageRequest,
    ) -> Outcome<Vec<Seen<AuthorRow>>> {
        let epoch = source.epoch();
        if self.epoch.swap(epoch, Ordering::AcqRel) != epoch {
            self.timelines.clear();
            self.recent_mut().start(Mark::default());
        }
        let posts = page.overfetch();
        let mut wanted = Wanted { viewer, visible, after: page.after, posts, candidates: posts + posts / 4 };
        for _ in 0..ATTEMPTS {
            match self.attempt(source, wanted).await? {
                Attempt::Done(posts) => return Ok(posts),
                Attempt::Again => {}
                Attempt::Short => wanted.candidates *= 2,
                Attempt::Not => break,
            }
        }
        self.page_from_authors(source, wanted).await
    }

    /// Makes the page from a look at each followed author's posts.
    async fn page_from_authors(&self, source: &impl Source, wanted: Wanted) -> Outcome<Vec<Seen<AuthorRow>>> {
        let Wanted { viewer, visible, mut after, posts: needed, candidates } = wanted;
        let mut found = Vec::new();
        loop {
            let keys = source.older(viewer, Slice::newest_after(after, candidates)).await?;
            let are_all = keys.len() < candidates;
            after = keys.last().copied();
            let missing = needed - found.len();
            // Nothing is compared with what is remembered.
            let since = self.announced();
            let (_, posts) = source.read(viewer, visible, keys, missing, since).await?;
            found.extend(posts);
            if are_all || found.len() >= needed {
                return Ok(found);
            }
        }
    }

    async fn attempt(&self, source: &impl Source, wanted: Wanted) -> Outcome<Attempt> {
        let Wanted { viewer, visible, after, posts: needed, candidates } = wanted;
        let remembered = self.timelines.get(&viewer).map(|weighed| weighed.timeline);
        let remembered = match remembered.filter(|remembered| lock(remembered).read_at.elapsed() < MAX_AGE) {
            Some(remembered) => remembered,
            None => match self.load(source, viewer, candidates).await? {
                Some(remembered) => remembered,
                None => return Ok(Attempt::Not),
            },
        };
        let Some((part, since)) = self.part(&remembered, after, candidates) else {
            return Ok(self.forget(viewer));
        };
        let keys = match part {
            Part::Enough(keys) => keys,
            Part::Beyond(end) => return self.extend(source, viewer, &remembered, end, candidates.max(CHUNK)).await,
            Part::Elsewhere => return Ok(Attempt::Not),
        };
        let are_all = keys.len() < candidates;
        let (changes, posts) = source.read(viewer, visible, keys.clone(), needed, since).await?;
        if changes.to < since || changes.posts.len() >= MAX_CHANGES {
            // Marks are counted anew, in another database perhaps; or too much came in to follow.
            self.recent_mut().start(changes.to);
            return Ok(self.forget(viewer));
        }
        let mut timeline = lock(&remembered);
        if changes.version != Some(timeline.version) {
            return Ok(self.forget(viewer));
        }
        let end = keys.last().copied().filter(|_| !are_all);
        let is_missing = |post: &&NewPost| timeline.is_missing(post, &keys, after, end);
        let has_changed = changes.posts.iter().any(|post| is_missing(&post));
        timeline.absorb(changes.posts.iter());
        // All before `since` was taken in, unless older posts were added meanwhile.
        if timeline.mark >= since {
            timeline.mark = timeline.mark.max(changes.to);
        }
        drop(timeline);
        if changes.to > since {
            self.recent_mut().extend(changes.posts, changes.to);
        }
        Ok(match posts {
            _ if has_changed => Attempt::Again,
            posts if posts.len() >= needed || are_all => Attempt::Done(posts),
            _ => Attempt::Short,
        })
    }

    fn remember(&self, viewer: DbId, timeline: &Remembered) {
        let weight = lock(timeline).weight();
        self.timelines.insert(viewer, Weighed { timeline: Arc::clone(timeline), weight });
    }

    fn forget(&self, viewer: DbId) -> Attempt {
        self.timelines.remove(&viewer);
        Attempt::Again
    }

    /// The positions after one, with what came in up to a mark; nothing when what came in is not known any more.
    fn part(&self, remembered: &Remembered, after: Option<Keyset>, wanted: usize) -> Option<(Part, Mark)> {
        let recent = self.recent();
        let mut timeline = lock(remembered);
        // What was just read is ahead of what this node knows.
        if timeline.mark < recent.to() {
            let mark = timeline.mark;
            timeline.absorb(recent.since(mark)?);
            timeline.mark = recent.to();
        }
        Some((timeline.part(after, wanted), recent.to()))
    }

    async fn load(&self, source: &impl Source, viewer: DbId, limit: usize) -> Outcome<Option<Remembered>> {
        let Some(loaded) = source.load(viewer, limit).await? else { return Ok(None) };
        let mark = loaded.mark;
        let timeline = Arc::new(Mutex::new(Timeline::new(loaded, limit, Instant::now())));
        self.remember(viewer, &timeline);
        let mut recent = self.recent_mut();
        if recent.to() == Mark::default() {
            recent.start(mark);
        }
        Ok(Some(timeline))
    }

    async fn extend(
        &self,
        source: &impl Source,
        viewer: DbId,
        remembered: &Remembered,
        end: Keyset,
        limit: usize,
    ) -> Outcome<Attempt> {
        let mark = lock(remembered).mark;
        let older = source.older(viewer, Slice::newest_after(Some(end), limit)).await?;
        let has_room = lock(remembered).extend(end, older, limit, mark);
        self.remember(viewer, remembered);
        Ok(if has_room { Attempt::Again } else { Attempt::Not })
    }

    /// Says that a post is stored, where every one that is stored is said.
    pub(crate) fn announce(&self, author: DbId, key: Keyset) {
        self.recent_mut().push(author, key);
    }

    /// Up to where posts were announced.
    pub(crate) fn announced(&self) -> Mark {
        self.recent().to()
    }

    fn recent(&self) -> RwLockReadGuard<'_, Recent> {
        self.recent.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent_mut(&self) -> RwLockWriteGuard<'_, Recent> {
        self.recent.write().unwrap_or_else(PoisonError::into_inner)
    }
}

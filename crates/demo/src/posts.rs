//! The posts, and who likes and comments on them.

use std::collections::{HashSet, VecDeque};

use agora_domain::posts::Visibility;
use uuid::Uuid;

use super::people::People;
use super::random::{END, FOLLOWS_UNTIL, HOUR};
use super::random::{Ids, Purpose, Random, Ranks};

/// Likes of a post by an author of average appeal: this times a number with a heavy tail.
const LIKES: f64 = 2.6;
/// The part of those who may like a post that do at most.
const MOST_LIKES: f64 = 0.75;
/// Comments: up to this times a root of the likes, of which many have few comments.
const COMMENTS: f64 = 2.0;

/// The part of likes and comments that come from followers, in percent.
const FROM_FOLLOWERS: u64 = 60;
/// The part of comments that are the author's own, in percent.
const OWN_COMMENTS: u64 = 15;

/// How many posts back those go who post again right away, and how many posts are such, in percent.
const RECENT: usize = 12;
const AGAIN: u64 = 30;

/// How much is posted at each hour of a day.
const RHYTHM: [u64; 24] = [14, 8, 5, 4, 4, 7, 16, 30, 42, 46, 48, 52, 60, 56, 50, 50, 54, 62, 74, 84, 90, 80, 55, 30];

/// Everybody, and what follows from it for posts.
pub(super) struct Network {
    pub(super) seed: u64,
    pub(super) people: People,
    /// The ordinary followers of each ordinary account.
    pub(super) followers: Vec<Vec<u32>>,
    /// How much is posted up to the end of each hour, relative to each other.
    hours: Vec<u64>,
    /// How many ordinary followers the author of a post has on average.
    average: f64,
    posts: u64,
}

impl Network {
    pub(super) fn new(seed: u64, users: usize, posts: u64) -> Self {
        let people = People::new(seed, users);
        let followers = people.followers();
        let activity = Ranks::new(people.posters.len());
        let ranked = people.posters.iter().enumerate();
        let average = ranked.map(|(rank, user)| activity.share(rank) * followers[*user as usize].len() as f64).sum();
        Self { seed, people, followers, hours: hours(seed), average, posts }
    }

    /// Returns the posts in their order. They can be gone through again.
    pub(super) fn posts(&self) -> impl Iterator<Item = Post> {
        let (mut random, mut ids) = (Random::new(self.seed, Purpose::Posts), Ids::default());
        let activity = Ranks::new(self.people.posters.len());
        let (mut hour, mut recent) = (0, VecDeque::new());
        (0..self.posts).map(move |nth| {
            let at = self.time(nth, &mut hour, &mut random);
            let id = ids.next(&mut random, at);
            let author = if !recent.is_empty() && random.percent(AGAIN) {
                recent[random.index(recent.len())]
            } else {
                self.people.posters[activity.draw(&mut random)] as usize
            };
            recent.push_back(author);
            if recent.len() > RECENT {
                recent.pop_front();
            }
            self.post(id, author, at, &mut random)
        })
    }

    /// When a post is made: in this hour or in a later one, which this then is.
    fn time(&self, nth: u64, hour: &mut usize, random: &mut Random) -> i64 {
        let total = self.hours.last().copied().unwrap_or_default();
        let nth = u128::from(nth) * u128::from(total) + u128::from(random.below(total));
        let place = (nth / u128::from(self.posts)) as u64;
        while self.hours.get(*hour).is_some_and(|end| *end <= place) {
            *hour += 1;
        }
        let begin = hour.checked_sub(1).and_then(|before| self.hours.get(before)).copied().unwrap_or_default();
        let weight = self.hours.get(*hour).map_or(1, |end| end - begin);
        let within = u128::from(place - begin) * u128::from(HOUR.unsigned_abs()) / u128::from(weight);
        FOLLOWS_UNTIL + HOUR * *hour as i64 + within as i64
    }

    /// Makes a post of so many likes and comments as it comes to have.
    fn post(&self, id: Uuid, author: usize, at: i64, random: &mut Random) -> Post {
        let visibility = match random.below(100) {
            ..85 => Visibility::Public,
            85..95 => Visibility::Followers,
            95.. => Visibility::Private,
        };
        let viewers = match visibility {
            Visibility::Public => self.people.users,
            Visibility::Followers => self.followers[author].len(),
            Visibility::Private => 0,
        };
        let liked = LIKES * self.appeal(author) * random.tail();
        let commented = COMMENTS * random.unit();
        if viewers == 0 {
            return Post { id, author, at, visibility, likes: 0, comments: 0 };
        }
        // The more like it already, the fewer are left who could.
        let liked = liked / (1.0 + liked / (viewers as f64 * MOST_LIKES));
        let root = liked.sqrt();
        let (likes, comments) = (liked as usize, (commented * root * root.sqrt()) as usize);
        Post { id, author, at, visibility, likes, comments }
    }

    /// Returns how likely the author's posts are liked: 1 on average.
    fn appeal(&self, author: usize) -> f64 {
        (2.0 + self.followers[author].len() as f64) / (2.0 + self.average)
    }

    /// Returns an ordinary account that may see the post, most likely a follower. There must be one.
    fn viewer(&self, post: &Post, random: &mut Random) -> usize {
        let followers = &self.followers[post.author];
        let by_follower = post.visibility == Visibility::Followers || random.percent(FROM_FOLLOWERS);
        if by_follower && !followers.is_empty() {
            random.pick(followers) as usize
        } else {
            random.index(self.people.users)
        }
    }
}

/// An hour now and then is busier than others.
fn hours(seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed, Purpose::Hours);
    let mut total = 0;
    let count = (END - FOLLOWS_UNTIL) / HOUR;
    let weights = RHYTHM.into_iter().cycle().take(count.unsigned_abs() as usize).map(|usual| {
        let factor = if random.percent(2) { 4_000 + random.below(12_000) } else { 700 + random.below(600) };
        total += usual * factor;
        total
    });
    weights.collect()
}

/// A post without its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Post {
    pub(super) id: Uuid,
    /// The number of its author.
    pub(super) author: usize,
    pub(super) at: i64,
    pub(super) visibility: Visibility,
    pub(super) likes: usize,
    pub(super) comments: usize,
}

/// A like or a comment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reaction {
    pub(super) id: Uuid,
    /// The number of the account.
    pub(super) by: usize,
    pub(super) at: i64,
}

/// Who reacts to the posts, post by post in their order.
pub(super) struct Reactions<'a> {
    network: &'a Network,
    pub(super) random: Random,
    ids: Ids,
    seen: HashSet<usize>,
}

impl<'a> Reactions<'a> {
    pub(super) fn new(network: &'a Network, purpose: Purpose) -> Self {
        Self { network, random: Random::new(network.seed, purpose), ids: Ids::default(), seen: HashSet::new() }
    }

    /// Returns the likes of the post, each of somebody else, in the order they were made.
    pub(super) fn likes(&mut self, post: &Post) -> Vec<Reaction> {
        self.seen.clear();
        let times = self.times(post, post.likes);
        let like = |at| {
            let by = loop {
                let by = self.network.viewer(post, &mut self.random);
                if by != post.author && self.seen.insert(by) {
                    break by;
                }
            };
            Reaction { id: self.ids.next(&mut self.random, at), by, at }
        };
        times.into_iter().map(like).collect()
    }

    /// Returns the comments on the post, in the order they were made.
    pub(super) fn comments(&mut self, post: &Post) -> Vec<Reaction> {
        let times = self.times(post, post.comments);
        let comment = |at| {
            let is_own = self.random.percent(OWN_COMMENTS);
            let by = if is_own { post.author } else { self.network.viewer(post, &mut self.random) };
            Reaction { id: self.ids.next(&mut self.random, at), by, at }
        };
        times.into_iter().map(comment).collect()
    }

    /// So many instants after the post, in their order: most of them soon, some much later.
    fn times(&mut self, post: &Post, count: usize) -> Vec<i64> {
        let left = END - post.at;
        let draw = |_| {
            let later = 20_000 + (self.random.tail() * (HOUR / 2) as f64) as i64;
            post.at + if later < left { later } else { self.random.below(left.unsigned_abs()) as i64 }
        };
        let mut times: Vec<i64> = (0..count).map(draw).collect();
        times.sort_unstable();
        times
    }
}

//! The accounts, and who follows whom.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use uuid::Uuid;

use super::random::{Ids, JOINS_UNTIL, Purpose, Random, Ranks, START};

/// How many accounts `reader_{n}_{k}` there are for each number of accounts that they follow.
const READERS: [(usize, usize); 5] = [(10, 64), (20, 64), (100, 64), (1_000, 64), (5_000, 16)];

/// How many accounts the readers `silent_5000_{k}` follow, and how many of these have no post.
const SILENT: (usize, usize) = (5_000, 4_750);
const SILENT_READERS: usize = 4;

const WRITERS: usize = 64;
/// How many ordinary accounts follow each `writer_{k}`.
pub(super) const FOLLOWERS_OF_WRITER: usize = 20;

/// How many ordinary accounts there may be.
pub(super) const USERS: RangeInclusive<u64> = FOLLOWERS_OF_WRITER as u64..=1_000_000;

/// An ordinary account follows up to [`MOST_FOLLOWS`], some 30 on average: this times a number with a heavy tail.
const FOLLOWS: f64 = 12.0;
const MOST_FOLLOWS: usize = 2_000;

/// An account with a name that benchmarks know.
#[derive(Debug, Clone, Copy)]
pub(super) enum Special {
    /// Follows so many ordinary accounts.
    Reader(usize),
    /// Follows accounts that hardly post.
    Silent,
    /// Is followed by [`FOLLOWERS_OF_WRITER`] accounts.
    Writer,
    /// Has nothing to do with anybody.
    Hermit,
}

/// Returns those there are beside so many ordinary accounts, with their names.
fn specials(users: usize) -> Vec<(String, Special)> {
    let readers = READERS.into_iter().filter(|(follows, _)| *follows < users).flat_map(|(follows, count)| {
        (1..=count).map(move |k| (format!("reader_{follows}_{k}"), Special::Reader(follows)))
    });
    let silent_readers = if users > SILENT.0 { SILENT_READERS } else { 0 };
    let silent = (1..=silent_readers).map(|k| (format!("silent_{}_{k}", SILENT.0), Special::Silent));
    let writers = (1..=WRITERS).map(|k| (format!("writer_{k}"), Special::Writer));
    readers.chain(silent).chain(writers).chain([("hermit".to_owned(), Special::Hermit)]).collect()
}

/// The accounts. An account's number is its place in the order of joining: first the ordinary ones, then the special.
pub(super) struct People {
    seed: u64,
    /// The identifiers of all accounts.
    pub(super) ids: Vec<Uuid>,
    /// How many are ordinary.
    pub(super) users: usize,
    /// The special accounts.
    pub(super) specials: Vec<(String, Special)>,
    by_popularity: Vec<u32>,
    popularity: Ranks,
    /// The ordinary accounts that post, the busiest first.
    pub(super) posters: Vec<u32>,
    /// The ordinary accounts that never post.
    lurkers: Vec<u32>,
    /// The writers that an ordinary account follows.
    writers_of: BTreeMap<u32, Vec<u32>>,
}

impl People {
    pub(super) fn new(seed: u64, users: usize) -> Self {
        let mut random = Random::new(seed, Purpose::Accounts);
        let specials = specials(users);
        let mut ids = Ids::default();
        let span = JOINS_UNTIL - START;
        let ordinary = (0..users).map(|n| {
            let nth = n as u128 * u128::from(span.unsigned_abs());
            START + ((nth + u128::from(random.below(span.unsigned_abs()))) / users as u128) as i64
        });
        let joined: Vec<i64> = ordinary.chain((0..).map(|n| JOINS_UNTIL + 1_000 * n).take(specials.len())).collect();
        let ids = joined.into_iter().map(|at| ids.next(&mut random, at)).collect();

        let mut by_popularity: Vec<u32> = (0..users as u32).collect();
        random.shuffle(&mut by_popularity);
        // Whoever is popular mostly posts as well.
        let ranked = by_popularity.iter().enumerate();
        let mut by_activity: Vec<_> = ranked.map(|(rank, user)| (rank + random.index(users), *user)).collect();
        by_activity.sort_unstable();
        let needed = if users > SILENT.0 { SILENT.1 } else { 0 };
        let silent = (users * 6 / 10).max(needed);
        let mut posters: Vec<u32> = by_activity.into_iter().map(|(_, user)| user).collect();
        let mut lurkers = posters.split_off(users - silent);
        lurkers.sort_unstable();

        let mut writers_of: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (n, (_, special)) in specials.iter().enumerate() {
            if matches!(special, Special::Writer) {
                for follower in random.distinct(FOLLOWERS_OF_WRITER, |random| random.index(users) as u32) {
                    writers_of.entry(follower).or_default().push((users + n) as u32);
                }
            }
        }
        let popularity = Ranks::new(users);
        Self { seed, ids, users, specials, by_popularity, popularity, posters, lurkers, writers_of }
    }

    /// When the account joined, in milliseconds since 1970: its identifier says so.
    pub(super) fn joined(&self, account: usize) -> i64 {
        (self.ids[account].as_u128() >> 80) as i64
    }

    /// Whom each account follows, account by account: their numbers in order. It can be gone through again.
    pub(super) fn follows(&self) -> impl Iterator<Item = Vec<u32>> + '_ {
        let mut random = Random::new(self.seed, Purpose::Follows);
        (0..self.ids.len()).map(move |account| self.followed_by(account, &mut random))
    }

    fn followed_by(&self, account: usize, random: &mut Random) -> Vec<u32> {
        let popular = |random: &mut Random| self.by_popularity[self.popularity.draw(random)];
        match account.checked_sub(self.users).and_then(|n| self.specials.get(n)).map(|(_, special)| *special) {
            None => {
                let account = account as u32;
                let wanted = (FOLLOWS * random.tail()) as usize;
                let others = |random: &mut Random| loop {
                    let other = popular(random);
                    if other != account {
                        break other;
                    }
                };
                let followed = random.distinct(wanted.min(MOST_FOLLOWS).min(self.users / 2), others);
                let writers = self.writers_of.get(&account).into_iter().flatten().copied();
                followed.into_iter().chain(writers).collect()
            }
            // Of so many, those whom hardly anybody follows would have to be drawn as well.
            Some(Special::Reader(count @ 5_000..)) => random.sample(count, &(0..self.users as u32).collect::<Vec<_>>()),
            Some(Special::Reader(count)) => random.distinct(count, popular).into_iter().collect(),
            Some(Special::Silent) => {
                let mut followed = random.sample(SILENT.1, &self.lurkers);
                followed.extend(random.sample(SILENT.0 - SILENT.1, &self.posters));
                followed.sort_unstable();
                followed
            }
            Some(Special::Writer | Special::Hermit) => Vec::new(),
        }
    }

    /// Returns the ordinary followers of each ordinary account.
    pub(super) fn followers(&self) -> Vec<Vec<u32>> {
        let mut followers = vec![Vec::new(); self.users];
        for (followed, by) in self.follows().take(self.users).zip(0_u32..) {
            for one in followed {
                // The special accounts come behind the ordinary ones.
                if let Some(followers) = followers.get_mut(one as usize) {
                    followers.push(by);
                }
            }
        }
        followers
    }
}

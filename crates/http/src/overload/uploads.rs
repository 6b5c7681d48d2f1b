//! The memory that large bodies may take together, and what those of one client address may have of it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use agora_domain::limits::ClientAddress;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::{incoming::Incoming, notice::Notice};
use crate::{body::JSON_LIMIT, error::ApiError};

/// How many bodies wait for room; one more is refused.
const WAITING: usize = 256;

/// How long a body waits for room.
const PATIENCE: Duration = Duration::from_secs(15);

/// Of the room and of the line, the bodies of one address have this part at most; but one always has room.
const SHARE: usize = 2;

const KIBIBYTE: usize = 1024;

/// The room for large bodies. Small ones, such as JSON, need none: the limit on requests in flight bounds them.
///
/// A client that sends slowly has its room for long, so no address has all of it: what is beyond its share waits until
/// others of its own are done, and not before those of other addresses. Addresses of this machine have no such limit.
pub(crate) struct Uploads {
    room: Room,
    line: Semaphore,
    shares: Arc<Shares>,
    refused: Notice,
}

/// A permit for each KiB.
#[derive(Debug)]
struct Room {
    free: Arc<Semaphore>,
    size: usize,
}

impl Room {
    fn new(kibibytes: usize) -> Self {
        let size = kibibytes.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Self { free: Arc::new(Semaphore::new(size)), size }
    }

    /// Waits for so much; for all there is when it is more.
    async fn take(&self, kibibytes: usize) -> Option<OwnedSemaphorePermit> {
        let needed = u32::try_from(kibibytes.min(self.size)).unwrap_or(u32::MAX);
        Arc::clone(&self.free).acquire_many_owned(needed).await.ok()
    }
}

/// The addresses whose bodies are here or wait; so there are no more of them than of those.
#[derive(Debug, Default)]
struct Shares(Mutex<HashMap<ClientAddress, Weak<Share>>>);

/// What the bodies of an address may have.
#[derive(Debug)]
struct Share {
    address: ClientAddress,
    room: Room,
    line: Semaphore,
    all: Arc<Shares>,
}

impl Shares {
    fn by_address(&self) -> MutexGuard<'_, HashMap<ClientAddress, Weak<Share>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The share of an address, of a room of so many KiB.
    fn of(self: &Arc<Self>, address: ClientAddress, kibibytes: usize) -> Arc<Share> {
        let mut shares = self.by_address();
        if let Some(share) = shares.get(&address).and_then(Weak::upgrade) {
            return share;
        }
        let (room, line) = (Room::new(kibibytes / SHARE), Semaphore::new(WAITING / SHARE));
        let share = Arc::new(Share { address, room, line, all: Arc::clone(self) });
        shares.insert(address, Arc::downgrade(&share));
        share
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut shares = self.all.by_address();
        // It may have a successor already.
        if shares.get(&self.address).is_some_and(|share| share.strong_count() == 0) {
            shares.remove(&self.address);
        }
    }
}

/// The room that a body has, until it is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    _room: OwnedSemaphorePermit,
    _share: Option<(OwnedSemaphorePermit, Arc<Share>)>,
}

impl Uploads {
    /// Room for so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let refused = Notice::new("uploads at once: AGORA_UPLOAD_MEMORY");
        Self { room: Room::new(bytes / KIBIBYTE), line: Semaphore::new(WAITING), shares: Arc::default(), refused }
    }

    /// How many bytes there is no room for any more.
    pub(crate) fn held(&self) -> usize {
        self.room.size.saturating_sub(self.room.free.available_permits()) * KIBIBYTE
    }

    /// How many bodies wait for room.
    pub(crate) fn waiting(&self) -> usize {
        WAITING.saturating_sub(self.line.available_permits())
    }

    /// How many bodies were refused since the start.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.total()
    }

    /// Waits until there is room for a body of this client, of which at most `most` bytes are kept, in so many copies. It
    /// has it until its request was answered. One that has room already has enough.
    ///
    /// # Errors
    /// When too many wait, or there is no room in time.
    pub(crate) async fn make_room(
        &self,
        body: &Incoming,
        client: impl FnOnce() -> ClientAddress,
        most: usize,
        copies: usize,
    ) -> Result<(), ApiError> {
        let bytes = body.expected(most);
        if bytes <= JSON_LIMIT || body.room.borrow().is_some() {
            return Ok(());
        }
        let Some(taken) = self.take(client(), bytes.saturating_mul(copies)).await else {
            self.refused.tell();
            return Err(ApiError::Busy);
        };
        body.room.replace(Some(taken));
        Ok(())
    }

    async fn take(&self, client: ClientAddress, bytes: usize) -> Option<Taken> {
        let kibibytes = bytes.div_ceil(KIBIBYTE);
        let share = (!client.is_loopback()).then(|| self.shares.of(client, self.room.size));
        let _in_own_line = match &share {
            Some(share) => Some(share.line.try_acquire().ok()?),
            None => None,
        };
        let _in_line = self.line.try_acquire().ok()?;
        let take = async {
            // First of its own, so that nobody else waits for what is more than that.
            let own = match &share {
                Some(share) => Some((share.room.take(kibibytes).await?, Arc::clone(share))),
                None => None,
            };
            Some(Taken { _room: self.room.take(kibibytes).await?, _share: own })
        };
        timeout(PATIENCE, take).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::{task::unconstrained, time::Instant};

    use super::*;

    const MEBIBYTE: usize = 1024 * KIBIBYTE;

    fn client(address: &str) -> ClientAddress {
        ClientAddress::of(address.parse().unwrap())
    }

    /// Takes room without waiting.
    fn take(uploads: &Uploads, address: &str, mebibytes: usize) -> Option<Taken> {
        // However much of it there was before: tokio has tasks take turns.
        unconstrained(uploads.take(client(address), mebibytes * MEBIBYTE)).now_or_never().flatten()
    }

    #[tokio::test]
    async fn an_address_has_half_of_the_room_and_others_have_the_rest() {
        let uploads = Uploads::new(32 * MEBIBYTE);
        let held: Vec<_> = (0..6).map_while(|_| take(&uploads, "198.51.100.7", 5)).collect();
        assert_eq!(held.len(), 3);
        let others: Vec<_> = (8..14).map_while(|n| take(&uploads, &format!("198.51.100.{n}"), 5)).collect();
        assert_eq!(others.len(), 3);
        // A network of IPv6 is one address.
        drop(others);
        let network: Vec<_> = (1..7).map_while(|n| take(&uploads, &format!("2001:db8::{n}"), 5)).collect();
        assert_eq!(network.len(), 3);
    }

    #[tokio::test]
    async fn a_body_has_room_for_each_copy_of_what_it_announces() {
        let uploads = Uploads::new(32 * MEBIBYTE);
        for (announced, most, copies, held) in [
            (Some(MEBIBYTE), 5 * MEBIBYTE, 1, MEBIBYTE),
            (Some(MEBIBYTE), 5 * MEBIBYTE, 2, 2 * MEBIBYTE),
            (Some(9 * MEBIBYTE), 5 * MEBIBYTE, 2, 10 * MEBIBYTE),
            (None, 5 * MEBIBYTE, 2, 10 * MEBIBYTE),
            (Some(JSON_LIMIT), 5 * MEBIBYTE, 2, 0),
            (None, JSON_LIMIT, 2, 0),
        ] {
            let body = Incoming::announced(announced);
            uploads.make_room(&body, || client("198.51.100.7"), most, copies).await.unwrap();
            assert_eq!(uploads.held(), held, "{announced:?} {most} {copies}");
        }
        assert_eq!(uploads.held(), 0);
    }

    #[tokio::test]
    async fn this_machine_may_have_all_of_it() {
        let uploads = Uploads::new(32 * MEBIBYTE);
        for address in ["127.0.0.1", "::1"] {
            assert_eq!((0..10).map_while(|_| take(&uploads, address, 5)).count(), 10, "one after another");
            let held: Vec<_> = (0..10).map_while(|_| take(&uploads, address, 5)).collect();
            assert_eq!(held.len(), 6);
        }
    }

    #[tokio::test]
    async fn a_body_of_more_than_a_share_has_room_alone() {
        let uploads = Uploads::new(32 * MEBIBYTE);
        for mebibytes in [20, 32, 100] {
            let held = take(&uploads, "198.51.100.7", mebibytes).expect("room");
            assert!(take(&uploads, "198.51.100.7", 1).is_none());
            assert_eq!(take(&uploads, "198.51.100.8", 5).is_some(), mebibytes == 20);
            drop(held);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_beyond_a_share_waits_for_its_own_and_keeps_nobody_else_waiting() {
        let uploads = Uploads::new(32 * MEBIBYTE);
        let held = [10, 6].map(|mebibytes| take(&uploads, "198.51.100.7", mebibytes).expect("room"));
        let begun = Instant::now();
        let mut waits = Box::pin(uploads.take(client("198.51.100.7"), 5 * MEBIBYTE));
        assert!((&mut waits).now_or_never().is_none());
        assert!(take(&uploads, "198.51.100.8", 16).is_some());
        drop(held);
        assert!(waits.await.is_some());
        let _held = take(&uploads, "198.51.100.7", 16).expect("room");
        assert!(uploads.take(client("198.51.100.7"), MEBIBYTE).await.is_none());
        assert_eq!(begun.elapsed(), PATIENCE);
    }

    #[tokio::test]
    async fn the_bodies_of_an_address_have_half_of_the_line_too() {
        let uploads = Uploads::new(32 * MEBIBYTE);
        let _held = ["198.51.100.7", "198.51.100.8"].map(|address| take(&uploads, address, 16).expect("room"));
        let mut line = Vec::new();
        for address in ["198.51.100.7", "198.51.100.8", "198.51.100.9"] {
            let before = line.len();
            for _ in 0..WAITING {
                let mut waits = Box::pin(unconstrained(uploads.take(client(address), MEBIBYTE)));
                // One that is refused is so at once.
                if (&mut waits).now_or_never().is_none() {
                    line.push(waits);
                }
            }
            let expected = if before < WAITING { WAITING / SHARE } else { 0 };
            assert_eq!(line.len() - before, expected, "{address}");
        }
    }

    #[tokio::test]
    async fn nothing_is_kept_of_an_address_whose_bodies_are_gone() {
        let uploads = Uploads::new(32 * MEBIBYTE);
        for n in 0..1000 {
            let address = format!("198.51.{}.{}", n / 250, n % 250);
            let held = [take(&uploads, &address, 5), take(&uploads, &address, 5)];
            assert!(held.iter().all(Option::is_some), "{address}");
            assert!(take(&uploads, &address, 16).is_none());
            assert_eq!(uploads.shares.by_address().len(), 1);
        }
        assert!(uploads.shares.by_address().is_empty());
        assert_eq!(uploads.room.free.available_permits(), uploads.room.size);
    }
}

//! The JSON of a list, rendered entry by entry.

use agora_domain::page::Page;
use bytes::Bytes;
use serde::Serialize;
use tokio::task::yield_now;

use crate::core::MemoryPermit;

/// The maximum size of a list's body in bytes. A single entry is included even if it is larger.
pub(crate) const MAX_BODY: usize = 1 << 20;

/// The largest body in bytes that needs no permit from the memory budget.
pub(crate) const SMALL_BODY: usize = 64 * 1024;

/// How many bytes are rendered before the task yields to other requests of the thread.
const YIELD_INTERVAL: usize = 32 * 1024;

/// The initial capacity of a body in bytes.
const INITIAL_CAPACITY: usize = 960;

/// The end of every list: the entries are the last field of the enclosing object.
const CLOSING: &[u8] = b"]}";

/// Returns entries in the order in which they are read: the last one first if the list is read backward.
fn read_order<T>(entries: &[T], is_reversed: bool) -> impl Iterator<Item = &T> {
    let last = entries.len().saturating_sub(1);
    entries
        .iter()
        .enumerate()
        .filter_map(move |(n, entry)| if is_reversed { entries.get(last - n) } else { Some(entry) })
}

/// The place for one entry of a list, to be rendered into.
pub(crate) struct Entry<'a>(&'a mut Vec<u8>);

impl Entry<'_> {
    /// Renders the entry.
    pub(crate) fn write(self, entry: &impl Serialize) -> serde_json::Result<()> {
        serde_json::to_writer(self.0, entry)
    }
}

/// The outcome of adding an entry to a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Push {
    Added,
    /// Not added, since the list would exceed its maximum size.
    Full,
    /// Not added, since a list larger than [`SMALL_BODY`] needs a memory permit first.
    NeedsMemory,
}

/// The JSON of a list of bounded size, to which entries are added in the direction in which they are read.
pub(crate) struct JsonList {
    json: Vec<u8>,
    max_bytes: usize,
    /// The permit for its memory, once it has one.
    memory: Option<MemoryPermit>,
    /// The position of the first entry.
    start: usize,
    count: usize,
    /// The end of each entry; recorded only if the entries arrive in reverse order.
    ends: Option<Vec<usize>>,
}

impl JsonList {
    pub(crate) fn new(is_reversed: bool, max_bytes: usize) -> Self {
        let json = Vec::with_capacity(INITIAL_CAPACITY);
        Self { json, max_bytes, memory: None, start: 0, count: 0, ends: is_reversed.then(Vec::new) }
    }

    /// Writes what comes before the entries, taken from `empty`: the whole list without entries.
    pub(crate) fn open(&mut self, empty: &impl Serialize) -> agora_domain::Result<()> {
        serde_json::to_writer(&mut self.json, empty).map_err(agora_domain::Error::internal)?;
        debug_assert!(self.json.ends_with(b"[]}"), "the entries are not the last field");
        self.start = self.json.len().saturating_sub(CLOSING.len());
        self.json.truncate(self.start);
        Ok(())
    }

    /// Allows the list to grow to its maximum size, for which it holds this permit.
    pub(crate) fn grow(&mut self, memory: MemoryPermit) {
        self.memory = Some(memory);
    }

    /// Reserves space for the next entry of a large list. It doubles the capacity, up to the maximum size and one more entry,
    /// which may turn out not to fit. Reserving the maximum at once would take fresh pages of memory for each list.
    fn reserve(&mut self) {
        let (length, capacity) = (self.json.len(), self.json.capacity());
        if self.memory.is_some() && capacity - length < SMALL_BODY {
            self.json.reserve_exact(capacity.min((self.max_bytes + SMALL_BODY).saturating_sub(length)));
        }
    }

    /// Adds an entry unless it would make the list too large. The first entry may be of any size.
    pub(crate) fn push(
        &mut self,
        render: impl FnOnce(Entry<'_>) -> serde_json::Result<()>,
    ) -> agora_domain::Result<Push> {
        let end = self.json.len();
        self.reserve();
        if self.count > 0 {
            self.json.push(b',');
        }
        // Serializing the types of this crate never fails; if it did, that would be a defect.
        render(Entry(&mut self.json)).map_err(agora_domain::Error::internal)?;
        let length = self.json.len() + CLOSING.len();
        let outcome = if length > self.max_bytes && self.count > 0 {
            Push::Full
        } else if length > SMALL_BODY && self.memory.is_none() {
            Push::NeedsMemory
        } else {
            Push::Added
        };
        if outcome == Push::Added {
            self.count += 1;
            self.ends.iter_mut().for_each(|ends| ends.push(self.json.len()));
        } else {
            self.json.truncate(end);
        }
        Ok(outcome)
    }

    /// Adds the entries of a part until one does not fit. Calls `try_acquire` if the list needs a memory permit. Returns how many
    /// entries were added, and the outcome of the last attempt. In between, it yields to other requests of the thread.
    pub(crate) async fn extend<T>(
        &mut self,
        part: &Page<T>,
        render: impl Fn(&T, Entry<'_>) -> serde_json::Result<()>,
        try_acquire: impl Fn() -> Option<MemoryPermit>,
    ) -> agora_domain::Result<(usize, Push)> {
        let mut begin = self.json.len();
        for (count, entry) in read_order(&part.items, self.ends.is_some()).enumerate() {
            if self.json.len() - begin >= YIELD_INTERVAL {
                begin = self.json.len();
                yield_now().await;
            }
            let mut outcome = self.push(|json| render(entry, json))?;
            if outcome == Push::NeedsMemory
                && let Some(memory) = try_acquire()
            {
                self.grow(memory);
                outcome = self.push(|json| render(entry, json))?;
            }
            if outcome != Push::Added {
                return Ok((count, outcome));
            }
        }
        Ok((part.items.len(), Push::Added))
    }

    /// Returns the finished JSON, its entries in the order of the list, and the permit for its memory.
    pub(crate) fn close(mut self) -> (Bytes, Option<MemoryPermit>) {
        if let Some(ends) = &self.ends {
            let entries = &mut self.json[self.start..];
            // Reverses all bytes and then those of each entry, which needs no second buffer.
            entries.reverse();
            let length = entries.len();
            let mut begin = 0;
            for end in ends.iter().map(|end| end - self.start) {
                entries[length - end..length - begin].reverse();
                begin = end + 1;
            }
        }
        self.json.extend_from_slice(CLOSING);
        if let Some(memory) = &mut self.memory {
            self.json.shrink_to_fit();
            memory.shrink_to(self.json.len());
        }
        (self.json.into(), self.memory)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use agora_domain::limits::ClientAddress;
    use futures_util::FutureExt;
    use serde_json::{Value, json};

    use super::*;
    use crate::core::MemoryBudget;

    fn list(is_reversed: bool, max_bytes: usize, entries: &[Value]) -> (Value, usize) {
        let mut list = JsonList::new(is_reversed, max_bytes);
        list.open(&json!({ "data": [] })).unwrap();
        let mut is_added = |value: &Value| list.push(|entry| entry.write(value)).unwrap() == Push::Added;
        let added = entries.iter().take_while(|value| is_added(value)).count();
        let (json, memory) = list.close();
        assert!(memory.is_none());
        assert!(json.len() <= max_bytes || added == 1, "{} bytes", json.len());
        (serde_json::from_slice(&json).unwrap(), added)
    }

    fn entries() -> Vec<Value> {
        (0..9).map(|n| json!({ "n": n, "text": "x,[]{}".repeat(n) })).collect()
    }

    #[test]
    fn entries_are_in_list_order_whichever_direction_they_are_read_in() {
        for count in 0..9 {
            let mut entries = entries();
            entries.truncate(count);
            assert_eq!(list(false, 1000, &entries), (json!({ "data": entries }), count));
            let reversed: Vec<_> = entries.iter().rev().cloned().collect();
            assert_eq!(list(true, 1000, &entries), (json!({ "data": reversed }), count));
        }
    }

    #[test]
    fn a_list_stays_within_its_maximum_size_but_has_at_least_one_entry() {
        let entries = entries();
        for is_reversed in [false, true] {
            let length = |count: usize| json!({ "data": entries[..count] }).to_string().len();
            for count in 1..entries.len() {
                for max_bytes in [length(count), length(count + 1) - 1] {
                    assert_eq!(list(is_reversed, max_bytes, &entries).1, count, "{max_bytes}");
                }
            }
            assert_eq!(list(is_reversed, 1, &entries).1, 1);
            assert_eq!(list(is_reversed, 1000, &[]).1, 0);
        }
    }

    fn part(entries: usize) -> Page<String> {
        Page { items: vec!["x".repeat(SMALL_BODY / 4); entries], keys: vec![], prev: None, next: None }
    }

    #[tokio::test]
    async fn a_large_list_holds_a_memory_permit_until_it_is_dropped() {
        let budget = MemoryBudget::new(2 * MAX_BODY, "tests");
        let client = ClientAddress::of([127, 0, 0, 1].into());
        let acquire = || budget.try_acquire(client, MAX_BODY);
        let render = |entry: &String, json: Entry<'_>| json.write(entry);
        let list = async |entries| {
            let mut list = JsonList::new(false, MAX_BODY);
            list.open(&json!({ "data": [] })).unwrap();
            let outcome = list.extend(&part(entries), render, acquire).await.unwrap();
            (list, outcome)
        };
        let (small, outcome) = list(3).await;
        assert_eq!((outcome, budget.held()), ((3, Push::Added), 0));
        drop(small);

        let (large, outcome) = list(8).await;
        assert_eq!((outcome, budget.held()), ((8, Push::Added), MAX_BODY));
        let (json, memory) = large.close();
        let size = 8 * (SMALL_BODY / 4) + json!({ "data": vec![""; 8] }).to_string().len();
        assert_eq!((json.len(), budget.held()), (size, size.next_multiple_of(1024)));
        assert_eq!(serde_json::from_slice::<Value>(&json).unwrap(), json!({ "data": part(8).items }));
        drop(memory);
        assert_eq!(budget.held(), 0);

        let held = [acquire(), acquire()];
        let (mut waiting, outcome) = list(8).await;
        assert_eq!(outcome, (3, Push::NeedsMemory), "what is there is as small as one without memory");
        drop(held);
        waiting.grow(acquire().unwrap());
        assert_eq!(waiting.extend(&part(100), render, || None).await.unwrap(), (60, Push::Full));
    }

    #[tokio::test]
    async fn rendering_a_large_part_yields_to_other_tasks() {
        let mut list = JsonList::new(false, MAX_BODY);
        list.open(&json!({ "data": [] })).unwrap();
        let part = part(3);
        let mut extend = pin!(list.extend(&part, |entry, json| json.write(entry), || None));
        assert!((&mut extend).now_or_never().is_none());
        assert_eq!(extend.await.unwrap(), (3, Push::Added));
    }
}

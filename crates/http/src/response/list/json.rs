//! The JSON of a list, made entry by entry.

use agora_domain::page::Page;
use bytes::Bytes;
use serde::Serialize;
use tokio::task::yield_now;

use crate::core::MemoryPermit;

/// The most bytes of a list's body. A single entry is shown even if it is larger.
pub(crate) const MAX_BODY: usize = 1 << 20;

/// The most bytes of a body for which no memory is set aside.
pub(crate) const SMALL: usize = 64 * 1024;

/// How many bytes are rendered before the task yields to other requests of the thread.
const YIELD_INTERVAL: usize = 32 * 1024;

/// The bytes that a body is given at first.
const FIRST_BYTES: usize = 960;

/// What every list ends with: its entries are the last field of the object around them.
const END: &[u8] = b"]}";

/// Entries in the order in which they are read.
fn read_order<T>(entries: &[T], is_reversed: bool) -> impl Iterator<Item = &T> {
    let last = entries.len().saturating_sub(1);
    entries
        .iter()
        .enumerate()
        .filter_map(move |(n, entry)| if is_reversed { entries.get(last - n) } else { Some(entry) })
}

/// Where an entry is rendered.
pub(crate) struct Entry<'a>(&'a mut Vec<u8>);

impl Entry<'_> {
    /// Renders the entry.
    pub(crate) fn write(self, entry: &impl Serialize) -> serde_json::Result<()> {
        serde_json::to_writer(self.0, entry)
    }
}

/// Whether an entry became part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Push {
    Added,
    /// It is not, since the list would be larger than allowed.
    Full,
    /// It is not, since the list must have memory set aside before it is larger than [`SMALL`].
    NeedsMemory,
}

/// The JSON of a list of bounded size, to which entries are added in the direction in which they are read.
pub(crate) struct JsonList {
    json: Vec<u8>,
    max_bytes: usize,
    /// The memory that is set aside for it.
    memory: Option<MemoryPermit>,
    /// Where the first entry begins.
    start: usize,
    count: usize,
    /// Where each entry ends; kept only if they come in reverse order.
    ends: Option<Vec<usize>>,
}

impl JsonList {
    pub(crate) fn new(is_reversed: bool, max_bytes: usize) -> Self {
        let json = Vec::with_capacity(FIRST_BYTES);
        Self { json, max_bytes, memory: None, start: 0, count: 0, ends: is_reversed.then(Vec::new) }
    }

    /// Begins with what stands before the entries of this list without entries.
    pub(crate) fn open(&mut self, empty: &impl Serialize) -> agora_domain::Result<()> {
        serde_json::to_writer(&mut self.json, empty).map_err(agora_domain::Error::internal)?;
        debug_assert!(self.json.ends_with(b"[]}"), "the entries are not the last field");
        self.start = self.json.len().saturating_sub(END.len());
        self.json.truncate(self.start);
        Ok(())
    }

    /// Allows it to have its most bytes, for which this memory is set aside.
    pub(crate) fn grow(&mut self, memory: MemoryPermit) {
        self.memory = Some(memory);
    }

    /// Makes room for the next entry of a large list, by doubling, but never beyond its most bytes and one entry more,
    /// which may turn out to be too much. All of it at once would be new pages of memory for each list.
    fn make_room(&mut self) {
        let (length, capacity) = (self.json.len(), self.json.capacity());
        if self.memory.is_some() && capacity - length < SMALL {
            self.json.reserve_exact(capacity.min((self.max_bytes + SMALL).saturating_sub(length)));
        }
    }

    /// Adds an entry, if the list does not become too large by it; a single entry may be of any size.
    pub(crate) fn push(
        &mut self,
        render: impl FnOnce(Entry<'_>) -> serde_json::Result<()>,
    ) -> agora_domain::Result<Push> {
        let end = self.json.len();
        self.make_room();
        if self.count > 0 {
            self.json.push(b',');
        }
        // The types of this crate serialize without fail; if one did not, that would be a defect.
        render(Entry(&mut self.json)).map_err(agora_domain::Error::internal)?;
        let length = self.json.len() + END.len();
        let outcome = if length > self.max_bytes && self.count > 0 {
            Push::Full
        } else if length > SMALL && self.memory.is_none() {
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

    /// Adds the entries of a part, with memory that `try_acquire` gives if it needs any. Returns how many of them, and
    /// what became of the next. Yields to other requests of the thread in between.
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

    /// Returns the whole, its entries in the order of the list, and the memory that is set aside for it.
    pub(crate) fn close(mut self) -> (Bytes, Option<MemoryPermit>) {
        if let Some(ends) = &self.ends {
            let entries = &mut self.json[self.start..];
            // Turned round as a whole and then each entry by itself, which takes no second buffer.
            entries.reverse();
            let length = entries.len();
            let mut begin = 0;
            for end in ends.iter().map(|end| end - self.start) {
                entries[length - end..length - begin].reverse();
                begin = end + 1;
            }
        }
        self.json.extend_from_slice(END);
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
    fn entries_stand_in_the_order_of_the_list_whichever_way_they_come() {
        for count in 0..9 {
            let mut entries = entries();
            entries.truncate(count);
            assert_eq!(list(false, 1000, &entries), (json!({ "data": entries }), count));
            let reversed: Vec<_> = entries.iter().rev().cloned().collect();
            assert_eq!(list(true, 1000, &entries), (json!({ "data": reversed }), count));
        }
    }

    #[test]
    fn a_list_ends_before_it_is_larger_than_allowed_and_has_one_entry_at_least() {
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
        Page { items: vec!["x".repeat(SMALL / 4); entries], keys: vec![], prev: None, next: None }
    }

    #[tokio::test]
    async fn a_large_list_has_its_memory_set_aside_until_it_was_taken() {
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
        let size = 8 * (SMALL / 4) + json!({ "data": vec![""; 8] }).to_string().len();
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
    async fn others_have_their_turn_while_a_part_is_rendered() {
        let mut list = JsonList::new(false, MAX_BODY);
        list.open(&json!({ "data": [] })).unwrap();
        let part = part(3);
        let mut extend = pin!(list.extend(&part, |entry, json| json.write(entry), || None));
        assert!((&mut extend).now_or_never().is_none());
        assert_eq!(extend.await.unwrap(), (3, Push::Added));
    }
}

//! Lists. A page is read in parts, each of which is rendered and dropped before the next one is read, and ends where its
//! body would be larger than [`MAX_BODY`]: however many entries were asked for, and however large they are, a page takes
//! no more memory than that and one part.

use std::future::{Ready, ready};

use actix_web::{
    FromRequest, HttpRequest, HttpResponse, body,
    dev::Payload,
    http::{Method, header},
    web::Data,
};
use agora_domain::page::{Page, PageInParts, PageRequest, PageSize};
use serde::Serialize;

use crate::{conditional::Conditional, cursor::List, envelope::Answer, error::ApiError, paging::Query, state::State};

/// The most bytes of a list's body. A single entry is shown even if it is larger.
const MAX_BODY: usize = 1 << 20;

/// The bytes that a body is given at first.
const FIRST_BYTES: usize = 960;

/// What every list ends with: its entries are the last field of the object around them.
const END: &[u8] = b"]}";

/// A request for a list: what it asks for, and what answers it.
pub(crate) struct ListRequest {
    pub(crate) state: Data<State>,
    pub(crate) query: Query,
    http: HttpRequest,
}

impl FromRequest for ListRequest {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let state = request.app_data::<Data<State>>().cloned().ok_or(ApiError::Panicked);
        let query = Query::from_request(request, payload).into_inner();
        ready(state.and_then(|state| Ok(Self { state, query: query?, http: request.clone() })))
    }
}

impl ListRequest {
    /// Returns the path and the query, as they were sent.
    pub(crate) fn address(&self) -> &str {
        self.http.uri().path_and_query().map_or("", |address| address.as_str())
    }

    /// Returns what the client has already.
    pub(crate) fn conditional(&self) -> Conditional {
        Conditional::of(&self.http)
    }

    /// Returns whether the headers alone are asked for.
    pub(crate) fn is_head(&self) -> bool {
        self.http.method() == Method::HEAD
    }

    /// Answers with a page that `read` reads and `render` renders entry by entry, into the list that `empty` is, rendered,
    /// without any entry: given whether there are none.
    ///
    /// To a HEAD, nothing is told that depends on the entries; one is read, since with that the caller's rights are
    /// checked.
    pub(crate) async fn answer<T, E: Serialize>(
        &self,
        list: List,
        page: PageRequest,
        empty: impl FnOnce(bool) -> E,
        mut read: impl AsyncFnMut(PageRequest) -> agora_domain::Result<Page<T>>,
        render: impl Fn(&T, Entry<'_>) -> serde_json::Result<()>,
    ) -> Answer {
        if self.is_head() {
            read(PageRequest { size: PageSize::ONE, ..page }).await?;
            return Ok(head_only());
        }
        let mut page = PageInParts::new(page);
        let mut body = JsonList::new(page.is_backward(), MAX_BODY);
        let mut empty = Some(empty);
        while let Some(request) = page.next_part() {
            let part = read(request).await?;
            if let Some(empty) = empty.take() {
                body.open(&empty(part.items.is_empty()))?;
            }
            let count = body.extend(&part, &render)?;
            page.add(&part, count);
            if count < part.items.len() {
                break;
            }
            if page.next_part().is_some() {
                drop(part);
                // Other requests of this thread have their turn.
                tokio::task::yield_now().await;
            }
        }
        let mut response = HttpResponse::Ok();
        if let Some(links) = self.query.links(&self.state.settings.public_url, list, page.neighbours()) {
            response.insert_header((header::LINK, links));
        }
        Ok(response.insert_header((header::CONTENT_TYPE, "application/json")).body(body.close()))
    }
}

/// The answer to a HEAD for a list. Its body has no size, rather than the size 0, which would be told.
pub(crate) fn head_only() -> HttpResponse {
    HttpResponse::Ok().insert_header((header::CONTENT_TYPE, "application/json")).body(body::None::new())
}

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

/// The JSON of a list of bounded size, to which entries are added in the direction in which they are read.
pub(crate) struct JsonList {
    json: Vec<u8>,
    max_bytes: usize,
    /// Where the first entry begins.
    start: usize,
    count: usize,
    /// Where each entry ends; kept only if they come in reverse order.
    ends: Option<Vec<usize>>,
}

impl JsonList {
    pub(crate) fn new(is_reversed: bool, max_bytes: usize) -> Self {
        let json = Vec::with_capacity(FIRST_BYTES);
        Self { json, max_bytes, start: 0, count: 0, ends: is_reversed.then(Vec::new) }
    }

    /// Begins with what stands before the entries of this list without entries.
    pub(crate) fn open(&mut self, empty: &impl Serialize) -> agora_domain::Result<()> {
        serde_json::to_writer(&mut self.json, empty).map_err(agora_domain::Error::internal)?;
        debug_assert!(self.json.ends_with(b"[]}"), "the entries are not the last field");
        self.start = self.json.len().saturating_sub(END.len());
        self.json.truncate(self.start);
        Ok(())
    }

    /// Adds an entry; returns false, and adds nothing, when there is no room for it beside those that are there.
    pub(crate) fn push(
        &mut self,
        render: impl FnOnce(Entry<'_>) -> serde_json::Result<()>,
    ) -> agora_domain::Result<bool> {
        let end = self.json.len();
        if self.count > 0 {
            self.json.push(b',');
        }
        // The types of this crate serialize without fail; if one did not, that would be a defect.
        render(Entry(&mut self.json)).map_err(agora_domain::Error::internal)?;
        if self.count > 0 && self.json.len() + END.len() > self.max_bytes {
            self.json.truncate(end);
            return Ok(false);
        }
        self.count += 1;
        if let Some(ends) = &mut self.ends {
            ends.push(self.json.len());
        }
        Ok(true)
    }

    /// Adds the entries of a part until one does not fit; returns how many were added.
    fn extend<T>(
        &mut self,
        part: &Page<T>,
        render: impl Fn(&T, Entry<'_>) -> serde_json::Result<()>,
    ) -> agora_domain::Result<usize> {
        for (count, entry) in read_order(&part.items, self.ends.is_some()).enumerate() {
            if !self.push(|json| render(entry, json))? {
                return Ok(count);
            }
        }
        Ok(part.items.len())
    }

    /// Returns the whole, its entries in the order of the list.
    pub(crate) fn close(mut self) -> Vec<u8> {
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
        self.json
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn list(is_reversed: bool, max_bytes: usize, entries: &[Value]) -> (Value, usize) {
        let mut list = JsonList::new(is_reversed, max_bytes);
        list.open(&json!({ "data": [] })).unwrap();
        let fitting = entries.iter().take_while(|value| list.push(|entry| entry.write(value)).unwrap()).count();
        let json = list.close();
        assert!(json.len() <= max_bytes || fitting == 1, "{} bytes", json.len());
        (serde_json::from_slice(&json).unwrap(), fitting)
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
}

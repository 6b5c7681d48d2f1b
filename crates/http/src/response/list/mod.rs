//! Responses with lists.
//!
//! A page is read in parts. Each part is rendered and dropped before the next one is read, and the page ends before its body
//! would exceed [`MAX_BODY`]. So a page takes no more memory than that and one part, however many entries are requested and
//! however large they are. The number of entries in such parts is bounded across requests ([`ListReads`]), and so is the memory
//! of bodies larger than [`SMALL_BODY`](json::SMALL_BODY).

mod json;
mod reads;

use actix_web::http::{Method, header};
use actix_web::web::Data;
use actix_web::{HttpMessage, HttpRequest, HttpResponse, body};
use agora_domain::limits::ClientAddress;
use agora_domain::page::{Page, PageInParts, PageRequest, PageSize};
use json::Push;
pub(crate) use json::{Entry, JsonList, MAX_BODY};
pub(crate) use reads::ListReads;
use serde::Serialize;

use crate::core::{ApiError, Capacity, Client, FromReplica, MemoryPermit, State, extractor, shared};
use crate::request::{List, Query};
use crate::response::{Conditional, HandlerResult};

/// A request for a list, with the state to answer it.
pub(crate) struct ListRequest {
    pub(crate) state: Data<State>,
    capacity: Data<Capacity>,
    reads: Data<ListReads>,
    pub(crate) query: Query,
    http: HttpRequest,
}

extractor!(ListRequest, |request| {
    let of_replica = request.extensions().get::<FromReplica>().map(|FromReplica(state)| state.clone());
    let state = of_replica.map_or_else(|| shared::<State>(request).cloned(), Ok)?;
    let query = Query::new(request.uri().path(), request.query_string(), state.mac_keys.clone());
    let capacity = shared::<Capacity>(request)?.clone();
    let reads = shared::<ListReads>(request)?.clone();
    Ok(Self { state, capacity, reads, query, http: request.clone() })
});

impl ListRequest {
    /// Returns the path and the query as they were sent.
    pub(crate) fn address(&self) -> &str {
        self.http.uri().path_and_query().map_or("", |address| address.as_str())
    }

    /// Returns the request's condition on the response that the client already has.
    pub(crate) fn conditional(&self) -> Conditional {
        Conditional::of(&self.http)
    }

    /// Returns whether this is a HEAD request.
    pub(crate) fn is_head(&self) -> bool {
        self.http.method() == Method::HEAD
    }

    /// Responds with a page that `read` reads and `render` renders entry by entry. `empty` returns the response without its
    /// entries, into which they are inserted; it is passed whether there are none.
    ///
    /// The response to a HEAD depends on no entry. One is read all the same, since that checks the caller's rights.
    pub(crate) async fn answer<T, E: Serialize>(
        &self,
        list: List,
        page: PageRequest,
        empty: impl FnOnce(bool) -> E,
        mut read: impl AsyncFnMut(PageRequest) -> agora_domain::Result<Page<T>>,
        render: impl Fn(&T, Entry<'_>) -> serde_json::Result<()>,
    ) -> HandlerResult {
        if self.is_head() {
            read(PageRequest { size: PageSize::ONE, ..page }).await?;
            return Ok(head_only());
        }
        let mut page = PageInParts::new(page);
        let mut body = JsonList::new(page.is_backward(), MAX_BODY);
        let mut empty = Some(empty);
        while let Some(request) = page.next_part() {
            let permit = self.reads.acquire(list, request.size.get()).await?;
            let part = read(request).await?;
            if let Some(empty) = empty.take() {
                body.open(&empty(part.items.is_empty()))?;
            }
            let (count, end) = body.extend(&part, &render, || self.try_acquire_memory()).await?;
            page.add(&part, count);
            drop((part, permit));
            match end {
                Push::Added => {}
                Push::Full => break,
                // The part has been dropped by now, since many requests may wait here.
                Push::NeedsMemory => body.grow(self.acquire_memory().await?),
            }
            if page.next_part().is_some() {
                // Lets other requests of this thread run.
                tokio::task::yield_now().await;
            }
        }
        let mut response = HttpResponse::Ok();
        if let Some(links) = self.query.links(&self.state.public_url, list, page.neighbours()) {
            response.insert_header((header::LINK, links));
        }
        let (json, memory) = body.close();
        let mut response = response.insert_header((header::CONTENT_TYPE, "application/json")).body(json);
        if let Some(memory) = memory {
            response.extensions_mut().insert(memory);
        }
        Ok(response)
    }

    fn client(&self) -> ClientAddress {
        Client::of(&self.state, &self.http).0
    }

    /// Acquires the memory for a large body if it is available now.
    fn try_acquire_memory(&self) -> Option<MemoryPermit> {
        self.capacity.answers.try_acquire(self.client(), MAX_BODY)
    }

    /// Waits until the memory for a large body is available.
    async fn acquire_memory(&self) -> Result<MemoryPermit, ApiError> {
        self.capacity.answers.acquire(self.client(), MAX_BODY).await
    }
}

/// Returns the response to a HEAD for a list. Its body has no size; with the size 0, `Content-Length: 0` would be sent.
pub(crate) fn head_only() -> HttpResponse {
    HttpResponse::Ok().insert_header((header::CONTENT_TYPE, "application/json")).body(body::None::new())
}

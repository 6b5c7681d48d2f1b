//! Lists. A page is read in parts, each of which is rendered and dropped before the next one is read, and ends where its
//! body would be larger than [`MAX_BODY`]: however many entries were asked for, and however large they are, a page takes
//! no more memory than that and one part. How many parts there are at once is bounded ([`ListReads`]), and so is the
//! memory of bodies beyond [`SMALL`](json::SMALL).

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

/// A request for a list: what it asks for, and what answers it.
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
                // With nothing of the part in memory: many may wait.
                Push::NeedsMemory => body.grow(self.acquire_memory().await?),
            }
            if page.next_part().is_some() {
                // For other requests of this thread.
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

    /// Takes the memory of a large body if it is there.
    fn try_acquire_memory(&self) -> Option<MemoryPermit> {
        self.capacity.answers.try_acquire(self.client(), MAX_BODY)
    }

    /// Waits for the memory of a large body.
    async fn acquire_memory(&self) -> Result<MemoryPermit, ApiError> {
        self.capacity.answers.acquire(self.client(), MAX_BODY).await
    }
}

/// Returns the answer to a HEAD for a list. Its body has no size, rather than the size 0, which would be sent.
pub(crate) fn head_only() -> HttpResponse {
    HttpResponse::Ok().insert_header((header::CONTENT_TYPE, "application/json")).body(body::None::new())
}

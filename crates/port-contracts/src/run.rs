//! Helpers of the cases: reading lists page by page, and running tasks concurrently.

use std::fmt::Debug;
use std::sync::Arc;

use agora_domain::page::{Page, PageRequest, PageSize, Position};
use agora_domain::{Error, Result};
use tokio::sync::Barrier;

/// Panics unless the outcome is an error that matches the pattern.
macro_rules! assert_fails {
    ($outcome:expr, $pattern:pat) => {
        match $outcome {
            Err($pattern) => {}
            other => panic!("expected {}, got {other:?}", stringify!($pattern)),
        }
    };
}
pub(crate) use assert_fails;

/// Ignores [`Error::NotFound`], for a change whose target may have been deleted meanwhile.
pub(crate) fn done_or_missing<T>(outcome: Result<T>) -> Result<()> {
    match outcome {
        Ok(_) | Err(Error::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Runs the tasks concurrently, on all threads, and returns their outputs in the order of the tasks.
pub(crate) async fn concurrently<F>(tasks: impl IntoIterator<Item = F>) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let tasks: Vec<F> = tasks.into_iter().collect();
    let start = Arc::new(Barrier::new(tasks.len()));
    let spawn = |task: F| {
        let start = Arc::clone(&start);
        tokio::spawn(async move {
            start.wait().await;
            task.await
        })
    };
    let running: Vec<_> = tasks.into_iter().map(spawn).collect();
    let mut outcomes = Vec::with_capacity(running.len());
    for task in running {
        outcomes.push(task.await.unwrap());
    }
    outcomes
}

/// Reads a list to its end in pages of `size`. Between two pages, `meanwhile` is called with the entries read so far.
pub(crate) async fn walk<T>(
    size: usize,
    mut read: impl AsyncFnMut(PageRequest) -> Result<Page<T>>,
    mut meanwhile: impl AsyncFnMut(&[T]),
) -> Vec<T> {
    let mut request = PageRequest { from: Position::Start, size: PageSize::parse(&size.to_string()).unwrap() };
    let mut entries = Vec::new();
    loop {
        let Page { items, next, .. } = read(request).await.unwrap();
        assert!(items.len() <= size, "a page of {size} has {} entries", items.len());
        assert!(next.is_none() || items.len() == size, "a page that is not the last is full");
        entries.extend(items);
        assert!(entries.len() < 10_000, "the list does not end");
        let Some(from) = next else { return entries };
        request.from = from;
        meanwhile(&entries).await;
    }
}

/// Reads a list that does not change, in pages of `size`. Checks that it is the same when read from its end, and that only an
/// empty list has an empty page.
pub(crate) async fn pages<T: Debug + PartialEq>(
    size: usize,
    mut read: impl AsyncFnMut(PageRequest) -> Result<Page<T>>,
) -> Vec<T> {
    let request = |from| PageRequest { from, size: PageSize::parse(&size.to_string()).unwrap() };
    let mut pages = vec![read(request(Position::Start)).await.unwrap()];
    while let Some(from) = pages.last().unwrap().next {
        pages.push(read(request(from)).await.unwrap());
        assert!(pages.len() < 10_000, "the list does not end");
    }
    let count = pages.iter().map(|page| page.items.len()).sum::<usize>();
    assert_eq!(pages.len(), count.div_ceil(size).max(1), "the last page has no next page");
    // Backwards over the same pages.
    let mut last = pages.len() - 1;
    while let Some(from) = pages[last].prev {
        let page = read(request(from)).await.unwrap();
        last -= 1;
        assert_eq!(page.items, pages[last].items, "the page before another");
        pages[last] = page;
    }
    assert_eq!(last, 0, "the first page has no previous page");
    let mut page = read(request(Position::End)).await.unwrap();
    assert_eq!(page.next, None, "there is nothing after the end");
    let mut from_end = page.items;
    while let Some(from) = page.prev {
        page = read(request(from)).await.unwrap();
        from_end.splice(..0, page.items);
    }
    let entries: Vec<_> = pages.into_iter().flat_map(|page| page.items).collect();
    assert_eq!(from_end, entries, "from the end");
    entries
}

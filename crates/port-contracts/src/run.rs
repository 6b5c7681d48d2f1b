//! How the cases read lists and do things at once.

use std::fmt::Debug;
use std::sync::Arc;

use agora_domain::page::{Page, PageRequest, PageSize, Position};
use agora_domain::{Error, Result};
use tokio::sync::Barrier;

/// Fails unless the outcome is an error of this shape.
macro_rules! assert_fails {
    ($outcome:expr, $pattern:pat) => {
        match $outcome {
            Err($pattern) => {}
            other => panic!("expected {}, got {other:?}", stringify!($pattern)),
        }
    };
}
pub(crate) use assert_fails;

/// Takes a change for done where there was nothing to change.
pub(crate) fn done_or_missing<T>(outcome: Result<T>) -> Result<()> {
    match outcome {
        Ok(_) | Err(Error::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Runs the tasks at the same time, on all threads; returns their outcomes in their order.
pub(crate) async fn together<F>(tasks: impl IntoIterator<Item = F>) -> Vec<F::Output>
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

/// Reads a list to its end, so many entries at a time. Between two pages, `meanwhile` runs with what was read so far.
pub(crate) async fn walk<T>(
    size: usize,
    mut read: impl AsyncFnMut(PageRequest) -> Result<Page<T>>,
    mut meanwhile: impl AsyncFnMut(&[T]),
) -> Vec<T> {
    let mut request = PageRequest { from: Position::Start, size: PageSize::parse(&size.to_string()).unwrap() };
    let mut entries = Vec::new();
    loop {
        let Page { items, next, .. } = read(request).await.unwrap();
        assert!(items.len() <= size, "a page of {size} holds {}", items.len());
        assert!(next.is_none() || items.len() == size, "a page that is not the last is full");
        entries.extend(items);
        assert!(entries.len() < 10_000, "the list does not end");
        let Some(from) = next else { return entries };
        request.from = from;
        meanwhile(&entries).await;
    }
}

/// Reads a list that stays as it is, so many entries at a time, and checks that it is the same from its end, and that
/// no page was asked for in vain.
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
    assert_eq!(pages.len(), count.div_ceil(size).max(1), "the last page names no next one");
    // Back again, over the same pages.
    let mut last = pages.len() - 1;
    while let Some(from) = pages[last].prev {
        let page = read(request(from)).await.unwrap();
        last -= 1;
        assert_eq!(page.items, pages[last].items, "the page before another");
        pages[last] = page;
    }
    assert_eq!(last, 0, "the first page names none before it");
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

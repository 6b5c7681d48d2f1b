//! How the cases read lists and do things at once.

use std::sync::Arc;

use agora_domain::{
    Result,
    page::{Page, PageRequest, PageSize},
};
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
    let mut request = PageRequest { after: None, size: PageSize::parse(&size.to_string()).unwrap() };
    let mut entries = Vec::new();
    loop {
        let Page { items, next } = read(request).await.unwrap();
        assert!(items.len() <= size, "a page of {size} holds {}", items.len());
        assert!(next.is_none() || items.len() == size, "a page that is not the last is full");
        entries.extend(items);
        assert!(entries.len() < 10_000, "the list does not end");
        if next.is_none() {
            return entries;
        }
        request.after = next;
        meanwhile(&entries).await;
    }
}

/// Reads a list that stays as it is, so many entries at a time, and checks that no page was asked for in vain.
pub(crate) async fn pages<T>(size: usize, mut read: impl AsyncFnMut(PageRequest) -> Result<Page<T>>) -> Vec<T> {
    let mut asked = 0;
    let counted = async |page| {
        asked += 1;
        read(page).await
    };
    let entries = walk(size, counted, async |_| {}).await;
    assert_eq!(asked, entries.len().div_ceil(size).max(1), "the last page names no next one");
    entries
}

//! The queue of jobs that threads wait for.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::mutex::lock;

/// A bounded queue of jobs, first in, first out.
///
/// Channels, those of the standard library among them, yield the processor some times before they block. On Linux each yield
/// costs such a thread a time slice: beside threads that are always busy, its next job waits for some milliseconds.
pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    filled: Condvar,
    capacity: usize,
}

struct State<J> {
    jobs: VecDeque<J>,
    /// How many threads take jobs, and how many of them sleep.
    threads: usize,
    idle: usize,
    is_closed: bool,
}

/// Why a job was not added to the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PushError {
    /// The queue has reached its capacity.
    Full,
    /// The queue is closed.
    Closed,
}

impl<J> Queue<J> {
    /// Creates an empty queue of a capacity, from which this many threads take jobs.
    pub(super) fn new(capacity: usize, threads: usize) -> Self {
        let state = State { jobs: VecDeque::new(), threads, idle: 0, is_closed: false };
        Self { state: Mutex::new(state), filled: Condvar::new(), capacity }
    }

    /// Adds a job at the end.
    ///
    /// # Errors
    /// [`PushError`], with the job dropped.
    pub(super) fn push(&self, job: J) -> Result<(), PushError> {
        let mut state = lock(&self.state);
        if state.is_closed {
            return Err(PushError::Closed);
        }
        if state.jobs.len() >= self.capacity {
            return Err(PushError::Full);
        }
        state.jobs.push_back(job);
        let is_awaited = state.idle > 0;
        drop(state);
        if is_awaited {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Takes the first job, and blocks until there is one. Returns `None` once the queue is closed and empty.
    pub(super) fn pop(&self) -> Option<J> {
        let mut state = lock(&self.state);
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state.idle += 1;
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Takes the first job, if there is one now.
    pub(super) fn try_pop(&self) -> Option<J> {
        lock(&self.state).jobs.pop_front()
    }

    /// Refuses every later job. Those in the queue can still be taken.
    pub(super) fn close(&self) {
        lock(&self.state).is_closed = true;
        self.filled.notify_all();
    }

    /// Called by a thread that takes no more jobs. With the last thread, the queue is closed and what is left in it is dropped.
    pub(super) fn leave(&self) {
        let mut state = lock(&self.state);
        state.threads = state.threads.saturating_sub(1);
        if state.threads == 0 {
            state.is_closed = true;
            let left = std::mem::take(&mut state.jobs);
            drop(state);
            drop(left);
        }
    }

    /// Returns how many jobs wait.
    pub(super) fn len(&self) -> usize {
        lock(&self.state).jobs.len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn jobs_are_taken_in_order_and_refused_when_there_are_too_many() {
        let queue = Queue::new(2, 1);
        assert_eq!((queue.push(1), queue.push(2), queue.push(3)), (Ok(()), Ok(()), Err(PushError::Full)));
        assert_eq!((queue.len(), queue.pop(), queue.push(4)), (2, Some(1), Ok(())));
        assert_eq!((queue.try_pop(), queue.try_pop(), queue.try_pop()), (Some(2), Some(4), None));
    }

    #[test]
    fn every_job_is_taken_once_and_threads_end_when_the_queue_is_closed() {
        let queue = Arc::new(Queue::new(usize::MAX, 4));
        let taken: Vec<_> = (0..4)
            .map(|_| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || std::iter::from_fn(|| queue.pop()).collect::<Vec<usize>>())
            })
            .collect();
        (0..10_000).for_each(|job| queue.push(job).unwrap());
        queue.close();
        assert_eq!(queue.push(0), Err(PushError::Closed));
        let mut taken: Vec<_> = taken.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        taken.sort_unstable();
        assert_eq!(taken, (0..10_000).collect::<Vec<_>>());
    }

    #[test]
    fn jobs_left_in_the_queue_are_dropped_with_the_last_thread() {
        let (queue, job) = (Queue::new(2, 2), Arc::new(()));
        queue.push(Arc::clone(&job)).unwrap();
        queue.leave();
        assert_eq!((queue.push(Arc::clone(&job)), Arc::strong_count(&job)), (Ok(()), 3));
        queue.leave();
        assert_eq!((queue.push(Arc::clone(&job)), Arc::strong_count(&job)), (Err(PushError::Closed), 1));
    }
}

//! Locks that a panic does not take out of use.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also one that somebody held who panicked: what our mutexes hold is whole at every moment.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Threads, and what they share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::thread::JoinHandle;

use crate::error::OpenError;

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn spawn(name: String, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    thread::Builder::new().name(name).spawn(run).map_err(OpenError::Thread)
}

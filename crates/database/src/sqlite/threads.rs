//! Threads.

use std::thread;
use std::thread::JoinHandle;

use crate::error::OpenError;

pub(super) fn spawn(name: String, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    thread::Builder::new().name(name).spawn(run).map_err(OpenError::Thread)
}

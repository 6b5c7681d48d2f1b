//! What actix-http lacks: deadlines for heads and answers, one request of a connection at a time, and answers to what
//! never becomes a request. It uses `core`.

pub(crate) mod accept;
pub(crate) mod connection;
pub(crate) mod framing;
pub(crate) mod reject;
pub(crate) mod stream;

//! What actix-http lacks between the socket and a request. It uses `core`.
//!
//! actix-http 3.20 bounds the time of a connection's first head and of the pause between two requests. It reads ahead, and
//! frames a response by the head that it read last. What it cannot parse it answers with a bare status, or not at all.
//!
//! | module | what it adds | tests that fail without it |
//! |---|---|---|
//! | `accept` | a limit on connections: one beyond it is answered 503 and closed | `crowds` |
//! | `stream`, `connection` | deadlines for heads and for reading responses; yielding to other connections | `slow`, `stalled` |
//! | `framing` | one request at a time goes to actix-http, whatever is pipelined behind it | `pipelined`, `framing` |
//! | `reject` | error responses in the contract's form to what never becomes a request | `heads`, `slow`, `crowds` |
//!
//! The tests are those of `tests/hostile`. It would not be enough to read nothing from the socket while a response is owed: two
//! small requests can arrive in one read, and actix-http takes both from its buffer.
//!
//! This module can go once actix-http (or the HTTP library in its place) frames each response by its own request, has a deadline
//! for every head and for writing, and lets an application render its protocol errors.

mod accept;
mod connection;
pub(crate) mod framing;
pub(crate) mod reject;
mod stream;

pub(crate) use self::accept::Acceptor;
pub(crate) use self::connection::{Connection, LINGER, Overdue, ResponseGuard};
pub(crate) use self::stream::Stream;

//! What actix-http lacks between the socket and a request. It uses `core`.
//!
//! actix-http 3.20 bounds the time of a connection's first head and of the pause between two requests; it reads ahead, and
//! frames an answer by the head that it read last; what it cannot parse it answers with a bare status, or not at all.
//!
//! | module | what it adds | tests that fail without it |
//! |---|---|---|
//! | `accept` | a limit on connections: what is beyond it is answered 503 and closed | `crowds` |
//! | `stream`, `connection` | deadlines for every head and for taking answers; yielding to other connections | `slow`, `stalled` |
//! | `framing` | one request at a time goes to actix-http, whatever is pipelined behind it | `pipelined`, `framing` |
//! | `reject` | answers in the contract's form to what never becomes a request | `heads`, `slow`, `crowds` |
//!
//! The tests are those of `tests/hostile`. The simplest way to have one request at a time, not to read from the socket while
//! an answer is owed, does not do: two small requests come in one read, and actix-http takes both from its buffer.
//!
//! It can go once actix-http (or the HTTP library in its place) frames each answer by its own request, has a deadline for
//! every head and for writing, and lets an application render its protocol errors.

mod accept;
mod connection;
pub(crate) mod framing;
pub(crate) mod reject;
mod stream;

pub(crate) use self::accept::Acceptor;
pub(crate) use self::connection::{Answering, Connection, LINGER, Overdue};
pub(crate) use self::stream::Stream;

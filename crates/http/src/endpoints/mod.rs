//! The handlers, each beside the types of its requests. They use every layer above them.

pub(crate) mod accounts;
pub(crate) mod comments;
pub(crate) mod docs;
pub(crate) mod follows;
pub(crate) mod health;
pub(crate) mod media;
pub(crate) mod posts;
pub(crate) mod products;
pub(crate) mod users;

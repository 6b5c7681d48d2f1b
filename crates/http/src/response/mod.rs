//! What is answered: envelopes, lists, tags, and how the domain's values look as JSON, with their schemas. It uses `core`,
//! `transport` and `request`.

pub(crate) mod comment_view;
pub(crate) mod conditional;
pub(crate) mod envelope;
pub(crate) mod etag;
pub(crate) mod failures;
pub(crate) mod files;
pub(crate) mod headers;
pub(crate) mod list;
pub(crate) mod schemas;
pub(crate) mod views;

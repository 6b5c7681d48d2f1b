//! What is read of a request: its body as JSON or as a form, its path, its query and its conditions. It uses `core` and
//! `transport`.

pub(crate) mod body;
pub(crate) mod body_deadline;
pub(crate) mod cursor;
pub(crate) mod extract;
pub(crate) mod field;
pub(crate) mod multipart;
pub(crate) mod paging;
pub(crate) mod parameters;
pub(crate) mod preconditions;

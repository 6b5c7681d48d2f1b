//! What must hold whatever the bytes are, for everything that parses foreign bytes: one module a parser, each with a
//! `check` that panics when it does not hold. `targets/` has a program for each, which libFuzzer drives.

#![forbid(unsafe_code)]

pub mod archive;
pub mod catalog;
pub mod client;
pub mod configuration;
pub mod cursor;
pub mod form;
pub mod headers;
pub mod image;
pub mod instant;
pub mod json;
mod metadata;
pub mod query;
pub mod s3_answer;
pub mod token;

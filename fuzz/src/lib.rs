//! What must hold whatever the bytes are, for everything that parses foreign bytes: one module a parser, each with a
//! `check` that panics when it does not hold. `main.rs` gives libFuzzer the one of [`TARGETS`] that is asked for.

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

/// The targets: a name, which is also that of the directory of seeds, and what must hold.
pub const TARGETS: &[(&str, fn(&[u8]))] = &[
    ("archive", archive::check),
    ("catalog", catalog::check),
    ("client", client::check),
    ("configuration", configuration::check),
    ("cursor", cursor::check),
    ("form", form::check),
    ("headers", headers::check),
    ("image_gif", image::check),
    ("image_jpeg", image::check),
    ("image_png", image::check),
    ("image_webp", image::check),
    ("instant", instant::check),
    ("json", json::check),
    ("query", query::check),
    ("s3_answer", s3_answer::check),
    ("token", token::check),
];

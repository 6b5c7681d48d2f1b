//! Compresses the OpenAPI document, which is served as it is committed.

#![forbid(unsafe_code)]

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    println!("cargo::rerun-if-changed={}", document.display());
    let directory = env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| io::Error::other("there is no OUT_DIR"))?;
    let mut compressed = GzEncoder::new(File::create(directory.join("openapi.json.gz"))?, Compression::best());
    // No string of JSON goes over lines.
    for line in fs::read_to_string(document)?.lines() {
        compressed.write_all(line.trim_start().as_bytes())?;
    }
    compressed.finish()?.sync_all()
}

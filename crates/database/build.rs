//! Refuses a build whose SQLite would lack the flags of `.cargo/config.toml`: it would serve a tenth fewer pages of
//! comments. SQLite's crate takes flags from the environment alone, and Cargo reads that file only when it is called in
//! the repository.

#![forbid(unsafe_code)]

/// Where the flags stand.
const CONFIG: &str = "../../.cargo/config.toml";

fn main() {
    println!("cargo::rerun-if-env-changed=LIBSQLITE3_FLAGS");
    println!("cargo::rerun-if-changed={CONFIG}");
    let config = std::fs::read_to_string(CONFIG).unwrap_or_default();
    let expected = config.lines().find_map(|line| line.strip_prefix("LIBSQLITE3_FLAGS = \"")?.strip_suffix('"'));
    let expected = expected.unwrap_or_default();
    if expected.is_empty() {
        println!("cargo::error=there are no LIBSQLITE3_FLAGS in .cargo/config.toml, beside the directory crates");
    } else if std::env::var("LIBSQLITE3_FLAGS").as_deref() != Ok(expected) {
        println!(
            "cargo::error=SQLite would be built without its flags: build in the repository, without LIBSQLITE3_FLAGS in the \
             environment, or with export LIBSQLITE3_FLAGS='{expected}'"
        );
    }
}

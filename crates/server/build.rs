//! How the program is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Three quarters of a megabyte of relocations become a few kilobytes, which the loader reads and memory keeps.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

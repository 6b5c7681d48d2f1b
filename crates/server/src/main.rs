//! The `agora` binary.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use agora_server::cli;
use mimalloc::MiMalloc;

/// Gives back what large requests took, most of which glibc keeps for the next ones.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    cli::run()
}

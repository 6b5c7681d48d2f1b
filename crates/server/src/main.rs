//! The `agora` binary.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use agora_server::cli;

fn main() -> ExitCode {
    cli::run()
}

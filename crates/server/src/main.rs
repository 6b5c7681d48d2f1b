//! The `agora` binary.

use std::process::ExitCode;

use agora_server::cli;

fn main() -> ExitCode {
    cli::run()
}

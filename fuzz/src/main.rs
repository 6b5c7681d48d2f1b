//! All fuzz targets as one program, so that their dependencies are linked once. `AGORA_FUZZ_TARGET` names the one that
//! libFuzzer drives.

#![no_main]
#![forbid(unsafe_code)]

use std::sync::OnceLock;
use std::{env, process};

use agora_fuzz::TARGETS;
use libfuzzer_sys::fuzz_target;

static CHECK: OnceLock<fn(&[u8])> = OnceLock::new();

/// Returns the check of the target that the environment names. Ends the program when there is none of that name, so
/// that it is not taken for a finding.
fn check() -> fn(&[u8]) {
    let name = env::var("AGORA_FUZZ_TARGET").unwrap_or_default();
    let Some((_, check)) = TARGETS.iter().find(|(target, _)| *target == name) else {
        eprintln!("AGORA_FUZZ_TARGET is '{name}', which is no target: {:?}", TARGETS.iter().map(|(name, _)| name));
        process::exit(2);
    };
    *check
}

fuzz_target!(init: { CHECK.get_or_init(check); }, |data: &[u8]| CHECK.get_or_init(check)(data));

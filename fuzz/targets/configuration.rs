//! Fuzzes `agora_fuzz::configuration`.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agora_fuzz::configuration::check(data));

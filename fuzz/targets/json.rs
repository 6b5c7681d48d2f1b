//! Fuzzes `agora_fuzz::json`.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agora_fuzz::json::check(data));

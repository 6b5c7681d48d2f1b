//! Fuzzes `agora_fuzz::client`.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agora_fuzz::client::check(data));

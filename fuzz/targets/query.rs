//! Fuzzes `agora_fuzz::query`.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agora_fuzz::query::check(data));

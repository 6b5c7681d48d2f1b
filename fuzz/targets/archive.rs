//! Fuzzes `agora_fuzz::archive`.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agora_fuzz::archive::check(data));

//! Fuzzes `agora_fuzz::headers`.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agora_fuzz::headers::check(data));

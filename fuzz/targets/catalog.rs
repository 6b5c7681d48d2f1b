//! Fuzzes `agora_fuzz::catalog`.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agora_fuzz::catalog::check(data));

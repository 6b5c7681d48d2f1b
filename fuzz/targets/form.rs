//! Fuzzes `agora_fuzz::form`.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agora_fuzz::form::check(data));

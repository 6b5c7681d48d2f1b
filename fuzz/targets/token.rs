//! Fuzzes `agora_fuzz::token`.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agora_fuzz::token::check(data));

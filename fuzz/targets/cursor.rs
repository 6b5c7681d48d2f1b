//! Fuzzes `agora_fuzz::cursor`.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agora_fuzz::cursor::check(data));

//! Fuzzes `agora_fuzz::instant`.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agora_fuzz::instant::check(data));

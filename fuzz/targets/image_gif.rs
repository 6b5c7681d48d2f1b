//! Fuzzes `agora_fuzz::image`.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agora_fuzz::image::check(data));

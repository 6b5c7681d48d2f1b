//! Fuzzes `agora_fuzz::s3_answer`.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agora_fuzz::s3_answer::check(data));

//! cargo-fuzz: inputs of `tests/fuzz/decoders/quantity.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bindery_fuzz::quantity(input));

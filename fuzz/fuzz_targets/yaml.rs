//! cargo-fuzz: inputs of `tests/fuzz/decoders/yaml.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bindery_fuzz::yaml(input));

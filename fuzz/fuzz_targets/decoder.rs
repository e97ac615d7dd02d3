//! cargo-fuzz: inputs of the decoder of `tests/fuzz/decoders` that `DECODER` names.
#![no_main]

#[path = "../../tests/fuzz/decoders/mod.rs"]
#[allow(dead_code, reason = "the seeded runs use all of it")]
mod decoders;

use std::sync::LazyLock;

use decoders::Decoder;

static CHOSEN: LazyLock<Decoder> = LazyLock::new(|| {
    let name = std::env::var("DECODER").unwrap_or_default();
    decoders::named(&name).unwrap_or_else(|| panic!("DECODER=\"{name}\" is no decoder; use make fuzz TARGET=NAME"))
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let _ = (CHOSEN.check)(input);
});

//! What must hold for every input of a decoder, for the targets of cargo-fuzz. The functions are those of the
//! seeded runs (`tests/fuzz`); here they only get names that other crates can see.

#[path = "../../tests/fuzz/decoders/mod.rs"]
mod decoders;

/// See `tests/fuzz/decoders/quantity.rs`.
pub fn quantity(input: &[u8]) {
    let _ = decoders::quantity::check(input);
}

/// See `tests/fuzz/decoders/selector.rs`.
pub fn selector(input: &[u8]) {
    let _ = decoders::selector::check(input);
}

/// See `tests/fuzz/decoders/review.rs`.
pub fn review(input: &[u8]) {
    let _ = decoders::review::check(input);
}

/// See `tests/fuzz/decoders/yaml.rs`.
pub fn yaml(input: &[u8]) {
    let _ = decoders::yaml::check(input);
}

/// See `tests/fuzz/decoders/configuration.rs`.
pub fn configuration(input: &[u8]) {
    let _ = decoders::configuration::check(input);
}

/// See `tests/fuzz/decoders/dump.rs`.
pub fn dump(input: &[u8]) {
    let _ = decoders::dump::check(input);
}

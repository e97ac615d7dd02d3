//! What must hold for every input of every decoder, however it was made. This is the one list of decoders: the seeded
//! runs of `cargo test` and the target of cargo-fuzz (`fuzz/`) both take theirs from here.
//!
//! A function panics where a property does not hold. Not here: where inputs come from.

mod configuration;
mod dump;
mod places;
mod quantity;
mod review;
mod selector;
mod yaml;

/// A decoder and what its inputs are made of.
pub(crate) struct Decoder {
    /// Its name, which the folder of its corpus has too.
    pub(crate) name: &'static str,
    /// Panics where a property does not hold.
    pub(crate) check: fn(&[u8]) -> Outcome,
    /// Words of its format.
    pub(crate) words: &'static [&'static str],
}

/// Every decoder.
pub(crate) const ALL: [Decoder; 6] = [
    configuration::DECODER,
    dump::DECODER,
    quantity::DECODER,
    review::DECODER,
    selector::DECODER,
    yaml::DECODER,
];

/// The decoder of this name.
pub(crate) fn named(name: &str) -> Option<Decoder> {
    ALL.into_iter().find(|decoder| decoder.name == name)
}

/// What a decoder made of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was read.
    Read,
    /// It was rejected, with a reason that keeps the promises below.
    Rejected,
}

/// The longest reason, in characters. A person reads no longer one, and an unauthenticated client must not be able to fill
/// a log with it.
const REASON_CHARS_MAX: usize = 600;

/// A reason is one line of bounded length.
fn check_reason(reason: &str) {
    assert!(!reason.is_empty(), "a rejection without a reason");
    assert!(!reason.contains(char::is_control), "a reason with control characters: {reason:?}");
    let length = reason.chars().count();
    assert!(length <= REASON_CHARS_MAX, "a reason of {length} characters");
}

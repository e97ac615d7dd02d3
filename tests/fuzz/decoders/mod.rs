//! What must hold for every input of every decoder, however it was made: the same functions serve the seeded
//! runs beside this folder and cargo-fuzz (`fuzz/`).
//!
//! A function panics where a property does not hold. Not here: where inputs come from.

pub(crate) mod configuration;
pub(crate) mod dump;
mod places;
pub(crate) mod quantity;
pub(crate) mod review;
pub(crate) mod selector;
pub(crate) mod yaml;

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

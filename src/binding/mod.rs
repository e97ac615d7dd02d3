//! What it means for a volume and a claim to belong together: the two pointers, the reasons
//! against a pair, and what is known of the objects around them.
//!
//! Pure: it decides from values and never asks for more than it is given; what it would have to
//! know is part of its answer. Verdicts on requests are in `rules`.

mod evidence;
mod fit;
mod mismatch;
mod pairing;
#[cfg(test)]
mod tests;
mod view;

pub use evidence::{Answer, Confirmation, Evidence, LiveReads, Lookup, PodUse, Read};
pub use fit::{Asker, Fit, fit};
pub use mismatch::Mismatch;
pub use pairing::{Pairing, pairing};
pub use view::{Observed, View};

//! Identifiers that look random and repeat under the same seed.

use super::rng::SeededRng;

/// A sequence of identifiers; the same seed gives the same sequence.
#[derive(Debug, Clone)]
pub(super) struct Uids {
    rng: SeededRng,
}

/// Letters of a generated name's suffix. Kubernetes: `k8s.io/apimachinery/pkg/util/rand` leaves out
/// vowels and look-alikes.
const SUFFIX_LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Letters appended to `generateName`. Kubernetes: `storage/names/generate.go`.
const SUFFIX_LENGTH: usize = 5;

impl Uids {
    /// A sequence that depends on `seed` alone.
    pub(super) fn new(seed: u64) -> Self {
        Self { rng: SeededRng::new(seed) }
    }

    /// The next identifier, in the shape of a version 4 UUID.
    pub(super) fn next_uid(&mut self) -> String {
        let (high, low) = (self.rng.next_number(), self.rng.next_number());
        let third = 0x4000 | (high & 0x0fff);
        let fourth = 0x8000 | (low >> 50);
        let (first, second) = (high >> 32, (high >> 16) & 0xffff);
        format!("{first:08x}-{second:04x}-{third:04x}-{fourth:04x}-{:012x}", low & ((1 << 48) - 1))
    }

    /// The next suffix of a generated name.
    pub(super) fn next_suffix(&mut self) -> String {
        let mut rest = self.rng.next_number();
        let mut suffix = String::with_capacity(SUFFIX_LENGTH);
        for letters in std::iter::repeat_n(SUFFIX_LETTERS, SUFFIX_LENGTH) {
            let count = letters.len() as u64;
            let letter = usize::try_from(rest % count).ok().and_then(|index| letters.get(index));
            suffix.extend(letter.map(|byte| char::from(*byte)));
            rest /= count;
        }
        suffix
    }
}

//! Digests of texts that are too long to be kept, which show whether they changed.

use std::hash::{DefaultHasher, Hasher as _};

/// Two hashes of the same texts, from two beginnings: for one of 64 bits, two lists that differ and count as
/// one would be found within minutes.
#[derive(Debug)]
pub struct Digest([DefaultHasher; 2]);

impl Default for Digest {
    fn default() -> Self {
        let mut second = DefaultHasher::new();
        second.write_u8(1);
        Self([DefaultHasher::new(), second])
    }
}

impl Digest {
    /// Adds a text.
    pub fn add(&mut self, text: &str) {
        for hasher in &mut self.0 {
            hasher.write(text.as_bytes());
            // Ends it: this byte is in no text.
            hasher.write_u8(0xff);
        }
    }

    /// Of all that was added, in order.
    pub fn finish(&self) -> [u64; 2] {
        self.0.each_ref().map(DefaultHasher::finish)
    }

    /// Of one text.
    pub fn of(text: &str) -> [u64; 2] {
        let mut digest = Self::default();
        digest.add(text);
        digest.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_differ_by_where_texts_end_and_by_their_order() {
        let of = |texts: &[&str]| {
            let mut digest = Digest::default();
            for text in texts {
                digest.add(text);
            }
            digest.finish()
        };
        assert_eq!(of(&["a"]), Digest::of("a"));
        let digests = [of(&["a", "b"]), of(&["b", "a"]), of(&["ab"]), of(&["ab", ""]), of(&[])];
        for (place, digest) in digests.iter().enumerate() {
            assert!(!digests[..place].contains(digest), "{place}");
            assert_ne!(digest[0], digest[1]);
        }
    }
}

//! New inputs from old ones: what a careless writer, a cut connection and an attacker make of them.
//!
//! The same number always makes the same input, on every machine. Not here: what must hold for it.

/// Inputs that are longer are cut: what goes wrong in a long one mostly goes wrong in a short one, a hundred
/// times faster.
const BYTES_MAX: usize = 4_096;

/// Words that every text format knows, or trips over.
const WORDS: &[&str] = &[
    "",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "-1",
    "1e999",
    "1.5",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "{}",
    "[]",
    "\"\"",
    "\"",
    "'",
    ":",
    ",",
    "{",
    "}",
    "[",
    "]",
    "\\",
    "\\u0000",
    "\\ud800",
    "\\ud83d\\ude00",
    "\n",
    "\r\n",
    "\t",
    "\u{0}",
    "\u{feff}",
    "\u{2028}",
    "é",
    "😀",
    "#",
    "&a ",
    "*a",
    "!!str ",
    "<<",
    "- ",
    "? ",
    "---\n",
    "|\n  ",
    "~",
];

/// Numbers that look like none (`SplitMix64`).
pub(crate) struct SeededRng(u64);

impl SeededRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`; 0 if that is 0.
    fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).expect("a word of this machine");
        usize::try_from(self.next() % end).expect("less than a length")
    }

    fn one_of<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Makes inputs of a corpus.
pub(crate) struct Mutator<'a> {
    corpus: &'a [Vec<u8>],
    /// Words of the format.
    words: &'a [&'a str],
}

impl<'a> Mutator<'a> {
    pub(crate) fn new(corpus: &'a [Vec<u8>], words: &'a [&'a str]) -> Self {
        assert!(!corpus.is_empty(), "a corpus of nothing");
        Self { corpus, words }
    }

    /// Makes the next input in `input`: an entry of the corpus after up to four changes.
    pub(crate) fn make(&self, rng: &mut SeededRng, input: &mut Vec<u8>) {
        input.clear();
        input.extend_from_slice(rng.one_of::<Vec<u8>>(self.corpus));
        for _ in 0..=rng.below(4) {
            self.change(rng, input);
        }
        input.truncate(BYTES_MAX);
    }

    fn change(&self, rng: &mut SeededRng, input: &mut Vec<u8>) {
        let place = rng.below(input.len());
        match rng.below(12) {
            0 => flip(rng, input, place),
            1 => {
                let byte = rng.next().to_le_bytes()[0];
                if let Some(old) = input.get_mut(place) {
                    *old = byte;
                }
            }
            2 => input.truncate(place),
            3 => drop(input.drain(slice(rng, input.len(), place))),
            4 => {
                let slice = slice(rng, input.len(), place);
                let (copy, to) = (input[slice].to_vec(), rng.below(input.len()));
                drop(input.splice(to..to, copy));
            }
            5 => self.splice(rng, input, place),
            6 => {
                let word = self.word(rng).as_bytes().to_vec();
                drop(input.splice(place..place, word));
            }
            7 => {
                let part = self.part(rng);
                drop(input.splice(place..place, part));
            }
            _ => {
                let run = run(input, place);
                let word = if rng.below(3) == 0 { self.part(rng) } else { self.word(rng).into() };
                drop(input.splice(run, word));
            }
        }
    }

    /// Goes on as another entry does from some place on.
    fn splice(&self, rng: &mut SeededRng, input: &mut Vec<u8>, place: usize) {
        let other = rng.one_of(self.corpus);
        let from = rng.below(other.len());
        input.truncate(place);
        input.extend_from_slice(&other[from..]);
    }

    fn word(&self, rng: &mut SeededRng) -> &'a str {
        let words = if rng.below(3) == 0 { WORDS } else { self.words };
        rng.one_of::<&'a str>(words)
    }

    /// A run of letters of the corpus.
    fn part(&self, rng: &mut SeededRng) -> Vec<u8> {
        let other = rng.one_of(self.corpus);
        let place = rng.below(other.len());
        other[run(other, place)].to_vec()
    }
}

fn flip(rng: &mut SeededRng, input: &mut [u8], place: usize) {
    let bit = rng.below(8);
    if let Some(byte) = input.get_mut(place) {
        *byte ^= 1 << bit;
    }
}

/// A short stretch from `place` on.
fn slice(rng: &mut SeededRng, length: usize, place: usize) -> std::ops::Range<usize> {
    let longest = if rng.below(4) == 0 { length } else { 32 };
    place..(place + 1 + rng.below(longest)).min(length)
}

/// The word around `place`, or the one byte that is none.
fn run(input: &[u8], place: usize) -> std::ops::Range<usize> {
    let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./".contains(byte);
    let before = input[..place].iter().rev().take_while(|byte| belongs(byte)).count();
    let after = input[place..].iter().take_while(|byte| belongs(byte)).count();
    let end = (place + after.max(1)).min(input.len());
    place - before..end
}

#[test]
fn the_same_number_makes_the_same_input_and_others_make_others() {
    let corpus = [b"{\"a\": [1, 2]}".to_vec(), b"key: value".to_vec()];
    let mutator = Mutator::new(&corpus, &["word"]);
    let made = |seed| {
        let mut input = Vec::new();
        mutator.make(&mut SeededRng::new(seed), &mut input);
        input
    };
    let inputs: std::collections::BTreeSet<Vec<u8>> = (0..1_000).map(made).collect();
    assert!(inputs.len() > 600, "only {} inputs", inputs.len());
    assert!((0..100).all(|seed| made(seed) == made(seed)));
}

//! Ends of runs of bytes that are all skipped.

use wide::u8x16;

/// Returns where, from `at` on, the white space ends.
#[inline]
pub(super) fn end_of_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\t' | b'\r') = bytes.get(at) {
        at += 1;
        // A third of what kubectl prints is indentation.
        while bytes.get(at..).is_some_and(|rest| rest.starts_with(&[b' '; 8])) {
            at += 8;
        }
    }
    at
}

/// Bytes that are looked at together: as many as one word has bits.
const BLOCK_BYTES: usize = 64;

/// The bytes of a block that end a plain run of text: quotes, backslashes and control characters.
///
/// An object has a text for each ten of its bytes, so that a block is kept until the texts in it are read.
#[derive(Debug)]
pub(super) struct TextMarks {
    /// The number of the block.
    block: usize,
    /// A bit for each of its bytes, the first in the lowest: set for a mark, and for what is behind the end of the text.
    bits: u64,
}

impl TextMarks {
    /// Those of no block yet.
    pub(super) fn new() -> Self {
        Self { block: usize::MAX, bits: 0 }
    }

    /// Returns where, from `at` on, the first mark of `bytes` stands, or the end.
    #[inline]
    pub(super) fn next(&mut self, bytes: &[u8], at: usize) -> usize {
        let rest = self.bits >> (at % BLOCK_BYTES);
        if at / BLOCK_BYTES == self.block && rest != 0 {
            return at + rest.trailing_zeros() as usize;
        }
        self.next_in_later_block(bytes, at)
    }

    #[inline(never)]
    fn next_in_later_block(&mut self, bytes: &[u8], mut at: usize) -> usize {
        loop {
            let block = at / BLOCK_BYTES;
            if block != self.block {
                *self = Self { block, bits: marks_of(bytes.get(block * BLOCK_BYTES..)) };
            }
            let rest = self.bits >> (at % BLOCK_BYTES);
            if rest != 0 {
                return at + rest.trailing_zeros() as usize;
            }
            at = (block + 1) * BLOCK_BYTES;
        }
    }
}

/// The marks of the block that `rest` begins with.
fn marks_of(rest: Option<&[u8]>) -> u64 {
    let rest = rest.unwrap_or_default();
    rest.first_chunk().map_or_else(|| marks_of_end(rest), marks_of_block)
}

/// The marks of a last block, which is filled with zeros.
#[cold]
fn marks_of_end(rest: &[u8]) -> u64 {
    let mut block = [0; BLOCK_BYTES];
    block.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
    marks_of_block(&block)
}

fn marks_of_block(block: &[u8; BLOCK_BYTES]) -> u64 {
    let (parts, _) = block.as_chunks::<16>();
    let join = |bits, part: &[u8; 16]| bits << 16 | u64::from(marks_of_part(*part));
    parts.iter().rev().fold(0, join)
}

fn marks_of_part(bytes: [u8; 16]) -> u32 {
    let bytes = u8x16::new(bytes);
    let is = |byte| bytes.simd_eq(u8x16::splat(byte));
    let is_control = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
    (is(b'"') | is(b'\\') | is_control).to_bitmask()
}

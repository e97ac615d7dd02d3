//! Ends of runs of bytes that are all skipped, eight bytes at a time.

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

/// Returns where, from `at` on, the first quote, backslash or control character stands, or the end.
#[inline]
pub(super) fn end_of_plain(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    // Eight bytes at a time: the high bit of a byte is set where the byte is below `least`, or follows one that is.
    let below = |word: u64, least: u8| word.wrapping_sub(ONES * u64::from(least)) & !word;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*chunk);
        let quote = below(word ^ (ONES * u64::from(b'"')), 1);
        let backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
        let found = (quote | backslash | below(word, 0x20)) & HIGHS;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
        at += 1;
    }
    at
}

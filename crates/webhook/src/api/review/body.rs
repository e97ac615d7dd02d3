//! Prepares the bytes of a review for the parser: checks the nesting, and shortens long texts in place.
//!
//! The parser copies a text with an escape before it can be cut, and quotes a text of the wrong type in its error: both
//! would take the memory of the body once more.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use serde::de::IgnoredAny;

use super::error::{OBJECT_NESTING_MAX, ReviewError};
use super::text_of;
use crate::model::annotations::VOLUME_PREFIX;

/// The review and its request, around an object.
const ENVELOPE_NESTING: usize = 2;

/// Texts above this many bytes are shortened. 16 KiB: names have at most 253, exemptions and notes a
/// few hundred; what is longer is a manifest or a driver's own, and neither is read.
pub(super) const TEXT_BYTES_MAX: usize = 16 * 1024;

/// A text under a key with this prefix is one that mutations restore as it is, and stays whole.
const RESTORED_PREFIX: &[u8] = VOLUME_PREFIX.as_bytes();

/// Up to so many bytes: all annotations of an object have 256 KiB together (Kubernetes: `validation/objectmeta.go`,
/// `TotalAnnotationSizeLimitB`), of which each may be written in six.
const RESTORED_BYTES_MAX: usize = 6 * 256 * 1024;

/// Bytes of the head that is kept, so that with the mark it stays below what a field keeps.
const HEAD_BYTES: usize = 900;

/// Checks the nesting of `body` and shortens its long texts where they stand, so that nothing that is
/// read from it grows with them. Bytes that are not JSON are left to the parser.
///
/// A shortened text keeps its head, its length and a hash, so that a change of it is still a change.
/// Errors of a body that is long enough: bytes that are not UTF-8; nesting
/// that the API server itself rejects; a long text that is not valid.
pub fn prepare(body: &mut [u8]) -> Result<(), ReviewError> {
    // Neither long texts nor deep nesting (two bytes a level) fit into less.
    if body.len() <= TEXT_BYTES_MAX {
        return Ok(());
    }
    text_of(body)?;
    let (mut depth, mut place) = (0_usize, 0);
    let mut before = 0..0;
    while let Some(byte) = body.get(place) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let Some(end) = end_of_text(body, place) else { return Ok(()) };
                let length = end - place;
                let is_restored = length <= RESTORED_BYTES_MAX && is_key(body, before, place);
                if length > TEXT_BYTES_MAX && !is_restored {
                    let token = body.get_mut(place..=end).unwrap_or_default();
                    shorten(token).map_err(|reason| ReviewError::Text { place, reason })?;
                }
                before = place + 1..end;
                place = end;
            }
            _ => {}
        }
        if depth > OBJECT_NESTING_MAX + ENVELOPE_NESTING {
            return Err(ReviewError::TooDeep);
        }
        place += 1;
    }
    Ok(())
}

/// Returns whether the text in `before` is the key, and one that mutations restore, of what opens at `value`.
fn is_key(body: &[u8], before: Range<usize>, value: usize) -> bool {
    let between = body.get(before.end + 1..value).unwrap_or_default();
    let key = body.get(before).unwrap_or_default();
    key.starts_with(RESTORED_PREFIX) && between.trim_ascii() == b":"
}

/// Returns whether this text looks as one that was shortened does.
pub fn is_shortened(text: &str) -> bool {
    let mark = text.rsplit_once("… (").and_then(|(_, mark)| mark.strip_suffix(')'));
    let Some((bytes, hash)) = mark.and_then(|mark| mark.split_once(" bytes, ")) else {
        return false;
    };
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash && bytes.parse::<usize>().is_ok_and(|bytes| bytes >= TEXT_BYTES_MAX)
}

/// Returns where the text that opens at `open` has its closing quote.
fn end_of_text(body: &[u8], open: usize) -> Option<usize> {
    let mut place = open + 1;
    loop {
        let rest = body.get(place..)?;
        place += rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        if body.get(place) == Some(&b'"') {
            return Some(place);
        }
        place += 2;
    }
}

/// Writes the head and a mark over a text with its quotes, and spaces over the rest.
fn shorten(token: &mut [u8]) -> Result<(), String> {
    let text = std::str::from_utf8(token).map_err(|_| "it is not UTF-8".to_owned())?;
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Err("it holds an escape or a control character that JSON does not allow".to_owned());
    }
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let mark = format!("… ({} bytes, {:016x})\"", text.len() - 2, hasher.finish());
    let mut end = 1;
    while end + unit_bytes(text, end) <= HEAD_BYTES {
        end += unit_bytes(text, end);
    }
    let (mark_place, blank) = token.split_at_mut(end).1.split_at_mut(mark.len());
    mark_place.copy_from_slice(mark.as_bytes());
    blank.fill(b' ');
    Ok(())
}

/// Bytes of the letter that is written at `place`; an escaped pair of surrogates is one.
fn unit_bytes(text: &str, place: usize) -> usize {
    let rest = text.get(place..).unwrap_or_default();
    let is_surrogate = || {
        let digits = rest.get(2..6).unwrap_or_default();
        u16::from_str_radix(digits, 16).is_ok_and(|unit| (0xD800..0xDC00).contains(&unit))
    };
    match rest.strip_prefix('\\').map(|escape| escape.starts_with('u')) {
        Some(true) if is_surrogate() => 12,
        Some(true) => 6,
        Some(false) => 2,
        None => rest.chars().next().map_or(1, char::len_utf8),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// The body after preparation, as JSON; its length must not change.
    fn prepared(body: &Value) -> Value {
        let mut bytes = body.to_string().into_bytes();
        let length = bytes.len();
        prepare(&mut bytes).unwrap();
        assert_eq!(bytes.len(), length);
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn only_long_texts_are_shortened_and_a_change_of_one_stays_a_change() {
        let long = "x".repeat(TEXT_BYTES_MAX);
        let other = format!("{}y", &long[1..]);
        let kept = serde_json::json!({"a": "short", "b": long[1..], "n": 1});
        let mut body = kept.clone();
        body["c"] = Value::String(long.clone());
        body["d"] = Value::String(other);
        let mut read = prepared(&body);
        let texts = ["c", "d"].map(|key| read.as_object_mut().unwrap().remove(key).unwrap());
        assert_eq!(read, kept);
        let [first, second] = texts.each_ref().map(|text| text.as_str().unwrap());
        assert!(first.starts_with(&"x".repeat(899)) && first.contains("… (16384 bytes, "));
        assert_ne!(first, second);
    }

    /// What a mutation restores has to be what was there.
    #[test]
    fn what_mutations_put_back_stays_whole_and_what_is_cut_shows_it() {
        let long = "x".repeat(200 * 1024);
        let body = serde_json::json!({
            "pv.kubernetes.io/note": long, "other": "y", "list": ["pv.kubernetes.io/a", "short"],
        });
        assert_eq!(prepared(&body), body);
        for (cut, place) in [
            (serde_json::json!({"list": ["pv.kubernetes.io/a", long]}), "/list/1"),
            (serde_json::json!({"pv.kubernetes.io/a": {"b": long}}), "/pv.kubernetes.io~1a/b"),
            (
                serde_json::json!({"pv.kubernetes.io/": "x".repeat(RESTORED_BYTES_MAX)}),
                "/pv.kubernetes.io~1",
            ),
        ] {
            let read = prepared(&cut);
            let text = |body: &Value| body.pointer(place).unwrap().as_str().unwrap().to_owned();
            assert_eq!((is_shortened(&text(&cut)), is_shortened(&text(&read))), (false, true));
        }
    }

    #[test]
    fn no_letter_or_escape_is_cut_in_two() {
        for (letter, written) in
            [("é", "é"), ("\n", "\\n"), ("😀", "\\ud83d\\ude00"), ("é", "\\u00e9")]
        {
            for shift in 0..12 {
                let text = format!("{}{}", "x".repeat(shift), written.repeat(TEXT_BYTES_MAX));
                let mut body = format!(r#"{{"a":"{text}","b":"\"\\"}}"#).into_bytes();
                prepare(&mut body).unwrap();
                let read: Value = serde_json::from_slice(&body).unwrap();
                let head = read["a"].as_str().unwrap().trim_start_matches('x');
                let head = head.split_once('…').unwrap().0;
                assert!(!head.is_empty() && head.replace(letter, "").is_empty(), "{head}");
                assert_eq!(read["b"], "\"\\");
            }
        }
    }

    #[test]
    fn a_long_text_that_is_invalid_is_an_error_with_its_place() {
        let filling = "x".repeat(TEXT_BYTES_MAX);
        let error = |end: &[u8]| {
            let mut body = [br#"{"a":""#, filling.as_bytes(), end, br#""}"#].concat();
            prepare(&mut body).unwrap_err().to_string()
        };
        assert_eq!(error(b"\xff"), "the text at byte 16390 cannot be read: it is not UTF-8");
        for end in [&b"\\x"[..], b"\\u12", b"\n"] {
            let message = error(end);
            assert!(
                message.starts_with("the text at byte 5 cannot be read: it holds an escape"),
                "{message}"
            );
        }
        // A text without an end is left to the parser.
        let mut body = format!("{{\"a\":\"{filling}\\").into_bytes();
        let before = body.clone();
        prepare(&mut body).unwrap();
        assert_eq!(body, before);
    }
}

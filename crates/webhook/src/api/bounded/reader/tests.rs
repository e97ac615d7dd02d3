//! What is read here is what `serde_json` reads.

use proptest::prelude::*;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::*;
use crate::api::bounded::{LabelUse, ReadLabels, wire};

wire! {
    struct Labelled {
        _labels: ReadLabels = "labels",
    }
}

const REVIEW: &str = include_str!("../../../../../../benches/data/allowed.json");

/// Checks that what is accepted here is what `serde_json` accepts, with the same value. Returns whether it is.
fn agrees(text: &str) -> bool {
    let (mut reader, mut skipping) = (Reader::new(text), Reader::new(text));
    let read = Value::deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    let skipped = IgnoredAny::deserialize(&mut skipping).and_then(|_| skipping.end());
    if let Ok(value) = &read {
        assert_eq!(serde_json::from_str::<Value>(text).ok().as_ref(), Some(value), "{text}");
    }
    if skipped.is_ok() {
        assert!(serde_json::from_str::<IgnoredAny>(text).is_ok(), "{text}");
    }
    read.is_ok() && skipped.is_ok()
}

#[test]
fn what_an_api_server_writes_is_read_here() {
    let escapes =
        r#"{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00","é":"ü","n":[0,-1,12,true,false,null,{},[]]}"#;
    for text in [REVIEW, escapes, " { \"a\" : [ 1 , 2 ] } \n", "\"a\"", "[[],{}]"] {
        assert!(agrees(text), "{text}");
    }
}

#[test]
fn what_is_no_json_is_left_to_serde_json() {
    for text in [
        "",
        " ",
        "{",
        "[",
        "[1,]",
        "[,1]",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{a:1}",
        "[1 2]",
        "]",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "tru",
        "nul",
        "\"\\x\"",
        "\"\\u12\"",
        "\"a",
        "\"\n\"",
        "\"\\ud800\"",
        "1 1",
        "{]",
        "[}",
    ] {
        let read = Value::deserialize(&mut Reader::new(text));
        let mut reader = Reader::new(text);
        let skipped = IgnoredAny::deserialize(&mut reader).and_then(|_| reader.end());
        // A lone surrogate is an error only to who reads the text.
        let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
        assert!(is_json || skipped.is_err(), "{text}");
        agrees(text);
        drop(read);
    }
}

/// Nesting is limited, and no number loses digits.
#[test]
fn what_is_rare_is_left_to_serde_json() {
    let deep = format!("{}{}", "[".repeat(66), "]".repeat(66));
    for text in [&*deep, "1.5", "-0", "1e3", "18446744073709551616"] {
        assert!(Value::deserialize(&mut Reader::new(text)).is_err() || text == deep, "{text}");
        agrees(text);
    }
    assert!(IgnoredAny::deserialize(&mut Reader::new(&deep)).is_err());
}

#[test]
fn every_length_of_a_plain_text_is_found() {
    for length in 0..140 {
        for (end, found) in
            [("\"", true), ("\\", true), ("\u{1f}", true), ("\u{7f}", false), ("é", false)]
        {
            let text = format!("{}{end}{}", "é".repeat(length), "x".repeat(9));
            let expected = if found { 2 * length } else { text.len() };
            let mut marks = TextMarks::new();
            for start in (0..=expected).rev().chain([expected]) {
                assert_eq!(marks.next(text.as_bytes(), start), expected, "{text:?} from {start}");
            }
        }
    }
}

#[test]
fn members_are_those_of_the_object_in_order() {
    let members: Result<Vec<_>, _> = MemberTexts::of(r#" {"a":1, "b" : {"c":[2]} } "#).collect();
    assert_eq!(members.unwrap(), [("a".into(), "1"), ("b".into(), r#"{"c":[2]}"#)]);
    assert_eq!(MemberTexts::of("{}").count(), 0);
    for text in ["[]", "{", "{\"a\":1", "{\"a\":1,}", "{} x", "1"] {
        assert!(MemberTexts::of(text).any(|member| member.is_err()), "{text}");
    }
}

proptest! {
    /// A review of which some bytes are replaced, left out or doubled.
    #[test]
    fn nothing_is_accepted_that_serde_json_does_not_accept(
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), 0_usize..3, prop::sample::select(b"{}[]\",:\\0-1.eu n\n\x01".to_vec())), 1..4,
        ),
        start in any::<prop::sample::Index>(),
    ) {
        let mut text = REVIEW.as_bytes().to_vec();
        for (place, kind, byte) in edits {
            let at = place.index(text.len());
            match kind {
                0 => text[at] = byte,
                1 => drop(text.remove(at)),
                _ => text.insert(at, byte),
            }
        }
        let text = String::from_utf8(text).unwrap();
        agrees(&text);
        agrees(&text[start.index(text.len())..]);
    }
}

/// Also where neither keys nor values are kept.
#[test]
fn a_key_is_a_text() {
    let read = |text| crate::api::bounded::parse::<Labelled>(text, LabelUse::Skip).map(drop);
    assert!(read(r#"{"labels":{"a":"b"}}"#).is_ok());
    assert!(
        read(r#"{"labels":{1:"b"}}"#).unwrap_err().to_string().starts_with("key must be a string")
    );
}

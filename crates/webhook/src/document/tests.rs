//! Places, bare words and errors of documents.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Position, read};

fn value(text: &str) -> Value {
    let documents = read(text).expect("it reads");
    assert_eq!(documents.len(), 1, "{text}");
    documents[0].to_json()
}

fn reason_of(text: &str) -> String {
    read(text).expect_err("it does not read").to_string()
}

/// Compared with `kubectl label --local -f FILE a=b -o json` of 1.36, word by word.
#[test]
fn bare_words_mean_what_kubectl_takes_them_for() {
    let cases = [
        ("yes", json!(true)),
        ("Off", json!(false)),
        ("\"yes\"", json!("yes")),
        ("!!str yes", json!("yes")),
        ("~", json!(null)),
        ("0777", json!(511)),
        ("0o17", json!(15)),
        ("0x1F", json!(31)),
        ("1_000", json!(1000)),
        ("-12", json!(-12)),
        ("08", json!(8)),
        ("1e3", json!(1000)),
        ("1.5", json!(1.5)),
        ("10Gi", json!("10Gi")),
        ("2001-12-14", json!("2001-12-14")),
        ("18446744073709551615", json!(18_446_744_073_709_551_615.0)),
        ("9223372036854775807", json!(i64::MAX)),
        ("y", json!(true)),
        ("N", json!(false)),
        ("NULL", json!(null)),
        ("0b11", json!(3)),
        ("-0b11", json!(-3)),
        ("0b12", json!("0b12")),
        ("0x", json!("0x")),
        ("+0x1F", json!(31)),
        ("+1", json!(1)),
        ("-0777", json!(-511)),
        ("-0", json!(0)),
        ("1.", json!(1)),
        (".5", json!(0.5)),
        ("1e-3", json!(0.001)),
        ("3.14e5", json!(314_000)),
        ("1_0.5", json!(10.5)),
        ("1__", json!(1)),
        ("_1", json!("_1")),
        ("2001-12-14T21:59:43Z", json!("2001-12-14T21:59:43Z")),
        ("1.2.3", json!("1.2.3")),
        ("-", json!([null])),
        (".", json!(".")),
    ];
    for (word, meaning) in cases {
        let text = if word == "-" { "key:\n- ".to_owned() } else { format!("key: {word}") };
        assert_eq!(value(&text)["key"], meaning, "{word}");
    }
}

#[test]
fn keys_that_are_no_text_become_their_text() {
    assert_eq!(value("{1: a, yes: b, c: d}"), json!({"1": "a", "true": "b", "c": "d"}));
}

#[test]
fn every_key_knows_its_place() {
    let yaml = "spec:\n  capacity:\n    storage: 1Gi\n";
    let json = "{\"spec\":\n  {\"capacity\": {\n    \"storage\": \"1Gi\"}}}\n";
    for text in [yaml, json] {
        let document = &read(text).expect("it reads")[0];
        assert_eq!(document.place_of("spec.capacity.storage"), Position { line: 3, column: 5 });
        assert_eq!(document.place_of("spec.claimRef"), document.place_of("spec"));
    }
}

#[test]
fn documents_of_one_stream_are_distinguished() {
    assert_eq!(read("a: 1\n---\n---\nb: 2\n").expect("it reads").len(), 2);
    assert_eq!(read("{\"a\": 1}\n{\"b\": 2}").expect("it reads").len(), 2);
    assert_eq!(read("# nothing\n").expect("it reads").len(), 0);
}

#[test]
fn aliases_and_merges_are_resolved() {
    let text = "base: &base {a: 1, b: 2}\nnext: {<<: *base, b: 3}\n";
    assert_eq!(value(text)["next"], json!({"a": 1, "b": 3}));
    assert_eq!(value("\"<<\": {a: 1}\n"), json!({"<<": {"a": 1}}));
}

#[test]
fn rejections_name_the_place() {
    assert_eq!(reason_of("a: 1\nb: 2\na: 3\n"), "3:1: key \"a\" is given twice, first at 1:1");
    assert_eq!(reason_of("{\"a\": 1,\n \"a\": 2}"), "2:2: key \"a\" is given twice, first at 1:2");
    assert!(reason_of("a: [1, 2\nb: 3\n").starts_with("2:"), "{}", reason_of("a: [1, 2\nb: 3\n"));
    assert!(reason_of("{\"a\": }").starts_with("1:7: not readable as JSON: expected value"));
    assert_eq!(reason_of("? [a]\n: b\n"), "1:3: a list or a map cannot be a key");
}

/// Columns are counted in letters, also where the parser counts bytes.
#[test]
fn a_rejection_of_json_names_the_letter() {
    assert!(reason_of("{\"é😀\": }").starts_with("1:8: not readable as JSON: expected value"));
    assert!(
        reason_of("{\"a\":\n \"é").starts_with("2:3: not readable as JSON: EOF"),
        "{}",
        reason_of("{\"a\":\n \"é")
    );
}

/// Such a list has no depth of its own; the parser reports where its first item begins.
#[test]
fn a_list_begins_at_its_dash_however_it_is_indented() {
    let at = |text: &str| read(text).expect("it reads")[0].get("a").expect("a key").at;
    for (text, line, column) in [
        ("a:\n- b\n", 2, 1),
        ("a:\n-   b: 1\n", 2, 1),
        ("a: # why\n- - b\n", 2, 1),
        ("a:\r\n-\r\n  - b\r\n", 2, 1),
        ("a:\n  - b\n", 2, 3),
        ("a: [b]\n", 1, 4),
        ("? a\n: - b\n", 2, 3),
    ] {
        assert_eq!(at(text), Position { line, column }, "{text:?}");
    }
    let nested = &read("- - a\n").expect("it reads")[0];
    assert_eq!(nested.items()[0].at, Position { line: 1, column: 3 });
}

#[test]
fn a_rejection_does_not_repeat_a_long_key() {
    let (word, key) = ("k".repeat(1_000), json!("k\u{1b}".repeat(100_000)));
    for text in [format!("{word}: 1\n{word}: 2\n"), format!("{{{key}: 1, {key}: 2}}")] {
        let reason = reason_of(&text);
        assert!(reason.contains("…\" is given twice, first at 1:"), "{}", reason.len());
        assert!(reason.chars().count() < 200 && !reason.contains(char::is_control), "{reason}");
    }
}

#[test]
fn aliases_cannot_fill_the_memory() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let before = format!("*a{}", level - 1);
        let items = vec![before; 10].join(", ");
        writeln!(text, "a{level}: &a{level} [{items}]").expect("text takes it");
    }
    assert!(reason_of(&text).ends_with("aliases add more than 1000000 values"));
}

#[test]
fn depth_is_limited() {
    for depth in [120, 5000] {
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(
            reason_of(&deep).ends_with("values nest deeper than 100 levels"),
            "{}",
            reason_of(&deep)
        );
    }
    let deep = format!("a: {}{}", "[".repeat(120), "]".repeat(120));
    assert!(
        reason_of(&deep).ends_with("values nest deeper than 100 levels"),
        "{}",
        reason_of(&deep)
    );
    // The parser has a limit of its own for flow collections.
    let deep = format!("a: {}{}", "[".repeat(5000), "]".repeat(5000));
    assert!(reason_of(&deep).ends_with("recursion limit exceeded"), "{}", reason_of(&deep));
}

//! Bodies that are no JSON, or not as JSON should be: cut off, followed by more, nested too deep, not
//! UTF-8, with unreadable texts and numbers.

use super::{BODY, Row, row};
use crate::wire::volume_review;

/// Where `"pv-a"` stands in [`whole`].
const NAME_AT: usize = 204;

fn whole() -> String {
    let whole = volume_review(r#"{"metadata":{"name":"pv-a"}}"#);
    assert_eq!(whole.find("\"pv-a\""), Some(NAME_AT), "the place that the rows name");
    whole
}

pub(super) fn rows() -> Vec<Row> {
    [cut_off(), followed(), not_json(), broken_values(), long_texts(), nested(), not_utf8()]
        .into_iter()
        .flatten()
        .collect()
}

/// A connection that ends early, at every kind of place.
fn cut_off() -> Vec<Row> {
    let whole = whole();
    let at = |text: &str| whole.find(text).unwrap();
    [
        (0, "EOF while parsing a value"),
        (1, "EOF while parsing an object"),
        (2, "EOF while parsing a string"),
        (at("apiVersion") + 11, "EOF while parsing an object"),
        (at("\"admission"), "EOF while parsing a value"),
        (at("\"admission") + 12, "EOF while parsing a string"),
        (at(",\"kind\""), "EOF while parsing an object"),
        (at("\"kind\""), "EOF while parsing a value"),
        (at("{\"uid\""), "EOF while parsing a value"),
        (at("{\"uid\"") + 1, "EOF while parsing an object"),
        (at("{\"metadata"), "EOF while parsing a value"),
        (at("pv-a") + 2, "EOF while parsing a string"),
        (whole.len() - 4, "EOF while parsing an object"),
        (whole.len() - 1, "EOF while parsing an object"),
    ]
    .map(|(length, reason)| row(&whole.as_bytes()[..length], format!("{BODY}: {reason} @")))
    .into()
}

/// A whole review with something behind it.
fn followed() -> Vec<Row> {
    let whole = whole();
    ["x", "}", ",", "{}", "null", "\0", "\u{a0}", "//", &whole]
        .map(|rest| row(format!("{whole}{rest}"), format!("{BODY}: trailing characters @")))
        .into()
}

/// Returns what is meant as something else.
fn not_json() -> Vec<Row> {
    let value = "expected value";
    [
        ("apiVersion: v1", value),
        ("\u{feff}{}", value),
        ("<review/>", value),
        ("\0", value),
        ("k8s\0\n\u{c}\n\u{14}", value),
        ("// a comment\n{}", value),
        ("nul", "EOF while parsing a value"),
        ("nullx", "invalid type: null, expected a map"),
        ("truth", "expected ident"),
        ("'a'", value),
        ("{'a':1}", "key must be a string"),
        ("{a:1}", "key must be a string"),
        ("{1:1}", "key must be a string"),
        ("{\"a\" 1}", "expected `:`"),
        ("{\"a\":1 \"b\":2}", "expected `,` or `}`"),
        ("{\"a\":1,}", "trailing comma"),
        ("{,}", "key must be a string"),
        ("{\"a\":}", value),
        ("{\"a\":[1,]}", value),
        ("{\"a\":[1 2]}", "expected `,` or `]`"),
        ("{\"a\":[}", value),
        ("{]", "key must be a string"),
    ]
    .map(|(body, reason)| row(body, format!("{BODY}: {reason} @")))
    .into()
}

/// Values that look like some, where a text is read and where nothing is.
fn broken_values() -> Vec<Row> {
    let whole = whole();
    let name = |value: &str| whole.replace("\"pv-a\"", value);
    let control = "control character (\\u0000-\\u001F) found while parsing a string";
    let mut rows: Vec<Row> = [
        ("01", "invalid number"),
        ("+1", "expected value"),
        (".5", "expected value"),
        ("1.", "invalid number"),
        ("1e", "invalid number"),
        ("-", "invalid number"),
        ("NaN", "expected value"),
        ("Infinity", "expected value"),
        ("tru", "expected ident"),
        ("\"a\nb\"", control),
        ("\"a\tb\"", control),
        ("\"a\0b\"", control),
        ("\"\\x\"", "invalid escape"),
        ("\"\\u12\"", "invalid escape"),
    ]
    .map(|(value, reason)| row(name(value), format!("{BODY}: {reason} @")))
    .into();
    // Halves of pairs are found only where the text is put together.
    let halves = [
        ("\"\\ud800\"", "unexpected end of hex escape"),
        ("\"\\ud800\\u0041\"", "lone leading surrogate in hex escape"),
        ("\"\\udc00\"", "lone leading surrogate in hex escape"),
    ];
    rows.extend(halves.map(|(value, reason)| {
        row(name(value), format!("request.object cannot be read: {reason} @"))
    }));
    rows
}

/// Texts that are too long to be wanted whole are looked at before the rest is read.
fn long_texts() -> Vec<Row> {
    let long = |end: &str| whole().replace("pv-a", &format!("{}{end}", "x".repeat(20_000)));
    let broken = format!(
        "the text at byte {NAME_AT} cannot be read: it holds an escape or a control character that \
         JSON does not allow"
    );
    let mut rows: Vec<Row> =
        ["\\x", "\\u12", "\n", "\0", "\\ud8"].map(|end| row(long(end), broken.clone())).into();
    let open = long("").replace("\"}}}}", "");
    rows.push(row(open, format!("{BODY}: EOF while parsing a string @")));
    rows
}

/// The API server reads no object that is nested more than 10,000 levels deep.
fn nested() -> Vec<Row> {
    let with = |value: String| whole().replace("\"pv-a\"", &value);
    let too_deep = "the body is nested more than 10000 levels deep";
    let maps = format!("{}1{}", "{\"a\":".repeat(11_000), "}".repeat(11_000));
    let mixed = format!("{}1{}", "[{\"a\":".repeat(6_000), "}]".repeat(6_000));
    let closed = format!("{}{}", "[".repeat(10_001), "]".repeat(10_001));
    let unread = whole().replace("\"metadata\"", &format!("\"x\":{closed},\"metadata\""));
    vec![
        row("[".repeat(200_000), too_deep),
        row("{\"a\":".repeat(20_000), too_deep),
        row(with("[".repeat(200_000)), too_deep),
        row(with(maps), too_deep),
        row(with(mixed), too_deep),
        row(unread, too_deep),
        // Not as deep as that, but where nothing deep can be meant.
        row(
            with(format!("{}{}", "[".repeat(9_000), "]".repeat(9_000))),
            "request.object cannot be read: invalid type: sequence, expected text @",
        ),
    ]
}

/// In every part of a body, also where nothing is read from it: what is mutated is read whole.
fn not_utf8() -> Vec<Row> {
    let whole = volume_review(r#"{"metadata":{"name":"pv-a","x":"unread","labels":{"a":"b"}}}"#);
    let reported =
        |place: usize| format!("the text at byte {place} cannot be read: it is not UTF-8");
    let parts = ["u-1", "pv-a", "CREATE", "persistentvolumes", "admission.k8s", "unread", "b\"}}"];
    let mut rows: Vec<Row> = parts
        .map(|text| {
            let (mut body, place) = (whole.clone().into_bytes(), whole.find(text).unwrap());
            body[place] = 0xff;
            row(body, reported(place))
        })
        .into();
    // A letter that is cut off, one that is written too long, half of a pair, and what is above all letters.
    for wrong in [&b"\xe2\x82"[..], b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"] {
        let (before, after) = whole.split_once("unread").unwrap();
        row_of(&mut rows, &[before.as_bytes(), wrong, after.as_bytes()], reported(before.len()));
    }
    // Behind more text than is looked at whole; UTF-16, with a mark and without; Latin-1.
    let long = whole.replace("unread", &"x".repeat(20_000));
    let place = long.len() - 20;
    let mut bytes = long.into_bytes();
    bytes[place] = 0xff;
    rows.push(row(bytes, reported(place)));
    let wide: Vec<u8> = whole.encode_utf16().flat_map(u16::to_le_bytes).collect();
    row_of(&mut rows, &[&[0xff, 0xfe], &wide], reported(0));
    rows.push(row(wide, format!("{BODY}: key must be a string @")));
    let (before, after) = whole.split_once("unread").unwrap();
    row_of(
        &mut rows,
        &[before.as_bytes(), b"caf\xe9", after.as_bytes()],
        reported(before.len() + 3),
    );
    rows
}

fn row_of(rows: &mut Vec<Row>, parts: &[&[u8]], line: String) {
    rows.push(row(parts.concat(), line));
}

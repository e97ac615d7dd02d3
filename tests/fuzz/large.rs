//! Inputs of hundreds of kilobytes: each is read or rejected in the time that its length takes, with a reason of the usual
//! length.
//!
//! The limit is far above what the slowest of them takes and far below what reading each part once more for
//! every other part would. Not here: what the webhook takes for a large body (`tests/webhook/wire/large.rs`).

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use bindery::client::resource::ResourceKind;
use bindery::model::Quantity;
use bindery::{config, document};

/// How long a thing is that is one thing, or the same again and again.
const BYTES: usize = 250_000;

const LIMIT: Duration = Duration::from_secs(20);

/// The longest line that is reported about any of them, in characters.
const REASON_CHARS_MAX: usize = 600;

/// Says nothing, or why it read nothing.
type Reader = fn(&str) -> Option<String>;

const READERS: [(&str, Reader); 5] = [
    ("document", |text| document::read(text).err().map(|error| error.to_string())),
    ("configuration", |text| config::read(text, "a.yaml").err().map(|error| error.to_string())),
    ("volume", |text| ResourceKind::Volumes.observed(text).err().map(|error| error.to_string())),
    ("claim", |text| ResourceKind::Claims.observed(text).err().map(|error| error.to_string())),
    ("quantity", |text| Quantity::parse(text).err().map(|error| error.to_string())),
];

/// `count` entries that `entry` writes.
fn many(count: usize, entry: impl Fn(&mut String, usize)) -> String {
    let mut text = String::new();
    (0..count).for_each(|number| entry(&mut text, number));
    text
}

fn wide() -> Vec<(&'static str, String)> {
    let members = many(200_000, |text, number| write!(text, "\"k{number}\":0,").unwrap());
    let lines = many(100_000, |text, number| writeln!(text, "k{number}: 0").unwrap());
    let flow = many(100_000, |text, number| write!(text, "k{number}: 0, ").unwrap());
    let merges = many(2_000, |text, number| writeln!(text, "a{number}: {{<<: *a, b: 1}}").unwrap());
    let labels = many(100_000, |text, number| write!(text, "\"k{number}\":\"v\",").unwrap());
    let terms = "{\"key\":\"a\",\"operator\":\"Exists\"},".repeat(30_000);
    vec![
        ("members on one line", format!("{{{members}\"end\":0}}")),
        ("lines", lines),
        ("a flow map on one line", format!("{{{flow}end: 0}}")),
        ("merges", format!("a: &a {{c: 2}}\n{merges}")),
        ("items", format!("{{\"a\":[{}0]}}", "0,".repeat(500_000))),
        ("labels", format!("{{\"metadata\":{{\"labels\":{{{labels}\"end\":\"v\"}}}}}}")),
        ("terms", format!("{{\"spec\":{{\"selector\":{{\"matchExpressions\":[{terms}{{}}]}}}}}}")),
        ("documents", "--- 1\n".repeat(100_000)),
        ("JSON documents", "{\"a\":1}\n".repeat(100_000)),
    ]
}

fn deep() -> Vec<(&'static str, String)> {
    let of = |part: &str| part.repeat(BYTES / part.len());
    vec![
        ("brackets", of("[")),
        ("braces", of("{")),
        ("maps", of("{\"a\":")),
        ("lists in a map", format!("{{\"a\":{}}}", of("["))),
        ("dashes", of("- ")),
        ("questions", of("? ")),
        ("colons", of(": ")),
        ("anchors", of("&a ")),
        ("aliases", of("*a ")),
        ("tags", of("!a ")),
        ("marks", of("<<: ")),
    ]
}

fn long() -> Vec<(&'static str, String)> {
    let of = |part: &str| part.repeat(BYTES / part.len());
    vec![
        ("nothing", of("\n")),
        ("blanks", of(" ")),
        ("tabs", of("\t")),
        ("returns", of("\r")),
        ("comments", of("# a\n")),
        ("one comment", format!("#{}", of("a"))),
        ("one word", of("a")),
        ("digits", of("9")),
        ("zeros", of("0")),
        ("a fraction", format!("0.{}", of("1"))),
        ("an exponent", format!("1e{}", of("9"))),
        ("a suffix", format!("1{}", of("e"))),
        ("a text", format!("\"{}\"", of("a"))),
        ("an open text", format!("{{\"a\":\"{}", of("a"))),
        ("escapes", format!("{{\"metadata\":\"{}\"}}", of("\\u0000"))),
        ("a key", format!("{{\"{0}\":1,\"{0}\":1}}", of("a"))),
        ("a wrong mode", format!("{{\"spec\":{{\"accessModes\":\"{}\"}}}}", of("é"))),
        ("a block", format!("a: |\n{}", of("  a\n"))),
        ("quotes", of("'")),
    ]
}

#[test]
fn much_of_anything_is_read_or_rejected_at_once() {
    let mut wrong = Vec::new();
    for (name, text) in [wide(), deep(), long()].into_iter().flatten() {
        for (reader, read) in READERS {
            let started = Instant::now();
            let reason = read(&text).unwrap_or_default();
            let took = started.elapsed();
            // A configuration reports everything that is wrong with it, a line each.
            let longest = reason.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            if took > LIMIT || longest > REASON_CHARS_MAX {
                wrong.push(format!("{reader}, {name}: {took:?}, {longest} characters"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

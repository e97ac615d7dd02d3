//! A configuration file with every key: its purpose and default as a comment, and its default as the value.
//!
//! It is made of the table behind the reference page, so that the two cannot differ. A key without a default that can be
//! written is a comment too, with a value of the example.

use std::fmt::Write as _;

use crate::config::{ConfigurationKey, EXAMPLE, KEYS};

/// Letters of a line of a comment.
const LINE_CHARS_MAX: usize = 100;

const HEAD: &str = "\
# Configuration of Bindery, with every key. What is set has its default value.
# A line such as `#key: value`, without a space after the sign, is not set: it shows an example.
# The rules and mutations are listed by: bindery rule
";

/// The file.
pub fn commented_configuration() -> String {
    let mut out = HEAD.to_owned();
    section(&mut out, "", 0);
    out
}

/// Writes every key of the map at `path`.
fn section(out: &mut String, path: &str, indent: usize) {
    let mut last = "";
    for key in KEYS {
        let Some(rest) = rest_below(key, path) else { continue };
        let name = rest.split('.').next().unwrap_or_default();
        if name == last {
            continue;
        }
        last = name;
        if indent == 0 && name != "kind" {
            out.push('\n');
        }
        let here = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        if name == rest {
            leaf(out, key, name, indent);
        } else if let Some(name) = name.strip_suffix("[]") {
            list(out, &here, name, indent);
        } else {
            let _ = writeln!(out, "{:indent$}{name}:", "");
            section(out, &here, indent + 2);
        }
    }
}

/// Writes a key: its value where its default is one, else an example.
fn leaf(out: &mut String, key: &ConfigurationKey, name: &str, indent: usize) {
    let Some(default) = key.default else {
        // Of the keys outside of lists, only those that say what the file is are required.
        let _ = writeln!(out, "{:indent$}{name}: {}", "", plain(key.sets));
        return;
    };
    let sets = plain(key.sets);
    if let Some(value) = literal(default) {
        comment(out, &format!("{}.", capital(&sets)), indent);
        let _ = writeln!(out, "{:indent$}{name}: {value}", "");
        return;
    }
    let lines = example(key.path);
    let what = if lines.is_empty() { format!("{name}: {sets}") } else { capital(&sets) };
    comment(out, &format!("{what}. Default: {}.", plain(default)), indent);
    unset(out, &lines, indent);
}

/// Writes the keys of each entry of the list at `path`, and the entries of the example.
fn list(out: &mut String, path: &str, name: &str, indent: usize) {
    comment(out, &format!("{name} is a list. Each entry has:"), indent);
    for key in KEYS {
        if let Some(rest) = rest_below(key, path) {
            let default = key.default.map(|default| format!("Default: {}", plain(default)));
            let default = default.unwrap_or_else(|| "Required".to_owned());
            comment(out, &format!("- {rest}: {}. {default}.", plain(key.sets)), indent);
        }
    }
    unset(out, &example(path.trim_end_matches("[]")), indent);
}

/// Writes lines that are not set.
fn unset(out: &mut String, lines: &[&str], indent: usize) {
    for line in lines {
        let _ = writeln!(out, "{:indent$}#{line}", "");
    }
}

/// Writes a sentence, in lines that a person can read.
fn comment(out: &mut String, sentence: &str, indent: usize) {
    let start = format!("{:indent$}#", "");
    let mut line = start.clone();
    for word in sentence.split(' ') {
        let is_long = line.chars().count() + 1 + word.chars().count() > LINE_CHARS_MAX;
        if is_long && line != start {
            let _ = writeln!(out, "{line}");
            line.clone_from(&start);
        }
        line.extend([" ", word]);
    }
    let _ = writeln!(out, "{line}");
}

/// The lines of the example that set the key at `path`, without their indent and comments; none if none does.
fn example(path: &str) -> Vec<&'static str> {
    let mut lines: Vec<&str> = EXAMPLE.lines().collect();
    let mut indent = 0;
    for (depth, name) in path.split('.').enumerate() {
        indent = 2 * depth;
        let is_key = |line: &&str| {
            below(line, indent).is_some_and(|rest| {
                rest.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'))
            })
        };
        let Some(start) = lines.iter().position(is_key) else { return Vec::new() };
        let goes_on =
            |line: &&&str| below(line, indent).is_some_and(|rest| rest.starts_with([' ', '-']));
        let count = 1 + lines[start + 1..].iter().take_while(goes_on).count();
        lines = lines[start..start + count].to_vec();
    }
    let without_comment = |line: &'static str| line.split(" #").next().unwrap_or(line).trim_end();
    lines.into_iter().filter_map(|line| below(line, indent)).map(without_comment).collect()
}

/// The line without an indent of so many spaces, if it has it.
fn below(line: &str, indent: usize) -> Option<&str> {
    let (spaces, rest) = line.split_at_checked(indent)?;
    spaces.trim().is_empty().then_some(rest)
}

/// The path of a key from the map at `path`.
fn rest_below(key: &ConfigurationKey, path: &str) -> Option<&'static str> {
    let rest = key.path.strip_prefix(path)?;
    if path.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
}

fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The value that a text in Markdown is, if it is nothing but a value.
fn literal(text: &'static str) -> Option<&'static str> {
    text.strip_prefix('`')?.strip_suffix('`').filter(|value| !value.contains('`'))
}

/// The text without the marks of Markdown; of a link, its words, or nothing where it only refers to a page.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        out.push_str(before);
        // A `[` without an address after it is not a link.
        let parts =
            link.split_once("](").and_then(|(words, end)| Some((words, end.split_once(')')?.1)));
        let Some((words, after)) = parts else {
            out.push('[');
            rest = link;
            continue;
        };
        match out.strip_suffix(": ") {
            Some(before) if after.is_empty() || after.starts_with(';') => {
                out.truncate(before.len());
            }
            Some(_) | None => out.push_str(words),
        }
        rest = after;
    }
    out.push_str(rest);
    out.replace('`', "")
}

//! Rust as far as the checks need it: code without comments and literals, its words, and the paths
//! that it names.
//!
//! No parser: a check that needed one would be clippy's business.

/// A word, `::`, or a single sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// Its text.
    pub(crate) text: String,
    /// Its line, counted from one.
    pub(crate) line: usize,
}

impl Token {
    fn is(&self, text: &str) -> bool {
        self.text == text
    }

    fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// A path that code names, groups taken apart: `use a::{b, c::d}` names two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// Its parts as written, `*` for all.
    pub(crate) parts: Vec<String>,
    /// Where it begins: its line.
    pub(crate) line: usize,
    /// Whether others see it from here on: `pub use`.
    pub(crate) is_exported: bool,
    /// The modules opened in the file around it.
    pub(crate) within: Vec<String>,
}

/// `source` with every comment and literal made blank; lines stay where they are.
pub(crate) fn blank(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut code = String::with_capacity(source.len());
    let mut at = 0;
    while let Some(&sign) = chars.get(at) {
        let end = end_of_prose(&chars, at);
        if end == at {
            code.push(sign);
            at += 1;
        } else {
            code.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    code
}

/// Returns where the comment or literal that begins at `at` ends; `at` if none begins there.
fn end_of_prose(chars: &[char], at: usize) -> usize {
    let is = |offset: usize, c: char| chars.get(at + offset) == Some(&c);
    match chars[at] {
        '/' if is(1, '/') => (at..chars.len()).find(|i| chars[*i] == '\n').unwrap_or(chars.len()),
        '/' if is(1, '*') => end_of_block(chars, at),
        '"' => end_of_string(chars, at + 1, '"'),
        '\'' if is(1, '\\') => end_of_string(chars, at + 1, '\''),
        '\'' if is(2, '\'') => at + 3,
        'r' if !follows_word(chars, at) => {
            let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
            if !is(1 + hashes, '"') {
                return at;
            }
            let close = format!("\"{}", "#".repeat(hashes));
            let close: Vec<char> = close.chars().collect();
            let end = (at + 2 + hashes..chars.len()).find(|i| chars[*i..].starts_with(&close));
            end.map_or(chars.len(), |end| end + close.len())
        }
        _ => at,
    }
}

/// Returns whether the sign at `at` goes on a word; the `b` and `c` of literals are none.
fn follows_word(chars: &[char], at: usize) -> bool {
    let word = |i: usize| chars[i].is_alphanumeric() || chars[i] == '_';
    match at {
        0 => false,
        1 => word(0) && !matches!(chars[0], 'b' | 'c'),
        _ => word(at - 1) && (word(at - 2) || !matches!(chars[at - 1], 'b' | 'c')),
    }
}

fn end_of_string(chars: &[char], from: usize, quote: char) -> usize {
    let mut at = from;
    while let Some(c) = chars.get(at) {
        match c {
            '\\' => at += 2,
            c if *c == quote => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

fn end_of_block(chars: &[char], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

/// The words and signs of blanked code.
pub(crate) fn tokens(code: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            let length = match first {
                c if word(c) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
                ':' if rest.starts_with("::") => 2,
                c => c.len_utf8(),
            };
            tokens.push(Token { text: rest[..length].to_owned(), line: index + 1 });
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

/// Every path of at least two parts, and every `use`, in blanked code; not that of a visibility.
pub(crate) fn named(code: &str) -> Vec<Named> {
    let tokens = tokens(code);
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.is(text));
    let (mut found, mut modules, mut depth, mut at) = (Vec::new(), Vec::new(), 0_usize, 0);
    while let Some(token) = tokens.get(at) {
        let opens_module = token.is("{") && at >= 2 && is(at - 2, "mod");
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => {
                modules.pop_if(|(_, opened)| *opened == depth);
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        if opens_module {
            modules.push((tokens[at - 1].text.clone(), depth));
        }
        let goes_on =
            at > 0 && (is(at - 1, ".") || (is(at - 1, "::") && !begins_global(&tokens, at)));
        let imported = at > 0 && is(at - 1, "use");
        let is_visibility = at >= 2 && is(at - 2, "(") && is(at - 1, "in");
        let begins = token.is_word() && !token.is("use") && !goes_on && !is_visibility;
        if begins && (imported || is(at + 1, "::")) {
            let mut paths = Vec::new();
            let end = expand(&tokens, at, &[], &mut paths);
            let within: Vec<String> = modules.iter().map(|(name, _)| name.clone()).collect();
            let line = token.line;
            // What stands before `use` is `pub`, or the end of `pub(super)`.
            let is_exported = imported && at > 1 && (is(at - 2, "pub") || is(at - 2, ")"));
            found.extend(paths.into_iter().map(|parts| Named {
                parts,
                line,
                is_exported,
                within: within.clone(),
            }));
            at = end;
        } else {
            at += 1;
        }
    }
    found
}

/// Returns whether the `::` before `at` begins a path, as in `::std::fs`.
fn begins_global(tokens: &[Token], at: usize) -> bool {
    at < 2 || !(tokens[at - 2].is_word() || tokens[at - 2].is(">")) || tokens[at - 2].is("use")
}

/// Adds the paths of the tree that begins at `at`, behind `prefix`; returns where it ends.
fn expand(tokens: &[Token], at: usize, prefix: &[String], paths: &mut Vec<Vec<String>>) -> usize {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.is(text));
    let mut parts = prefix.to_vec();
    let mut at = at;
    while tokens.get(at).is_some_and(|token| token.is_word() || token.is("*")) {
        parts.push(tokens[at].text.clone());
        at += 1;
        if !is(at, "::") || is(at + 1, "<") {
            break;
        }
        at += 1;
    }
    if !is(at, "{") || !is(at - 1, "::") {
        paths.push(parts);
        return at;
    }
    at += 1;
    while at < tokens.len() && !is(at, "}") {
        at = expand(tokens, at, &parts, paths);
        while at < tokens.len() && !is(at, ",") && !is(at, "}") {
            at += 1;
        }
        if is(at, ",") {
            at += 1;
        }
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str) -> Vec<String> {
        named(&blank(code)).iter().map(|named| named.parts.join("::")).collect()
    }

    #[test]
    fn comments_and_literals_are_blank_and_lines_stay() {
        let source =
            "a // b\n\"c\\\"d\n\" e /* f /* g */ h */ 'i' r#\"j\"k\"# br\"l\" 'x: '\\n' for_r\"m\"";
        let words: Vec<String> = tokens(&blank(source))
            .into_iter()
            .map(|token| format!("{}{}", token.text, token.line))
            .collect();
        assert_eq!(words, ["a1", "e3", "b3", "'3", "x3", ":3", "for_r3"]);
    }

    #[test]
    fn groups_are_taken_apart() {
        assert_eq!(
            paths("pub use crate::{self, a::{B, c::*}, d as e}; fn f() { super::g::<u8>() }"),
            ["crate::self", "crate::a::B", "crate::a::c::*", "crate::d", "super::g"]
        );
        assert_eq!(
            paths(
                "pub(in crate::a) use kube; let x = a.b; ::std::fs::read(p); use ::axum::Router;"
            ),
            ["kube", "std::fs::read", "axum::Router"]
        );
    }

    #[test]
    fn modules_in_a_file_are_known() {
        let named = named("mod a { fn b() { x::y } mod c { x::z } } x::w");
        let within: Vec<String> = named.iter().map(|named| named.within.join("/")).collect();
        assert_eq!(within, ["a", "a/c", ""]);
    }
}

//! What the parts of an explanation promise on their own.

use super::command::quoted;

/// What a POSIX shell makes of a word.
fn unquoted(text: &str) -> String {
    let mut out = String::new();
    let mut is_quoted = false;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, is_quoted) {
            ('\'', _) => is_quoted = !is_quoted,
            ('\\', false) => out.extend(characters.next()),
            (other, _) => out.push(other),
        }
    }
    assert!(!is_quoted, "a quote is open: {text}");
    out
}

#[test]
fn a_quoted_word_is_read_back_whole() {
    for word in
        ["", "plain-1.x", "two words", "it's", "$HOME;`id`", "{\"a\":\"it's\"}", "\\", "tier=a b"]
    {
        let quoted = quoted(word);
        assert_eq!(unquoted(&quoted), word, "{quoted}");
        let is_safe = quoted.starts_with('\'') || !quoted.contains(['$', '`', ' ', '"', ';', '\\']);
        assert!(is_safe && !quoted.is_empty(), "{quoted}");
    }
}

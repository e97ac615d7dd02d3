//! The condition of a ValidatingAdmissionPolicy under which a request has one of several violations.
//!
//! An API server keeps no value for the next use: what several violations require is written once, before them.

/// Returns CEL that holds where all parts of one of these lists hold.
pub(super) fn any_of(lists: &[Vec<String>]) -> String {
    if lists.iter().any(Vec::is_empty) {
        return "true".to_owned();
    }
    let mut firsts: Vec<&String> = Vec::new();
    for first in lists.iter().filter_map(|list| list.first()) {
        if !firsts.contains(&first) {
            firsts.push(first);
        }
    }
    let branch = |first: &String| {
        let of_first = lists.iter().filter(|list| list.first() == Some(first));
        let rests: Vec<Vec<String>> = of_first.map(|list| list[1..].to_vec()).collect();
        match any_of(&rests).as_str() {
            "true" => first.clone(),
            rest => format!("{first} && {rest}"),
        }
    };
    let branches: Vec<String> = firsts.into_iter().map(branch).collect();
    if let [one] = branches.as_slice() {
        one.clone()
    } else {
        format!("({})", branches.join(" || "))
    }
}

/// Returns the parts of CEL all of which must hold, each in brackets where it needs them.
pub(super) fn conjuncts(cel: &str) -> Vec<String> {
    let cel = unbracketed(cel.trim());
    if split(cel, " || ").len() > 1 || split(cel, " ? ").len() > 1 {
        return vec![format!("({cel})")];
    }
    match split(cel, " && ").as_slice() {
        [one] => vec![(*one).to_owned()],
        several => several.iter().flat_map(|part| conjuncts(part)).collect(),
    }
}

/// The parts of CEL between these operators, outside of brackets and texts.
fn split<'a>(cel: &'a str, operator: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (place, depth) in depths(cel) {
        if depth == 0 && place >= start && cel[place..].starts_with(operator) {
            parts.push(&cel[start..place]);
            start = place + operator.len();
        }
    }
    parts.push(&cel[start..]);
    parts
}

/// CEL without brackets around all of it.
fn unbracketed(cel: &str) -> &str {
    let inner = cel.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let is_around = depths(cel).skip(1).all(|(_, depth)| depth > 0);
    inner.filter(|_| is_around).map_or(cel, |inner| unbracketed(inner.trim()))
}

/// Each place of CEL that is in no text, with the number of brackets that are open before it.
fn depths(cel: &str) -> impl Iterator<Item = (usize, usize)> {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    cel.char_indices().filter_map(move |(place, next)| {
        let before = depth;
        match next {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '\'' => is_text = !is_text,
            _ if is_text => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => return Some((place, before)),
        }
        (!is_text && next != '\'').then_some((place, before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_hold_is_split_outside_of_brackets_and_texts() {
        for (cel, parts) in [
            ("(a && (b && 'x && \\' y'))", vec!["a", "b", "'x && \\' y'"]),
            ("a && (b || c && d)", vec!["a", "(b || c && d)"]),
            ("a || b && c", vec!["(a || b && c)"]),
            ("a ? b && c : d", vec!["(a ? b && c : d)"]),
            ("(a) && f(b && c)[d] && {e: f && g}.h", vec!["a", "f(b && c)[d]", "{e: f && g}.h"]),
            ("(a) && !(b && c)", vec!["a", "!(b && c)"]),
            ("(a) != (b)", vec!["(a) != (b)"]),
        ] {
            assert_eq!(conjuncts(cel), parts, "{cel}");
        }
    }

    #[test]
    fn what_several_require_is_written_once() {
        let lists = |lists: &[&[&str]]| -> Vec<Vec<String>> {
            lists.iter().map(|list| list.iter().map(|&one| one.to_owned()).collect()).collect()
        };
        let several = lists(&[&["a", "b", "c"], &["d"], &["a", "b", "e"], &["a", "f"]]);
        assert_eq!(any_of(&several), "(a && (b && (c || e) || f) || d)");
        assert_eq!(any_of(&lists(&[&["a", "b"], &["a"]])), "a");
        assert_eq!(any_of(&lists(&[&["a", "b"]])), "a && b");
    }
}

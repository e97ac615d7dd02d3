//! File name patterns as Go has them: `namePattern` of a StorageClass.

/// A pattern of `*`, `?`, `[a-z]`, `[^a]` and `\` before a character that is meant literally.
///
/// Go: `path/filepath`, `Match`. The crates for patterns spell negation and escapes as a shell does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamePattern(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Any,
    One,
    Literal(char),
    Set { is_negated: bool, ranges: Vec<(char, char)> },
}

impl NamePattern {
    /// The pattern that this text spells; nothing if it is malformed.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut rest = text.chars().peekable();
        while let Some(next) = rest.next() {
            parts.push(match next {
                '*' => Part::Any,
                '?' => Part::One,
                '\\' => Part::Literal(rest.next()?),
                '[' => {
                    let is_negated = rest.next_if_eq(&'^').is_some();
                    let mut ranges = Vec::new();
                    while ranges.is_empty() || rest.next_if_eq(&']').is_none() {
                        let low = member(rest.next()?, &mut rest)?;
                        let high = match rest.next_if_eq(&'-') {
                            Some(_) => member(rest.next()?, &mut rest)?,
                            None => low,
                        };
                        ranges.push((low, high));
                    }
                    Part::Set { is_negated, ranges }
                }
                literal => Part::Literal(literal),
            });
        }
        Some(Self(parts))
    }

    /// Returns whether it matches all of a file name.
    pub(super) fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        // How much of the name the parts up to here can have matched.
        let mut reached = vec![false; name.len() + 1];
        reached[0] = true;
        for part in &self.0 {
            let mut next = vec![false; name.len() + 1];
            for at in 0..=name.len() {
                let is_one = || at > 0 && reached[at - 1] && part.is(name[at - 1]);
                next[at] = match part {
                    Part::Any => reached[at] || (at > 0 && next[at - 1]),
                    Part::One | Part::Literal(_) | Part::Set { .. } => is_one(),
                };
            }
            reached = next;
        }
        reached[name.len()]
    }
}

/// A character of a set, which stands for itself unless it is an escape; `-` and `]` must be escaped.
fn member(first: char, rest: &mut impl Iterator<Item = char>) -> Option<char> {
    match first {
        '\\' => rest.next(),
        '-' | ']' => None,
        other => Some(other),
    }
}

impl Part {
    fn is(&self, char: char) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Literal(literal) => *literal == char,
            Self::Set { is_negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&char)) != *is_negated
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Go: `path/filepath/match_test.go`; only what has no separator.
    #[test]
    fn names_are_matched_as_go_does() {
        for (pattern, name, matches) in [
            ("abc", "abc", Some(true)),
            ("*", "abc", Some(true)),
            ("*c", "abc", Some(true)),
            ("a*", "a", Some(true)),
            ("a*b?c*x", "abxbbxdbxebxczzx", Some(true)),
            ("a*b?c*x", "abxbbxdbxebxczzy", Some(false)),
            ("ab[c]", "abc", Some(true)),
            ("ab[b-d]", "abc", Some(true)),
            ("ab[e-g]", "abc", Some(false)),
            ("ab[^c]", "abc", Some(false)),
            ("ab[^e-g]", "abc", Some(true)),
            ("a\\*b", "a*b", Some(true)),
            ("a\\*b", "ab", Some(false)),
            ("a?b", "a☺b", Some(true)),
            ("a[^a]b", "a☺b", Some(true)),
            ("a???b", "a☺b", Some(false)),
            ("[\\]a]", "]", Some(true)),
            ("[x\\-]", "-", Some(true)),
            ("[]a]", "]", None),
            ("[-]", "-", None),
            ("[x-]", "x", None),
            ("[a-b-c]", "a", None),
            ("[", "a", None),
            ("[^bc", "a", None),
            ("a[", "ab", None),
            ("\\", "a", None),
            ("nvme*", "nvme0n1", Some(true)),
        ] {
            let found = NamePattern::parse(pattern).map(|pattern| pattern.matches(name));
            assert_eq!(found, matches, "{pattern} {name}");
        }
    }
}

//! What the API server takes as a name.
//!
//! Kubernetes: `apimachinery/pkg/util/validation/validation.go`.

/// Returns whether the text is a name between slashes: at most 63 letters, digits, `-`, `_` and `.`, a letter or digit
/// at both ends. Values of labels are such names, or empty.
pub fn is_simple_name(name: &str) -> bool {
    let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let bytes = name.as_bytes();
    bytes.len() <= 63 && outer(bytes.first()) && outer(bytes.last()) && name.bytes().all(inner)
}

/// Returns whether the text is a DNS label: at most 63 lower case letters, digits and `-`, which is at neither end.
pub fn is_dns_label(name: &str) -> bool {
    name.len() <= 63 && is_dns_part(name.as_bytes())
}

/// Returns whether the text is a DNS subdomain: labels of any length with dots between, at most 253 bytes.
pub fn is_dns_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.as_bytes().split(|byte| *byte == b'.').all(is_dns_part)
}

/// Returns whether the text is a qualified name: a simple name, perhaps after a DNS subdomain and a slash.
pub fn is_qualified_name(name: &str) -> bool {
    match name.split_once('/') {
        Some((prefix, name)) => is_simple_name(name) && is_dns_subdomain(prefix),
        None => is_simple_name(name),
    }
}

fn is_dns_part(part: &[u8]) -> bool {
    let is_lower = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    part.first().is_some_and(is_lower)
        && part.last().is_some_and(is_lower)
        && part.iter().all(|byte| is_lower(byte) || *byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinguished_from_other_text() {
        let long = |count: usize| "a".repeat(count);
        for (name, simple, label, subdomain, qualified) in [
            ("data", true, true, true, true),
            ("a.b-c", true, false, true, true),
            ("A_b", true, false, false, true),
            ("example.com/a_B", false, false, false, true),
            ("Example.com/a", false, false, false, false),
            ("a/b/c", false, false, false, false),
            ("", false, false, false, false),
            ("-a", false, false, false, false),
            ("a-", false, false, false, false),
            ("a..b", true, false, false, true),
            (&*long(64), false, false, true, false),
            (&*long(254), false, false, false, false),
        ] {
            let found = (
                is_simple_name(name),
                is_dns_label(name),
                is_dns_subdomain(name),
                is_qualified_name(name),
            );
            assert_eq!(found, (simple, label, subdomain, qualified), "{name}");
        }
    }
}

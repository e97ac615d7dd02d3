//! What a scalar of YAML means.
//!
//! kubectl reads YAML 1.1 (`sigs.k8s.io/yaml` over `yaml/v2`, `resolve.go`): `yes` is true, `0777`
//! is 511. A checker that read `yes` as text would pass what the API server rejects.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Number;

use super::tree::Shape;

/// Returns what the scalar `text` means, which has this tag of YAML's own and is bare or quoted; else what is wrong
/// with it.
///
/// Go: `yaml/v2`, `decode.go`, `scalar`.
pub(super) fn scalar(text: &str, tag: Option<&str>, is_bare: bool) -> Result<Shape, String> {
    let plain = || Shape::Text(text.to_owned());
    let shape = match tag {
        Some("str") => return Ok(plain()),
        Some("binary") => {
            let decoded = STANDARD.decode(text.split_whitespace().collect::<String>()).ok();
            let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
            let wrong = || "!!binary is not base64 of text; write the text itself".to_owned();
            return decoded.map(Shape::Text).ok_or_else(wrong);
        }
        // A tag makes a bare word of what is quoted.
        Some("int" | "float" | "bool" | "null") => resolve(text),
        Some(_) | None if is_bare => resolve(text),
        Some(_) | None => return Ok(plain()),
    };
    let is_endless = INFINITE.iter().any(|word| text.trim_start_matches(['+', '-']) == *word);
    if is_endless && tag != Some("null") {
        return Err(format!("{text} is no number that JSON has; quote it"));
    }
    let fits = match (tag, &shape) {
        (Some("int" | "float"), Shape::Number(_)) | (Some("bool"), Shape::Bool(_)) => true,
        (Some("null"), shape) => *shape == Shape::Null,
        (Some("int" | "float" | "bool"), _) => false,
        _ => true,
    };
    let tag = tag.unwrap_or_default();
    if fits { Ok(shape) } else { Err(format!("{text:?} is no !!{tag}; leave the tag out")) }
}

/// Numbers of YAML that JSON has none for, without their sign.
const INFINITE: [&str; 6] = [".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"];

/// Returns what the bare word `text` means.
pub(super) fn resolve(text: &str) -> Shape {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Shape::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Shape::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Shape::Bool(false);
        }
        _ => {}
    }
    let number = match text.as_bytes().first() {
        Some(b'0'..=b'9' | b'+' | b'-') => {
            let plain = text.replace('_', "");
            integer(&plain).or_else(|| decimal(&plain))
        }
        Some(b'.') => decimal(text),
        _ => None,
    };
    number.map_or_else(|| Shape::Text(text.to_owned()), Shape::Number)
}

/// Go: `strconv.ParseInt(text, 0, 64)`: the prefix gives the base, a leading zero means octal.
/// What is larger comes out of kubectl as a floating-point number.
fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = if let Some(hex) = lower.strip_prefix("0x") {
        (16, hex)
    } else if let Some(octal) = lower.strip_prefix("0o") {
        (8, octal)
    } else if let Some(binary) = lower.strip_prefix("0b") {
        (2, binary)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, lower.get(1..)?)
    } else {
        (10, lower.as_str())
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    if negative {
        i64::from_str_radix(&format!("-{digits}"), radix).ok().map(Number::from)
    } else {
        i64::from_str_radix(digits, radix).ok().map(Number::from)
    }
}

/// Go: `yamlStyleFloat` and `strconv.ParseFloat`. A whole number is printed without a fraction.
fn decimal(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let shape =
        unsigned.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if !shape || !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    let whole = format!("{number:.0}").parse::<i64>().ok();
    match whole {
        Some(whole) if whole.to_string() == number.to_string() => Some(Number::from(whole)),
        _ => Number::from_f64(number),
    }
}

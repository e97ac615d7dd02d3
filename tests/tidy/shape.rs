//! The shape of files: a header, a length, names of the domain. Not here: the length of functions, which clippy checks.

use super::Finding;
use super::code::{blank, tokens};
use super::tree::File;

/// Lines a file may have: what a person reads at a sitting.
const FILE_LINES_MAX: usize = 500;

/// Endings of names that say nothing about the domain.
const EMPTY_NAMES: [&str; 6] = ["Manager", "Helper", "Util", "Utils", "Info", "Data"];

fn finding(file: &File, line: usize, text: String) -> Finding {
    Finding { file: file.path.clone(), line, text }
}

/// A file begins with what it is.
pub(crate) fn header(file: &File) -> Vec<Finding> {
    if file.text.starts_with("//! ") {
        return Vec::new();
    }
    let text = "does not begin with `//!`; say what the file is, why it exists, what is not here";
    vec![finding(file, 1, text.to_owned())]
}

/// A file is short.
pub(crate) fn length(file: &File) -> Vec<Finding> {
    let lines = file.text.lines().count();
    if lines <= FILE_LINES_MAX {
        return Vec::new();
    }
    vec![finding(file, lines, format!("{lines} lines, at most {FILE_LINES_MAX}; split the file"))]
}

/// A type is named after what it is in the domain.
pub(crate) fn names(file: &File) -> Vec<Finding> {
    let tokens = tokens(&blank(&file.text));
    let declared = tokens.windows(2).filter(|pair| {
        matches!(pair[0].text.as_str(), "struct" | "enum" | "trait" | "type" | "union")
    });
    // `Data` is what http's `Body` calls what it is made of: that name is not ours to choose.
    let chosen = declared.filter(|pair| pair[0].text != "type" || pair[1].text != "Data");
    chosen
        .filter(|pair| EMPTY_NAMES.iter().any(|name| pair[1].text.ends_with(name)))
        .map(|pair| {
            let text = format!("{} says nothing about the domain; name what it is", pair[1].text);
            finding(file, pair[1].line, text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File { path: "a.rs".to_owned(), text: text.to_owned() }
    }

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_missing_header_is_found() {
        assert_eq!(lines(&header(&file("use std::fmt;\n//! Too late."))), [1]);
        assert_eq!(lines(&header(&file(""))), [1]);
        assert!(header(&file("//! What it is.\n")).is_empty());
    }

    #[test]
    fn a_long_file_is_found() {
        assert_eq!(lines(&length(&file(&"\n".repeat(501)))), [501]);
        assert!(length(&file(&"\n".repeat(500))).is_empty());
    }

    #[test]
    fn an_empty_name_is_found() {
        let text = "use a::ObjectInfo;\npub struct VolumeManager;\nenum Helper {}\n";
        assert_eq!(lines(&names(&file(text))), [2, 3]);
        assert!(
            names(&file("struct Information; struct Managed; // struct Util\ntype Data = u8;"))
                .is_empty()
        );
    }
}

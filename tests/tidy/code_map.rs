//! The drawing of the layers in the code map.

use std::fmt::Write as _;

use super::layers::LAYERS;
use super::tree::File;

/// The table as a drawing: one row and one column for each layer, lowest first.
fn drawing() -> String {
    let mut text = " ".repeat(16);
    for number in 1..=LAYERS.len() {
        write!(text, "{number:>3}").expect("a String takes it");
    }
    for (index, layer) in LAYERS.iter().enumerate() {
        write!(text, "\n{:>2} {:<13}", index + 1, layer.name).expect("a String takes it");
        for other in &LAYERS[..index] {
            text.push_str(if layer.imports.contains(&other.name) { "  ●" } else { "  ·" });
        }
        text.push_str("  ■");
    }
    text
}

/// Finds a code map that does not show the table. Returns the text of the file that does.
pub(crate) fn code_map(root: &File) -> Result<(), String> {
    const OPEN: &str = "//! ```text\n";
    let lines: Vec<String> = drawing().lines().map(|line| format!("//! {line}\n")).collect();
    let (before, rest) = root.text.split_once(OPEN).expect("the code map holds a drawing");
    let (_, after) = rest.split_once("//! ```\n").expect("the drawing ends");
    let expected = format!("{before}{OPEN}{}//! ```\n{after}", lines.concat());
    if root.text == expected { Ok(()) } else { Err(expected) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_map_that_shows_another_table_is_found() {
        let file = |drawing: &str| File {
            path: "src/lib.rs".to_owned(),
            text: format!("//! # Layers\n//! ```text\n{drawing}//! ```\nmod a;\n"),
        };
        let expected = code_map(&file("//! old\n")).expect_err("the drawing is another");
        let drawing = expected.split("//! ```").nth(1).expect("a drawing");
        assert!(drawing.contains("\n//!  2 attach         ●  ■\n"), "{drawing}");
        assert!(code_map(&File { path: "src/lib.rs".to_owned(), text: expected }).is_ok());
    }
}

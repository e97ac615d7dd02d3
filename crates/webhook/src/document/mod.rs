//! Manifests and configuration as people write them: YAML and JSON as trees that know the line and
//! column of everything in them.
//!
//! An error in a file has its place. Nothing here knows what a field means.

mod json;
mod scalar;
mod tree;
mod yaml;

#[cfg(test)]
mod tests;

pub use tree::{Entry, Position, Shape, TreeNode, UnreadableError, quoted};

/// Reads every document of `text`: multi-document YAML, or JSON values one after another.
///
/// JSON differs from YAML by its first character. Empty documents are left out.
pub fn read(text: &str) -> Result<Vec<TreeNode>, UnreadableError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let documents = if is_json(text) { json::read(text)? } else { yaml::read(text)? };
    Ok(documents.into_iter().filter(|document| document.shape != Shape::Null).collect())
}

/// The text that `bytes` are.
pub fn text(bytes: Vec<u8>) -> Result<String, UnreadableError> {
    String::from_utf8(bytes).map_err(|error| {
        let before = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let before = String::from_utf8_lossy(before);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |tail| tail.chars().count()) + 1;
        let at = Position::new(line, column);
        UnreadableError { at, reason: "is not UTF-8; save it as UTF-8".to_owned() }
    })
}

/// Returns whether `text` is meant as JSON: an object with a quoted key. A flow map of YAML that begins so is
/// JSON too, or a mistake.
pub fn is_json(text: &str) -> bool {
    let inside = text.trim_start().strip_prefix('{').map(str::trim_start);
    inside.is_some_and(|inside| inside.starts_with(['"', '}']))
}

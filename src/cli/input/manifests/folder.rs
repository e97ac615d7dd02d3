//! Files in folders of manifests without a Kubernetes object: values of a chart, `kustomization.yaml` without a kind,
//! pipelines. They are skipped with a note; a file that may hold an object and cannot be read is an error.

use crate::document::{Shape, TreeNode};

/// How many files a note names.
const NAMES_MAX: usize = 5;

/// Returns whether one of the documents is an object.
pub(super) fn holds_object(documents: &[TreeNode]) -> bool {
    let is_object = |node: &TreeNode| {
        matches!(node.shape, Shape::Map(_)) && node.get("kind").and_then(TreeNode::text).is_some()
    };
    documents.iter().any(is_object)
}

/// Returns whether a text that cannot be read may hold an object: somewhere in it is a key `kind`.
pub(super) fn may_hold_object(text: &str) -> bool {
    text.match_indices("kind").any(|(at, word)| {
        let (before, after) = (text.get(..at), text.get(at + word.len()..));
        let is_begin = before.is_none_or(|before| !before.ends_with(char::is_alphanumeric));
        let after = after.unwrap_or_default().trim_start_matches(['"', '\'']).trim_start();
        is_begin && after.starts_with(':')
    })
}

/// The note on skipped files, if there are any.
pub(super) fn note(files: &[String]) -> Option<String> {
    let named = files.get(..NAMES_MAX).unwrap_or(files).join(", ");
    let more = match files.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let text = format!("note: no Kubernetes object in {named}{more}; skipped");
    (!files.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;

    #[test]
    fn only_what_has_a_kind_is_an_object() {
        let holds = |text: &str| holds_object(&document::read(text).unwrap());
        for text in
            ["", "# nothing\n", "replicas: 3\nimage: {tag: a}\n", "- hosts: all\n", "text\n"]
        {
            assert!(!holds(text), "{text}");
        }
        assert!(!holds("kind: [a]\n") && holds("a: 1\n---\nkind: Service\n"));
    }

    #[test]
    fn a_text_that_may_hold_an_object_is_not_skipped() {
        for text in [
            "kind: PersistentVolume\nspec: {{ .a }}",
            "{\"kind\": 1,,}",
            "- 'kind' : x [",
            "a,kind:b",
        ] {
            assert!(may_hold_object(text), "{text}");
        }
        for text in ["script: !reference [a]", "mankind: 1 [", "this kind of file [", ""] {
            assert!(!may_hold_object(text), "{text}");
        }
    }

    #[test]
    fn a_note_names_some_and_counts_the_rest() {
        assert_eq!(note(&[]), None);
        let files = ["a", "b", "c", "d", "e", "f", "g"].map(str::to_owned);
        let text = "note: no Kubernetes object in a, b, c, d, e and 2 more; skipped";
        assert_eq!(note(&files).as_deref(), Some(text));
    }
}

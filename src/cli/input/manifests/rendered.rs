//! From which file an object was rendered: what helm and kustomize say of it.

use crate::document::{self, TreeNode};

/// What helm writes above each document that `helm template` prints.
const HELM: &str = "# Source: ";
/// What kustomize writes with `buildMetadata: [originAnnotations]`.
const KUSTOMIZE: &str = "config.kubernetes.io/origin";

/// The file of the template that the document at `node` in `text` was rendered from, as helm says.
pub(super) fn of_helm(text: &str, node: &TreeNode) -> Option<String> {
    let above = usize::try_from(node.at.line).ok()?.saturating_sub(1);
    let lines: Vec<&str> = text.lines().take(above).collect();
    let comments = lines.iter().rev().take_while(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#')
    });
    comments.filter_map(|line| line.strip_prefix(HELM)).map(|file| file.trim().to_owned()).next()
}

/// The file that an object was built from, as kustomize says.
pub(super) fn of_kustomize(node: &TreeNode) -> Option<String> {
    let origin = node.get("metadata")?.get("annotations")?.get(KUSTOMIZE)?.text()?;
    let documents = document::read(origin).ok()?;
    let path = documents.first()?.get("path")?.text()?;
    (!path.is_empty()).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_document_has_the_source_above_it() {
        let text = "# Source: of/nothing.yaml\n---\n# Source: chart/templates/a.yaml\n\n# why\nkind: A\n---\n\
            kind: B\n---\n# Source: chart/templates/c.yaml\nkind: C\n";
        let documents = document::read(text).unwrap();
        let sources: Vec<_> = documents.iter().map(|node| of_helm(text, node)).collect();
        let of = |file: &str| Some(file.to_owned());
        assert_eq!(sources, [of("chart/templates/a.yaml"), None, of("chart/templates/c.yaml")]);
    }

    #[test]
    fn an_origin_is_read_as_what_it_is() {
        let origin = |text: &str| {
            let object = format!("metadata:\n  annotations:\n    {KUSTOMIZE}: |\n      {text}\n");
            of_kustomize(&document::read(&object).unwrap()[0])
        };
        assert_eq!(
            origin("path: ../base/pv.yaml\n      ref: main"),
            Some("../base/pv.yaml".to_owned())
        );
        assert_eq!(origin("configuredIn: here"), None);
        assert_eq!(origin("{"), None);
        assert_eq!(origin("path: ''"), None);
    }
}

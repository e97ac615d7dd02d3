//! The manifests in `certs/` say what the chart does.

use bindery::document::{self, TreeNode};
use serde_json::Value;

use super::helm::{helm, text};

#[test]
fn the_manifests_for_cert_manager_are_what_the_chart_makes() {
    let objects = |text: &str| -> Vec<Value> {
        let read = document::read(text).expect("it reads");
        let mut objects: Vec<Value> = read.iter().map(TreeNode::to_json).collect();
        objects.retain(|object| matches!(object["kind"].as_str(), Some("Certificate" | "Issuer")));
        for object in &mut objects {
            object["metadata"].as_object_mut().expect("metadata").remove("labels");
        }
        objects
    };
    let arguments = ["template", "bindery", "charts/bindery", "--namespace", "bindery"];
    let rendered = helm(&[&arguments[..], &["--set", "certs.mode=certManager"]].concat());
    let rendered = objects(&rendered.expect("it renders"));
    assert_eq!(rendered.len(), 4);
    assert_eq!(objects(&text("certs/cert-manager.yaml")), rendered);
}

//! The claims of the volumeClaimTemplates of a StatefulSet, one for each ordinal.
//!
//! The StatefulSet controller creates missing claims, does not change existing ones, and deletes them only if
//! `persistentVolumeClaimRetentionPolicy` says so. Not here: hazards of a set as a whole (`check::stateful_set`).

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::api::claim_templates::templated_set;
use crate::claim_templates::TemplatedSet;
use crate::cli::input::object_id::{ObjectId, ObjectKind};
use crate::document::{Position, Shape, TreeNode};
use crate::rules::User;

/// The kind whose templates are followed.
pub(in crate::cli) const STATEFUL_SET: &str = "StatefulSet";

/// How many claims of one template are judged. They differ in their names alone, so the first thousand
/// show every hazard, and a replica count of 2,147,483,647 costs no more.
const ORDINALS_MAX: u64 = 1_000;

/// A claim to be.
#[derive(Clone, Debug)]
pub(in crate::cli) struct TemplatedClaim {
    /// Which claim.
    pub key: ObjectId,
    /// The template with its places.
    pub node: TreeNode,
    /// Its place in its set.
    pub member: SetMember,
}

/// A set, as far as its claims depend on it.
#[derive(Debug)]
pub(in crate::cli) struct StatefulSet {
    /// Its namespace and name.
    pub key: (String, String),
    /// Its templates, as they are compared with existing claims; nothing if they cannot be read so.
    pub templated: Option<TemplatedSet>,
    /// The labels that it puts on its claims.
    pub labels: Map<String, Value>,
    /// How many pods it has.
    pub replicas: u64,
    /// Whether its claims are deleted with it (`whenDeleted`).
    pub deletes_with_itself: bool,
    /// Whether those of pods beyond its replicas are deleted (`whenScaled`).
    pub deletes_when_scaled: bool,
}

/// A claim's place in its set.
#[derive(Clone, Debug)]
pub(in crate::cli) struct SetMember {
    /// The set.
    pub set: Arc<StatefulSet>,
    /// Whether it is the first of its template: findings on all of them are reported with it.
    pub is_first: bool,
}

/// The set `node` in `namespace` and its claims; else the place and the reason of the error.
///
/// Kubernetes: `pkg/controller/statefulset/stateful_set_utils.go`, `getPersistentVolumeClaims`.
pub(in crate::cli) fn claims(
    node: &TreeNode,
    namespace: &str,
) -> Result<(Arc<StatefulSet>, Vec<TemplatedClaim>), (Position, String)> {
    let at = |path: &[&str]| path.iter().try_fold(node, |node, key| node.get(key));
    let name = at(&["metadata", "name"]).and_then(TreeNode::text).unwrap_or_default();
    let replicas = number(at(&["spec", "replicas"]), 1, "spec.replicas")?;
    let start = number(at(&["spec", "ordinals", "start"]), 0, "spec.ordinals.start")?;
    let labels = at(&["spec", "selector", "matchLabels"]).map(TreeNode::to_json);
    let deletes = |when| {
        let kept = at(&["spec", "persistentVolumeClaimRetentionPolicy", when]);
        kept.and_then(TreeNode::text) == Some("Delete")
    };
    let set = Arc::new(StatefulSet {
        key: (namespace.to_owned(), name.to_owned()),
        templated: templated_set(&node.to_json().to_string(), namespace).ok().flatten(),
        labels: labels.and_then(|labels| labels.as_object().cloned()).unwrap_or_default(),
        replicas,
        deletes_with_itself: deletes("whenDeleted"),
        deletes_when_scaled: deletes("whenScaled"),
    });
    let mut claims = Vec::new();
    for template in at(&["spec", "volumeClaimTemplates"]).map(TreeNode::items).unwrap_or_default() {
        let called = template.get("metadata").and_then(|metadata| metadata.get("name"));
        let Some(called) = called.and_then(TreeNode::text).filter(|called| !called.is_empty())
        else {
            return Err((template.at, "the template has no name; add metadata.name".to_owned()));
        };
        for ordinal in start..start.saturating_add(replicas.min(ORDINALS_MAX)) {
            let name = format!("{called}-{name}-{ordinal}");
            let key = ObjectId { kind: ObjectKind::Claim, namespace: namespace.to_owned(), name };
            let member = SetMember { set: Arc::clone(&set), is_first: ordinal == start };
            claims.push(TemplatedClaim { key, node: template.clone(), member });
        }
    }
    Ok((set, claims))
}

/// The user who creates them.
pub(in crate::cli) fn maker() -> User {
    let groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system"];
    User {
        name: "system:serviceaccount:kube-system:statefulset-controller".to_owned(),
        groups: groups.map(str::to_owned).to_vec(),
    }
}

fn number(node: Option<&TreeNode>, absent: u64, field: &str) -> Result<u64, (Position, String)> {
    let Some(node) = node else { return Ok(absent) };
    let count = match &node.shape {
        Shape::Null => Some(absent),
        Shape::Number(number) => number.as_u64(),
        Shape::Bool(_) | Shape::Text(_) | Shape::List(_) | Shape::Map(_) => None,
    };
    count.ok_or_else(|| (node.at, format!("{field} is not a number from 0 on; correct the field")))
}

//! A StatefulSet and its pods: wire form to what the loss of a node asks of them.

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::disks::PodState;
use crate::model::Uid;

/// A StatefulSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatefulSet {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: Uid,
    /// The numbers of its replicas.
    pub ordinals: Range<u32>,
    /// The names of its `volumeClaimTemplates`.
    pub templates: Vec<String>,
    /// Whether a pod is made before those before it are ready: `podManagementPolicy: Parallel`.
    pub is_parallel: bool,
}

impl StatefulSet {
    /// Returns the number of the replica whose claim has this name.
    ///
    /// Kubernetes: `pkg/controller/statefulset/stateful_set_utils.go`, `getPersistentVolumeClaimName`.
    pub fn replica_of(&self, claim: &str) -> Option<u32> {
        let number = |template: &String| {
            let rest = claim.strip_prefix(template.as_str())?.strip_prefix('-')?;
            let number: u32 =
                rest.strip_prefix(self.name.as_str())?.strip_prefix('-')?.parse().ok()?;
            // A number has one spelling.
            (self.claim(template, number) == claim).then_some(number)
        };
        self.templates.iter().find_map(number).filter(|number| self.ordinals.contains(number))
    }

    /// The name of a replica's pod.
    pub fn pod(&self, number: u32) -> String {
        format!("{}-{number}", self.name)
    }

    /// The name of a replica's claim.
    pub fn claim(&self, template: &str, number: u32) -> String {
        format!("{template}-{}-{number}", self.name)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatefulSetWire<'a> {
    metadata: MetadataWire,
    #[serde(borrow)]
    spec: StatefulSetSpecWire<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetadataWire {
    name: String,
    uid: String,
    deletion_timestamp: Option<String>,
    #[serde(default)]
    owner_references: Vec<OwnerWire>,
}

#[derive(Deserialize)]
struct OwnerWire {
    uid: String,
    controller: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatefulSetSpecWire<'a> {
    replicas: Option<u32>,
    pod_management_policy: Option<String>,
    ordinals: Option<OrdinalsWire>,
    #[serde(borrow, default)]
    volume_claim_templates: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct OrdinalsWire {
    #[serde(default)]
    start: u32,
}

#[derive(Deserialize)]
struct TemplateWire {
    metadata: TemplateMetadataWire,
}

#[derive(Deserialize)]
struct TemplateMetadataWire {
    name: String,
}

/// Reads a StatefulSet from its JSON text; none if it is being deleted.
pub fn stateful_set(text: &str) -> Result<Option<StatefulSet>, serde_json::Error> {
    let StatefulSetWire { metadata, spec } = serde_json::from_str(text)?;
    let start = spec.ordinals.map_or(0, |ordinals| ordinals.start);
    // Kubernetes: `pkg/apis/apps/v1/defaults.go`: one replica where nothing is said.
    let replicas = spec.replicas.unwrap_or(1);
    let templates = spec.volume_claim_templates.into_iter();
    let names = templates.map(|template| {
        let template: TemplateWire = serde_json::from_str(template.get())?;
        Ok(template.metadata.name)
    });
    let set = StatefulSet {
        name: metadata.name,
        uid: Uid::new(metadata.uid),
        ordinals: start..start.saturating_add(replicas),
        is_parallel: spec.pod_management_policy.as_deref() == Some("Parallel"),
        templates: names.collect::<Result<_, serde_json::Error>>()?,
    };
    Ok(metadata.deletion_timestamp.is_none().then_some(set))
}

#[derive(Deserialize)]
struct PodWire {
    metadata: MetadataWire,
    #[serde(default)]
    spec: PodSpecWire,
    #[serde(default)]
    status: PodStatusWire,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodSpecWire {
    node_name: Option<String>,
}

#[derive(Default, Deserialize)]
struct PodStatusWire {
    #[serde(default)]
    conditions: Vec<ConditionWire>,
}

#[derive(Deserialize)]
struct ConditionWire {
    r#type: String,
    status: String,
}

/// Reads from the JSON text of a pod what became of it, and on which node it is, by its name; empty for none. One that the
/// StatefulSet does not control is as none.
pub fn pod_state(text: &str, set: &StatefulSet) -> Result<(PodState, String), serde_json::Error> {
    let PodWire { metadata, spec, status } = serde_json::from_str(text)?;
    let is_controlled =
        |owner: &OwnerWire| owner.controller == Some(true) && owner.uid == set.uid.to_string();
    let is_ready =
        |condition: &ConditionWire| condition.r#type == "Ready" && condition.status == "True";
    let node = spec.node_name.unwrap_or_default();
    let state = if !metadata.owner_references.iter().any(is_controlled) {
        PodState::Absent
    } else if metadata.deletion_timestamp.is_some() {
        PodState::Terminating
    } else if node.is_empty() {
        PodState::Unscheduled
    } else if status.conditions.iter().any(is_ready) {
        PodState::Ready
    } else {
        PodState::NotReady
    };
    Ok((state, node))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn set() -> Value {
        json!({"metadata": {"name": "db", "uid": "s"}, "spec": {
            "replicas": 3, "ordinals": {"start": 5}, "serviceName": "db",
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}, {"metadata": {"name": "wal"}}],
        }})
    }

    #[test]
    fn a_claim_is_of_the_replica_whose_name_it_has() {
        let read = stateful_set(&set().to_string()).unwrap().unwrap();
        assert_eq!((read.ordinals.clone(), read.templates.len()), (5..8, 2));
        assert!(!read.is_parallel);
        for (claim, number) in [
            ("data-db-5", Some(5)),
            ("wal-db-7", Some(7)),
            ("data-db-8", None),
            ("data-db-05", None),
            ("data-db-2-5", None),
            ("data-db", None),
            ("logs-db-5", None),
        ] {
            assert_eq!(read.replica_of(claim), number, "{claim}");
        }
        let mut going = set();
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(stateful_set(&going.to_string()).unwrap(), None);
        let usual = json!({"metadata": {"name": "a", "uid": "u"}, "spec": {}});
        assert_eq!(stateful_set(&usual.to_string()).unwrap().unwrap().ordinals, 0..1);
    }

    #[test]
    fn a_pod_is_what_its_scheduler_and_kubelet_say() {
        let read = stateful_set(&set().to_string()).unwrap().unwrap();
        let owner = json!([{"uid": "s", "controller": true, "kind": "StatefulSet"}]);
        let pod = |spec: Value, status: &str| {
            json!({"metadata": {"name": "db-5", "uid": "p", "ownerReferences": owner}, "spec": spec,
                "status": {"conditions": [{"type": "Ready", "status": status}]}})
        };
        let on_node = json!({"nodeName": "n1"});
        let mut going = pod(on_node.clone(), "True");
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let mut foreign = pod(on_node.clone(), "True");
        foreign["metadata"]["ownerReferences"][0]["uid"] = json!("other");
        for (pod, state) in [
            (pod(json!({}), "False"), PodState::Unscheduled),
            (pod(on_node.clone(), "False"), PodState::NotReady),
            (pod(on_node, "True"), PodState::Ready),
            (going, PodState::Terminating),
            (foreign, PodState::Absent),
        ] {
            assert_eq!(pod_state(&pod.to_string(), &read).unwrap().0, state, "{pod}");
        }
    }
}

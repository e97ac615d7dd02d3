//! Pods as the loss of their node concerns them: wire form to model.

use serde::de::IgnoredAny;

use super::bounded::{LabelUse, List, OptionalText, Text, parse, wire};
use super::pods::pod;
use super::scheduling::constraints;
use crate::model::{ClaimKey, PlacedPod, PodOrigin};

wire! {
    struct PodWire<'a> {
        metadata: PodMetadata<'a> = "metadata",
        spec: PodSpec<'a> = "spec",
    }

    struct PodMetadata<'a> {
        annotations: PodAnnotations = "annotations",
        owner_references: List<OwnerWire<'a>> = "ownerReferences",
    }

    struct PodAnnotations {
        mirror: Option<IgnoredAny> = "kubernetes.io/config.mirror",
    }

    struct OwnerWire<'a> {
        kind: Option<Text<'a>> = "kind",
        controller: Option<bool> = "controller",
    }

    struct PodSpec<'a> {
        volumes: List<PodVolume<'a>> = "volumes",
    }

    struct PodVolume<'a> {
        name: Option<Text<'a>> = "name",
        ephemeral: Option<IgnoredAny> = "ephemeral",
    }
}

/// Reads a pod from its JSON text; none if it has finished. One that names more than is read of one pod is an error.
pub fn placed_pod(text: &str) -> Result<Option<PlacedPod>, serde_json::Error> {
    let Some(pod) = pod(text)? else { return Ok(None) };
    let wire = parse::<PodWire<'_>>(text, LabelUse::Skip)?.value;
    let origin = origin(&wire.metadata);
    let templates = wire.spec.volumes.0.iter().filter(|volume| volume.ephemeral.is_some());
    let claim = |volume: &PodVolume<'_>| {
        let name = format!("{}-{}", pod.key.name, volume.name.or_empty());
        ClaimKey::new(pod.key.namespace.clone(), name)
    };
    let mut ephemeral: Vec<ClaimKey> = templates.map(claim).collect();
    ephemeral.sort_unstable();
    Ok(Some(PlacedPod { constraints: constraints(text)?, origin, ephemeral, pod }))
}

/// Kubernetes: `kubectl/pkg/drain/filters.go`: the owner that controls the pod counts.
fn origin(metadata: &PodMetadata<'_>) -> PodOrigin {
    let mut owners = metadata.owner_references.0.iter();
    let controller = owners.find(|owner| owner.controller == Some(true));
    if metadata.annotations.mirror.is_some() {
        PodOrigin::Mirror
    } else if controller.is_some_and(|owner| owner.kind.or_empty() == "DaemonSet") {
        PodOrigin::DaemonSet
    } else {
        PodOrigin::Other
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(metadata: &Value, phase: &str) -> Option<PlacedPod> {
        let mut object = json!({
            "metadata": {"namespace": "db", "name": "web"},
            "spec": {"nodeName": "n1", "nodeSelector": {"disk": "ssd"}, "volumes": [
                {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
                {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
            ]},
            "status": {"phase": phase},
        });
        json_patch::merge(&mut object["metadata"], metadata);
        placed_pod(&object.to_string()).unwrap()
    }

    #[test]
    fn a_pod_is_read_with_what_made_it_and_its_templates() {
        let of = |kind: &str, controller: Value| json!({"ownerReferences": [{"kind": "Other"}, {"kind": kind, "controller": controller}]});
        for (metadata, expected) in [
            (json!({}), PodOrigin::Other),
            (of("ReplicaSet", json!(true)), PodOrigin::Other),
            (of("DaemonSet", json!(true)), PodOrigin::DaemonSet),
            (of("DaemonSet", Value::Null), PodOrigin::Other),
            (json!({"annotations": {"kubernetes.io/config.mirror": "hash"}}), PodOrigin::Mirror),
        ] {
            let pod = read(&metadata, "Running").unwrap();
            assert_eq!(pod.origin, expected, "{metadata}");
            let claims = ["data", "web-tmp"].map(|name| ClaimKey::new("db", name));
            assert_eq!((pod.pod.claims, pod.ephemeral), (claims.to_vec(), claims[1..].to_vec()));
            assert_eq!(pod.constraints.selector.len(), 1);
        }
        assert_eq!(read(&json!({}), "Succeeded"), None);
    }
}

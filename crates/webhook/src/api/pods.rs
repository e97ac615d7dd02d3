//! Pods that use claims: wire form to model, one by one or by pages of a list.
//!
//! Each pod is parsed with an allowance of its own. One that names more claims is an error, as it would be unknown which
//! it uses.

use std::borrow::Cow;

use serde::de::{Error, IgnoredAny};

use super::bounded::{LabelUse, List, OptionalText, RawText, Text, parse, wire};
use crate::attach::VolumeUser;
use crate::binding::PodUse;
use crate::model::{ClaimKey, Deletion, Pod, PodKey};

wire! {
    struct PodListWire<'a> {
        metadata: ListMetadata = "metadata",
        items: Vec<RawText<'a>> = "items",
    }

    struct ListMetadata {
        r#continue: Option<String> = "continue",
    }

    struct PodWire<'a> {
        metadata: PodMetadata<'a> = "metadata",
        spec: PodSpec<'a> = "spec",
        status: Option<PodStatus<'a>> = "status",
    }

    struct PodMetadata<'a> {
        namespace: Option<Text<'a>> = "namespace",
        name: Option<Text<'a>> = "name",
    }

    struct PodSpec<'a> {
        node_name: Option<Text<'a>> = "nodeName",
        volumes: List<PodVolume<'a>> = "volumes",
    }

    struct PodVolume<'a> {
        name: Option<Text<'a>> = "name",
        persistent_volume_claim: Option<ClaimSource<'a>> = "persistentVolumeClaim",
        ephemeral: Option<IgnoredAny> = "ephemeral",
    }

    struct ClaimSource<'a> {
        claim_name: Option<Text<'a>> = "claimName",
    }

    struct OwnedPodWire<'a> {
        metadata: OwnedPodMetadata<'a> = "metadata",
    }

    struct OwnedPodMetadata<'a> {
        uid: Option<Text<'a>> = "uid",
        deletion_timestamp: Option<IgnoredAny> = "deletionTimestamp",
        labels: TemplateLabels<'a> = "labels",
        owner_references: List<PodOwner<'a>> = "ownerReferences",
    }

    struct TemplateLabels<'a> {
        template_hash: Option<Text<'a>> = "pod-template-hash",
    }

    struct PodOwner<'a> {
        kind: Option<Text<'a>> = "kind",
        name: Option<Text<'a>> = "name",
    }

    struct PodStatus<'a> {
        phase: Option<Text<'a>> = "phase",
    }
}

/// Reads a pod from its JSON text; none if it has finished.
///
/// Kubernetes: `pkg/volume/util`, `IsPodTerminated`, which also passes over a pod that is being deleted
/// and runs no container. Its volumes may still be mounted, so that here the phase alone counts.
pub fn pod(text: &str) -> Result<Option<Pod>, serde_json::Error> {
    let wire = read_whole(text)?;
    Ok((!is_finished(&wire)).then(|| to_model(&wire)))
}

/// Reads a pod from its JSON text, finished or not.
pub fn any_pod(text: &str) -> Result<Pod, serde_json::Error> {
    Ok(to_model(&read_whole(text)?))
}

/// How far a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodProgress {
    /// No container has run, as its volumes are not mounted or for another reason.
    NotStarted,
    /// One of its containers has run, so its volumes are mounted.
    Started,
    /// It has finished.
    Finished,
}

/// Reads from a pod's JSON text how far it is.
///
/// Kubernetes: `pkg/kubelet/kubelet_pods.go`, `getPhase`: a pod is Pending until a container runs.
pub fn progress(text: &str) -> Result<PodProgress, serde_json::Error> {
    let wire = read_whole(text)?;
    let phase = wire.status.as_ref().map(|status| status.phase.or_empty()).unwrap_or_default();
    Ok(match phase {
        "Succeeded" | "Failed" => PodProgress::Finished,
        "Running" => PodProgress::Started,
        _ => PodProgress::NotStarted,
    })
}

/// What keeps pods running, and is explained by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// A StatefulSet.
    StatefulSet,
    /// A Deployment.
    Deployment,
}

impl Workload {
    /// Its kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StatefulSet => "StatefulSet",
            Self::Deployment => "Deployment",
        }
    }
}

/// Reads from a pod's JSON text whether a workload of this name made it.
///
/// Kubernetes: `pkg/controller/deployment/sync.go`, `getNewReplicaSet`: the `ReplicaSet` of a Deployment is named after it
/// and the hash of the pod's template, which the pod has as a label.
pub fn is_of(text: &str, workload: Workload, name: &str) -> Result<bool, serde_json::Error> {
    let wire: OwnedPodWire<'_> = parse(text, LabelUse::Skip)?.value;
    let hash = wire.metadata.labels.template_hash.or_empty();
    Ok(wire.metadata.owner_references.0.iter().any(|owner| {
        let (kind, owner) = (owner.kind.or_empty(), owner.name.or_empty());
        match workload {
            Workload::StatefulSet => kind == "StatefulSet" && owner == name,
            Workload::Deployment => {
                let rest = owner.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
                kind == "ReplicaSet" && !hash.is_empty() && rest == Some(hash)
            }
        }
    }))
}

/// Reads the uid of a pod from its JSON text; empty before it is stored.
pub fn uid(text: &str) -> Result<String, serde_json::Error> {
    let wire: OwnedPodWire<'_> = parse(text, LabelUse::Skip)?.value;
    Ok(wire.metadata.uid.or_empty().to_owned())
}

/// Reads a pod from its JSON text, with whether it is being deleted; none if it has finished.
pub fn volume_user(text: &str) -> Result<Option<VolumeUser>, serde_json::Error> {
    let wire: OwnedPodWire<'_> = parse(text, LabelUse::Skip)?.value;
    let deletion = match wire.metadata.deletion_timestamp {
        Some(_) => Deletion::Terminating,
        None => Deletion::NotAsked,
    };
    Ok(pod(text)?.map(|pod| VolumeUser { pod, deletion }))
}

/// One page of a list of pods, for those that use a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsersPage {
    /// The pods on it that use the claim and have not finished.
    pub users: Vec<Pod>,
    /// What gives the next page; none on the last.
    pub next: Option<String>,
}

/// The pods on a page of a list (JSON text) that use the claim and have not finished, whether they have a
/// node or not.
pub fn users_page(page: &str, key: &ClaimKey) -> Result<UsersPage, serde_json::Error> {
    let pods: PodListWire<'_> = parse(page, LabelUse::Skip)?.value;
    let mut users = Vec::new();
    for item in pods.items {
        users.extend(pod(item.0)?.filter(|pod| pod.uses(key)));
    }
    Ok(UsersPage { users, next: pods.metadata.r#continue.filter(|token| !token.is_empty()) })
}

fn is_finished(wire: &PodWire<'_>) -> bool {
    let status = wire.status.as_ref();
    status.is_some_and(|status| matches!(status.phase.or_empty(), "Succeeded" | "Failed"))
}

fn to_model(wire: &PodWire<'_>) -> Pod {
    let PodMetadata { namespace, name } = &wire.metadata;
    let (namespace, name) = (namespace.or_empty(), name.or_empty());
    let mut claims: Vec<ClaimKey> =
        claim_names(wire).map(|claim| ClaimKey::new(namespace, &*claim)).collect();
    claims.sort_unstable();
    claims.dedup();
    let node = wire.spec.node_name.filled().map(Box::from);
    Pod { key: PodKey::new(namespace, name), node, claims }
}

/// What one page of a list of pods says about a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodPage {
    /// A pod on it uses the claim.
    Used,
    /// None does, and this token gives the next page.
    More(String),
    /// None does, and there are no more pods.
    End,
}

/// Returns whether one of the pods on a page of a list (JSON text) uses the claim.
///
/// Kubernetes: `pvc_protection_controller.go`: pods that have finished count until their object is gone.
pub fn pod_page(page: &str, key: &ClaimKey) -> Result<PodPage, serde_json::Error> {
    let pods: PodListWire<'_> = parse(page, LabelUse::Skip)?.value;
    for item in pods.items {
        if any_pod(item.0)?.in_use().iter().any(|claim| claim.name == key.name) {
            return Ok(PodPage::Used);
        }
    }
    let next = pods.metadata.r#continue.filter(|token| !token.is_empty());
    Ok(next.map_or(PodPage::End, PodPage::More))
}

/// Returns whether one of the pods in a complete list (JSON text) uses the claim.
pub fn pod_use(list: &str, key: &ClaimKey) -> Result<PodUse, serde_json::Error> {
    Ok(match pod_page(list, key)? {
        PodPage::Used => PodUse::Used,
        PodPage::More(_) | PodPage::End => PodUse::Unused,
    })
}

fn read_whole(text: &str) -> Result<PodWire<'_>, serde_json::Error> {
    let pod = parse(text, LabelUse::Skip)?;
    if pod.is_cut {
        return Err(serde_json::Error::custom(
            "the pod names more claims than are read of one pod",
        ));
    }
    Ok(pod.value)
}

/// Names of the claims that a pod uses, in the order of its volumes.
fn claim_names<'a>(pod: &'a PodWire<'_>) -> impl Iterator<Item = Cow<'a, str>> {
    let pod_name = pod.metadata.name.or_empty();
    pod.spec.volumes.0.iter().filter_map(move |volume| {
        match (&volume.persistent_volume_claim, &volume.ephemeral) {
            (Some(source), _) => Some(Cow::Borrowed(source.claim_name.or_empty())),
            // The claim of a generic ephemeral volume is named after its pod.
            (None, Some(_)) => Some(Cow::Owned(format!("{pod_name}-{}", volume.name.or_empty()))),
            (None, None) => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn web(phase: &str, node: Option<&str>) -> Value {
        json!({
            "metadata": {"namespace": "db", "name": "web", "labels": {"a": "b"}},
            "spec": {"nodeName": node, "volumes": [
                {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
                {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "again", "persistentVolumeClaim": {"claimName": "data", "readOnly": true}},
                {"name": "plain", "emptyDir": {}},
            ]},
            "status": {"phase": phase},
        })
    }

    #[test]
    fn a_pod_that_has_not_finished_is_read_with_its_node_and_its_claims() {
        for (node, expected) in [(None, None), (Some(""), None), (Some("n1"), Some("n1".into()))] {
            let read = pod(&web("Pending", node).to_string()).unwrap().unwrap();
            let claims = ["data", "web-scratch"].map(|name| ClaimKey::new("db", name)).to_vec();
            assert_eq!(read, Pod { key: PodKey::new("db", "web"), node: expected, claims });
            assert!(read.uses(&ClaimKey::new("db", "web-scratch")));
            assert!(!read.uses(&ClaimKey::new("qa", "data")));
        }
        for phase in ["Running", "Unknown", ""] {
            assert!(pod(&web(phase, Some("n1")).to_string()).unwrap().is_some(), "{phase}");
        }
        for phase in ["Succeeded", "Failed"] {
            let text = web(phase, Some("n1")).to_string();
            assert_eq!(pod(&text).unwrap(), None, "{phase}");
            assert!(any_pod(&text).unwrap().uses(&ClaimKey::new("db", "data")), "{phase}");
        }
        for (phase, expected) in [
            ("Pending", PodProgress::NotStarted),
            ("", PodProgress::NotStarted),
            ("Running", PodProgress::Started),
            ("Failed", PodProgress::Finished),
        ] {
            assert_eq!(progress(&web(phase, Some("n1")).to_string()).unwrap(), expected);
        }
        let bare = json!({"metadata": {"name": "x"}, "spec": {"volumes": null}});
        assert_eq!(pod(&bare.to_string()).unwrap().unwrap().claims, []);
    }

    #[test]
    fn a_pod_is_of_the_workload_that_owns_it_or_its_replica_set() {
        let owned = |kind: &str, owner: &str, labels: Value| {
            let owners = json!([{"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": "u", "controller": true}]);
            json!({"metadata": {"name": "x", "labels": labels, "ownerReferences": owners}, "spec": {}}).to_string()
        };
        let set = owned("StatefulSet", "web", json!({}));
        let deployed =
            owned("ReplicaSet", "web-5d4f", json!({"pod-template-hash": "5d4f", "app": "web"}));
        for (text, workload, name, expected) in [
            (&set, Workload::StatefulSet, "web", true),
            (&set, Workload::StatefulSet, "we", false),
            (&set, Workload::Deployment, "web", false),
            (&deployed, Workload::Deployment, "web", true),
            (&deployed, Workload::Deployment, "web-5d4f", false),
            (&deployed, Workload::StatefulSet, "web", false),
            (&owned("ReplicaSet", "web-", json!({})), Workload::Deployment, "web", false),
            (&json!({"metadata": {"name": "x"}}).to_string(), Workload::StatefulSet, "web", false),
        ] {
            assert_eq!(is_of(text, workload, name).unwrap(), expected, "{text} {name}");
        }
    }

    #[test]
    fn pods_with_a_node_count_finished_or_not() {
        let page = |phase: &str, node: Option<&str>, claim: &str| {
            let list = json!({"items": [web(phase, node)]}).to_string();
            pod_page(&list, &ClaimKey::new("db", claim)).unwrap()
        };
        assert_eq!(page("Running", Some("n1"), "data"), PodPage::Used);
        assert_eq!(page("Succeeded", Some("n1"), "web-scratch"), PodPage::Used);
        assert_eq!(page("Running", Some("n1"), "scratch"), PodPage::End);
        assert_eq!(page("Pending", None, "data"), PodPage::End);
    }

    #[test]
    fn the_users_on_a_page_have_not_finished_and_need_no_node() {
        let items =
            [web("Pending", None), web("Succeeded", Some("n1")), web("Running", Some("n1"))];
        let list = json!({"metadata": {"continue": "token"}, "items": items}).to_string();
        let page = users_page(&list, &ClaimKey::new("db", "data")).unwrap();
        let nodes: Vec<_> = page.users.iter().map(|pod| pod.node.as_deref()).collect();
        assert_eq!((nodes, page.next.as_deref()), (vec![None, Some("n1")], Some("token")));
        let last = json!({"metadata": {"continue": ""}, "items": [web("Running", None)]});
        let page = users_page(&last.to_string(), &ClaimKey::new("qa", "data")).unwrap();
        assert_eq!(page, UsersPage { users: Vec::new(), next: None });
    }

    /// A tenant writes pods: what a huge one uses is unknown, not nothing.
    #[test]
    fn a_pod_that_cannot_be_read_whole_is_an_error() {
        let volume = |number: usize| json!({"name": format!("v-{number}"), "emptyDir": {}});
        let volumes: Vec<Value> = (0..20_000).map(volume).collect();
        let huge = json!({"metadata": {"name": "x"}, "spec": {"volumes": volumes}});
        assert!(pod(&huge.to_string()).is_err());
        let list = json!({"items": [huge]}).to_string();
        assert!(pod_page(&list, &ClaimKey::new("db", "data")).is_err());
    }
}

//! The `RoleBinding` by which guard fails closed, and the pods that own it.

use std::time::Duration;

use http::Method;
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::installation::Installation;
use crate::client::request::{RequestError, apply_request, request, send_text};

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Why the `RoleBinding` was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnsweringError {
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("the EndpointSlices cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("no EndpointSlice names a pod that is ready")]
    NoPod,
}

/// A pod behind the service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AnsweringPod {
    name: String,
    uid: String,
}

#[derive(Deserialize)]
struct SliceList {
    #[serde(default)]
    items: Vec<Slice>,
}

#[derive(Deserialize)]
struct Slice {
    #[serde(default)]
    endpoints: Option<Vec<SliceEndpoint>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SliceEndpoint {
    #[serde(default)]
    conditions: SliceConditions,
    target_ref: Option<TargetRef>,
}

#[derive(Default, Deserialize)]
struct SliceConditions {
    ready: Option<bool>,
}

#[derive(Deserialize)]
struct TargetRef {
    kind: String,
    name: String,
    uid: String,
}

/// Returns the pods that are ready now, at least one.
pub(super) async fn ready_pods(
    client: &Client,
    installation: &Installation,
) -> Result<Vec<AnsweringPod>, AnsweringError> {
    let (namespace, name) = (installation.namespace(), installation.name());
    let slices = format!(
        "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?\
         labelSelector=kubernetes.io%2Fservice-name%3D{name}"
    );
    let text = send_text(client, request(Method::GET, &slices, None), TIMEOUT).await?;
    let pods = answering_pods(&text)?;
    // Without an owner the garbage collector would never delete it.
    if pods.is_empty() {
        return Err(AnsweringError::NoPod);
    }
    Ok(pods)
}

/// Writes the `RoleBinding`, owned by these pods.
pub(super) async fn register(
    client: &Client,
    installation: &Installation,
    pods: &[AnsweringPod],
) -> Result<(), AnsweringError> {
    let namespace = installation.namespace();
    let binding = role_binding(installation, pods);
    let path = format!(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{}",
        installation.answering()
    );
    send_text(client, apply_request(&path, &binding), TIMEOUT).await?;
    Ok(())
}

/// The pods that a list of `EndpointSlices` names as ready. Of two IP families there is a slice each.
fn answering_pods(text: &str) -> Result<Vec<AnsweringPod>, serde_json::Error> {
    let list: SliceList = serde_json::from_str(text)?;
    let endpoints = list.items.into_iter().flat_map(|slice| slice.endpoints.unwrap_or_default());
    // Kubernetes: an absent condition counts as true.
    let ready = endpoints.filter(|endpoint| endpoint.conditions.ready != Some(false));
    let targets = ready.filter_map(|endpoint| endpoint.target_ref);
    let mut pods: Vec<AnsweringPod> = targets
        .filter(|target| target.kind == "Pod")
        .map(|TargetRef { kind: _, name, uid }| AnsweringPod { name, uid })
        .collect();
    pods.sort_unstable();
    pods.dedup();
    Ok(pods)
}

/// The `RoleBinding`. It has no labels of the chart: tools that look for those would take it for an object that was left over.
fn role_binding(installation: &Installation, pods: &[AnsweringPod]) -> Value {
    let (namespace, answering) = (installation.namespace(), installation.answering());
    let owner = |pod: &AnsweringPod| json!({"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid});
    let owners: Vec<Value> = pods.iter().map(owner).collect();
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": answering, "namespace": namespace, "ownerReferences": owners},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": answering},
        "subjects": [{"kind": "ServiceAccount", "name": answering, "namespace": namespace}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_that_are_ready_own_it_and_no_others() {
        let endpoint = |name: &str, ready: Value| json!({"conditions": {"ready": ready}, "targetRef": {"kind": "Pod", "name": name, "uid": format!("u-{name}")}});
        let node = json!({"targetRef": {"kind": "Node", "name": "n", "uid": "u"}});
        let slices = json!({"items": [
            {"endpoints": [endpoint("b", json!(true)), endpoint("c", json!(false)), node]},
            {"endpoints": null},
            {"endpoints": [endpoint("b", json!(true)), endpoint("a", Value::Null), {"addresses": ["192.0.2.1"]}]},
        ]});
        let pods = answering_pods(&slices.to_string()).unwrap();
        let names: Vec<&str> = pods.iter().map(|pod| pod.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        let binding = role_binding(&"store/keeper".parse().unwrap(), &pods);
        let owners = binding["metadata"]["ownerReferences"].as_array().unwrap();
        assert_eq!(owners.len(), 2);
        assert_eq!(owners[0]["uid"], "u-a");
        assert_eq!(binding["metadata"].get("labels"), None);
        assert!(answering_pods("{}").unwrap().is_empty());
    }
}

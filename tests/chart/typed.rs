//! Every object is of the type that it says: no field is misspelt, misplaced or of another type.
//!
//! Each is read as Kubernetes' own type and written again: what Kubernetes does not know is lost on the way.
//! Not here: what an API server rejects besides.

use k8s_openapi::api::admissionregistration::v1::{
    MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, ResourceQuota, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::api::storage::v1::StorageClass;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::helm::sets;

/// Types of operators that a cluster may have besides.
const OF_OTHERS: [(&str, &str); 4] = [
    ("cert-manager.io/v1", "Certificate"),
    ("cert-manager.io/v1", "Issuer"),
    ("monitoring.coreos.com/v1", "PrometheusRule"),
    ("monitoring.coreos.com/v1", "ServiceMonitor"),
];

/// Returns what is left of an object of the type.
fn through<T: Serialize + DeserializeOwned>(object: &Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(object.clone())?)
}

/// Returns what is left of an object; nothing if Kubernetes has no such type.
fn typed(object: &Value) -> Option<Result<Value, serde_json::Error>> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    Some(match (text("apiVersion"), text("kind")) {
        ("v1", "ConfigMap") => through::<ConfigMap>(object),
        ("v1", "Pod") => through::<Pod>(object),
        ("v1", "ResourceQuota") => through::<ResourceQuota>(object),
        ("v1", "Secret") => through::<Secret>(object),
        ("v1", "Service") => through::<Service>(object),
        ("v1", "ServiceAccount") => through::<ServiceAccount>(object),
        ("apps/v1", "DaemonSet") => through::<DaemonSet>(object),
        ("apps/v1", "Deployment") => through::<Deployment>(object),
        ("coordination.k8s.io/v1", "Lease") => through::<Lease>(object),
        ("networking.k8s.io/v1", "NetworkPolicy") => through::<NetworkPolicy>(object),
        ("policy/v1", "PodDisruptionBudget") => through::<PodDisruptionBudget>(object),
        ("storage.k8s.io/v1", "StorageClass") => through::<StorageClass>(object),
        ("rbac.authorization.k8s.io/v1", "ClusterRole") => through::<ClusterRole>(object),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding") => {
            through::<ClusterRoleBinding>(object)
        }
        ("rbac.authorization.k8s.io/v1", "Role") => through::<Role>(object),
        ("rbac.authorization.k8s.io/v1", "RoleBinding") => through::<RoleBinding>(object),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration") => {
            through::<ValidatingWebhookConfiguration>(object)
        }
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration") => {
            through::<MutatingWebhookConfiguration>(object)
        }
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy") => {
            through::<ValidatingAdmissionPolicy>(object)
        }
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding") => {
            through::<ValidatingAdmissionPolicyBinding>(object)
        }
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy") => {
            through::<MutatingAdmissionPolicy>(object)
        }
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding") => {
            through::<MutatingAdmissionPolicyBinding>(object)
        }
        _ => return None,
    })
}

#[test]
fn every_object_is_of_its_type() {
    let mut read = 0;
    for (name, rendering) in sets() {
        for object in &rendering.objects {
            let what = format!("{name}: {} {}", object["kind"], object["metadata"]["name"]);
            let Some(again) = typed(object) else {
                let is_known = OF_OTHERS.iter().any(|(version, kind)| {
                    object["apiVersion"] == *version && object["kind"] == *kind
                });
                assert!(is_known, "{what}: of which type is it?");
                continue;
            };
            let again = again.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(&again, object, "{what}: Kubernetes does not know all of it");
            read += 1;
        }
    }
    assert!(read > 200, "{read} objects");
}

#[test]
fn a_field_that_kubernetes_does_not_know_is_found() {
    let pod =
        |spec: Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": spec});
    let good = pod(json!({"containers": [{"name": "a"}], "hostNetwork": true}));
    assert_eq!(typed(&good).and_then(Result::ok), Some(good));
    let misspelt = pod(json!({"containers": [{"name": "a", "args": []}], "hostnetwork": true}));
    assert_ne!(typed(&misspelt).and_then(Result::ok), Some(misspelt));
    assert!(
        typed(&pod(json!({"containers": [], "hostNetwork": "true"})))
            .is_some_and(|read| read.is_err())
    );
    assert!(typed(&json!({"apiVersion": "v1", "kind": "Deployment"})).is_none());
}

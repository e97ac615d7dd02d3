//! The StorageClass object of a discovery folder: what its volumes are to say.

use serde_json::Value;

use super::api::{VolumeRequestError, VolumeRequests};

/// What the StorageClass object says about new volumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClassSettings {
    pub(super) policy: String,
    pub(super) mount_options: Vec<String>,
}

/// Why no volume of a StorageClass can be offered.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClassProblem {
    #[error(
        "StorageClass {0:?} does not exist; create it with volumeBindingMode: WaitForFirstConsumer"
    )]
    Missing(String),
    #[error(
        "StorageClass {0:?} binds immediately; a PVC would be bound before its pod has a node, and the pod could not start; \
         create the class again with volumeBindingMode: WaitForFirstConsumer"
    )]
    Immediate(String),
    #[error(
        "StorageClass {class:?} has reclaimPolicy {policy}, which no local disk has; set Delete or Retain"
    )]
    Policy { class: String, policy: String },
    #[error(transparent)]
    Request(#[from] VolumeRequestError),
}

/// Reads what the StorageClass of this name says.
///
/// # Errors
///
/// It does not exist, or its volumes could not be used.
pub(super) async fn settings(
    requests: &VolumeRequests,
    class: &str,
) -> Result<ClassSettings, ClassProblem> {
    let path = format!("/apis/storage.k8s.io/v1/storageclasses/{class}");
    let text = requests.read(&path).await.map_err(VolumeRequestError::from)?;
    let text = text.ok_or_else(|| ClassProblem::Missing(class.to_owned()))?;
    let object: Value = serde_json::from_str(&text).map_err(VolumeRequestError::from)?;
    if object["volumeBindingMode"] != "WaitForFirstConsumer" {
        return Err(ClassProblem::Immediate(class.to_owned()));
    }
    // Kubernetes: `pkg/apis/storage/v1/defaults.go`: an absent policy is Delete.
    let policy = object["reclaimPolicy"].as_str().unwrap_or("Delete").to_owned();
    if !matches!(policy.as_str(), "Delete" | "Retain") {
        return Err(ClassProblem::Policy { class: class.to_owned(), policy });
    }
    let options = object["mountOptions"].as_array().into_iter().flatten();
    let mount_options = options.filter_map(|option| option.as_str().map(str::to_owned)).collect();
    Ok(ClassSettings { policy, mount_options })
}

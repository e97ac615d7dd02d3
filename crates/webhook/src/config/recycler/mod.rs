//! The recycler of volumes with the policy Recycle: its pod template, namespace and timeouts.
//!
//! A pod template is kept as JSON, so that all its other fields stay as the operator wrote them. Not here: the pod of
//! one volume.

pub(super) mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

/// The image of the built-in pod: the one that Kubernetes' own recycler uses, so that a cluster which
/// recycles has it already, mirrored where it has to be. (`pkg/volume/plugins.go`, 1.36.)
const IMAGE: &str = "registry.k8s.io/build-image/debian-base:bookworm-v1.0.6";

/// Where the built-in pod sees the volume.
const SCRUBBED: &str = "/scrub";

/// What the built-in pod runs: it succeeds only if nothing is left, hidden files included.
///
/// It never leaves the volume's file system: what is mounted inside may be another volume. A snapshot
/// folder (`.snapshot`, `.zfs`) that shows among the files cannot be removed, so that it fails: the next
/// claim could read there what the last one wrote. It reports how many are left, not their names.
const SCRUB: &str = r#"
fail() { echo "$1" | tee /dev/termination-log; exit 1; }
test -d /scrub || fail 'there is no folder at /scrub'
find /scrub -xdev -mindepth 1 -delete
ended=$?
left=$(ls -A /scrub) || fail 'the volume cannot be read'
test -z "$left" || fail "$(echo "$left" | wc -l) left at the top of the volume"
test "$ended" -eq 0 || fail 'some of the volume could not be looked at'
"#;

/// How volumes are recycled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recycler {
    /// The namespace of its pods; none: where the lease of the controller is.
    pub namespace: Option<String>,
    /// The pod.
    pub template: PodTemplate,
    /// How long it may take on NFS.
    pub nfs: Timeout,
    /// How long it may take in a folder of a node.
    pub host_path: Timeout,
}

/// The template of the pod that recycles a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodTemplate {
    /// Labels of the pod.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the pod.
    pub annotations: BTreeMap<String, String>,
    /// The name, among the pod's volumes, of the one to be recycled: a container mounts it.
    pub volume: String,
    /// The pod's other volumes.
    pub other_volumes: Vec<Value>,
    /// `spec` of the pod without `volumes`; it has containers.
    pub spec: Map<String, Value>,
}

/// How long a pod may take, by the size of its volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// At least this.
    pub minimum: Duration,
    /// For each whole GiB of capacity.
    pub per_gibibyte: Duration,
}

/// As in Kubernetes: `--pv-recycler-minimum-timeout-nfs` and its neighbours.
impl Default for Recycler {
    fn default() -> Self {
        let per_gibibyte = Duration::from_secs(30);
        Self {
            namespace: None,
            template: PodTemplate::built_in(IMAGE),
            nfs: Timeout { minimum: Duration::from_mins(5), per_gibibyte },
            host_path: Timeout { minimum: Duration::from_mins(1), per_gibibyte },
        }
    }
}

impl PodTemplate {
    /// The built-in pod with another image; it needs `sh`, `find`, `ls`, `tee` and `wc`.
    pub fn built_in(image: &str) -> Self {
        let spec = json!({
            "containers": [{
                "name": "pv-recycler",
                "image": image,
                "command": ["/bin/sh", "-c", SCRUB],
                "volumeMounts": [{"name": "vol", "mountPath": SCRUBBED}],
                // No limits: a folder with millions of files would never get past them.
                "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "readOnlyRootFilesystem": true,
                    // The files are those of any user, in folders that may be sticky.
                    "runAsUser": 0,
                    "capabilities": {"drop": ["ALL"], "add": ["DAC_OVERRIDE", "FOWNER"]},
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
            }],
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            // Nothing is lost by killing it. With 0 it would be gone from the API before it has ended.
            "terminationGracePeriodSeconds": 1,
        });
        let spec = if let Value::Object(spec) = spec { spec } else { Map::new() };
        Self { volume: "vol".to_owned(), spec, ..Self::default() }
    }
}

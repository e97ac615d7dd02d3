//! The kubelet, as far as recycler pods go: it runs them, says how they ended, and removes those that are
//! to go.

use bindery_sim::{ClusterState, Method, SeededRng};
use serde_json::json;

use super::{all, is_terminating, pod_path, send, text};

const USER: &str = "kubelet";

/// The label that the pods of a recycler carry.
const MARK: &str = "bindery.dev/recycles-volume";

/// In a thousand: one that fails is tried again half a minute later at the earliest.
const FAILURES: u16 = 200;

/// How recycler pods end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kubelet {
    /// All succeed.
    Succeeds,
    /// The next fails, all after it succeed.
    FailsOnce,
    /// Some fail.
    FailsAtTimes,
}

/// Looks at every recycler pod once.
pub(super) fn look(kubelet: &mut Kubelet, rng: &mut SeededRng, cluster: &mut ClusterState) {
    for pod in all(cluster, "Pod") {
        let is_placed = !text(&pod, "/spec/nodeName").is_empty();
        if pod["metadata"]["labels"][MARK].is_null() || !is_placed {
            continue;
        }
        if is_terminating(&pod) {
            let at_once = json!({"gracePeriodSeconds": 0});
            send(cluster, USER, Method::Delete, &pod_path(&pod), at_once);
            continue;
        }
        let status = match text(&pod, "/status/phase") {
            "Pending" => json!({"phase": "Running"}),
            "Running" if fails(kubelet, rng) => {
                json!({"phase": "Failed", "message": "no such export"})
            }
            "Running" => json!({"phase": "Succeeded"}),
            _ => continue,
        };
        let path = format!("{}/status", pod_path(&pod));
        send(cluster, USER, Method::Patch, &path, json!({"status": status}));
    }
}

fn fails(kubelet: &mut Kubelet, rng: &mut SeededRng) -> bool {
    match kubelet {
        Kubelet::Succeeds => false,
        Kubelet::FailsOnce => {
            *kubelet = Kubelet::Succeeds;
            true
        }
        Kubelet::FailsAtTimes => rng.happens(FAILURES),
    }
}

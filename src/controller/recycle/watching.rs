//! Watches one recycler pod to its end, and passes on the events of Kubernetes about it.
//!
//! By asking: a pod ends once, minutes later, and a watch of its own would need a list, bookmarks and
//! resumption for one object. What is asked each second costs the API server less than the pod's own
//! kubelet does.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::api::{Api, Made, PodStatus, Terminated};
use super::pod::Volume;
use crate::binding::{EventType, recycler_pod_event};
use crate::client::events::{Regarding, store_event};
use crate::controller::reconciler::RecycleOrder;

/// Between two looks, at first.
const PERIOD: Duration = Duration::from_secs(1);

/// Between two looks at a pod that has run for minutes: it is noticed a twentieth of its time late at most.
const PERIOD_MAX: Duration = Duration::from_secs(10);

/// What a container leaves as its last words can be 4 KiB; a reason is read on one line.
const WORDS_BYTES_MAX: usize = 256;

/// What became of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PodResult {
    /// It did its work.
    Succeeded,
    /// It did not; this is why.
    Failed(String),
    /// The volume is no longer what was to be recycled; the pod must not go on.
    VolumeChanged,
}

/// A recycler pod that is watched.
pub(super) struct PodWatch<'a> {
    api: &'a Api,
    order: &'a RecycleOrder,
    volume: &'a Volume,
    pod: &'a Made,
    /// The texts that were passed on, by the event's name.
    texts: BTreeMap<String, String>,
    /// How often something was passed on, by reason.
    counts: BTreeMap<String, u32>,
}

impl<'a> PodWatch<'a> {
    /// Watches the pod that recycles `volume`, from which nothing was passed on yet.
    pub(super) fn new(
        api: &'a Api,
        order: &'a RecycleOrder,
        volume: &'a Volume,
        pod: &'a Made,
    ) -> Self {
        Self { api, order, volume, pod, texts: BTreeMap::new(), counts: BTreeMap::new() }
    }

    /// Waits for the end of the pod, for at most `patience`.
    pub(super) async fn end(mut self, patience: Duration) -> PodResult {
        let begun = Instant::now();
        loop {
            self.pass_on().await;
            if let Some(result) = self.look().await {
                return result;
            }
            let elapsed = begun.elapsed();
            if elapsed >= patience {
                return PodResult::Failed(format!(
                    "recycler pod did not end within {} s; see what the events RecyclerPod say of it, \
                     and whether its node is Ready",
                    patience.as_secs()
                ));
            }
            sleep(PERIOD.max(elapsed / 20).min(PERIOD_MAX)).await;
        }
    }

    /// The result of the pod so far. A read that fails is made again at the next look.
    async fn look(&self) -> Option<PodResult> {
        let result = match self.api.status(self.pod).await {
            Ok(Some(status)) => result(&status),
            Ok(None) => Some(PodResult::Failed("recycler pod was deleted".to_owned())),
            Err(trouble) => {
                tracing::debug!(pod = self.pod.name, reason = %trouble, "a recycler pod was not seen");
                None
            }
        };
        if result.is_some() {
            return result;
        }
        // The volume may be made available by hand, or given to another claim, whose files must stay.
        let name = &self.order.volume;
        match self.api.volume(name).await {
            Ok(found) if found.as_ref().is_none_or(|found| !found.is_still(self.volume)) => {
                tracing::info!(volume = %name, "changed while it was recycled; stopped");
                Some(PodResult::VolumeChanged)
            }
            Ok(_) | Err(_) => None,
        }
    }

    /// Records new events of the pod for the volume.
    async fn pass_on(&mut self) {
        let events = match self.api.events(self.pod).await {
            Ok(events) => events,
            Err(trouble) => {
                tracing::debug!(pod = self.pod.name, reason = %trouble, "events were not seen");
                return;
            }
        };
        for event in events {
            let old = self.texts.insert(event.metadata.name, event.message.clone());
            if old.is_some_and(|old| old == event.message) {
                continue;
            }
            let count = self.counts.entry(event.reason.clone()).or_default();
            *count += 1;
            let is_grave = event.r#type == EventType::Warning.as_str();
            let event_type = if is_grave { EventType::Warning } else { EventType::Normal };
            let repeated = recycler_pod_event(&self.order.volume, event_type, &event.message);
            let about = Regarding {
                uid: self.order.uid.as_ref(),
                version: self.order.version.as_ref(),
                count: *count,
                detail: &event.reason,
            };
            store_event(&self.api.client, (&repeated).into(), about).await;
        }
    }
}

/// Returns what a status says of the end of its pod.
fn result(status: &PodStatus) -> Option<PodResult> {
    match status.phase.as_str() {
        "Succeeded" => Some(PodResult::Succeeded),
        "Failed" if status.message.is_empty() => Some(PodResult::Failed(format!(
            "pod failed, pod.Status.Message unknown{}",
            words(status)
        ))),
        "Failed" => Some(PodResult::Failed(status.message.clone())),
        _ => None,
    }
}

/// Returns what the first container that failed says of it: Kubernetes puts no word of that into the pod's own
/// message.
fn words(status: &PodStatus) -> String {
    let containers = status.init_container_statuses.iter().chain(&status.container_statuses);
    let mut failed = containers.filter_map(|container| {
        let ended = container.state.terminated.as_ref()?;
        (ended.exit_code != 0).then_some((&container.name, ended))
    });
    let Some((name, Terminated { exit_code, message })) = failed.next() else {
        return String::new();
    };
    let message = message.trim();
    let message = &message[..message.floor_char_boundary(WORDS_BYTES_MAX)];
    let separator = if message.is_empty() { "" } else { ": " };
    format!("; container {name:?} ended with code {exit_code}{separator}{message}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn result_of(status: Value) -> Option<PodResult> {
        result(&serde_json::from_value(status).expect("a status"))
    }

    #[track_caller]
    fn expect_failed(status: Value, text: &str) {
        assert_eq!(result_of(status), Some(PodResult::Failed(text.to_owned())));
    }

    #[test]
    fn a_pod_has_ended_when_its_phase_says_so() {
        assert_eq!(result_of(json!({})), None);
        assert_eq!(result_of(json!({"phase": "Running", "message": "x"})), None);
        assert_eq!(result_of(json!({"phase": "Unknown"})), None);
        let done = json!({"phase": "Succeeded", "message": "x"});
        assert_eq!(result_of(done), Some(PodResult::Succeeded));
        expect_failed(json!({"phase": "Failed", "message": "evicted"}), "evicted");
        expect_failed(json!({"phase": "Failed"}), "pod failed, pod.Status.Message unknown");
    }

    #[test]
    fn the_last_words_of_the_container_that_failed_are_reported() {
        let ended = |name: &str, code: i32, message: &str| {
            let ended = json!({"exitCode": code, "message": message, "reason": "Error"});
            json!({"name": name, "state": {"terminated": ended}})
        };
        let waits = json!({"name": "c", "state": {"waiting": {"reason": "x"}}});
        let status = json!({"phase": "Failed", "initContainerStatuses": [ended("a", 0, "fine")],
            "containerStatuses": [waits, ended("b", 1, "3 are left\n"), ended("d", 2, "")]});
        let expected = "pod failed, pod.Status.Message unknown; container \"b\" ended with code 1: 3 \
                        are left";
        expect_failed(status, expected);
        let long =
            json!({"phase": "Failed", "containerStatuses": [ended("b", 137, &"ü".repeat(999))]});
        let expected = format!(
            "pod failed, pod.Status.Message unknown; container \"b\" ended with code 137: {}",
            "ü".repeat(128)
        );
        expect_failed(long, &expected);
    }
}

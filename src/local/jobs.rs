//! The Jobs that clean block devices: the object, its state, and requests about it.
//!
//! Names, labels and annotations are those of sig-storage-local-static-provisioner (`pkg/deleter/jobcontroller.go`,
//! `NewCleanupJob`): what lists its Jobs lists these too, and a Job that it has left for the same volume is seen.

use std::path::Path;
use std::time::Duration;

use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{VolumeRequestError, VolumeRequests, is_stale};
use super::configuration::DiscoveryClass;
use super::node::LocalNode;
use crate::api::local_volume::label_value;
use crate::client::request::{escaped, is_absent};
use crate::disks::{JobOutcome, JobState};
use crate::model::annotations::CLEANING;
use crate::model::{Uid, VolumeName};

/// Pods of a Job that may fail before it does. With 2 of them, Kubernetes' pauses are half a minute together: then the failure
/// is an event.
const BACKOFF_LIMIT: u32 = 2;

/// How long a Job stays after it ended, if no provisioner runs that creates the next one. An hour: a person can read its log. Nothing depends on it:
/// what it has done is proven on the disk.
const TTL: Duration = Duration::from_hours(1);

/// How Jobs are to be created.
#[derive(Clone, Debug)]
pub struct JobSettings {
    /// Their namespace.
    pub namespace: String,
    /// The image: that of this program, or one made from it.
    pub image: String,
    /// The account of their pods. It needs no rights.
    pub service_account: String,
    /// Time between the end of a Job that has not cleaned its disk and the next Job.
    pub retry_delay: Duration,
    /// The folder of marks, on the node and in this process.
    pub ledger: String,
    /// The folder of the kubelet, on the node and in this process.
    pub kubelet: String,
    /// The tolerations of their pods.
    pub tolerations: Vec<Value>,
}

impl JobSettings {
    fn path(&self) -> String {
        format!("/apis/batch/v1/namespaces/{}/jobs", escaped(&self.namespace))
    }

    /// The namespace and name of the Job for a volume.
    pub(super) fn reference(&self, volume: &VolumeName) -> String {
        format!("{}/{}", self.namespace, job_name(volume))
    }
}

/// The name of the Job for a volume: there is never more than one. `local-pv-` and eight digits leave room.
fn job_name(volume: &VolumeName) -> String {
    format!("cleanup-{volume}")
}

/// A Job to be created.
pub(super) struct NewJob<'a> {
    pub(super) settings: &'a JobSettings,
    pub(super) node: &'a LocalNode,
    pub(super) class: &'a DiscoveryClass,
    pub(super) volume: &'a VolumeName,
    /// The uid of the volume, if it exists.
    pub(super) uid: Option<&'a Uid>,
    /// The path of the device in the discovery folder, as this process has it.
    pub(super) path: &'a Path,
    pub(super) cleaning: &'a str,
    pub(super) now: Timestamp,
}

impl NewJob<'_> {
    pub(super) fn manifest(&self) -> Value {
        let name = job_name(self.volume);
        let mut labels = json!({
            "kubernetes.io/hostname": label_value(&self.node.hostname),
            "pv": self.volume.as_str(),
        });
        if let Some(uid) = self.uid {
            labels["pvuuid"] = json!(uid.to_string());
        }
        let annotations = json!({
            "device": self.path,
            "start-time": self.now.to_string(),
            CLEANING: self.cleaning,
        });
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "labels": labels, "annotations": annotations},
            "spec": {
                "backoffLimit": BACKOFF_LIMIT,
                "ttlSecondsAfterFinished": TTL.as_secs(),
                "template": {"metadata": {"labels": labels}, "spec": self.pod()},
            },
        })
    }

    fn pod(&self) -> Value {
        let JobSettings { service_account, tolerations, .. } = self.settings;
        let tolerations = [tolerations.as_slice(), &daemon_tolerations()].concat();
        // By its name: pods of a DaemonSet are bound to their node so, and the scheduler looks at taints.
        let on_node = json!({"key": "metadata.name", "operator": "In", "values": [self.node.name]});
        let (mounts, volumes) = self.volumes();
        json!({
            // A pod that failed stays, with its log.
            "restartPolicy": "Never",
            "serviceAccountName": service_account,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            // The first process of a container is ended by no signal but the last one; a cleaning goes on in the next pod.
            "terminationGracePeriodSeconds": 1,
            "securityContext": {
                "runAsUser": 0, "runAsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"},
            },
            "tolerations": tolerations,
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchFields": [on_node]}],
            }}},
            "containers": [{
                "name": "cleaner",
                "image": self.settings.image,
                "args": self.arguments(),
                "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
                // Container runtimes allow only privileged containers to open the devices of the node.
                "securityContext": {"privileged": true, "readOnlyRootFilesystem": true},
                "terminationMessagePolicy": "FallbackToLogsOnError",
                // Kubernetes' default is a file in /dev, which is the node's here.
                "terminationMessagePath": "/run/termination-log",
                "volumeMounts": mounts,
            }],
            "volumes": volumes,
        })
    }

    fn arguments(&self) -> Vec<String> {
        let JobSettings { ledger, kubelet, .. } = self.settings;
        let path = self.path.to_string_lossy();
        let mut arguments = vec!["local", "clean-device"];
        for (flag, value) in [
            ("--cleaning", self.cleaning),
            ("--volume", self.volume.as_str()),
            ("--path", &path),
            ("--ledger-dir", ledger),
            ("--kubelet-dir", kubelet),
        ] {
            arguments.extend([flag, value]);
        }
        if !self.node.machine.is_empty() {
            arguments.extend(["--machine-id", &self.node.machine]);
        }
        if !self.class.cleaner.is_empty() {
            arguments.push("--");
            arguments.extend(self.class.cleaner.iter().map(String::as_str));
        }
        // Kubernetes replaces $(NAME) in arguments, and $$ by $.
        arguments.into_iter().map(|argument| argument.replace('$', "$$")).collect()
    }

    /// The mounts of the container, and the folders of the node.
    fn volumes(&self) -> (Value, Value) {
        let JobSettings { ledger, kubelet, .. } = self.settings;
        let (host, inside) = (&self.class.host_dir, &self.class.mount_dir);
        let mut mounts = vec![
            // Devices can be written all the same.
            json!({"name": "dev", "mountPath": "/dev", "readOnly": true}),
            json!({"name": "ledger", "mountPath": ledger, "readOnly": true}),
            json!({
                "name": "kubelet", "mountPath": kubelet, "readOnly": true,
                "mountPropagation": "HostToContainer",
            }),
        ];
        let of_node = |name: &str, path: &Path| json!({"name": name, "hostPath": {"path": path, "type": "Directory"}});
        let mut volumes = vec![
            of_node("dev", Path::new("/dev")),
            of_node("ledger", Path::new(ledger)),
            of_node("kubelet", Path::new(kubelet)),
        ];
        if host != inside || !host.starts_with("/dev") {
            mounts.push(json!({
                "name": "disks", "mountPath": inside, "readOnly": true,
                "mountPropagation": "HostToContainer",
            }));
            volumes.push(of_node("disks", host));
        }
        (json!(mounts), json!(volumes))
    }
}

/// What every pod of a `DaemonSet` tolerates: where the provisioner runs, its Jobs do.
///
/// Kubernetes: `pkg/controller/daemon/util/daemonset_util.go`, `AddOrUpdateDaemonPodTolerations`.
fn daemon_tolerations() -> Vec<Value> {
    let of = |name: &str, effect: &str| json!({"key": format!("node.kubernetes.io/{name}"), "operator": "Exists", "effect": effect});
    let pressures = ["disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"];
    let executed = ["not-ready", "unreachable"].map(|name| of(name, "NoExecute"));
    executed.into_iter().chain(pressures.map(|name| of(name, "NoSchedule"))).collect()
}

/// A Job as it is read.
#[derive(Clone, Debug)]
pub(super) struct ReadJob {
    pub(super) state: JobState,
    /// When it was created, if it exists.
    pub(super) created: Option<Timestamp>,
}

impl VolumeRequests {
    /// Reads the Job of a volume. `cleaning`: the one that is permitted now.
    pub(super) async fn job(
        &self,
        settings: &JobSettings,
        volume: &VolumeName,
        cleaning: Option<&str>,
    ) -> Result<ReadJob, VolumeRequestError> {
        let text = self.read(&format!("{}/{}", settings.path(), job_name(volume))).await?;
        let Some(text) = text else {
            return Ok(ReadJob { state: JobState::Absent, created: None });
        };
        let job: JobWire = serde_json::from_str(&text)?;
        let created = job.metadata.creation_timestamp.clone().and_then(|time| time.parse().ok());
        let state = job.state(settings, volume, cleaning, Timestamp::now());
        Ok(ReadJob { state, created })
    }

    /// Creates a Job. Whether it is there now: not if one of its name was there before.
    pub(super) async fn create_job(&self, job: &NewJob<'_>) -> Result<bool, VolumeRequestError> {
        let sent = self.send(Method::POST, &job.settings.path(), Some(&job.manifest())).await;
        match sent {
            Ok(_) => Ok(true),
            Err(error) if error.status().is_some_and(is_stale) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes the Job with this uid, once its pods are gone.
    pub(super) async fn delete_job(
        &self,
        settings: &JobSettings,
        volume: &VolumeName,
        uid: &Uid,
    ) -> Result<(), VolumeRequestError> {
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid.to_string()},
            "propagationPolicy": "Foreground",
        });
        let path = format!("{}/{}", settings.path(), job_name(volume));
        match self.send(Method::DELETE, &path, Some(&options)).await {
            Ok(_) => Ok(()),
            Err(error)
                if error.status().is_some_and(|status| is_absent(status) || is_stale(status)) =>
            {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}

#[derive(Deserialize)]
struct JobWire {
    metadata: JobMetadata,
    #[serde(default)]
    status: JobStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JobMetadata {
    uid: String,
    creation_timestamp: Option<String>,
    deletion_timestamp: Option<String>,
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
struct JobStatus {
    #[serde(default)]
    conditions: Vec<JobCondition>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JobCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    last_transition_time: Option<String>,
    #[serde(default)]
    message: String,
}

impl JobWire {
    fn state(
        &self,
        settings: &JobSettings,
        volume: &VolumeName,
        cleaning: Option<&str>,
        now: Timestamp,
    ) -> JobState {
        let uid = Uid::new(self.metadata.uid.as_str());
        if self.metadata.deletion_timestamp.is_some() {
            return JobState::Terminating;
        }
        let of = self.metadata.annotations.get(CLEANING).map(String::as_str);
        if of.is_none() || of != cleaning {
            return JobState::Other(uid);
        }
        let mut ends = self.status.conditions.iter().filter(|condition| condition.status == "True");
        let ended = ends.find_map(|condition| match condition.kind.as_str() {
            "Complete" => Some((condition, JobOutcome::Complete)),
            "Failed" => Some((condition, JobOutcome::Failed(condition.message.as_str().into()))),
            _ => None,
        });
        let Some((condition, outcome)) = ended else { return JobState::Active(uid) };
        let at = condition.last_transition_time.as_ref().and_then(|time| time.parse().ok());
        let delay = SignedDuration::try_from(settings.retry_delay).unwrap_or(SignedDuration::MAX);
        let is_retry_due = at.is_none_or(|at: Timestamp| now.duration_since(at) >= delay);
        JobState::Ended { uid, job: settings.reference(volume).into(), outcome, is_retry_due }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> JobSettings {
        JobSettings {
            namespace: "disks".to_owned(),
            image: "registry.example.com/bindery:1".to_owned(),
            service_account: "bindery-local-job".to_owned(),
            retry_delay: Duration::from_mins(1),
            ledger: "/var/lib/bindery/local".to_owned(),
            kubelet: "/var/lib/kubelet".to_owned(),
            tolerations: Vec::new(),
        }
    }

    fn volume() -> VolumeName {
        VolumeName::new("local-pv-457091be")
    }

    /// The state of a Job with these fields.
    fn state(cleaning: &str, metadata: &str, conditions: &str, permit: Option<&str>) -> JobState {
        let text = format!(
            r#"{{"metadata": {{"uid": "j1", "annotations": {{{cleaning}}}{metadata}}},
                "status": {{"conditions": [{conditions}]}}}}"#
        );
        let job: JobWire = serde_json::from_str(&text).unwrap();
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        job.state(&settings(), &volume(), permit, now)
    }

    #[test]
    fn a_job_is_of_the_cleaning_that_is_permitted_or_of_none() {
        let (uid, own) = (|| Uid::new("j1"), r#""bindery.dev/cleaning": "c1""#);
        let at = |time: &str, kind: &str| {
            format!(
                r#"{{"type": "Suspended", "status": "True"}}, {{"type": "{kind}", "status": "True",
                    "message": "m", "lastTransitionTime": "2026-01-01T00:{time}Z"}}"#
            )
        };
        let ended = |outcome, is_retry_due| {
            let job = "disks/cleanup-local-pv-457091be".into();
            JobState::Ended { uid: uid(), job, outcome, is_retry_due }
        };
        let failed = || JobOutcome::Failed("m".into());
        let gone = r#", "deletionTimestamp": "2026-01-01T00:00:00Z""#;
        for (cleaning, metadata, conditions, permit, expected) in [
            (own, "", String::new(), Some("c1"), JobState::Active(uid())),
            (own, "", String::new(), Some("c2"), JobState::Other(uid())),
            (own, "", at("00:00", "Complete"), None, JobState::Other(uid())),
            // That of sig-storage-local-static-provisioner.
            ("", "", String::new(), None, JobState::Other(uid())),
            (own, gone, String::new(), Some("c1"), JobState::Terminating),
            (own, "", at("00:01", "Failed"), Some("c1"), ended(failed(), false)),
            (own, "", at("00:00", "Failed"), Some("c1"), ended(failed(), true)),
            (own, "", at("00:30", "Complete"), Some("c1"), ended(JobOutcome::Complete, false)),
            (
                own,
                "",
                at("00:00", "Failed").replace("\"True\"", "\"False\""),
                Some("c1"),
                JobState::Active(uid()),
            ),
        ] {
            assert_eq!(state(cleaning, metadata, &conditions, permit), expected, "{conditions}");
        }
    }

    #[test]
    fn the_name_of_a_job_fits_its_label_in_pods() {
        assert_eq!(job_name(&volume()), "cleanup-local-pv-457091be");
        assert!(job_name(&VolumeName::new("local-pv-ffffffff")).len() <= 63);
    }
}

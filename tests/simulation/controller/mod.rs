//! The real controller over the simulated server, through kube's client.

mod fallback;
mod lease;
mod recycler;
mod tenancy;
mod trash;

use std::sync::Arc;
use std::time::Duration;

use bindery::client::lease::{LeaderElection, Timing, TimingError};
use bindery::config::Configuration;
use bindery::controller::error::LoopError;
use bindery::controller::health::router;
use bindery::controller::metrics::ControllerMetrics;
use bindery::controller::mode::ControllerMode;
use bindery::controller::run::{ControllerSettings, run_metered};
use bindery::file_watch::configuration::ConfigurationSource;
use bindery_sim::{ApiRequest, ApiServer, ClusterState, Method};
use http_body_util::BodyExt;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

/// A controller that runs.
pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), LoopError>>,
}

/// Returns what the health port says at a path.
pub(crate) async fn probed(probe: &Arc<ControllerMetrics>, path: &str) -> (u16, String) {
    let request = http::Request::get(path).body(axum::body::Body::empty()).expect("a request");
    let Ok(answer) = router(probe.clone()).oneshot(request).await;
    let code = answer.status().as_u16();
    let body = answer.into_body().collect().await.expect("a body").to_bytes();
    (code, String::from_utf8(body.to_vec()).expect("text"))
}

impl Running {
    pub(crate) fn probed(
        server: &ApiServer,
        mode: ControllerMode,
    ) -> (Self, Arc<ControllerMetrics>) {
        Self::through(Client::new(server.clone(), "default"), mode, None)
    }

    pub(crate) fn start(
        server: &ApiServer,
        mode: ControllerMode,
        election: Option<LeaderElection>,
    ) -> Self {
        Self::through(Client::new(server.clone(), "default"), mode, election).0
    }

    pub(crate) fn through(
        client: Client,
        mode: ControllerMode,
        election: Option<LeaderElection>,
    ) -> (Self, Arc<ControllerMetrics>) {
        Self::under(Configuration::default(), client, mode, election)
    }

    pub(crate) fn under(
        configuration: Configuration,
        client: Client,
        mode: ControllerMode,
        election: Option<LeaderElection>,
    ) -> (Self, Arc<ControllerMetrics>) {
        let (stop, stopped) = oneshot::channel::<()>();
        let metrics = Arc::new(ControllerMetrics::new().expect("metrics"));
        let probe = Arc::clone(&metrics);
        let own_namespace = "kube-system".to_owned();
        let settings = ControllerSettings {
            mode,
            election,
            configuration: ConfigurationSource::Fixed(Box::new(configuration)),
            config_map: None,
            last_good: None,
            own_namespace,
            events: true,
            certificates: None,
            guard: None,
        };
        let task = tokio::spawn(run_metered(client, settings, metrics, async {
            let _ = stopped.await;
        }));
        (Self { stop, task }, probe)
    }

    /// Ends it as a machine does that goes down.
    pub(crate) fn kill(self) {
        self.task.abort();
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).expect("it runs");
        self.task.await.expect("it does not panic").expect("it ends well");
    }
}

pub(crate) fn server() -> ApiServer {
    ApiServer::new(ClusterState::new(3, "2026-11-21T05:00:00Z".parse().expect("a time")))
}

pub(crate) fn send(server: &ApiServer, method: Method, path: &str, body: Value) -> Value {
    let response = server.with(|cluster| cluster.handle(ApiRequest::new(method, path, body)));
    assert!(response.code < 300, "{response:?}");
    match response.body {
        bindery_sim::Body::Json(value) => value,
        bindery_sim::Body::Watch(_) => panic!("a watch"),
    }
}

pub(crate) const VOLUMES: &str = "/api/v1/persistentvolumes";
pub(crate) const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";

pub(crate) fn volume(name: &str, size: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
            "nfs": {"server": "nfs.example.com", "path": format!("/{name}")}},
    })
}

pub(crate) fn claim(name: &str, size: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "resources": {"requests": {"storage": size}}},
    })
}

pub(crate) fn phase(server: &ApiServer, path: &str) -> String {
    let object = send(server, Method::Get, path, Value::Null);
    object["status"]["phase"].as_str().unwrap_or_default().to_owned()
}

/// Waits until the object at `path` has the phase.
pub(crate) async fn until(server: &ApiServer, path: &str, expected: &str) {
    let start = Instant::now();
    while phase(server, path) != expected {
        let waited = start.elapsed();
        assert!(waited < Duration::from_mins(1), "{path} is {}", phase(server, path));
        sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_pair_is_bound_in_either_order_and_released() {
    let server = server();
    let running = Running::start(&server, ControllerMode::Full, None);
    send(&server, Method::Post, VOLUMES, volume("pv-a", "10Gi"));
    until(&server, &format!("{VOLUMES}/pv-a"), "Available").await;
    send(&server, Method::Post, CLAIMS, claim("a", "5Gi"));
    until(&server, &format!("{CLAIMS}/a"), "Bound").await;
    send(&server, Method::Post, CLAIMS, claim("b", "5Gi"));
    // Not so long that the claim gets an event.
    sleep(Duration::from_millis(500)).await;
    assert_eq!(phase(&server, &format!("{CLAIMS}/b")), "Pending");
    let before = server.with(|cluster| cluster.version());
    send(&server, Method::Post, VOLUMES, volume("pv-b", "10Gi"));
    until(&server, &format!("{CLAIMS}/b"), "Bound").await;
    let writes = server.with(|cluster| cluster.version()) - before;
    assert_eq!(writes, 5, "the volume's creation and four writes");
    let free = json!({"metadata": {"finalizers": null}});
    server.with(|cluster| cluster.handle(ApiRequest::merge_patch(format!("{CLAIMS}/a"), free)));
    send(&server, Method::Delete, &format!("{CLAIMS}/a"), Value::Null);
    until(&server, &format!("{VOLUMES}/pv-a"), "Released").await;
    running.stop().await;
}

pub(crate) fn election(identity: &str) -> LeaderElection {
    LeaderElection {
        namespace: "kube-system".to_owned(),
        name: "bindery-controller".to_owned(),
        identity: identity.to_owned(),
        timing: Timing::default(),
    }
}

#[tokio::test(start_paused = true)]
async fn one_of_two_leads_and_the_other_follows_a_clean_stop_and_a_kill() {
    let server = server();
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/bindery-controller";
    let holder = || {
        let lease = send(&server, Method::Get, lease, Value::Null);
        lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
    };
    let first = Running::start(&server, ControllerMode::Full, Some(election("first")));
    sleep(Duration::from_secs(1)).await;
    let second = Running::start(&server, ControllerMode::Full, Some(election("second")));
    sleep(Duration::from_mins(1)).await;
    assert_eq!(holder(), "first");

    let clean = Instant::now();
    first.stop().await;
    while holder() != "second" {
        sleep(Duration::from_millis(10)).await;
    }
    assert!(clean.elapsed() <= Duration::from_secs(3), "{:?}", clean.elapsed());

    let third = Running::start(&server, ControllerMode::Full, Some(election("third")));
    sleep(Duration::from_millis(12_345)).await;
    let killed = Instant::now();
    second.kill();
    send(&server, Method::Post, VOLUMES, volume("pv-a", "10Gi"));
    send(&server, Method::Post, CLAIMS, claim("a", "5Gi"));
    until(&server, &format!("{CLAIMS}/a"), "Bound").await;
    assert!(killed.elapsed() >= Duration::from_secs(12), "{:?}", killed.elapsed());
    assert!(killed.elapsed() <= Duration::from_secs(16), "{:?}", killed.elapsed());
    assert_eq!(holder(), "third");
    third.stop().await;
    assert_eq!(holder(), "");
}

/// `--leader-elect-lease-duration 4s --leader-elect-renew-deadline 3s --leader-elect-retry-period 1s`.
#[tokio::test(start_paused = true)]
async fn with_a_short_lease_a_pair_waits_for_five_seconds_after_a_kill() {
    let seconds = Duration::from_secs;
    let timing = Timing::new(seconds(4), seconds(3), seconds(1)).expect("periods");
    for killed_after in (10_000..11_000).step_by(97) {
        let server = server();
        let election = |identity| Some(LeaderElection { timing, ..election(identity) });
        let first = Running::start(&server, ControllerMode::Full, election("first"));
        sleep(seconds(1)).await;
        let second = Running::start(&server, ControllerMode::Full, election("second"));
        sleep(Duration::from_millis(killed_after)).await;
        first.kill();
        let killed = Instant::now();
        send(&server, Method::Post, VOLUMES, volume("pv-a", "10Gi"));
        send(&server, Method::Post, CLAIMS, claim("a", "5Gi"));
        until(&server, &format!("{CLAIMS}/a"), "Bound").await;
        assert!(killed.elapsed() > seconds(2), "the first may still write: {:?}", killed.elapsed());
        assert!(killed.elapsed() <= seconds(5), "{:?}", killed.elapsed());
        second.stop().await;
    }
}

#[test]
fn periods_of_a_lease_that_two_could_hold_are_rejected() {
    let of = |[duration, deadline, period]: [u64; 3]| {
        let [duration, deadline, period] = [duration, deadline, period].map(Duration::from_millis);
        Timing::new(duration, deadline, period)
    };
    assert_eq!(of([15_000, 10_000, 2_000]), Ok(Timing::default()));
    assert_eq!(of([10_000, 10_000, 2_000]), Err(TimingError::Overlap));
    assert_eq!(of([15_500, 10_000, 2_000]), Err(TimingError::Fraction));
    assert_eq!(of([15_000, 10_000, 8_400]), Err(TimingError::Seldom));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_named_counted_and_blocks_nothing() {
    let server = server();
    let unreadable = format!("{CLAIMS}/unreadable");
    send(&server, Method::Post, CLAIMS, claim("unreadable", "1Gi"));
    server.with(|cluster| {
        cluster.overwrite(&unreadable, |claim| claim["spec"]["volumeName"] = json!(5));
    });
    let (running, probe) = Running::probed(&server, ControllerMode::Full);
    assert_eq!(probed(&probe, "/livez").await.0, 200);
    assert_eq!(probed(&probe, "/readyz").await.0, 503);
    send(&server, Method::Post, VOLUMES, volume("pv-a", "10Gi"));
    send(&server, Method::Post, CLAIMS, claim("a", "5Gi"));
    send(&server, Method::Post, CLAIMS, claim("waits", "5Gi"));
    until(&server, &format!("{CLAIMS}/a"), "Bound").await;
    assert_eq!(probed(&probe, "/readyz").await.0, 200);
    sleep(Duration::from_secs(5)).await;
    let events = send(&server, Method::Get, "/api/v1/namespaces/default/events", Value::Null);
    let events = events["items"].as_array().expect("a list");
    let reported = |name: &str, reason: &str| {
        events.iter().any(|event| {
            event["involvedObject"]["name"] == name
                && event["reason"] == reason
                && event["involvedObject"]["uid"].is_string()
        })
    };
    assert!(
        reported("unreadable", "Unreadable") && reported("waits", "FailedBinding"),
        "{events:?}"
    );
    // Numbers of objects are at most five seconds old.
    let (code, metrics) = probed(&probe, "/metrics").await;
    assert_eq!(code, 200);
    for line in [
        "bindery_controller_unreadable_objects{resource=\"persistentvolumeclaims\"} 1",
        "bindery_controller_unreadable_objects{resource=\"persistentvolumes\"} 0",
        "bindery_controller_writes_total{outcome=\"stored\",write=\"reserve\"} 1",
        "bindery_controller_mode{mode=\"full\"} 1",
        "bindery_controller_leading 1",
        "pv_collector_bound_pv_count{storage_class=\"\"} 1",
        "pv_collector_bound_pvc_count{namespace=\"default\",storage_class=\"\",\
         volume_attributes_class=\"\"} 1",
        "pv_collector_unbound_pvc_count{namespace=\"default\",storage_class=\"\",\
         volume_attributes_class=\"\"} 1",
        "pv_collector_total_pv_count{plugin_name=\"kubernetes.io/nfs\",volume_mode=\"Filesystem\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    server.with(|cluster| {
        cluster.overwrite(&unreadable, |claim| {
            claim["spec"].as_object_mut().expect("a spec").remove("volumeName");
        });
    });
    send(&server, Method::Post, VOLUMES, volume("pv-b", "10Gi"));
    send(&server, Method::Post, VOLUMES, volume("pv-c", "10Gi"));
    until(&server, &unreadable, "Bound").await;
    sleep(Duration::from_secs(5)).await;
    let (_, metrics) = probed(&probe, "/metrics").await;
    let none = "bindery_controller_unreadable_objects{resource=\"persistentvolumeclaims\"} 0";
    assert!(metrics.contains(none), "{metrics}");
    running.stop().await;
}

/// Under the names and labels of Kubernetes' own binder.
#[tokio::test(start_paused = true)]
async fn how_long_a_driver_takes_to_delete_a_volume_is_counted_and_a_missing_driver() {
    let server = server();
    let (running, probe) = Running::probed(&server, ControllerMode::Full);
    let class = json!({"metadata": {"name": "fast"}, "provisioner": "csi.example.com"});
    send(&server, Method::Post, "/apis/storage.k8s.io/v1/storageclasses", class);
    let csi = json!({"csi": {"driver": "csi.example.com", "volumeHandle": "1"}, "nfs": null,
        "storageClassName": "fast"});
    for (name, source) in [("driven", csi), ("orphaned", json!({"storageClassName": "fast"}))] {
        let mut object = volume(name, "10Gi");
        object["spec"]["persistentVolumeReclaimPolicy"] = json!("Delete");
        object["spec"]["claimRef"] = json!({"namespace": "default", "name": "gone", "uid": "u"});
        json_patch::merge(&mut object["spec"], &source);
        send(&server, Method::Post, VOLUMES, object);
    }
    until(&server, &format!("{VOLUMES}/driven"), "Released").await;
    until(&server, &format!("{VOLUMES}/orphaned"), "Failed").await;
    sleep(Duration::from_secs(4)).await;
    let driven = format!("{VOLUMES}/driven");
    let free = json!({"metadata": {"finalizers": null}});
    server.with(|cluster| cluster.handle(ApiRequest::merge_patch(driven.clone(), free)));
    send(&server, Method::Delete, &driven, Value::Null);
    sleep(Duration::from_secs(1)).await;
    let (_, metrics) = probed(&probe, "/metrics").await;
    for line in [
        "volume_operation_total_seconds_bucket{operation_name=\"delete\",\
         plugin_name=\"csi.example.com\",le=\"2.5\"} 0",
        "volume_operation_total_seconds_bucket{operation_name=\"delete\",\
         plugin_name=\"csi.example.com\",le=\"5\"} 1",
        "volume_operation_total_errors{operation_name=\"delete\",plugin_name=\"N/A\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    running.stop().await;
}

/// A user deleted it between the second step and the third, and the binder died there.
#[tokio::test(start_paused = true)]
async fn a_volume_that_goes_is_given_back_and_its_claim_takes_another() {
    let server = server();
    let path = format!("{VOLUMES}/pv-a");
    let mut object = volume("pv-a", "10Gi");
    object["metadata"]["finalizers"] = json!(["kubernetes.io/pv-protection"]);
    object["metadata"]["annotations"] = json!({"pv.kubernetes.io/bound-by-controller": "yes"});
    let claim = send(&server, Method::Post, CLAIMS, claim("a", "5Gi"));
    object["spec"]["claimRef"] = json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1",
        "namespace": "default", "name": "a", "uid": claim["metadata"]["uid"]});
    send(&server, Method::Post, VOLUMES, object);
    let bound =
        ApiRequest::merge_patch(format!("{path}/status"), json!({"status": {"phase": "Bound"}}));
    assert_eq!(server.with(|cluster| cluster.handle(bound)).code, 200);
    send(&server, Method::Delete, &path, Value::Null);
    assert_eq!(phase(&server, &path), "Bound", "volume protection does not let it go");
    let running = Running::start(&server, ControllerMode::Full, None);
    until(&server, &path, "Available").await;
    let left = send(&server, Method::Get, &path, Value::Null);
    assert_eq!(left["spec"]["claimRef"], Value::Null);
    send(&server, Method::Post, VOLUMES, volume("pv-b", "10Gi"));
    until(&server, &format!("{CLAIMS}/a"), "Bound").await;
    let claim = send(&server, Method::Get, &format!("{CLAIMS}/a"), Value::Null);
    assert_eq!(claim["spec"]["volumeName"], "pv-b");
    running.stop().await;
}

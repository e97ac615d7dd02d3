//! Falling back from `full` beside another binder: what is stored of it, what clears it, and what does not.

use std::sync::Arc;
use std::time::Duration;

use bindery::controller::metrics::ControllerMetrics;
use bindery::controller::mode::ControllerMode;
use bindery_sim::{ApiRequest, ApiServer, Method};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use crate::controller::{
    CLAIMS, Running, VOLUMES, claim, election, phase, probed, send, server, until, volume,
};

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/bindery-controller";

/// What marks a volume that the other binder wrote: the simulation keeps no managedFields.
const MARK: &str = r#""annotations":{"theirs":"yes"}"#;

/// Who wrote it, as the API server adds it.
const MANAGED_FIELDS: &str = r#""managedFields":[{"manager":"kube-controller-manager",
    "fieldsV1":{"f:spec":{"f:claimRef":{"f:uid":{}}}}}]"#;

/// A controller in `full` that is shown who wrote a volume.
fn start(server: &ApiServer, identity: Option<&str>) -> (Running, Arc<ControllerMetrics>) {
    // A watch sends one object a line.
    let theirs = format!("{MARK},{}", MANAGED_FIELDS.replace('\n', ""));
    let show = move |bytes: axum::body::Bytes| match std::str::from_utf8(&bytes) {
        Ok(text) => text.replace(MARK, &theirs).into(),
        Err(_) => bytes,
    };
    let service = ServiceExt::<http::Request<Body>>::map_response(
        server.clone(),
        move |response: http::Response<_>| {
            response.map(|body| body.map_frame(move |frame| frame.map_data(show.clone())))
        },
    );
    Running::through(Client::new(service, "default"), ControllerMode::Full, identity.map(election))
}

/// Makes a volume, and has the other binder reserve it.
async fn reserve_by_other(server: &ApiServer, name: &str) {
    send(server, Method::Post, VOLUMES, volume(name, "10Gi"));
    until(server, &format!("{VOLUMES}/{name}"), "Available").await;
    let reserved = json!({"metadata": {"annotations": {"theirs": "yes"}}, "spec": {"claimRef": {
        "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "default",
        "name": "elsewhere", "uid": "11111111-1111-4111-8111-111111111111"}}});
    patch(server, &format!("{VOLUMES}/{name}"), reserved);
}

fn patch(server: &ApiServer, path: &str, patch: Value) {
    let response = server.with(|cluster| cluster.handle(ApiRequest::merge_patch(path, patch)));
    assert_eq!(response.code, 200, "{response:?}");
}

fn annotation(server: &ApiServer) -> Option<String> {
    let lease = send(server, Method::Get, LEASE, Value::Null);
    let text = &lease["metadata"]["annotations"]["bindery.dev/other-binder"];
    text.as_str().map(str::to_owned)
}

fn clear(server: &ApiServer) {
    patch(server, LEASE, json!({"metadata": {"annotations": {"bindery.dev/other-binder": null}}}));
}

/// Makes a pair that one binder alone would bind within a second.
fn make_pair(server: &ApiServer, name: &str) {
    send(server, Method::Post, VOLUMES, volume(name, "10Gi"));
    send(server, Method::Post, CLAIMS, claim(name, "5Gi"));
}

/// Returns whether the pair is as it was made, half a minute later.
async fn is_let_be(server: &ApiServer, name: &str) -> bool {
    sleep(Duration::from_secs(30)).await;
    let [volume, claim] = [VOLUMES, CLAIMS].map(|kind| phase(server, &format!("{kind}/{name}")));
    volume != "Available" && volume != "Bound" && claim != "Bound"
}

async fn mode(probe: &Arc<ControllerMetrics>) -> &'static str {
    let (_, metrics) = probed(probe, "/metrics").await;
    let is_in = |mode: &ControllerMode| {
        metrics.contains(&format!("bindery_controller_mode{{mode=\"{}\"}} 1", mode.label()))
    };
    ControllerMode::ALL.into_iter().find(is_in).map_or("none", ControllerMode::label)
}

#[tokio::test(start_paused = true)]
async fn one_write_of_another_binder_outlives_a_restart_until_it_is_cleared() {
    let server = server();
    let (first, probe) = start(&server, Some("first"));
    reserve_by_other(&server, "pv-a").await;
    // Less than between two renewals of the lease.
    sleep(Duration::from_millis(100)).await;
    first.kill();
    let reported = annotation(&server).expect("it is stored at once");
    assert!(
        reported.contains("PersistentVolume \"pv-a\": kube-controller-manager reserved it"),
        "{reported}"
    );
    let (time, _) = reported.split_once(' ').expect("a time");
    assert!(time.parse::<jiff::Timestamp>().is_ok() && time.len() == 20, "{reported}");
    assert_eq!(mode(&probe).await, "full", "it was killed before it counted");

    let (second, probe) = start(&server, Some("second"));
    make_pair(&server, "pv-b");
    assert!(is_let_be(&server, "pv-b").await);
    let lease = send(&server, Method::Get, LEASE, Value::Null);
    assert_eq!(lease["spec"]["holderIdentity"], "second", "{lease}");
    assert_eq!(mode(&probe).await, "observe");
    second.stop().await;
    assert_eq!(annotation(&server), Some(reported), "giving up the lease keeps it as it was");

    let (third, probe) = start(&server, Some("third"));
    assert!(is_let_be(&server, "pv-b").await);
    clear(&server);
    let cleared = Instant::now();
    until(&server, &format!("{CLAIMS}/pv-b"), "Bound").await;
    assert!(cleared.elapsed() < Duration::from_secs(5), "{:?}", cleared.elapsed());
    sleep(Duration::from_secs(5)).await;
    assert_eq!((mode(&probe).await, annotation(&server)), ("full", None));
    third.stop().await;
}

/// A deployment tool that wipes or deletes the Lease under its holder has not switched the other binder off.
#[tokio::test(start_paused = true)]
async fn a_lease_that_is_wiped_or_deleted_is_no_clearance() {
    let server = server();
    let (running, _) = start(&server, Some("first"));
    reserve_by_other(&server, "pv-a").await;
    sleep(Duration::from_secs(1)).await;
    let reported = annotation(&server);
    assert!(reported.is_some());
    let wiped = json!({"metadata": {"annotations": null}, "spec": null});
    patch(&server, LEASE, wiped);
    make_pair(&server, "pv-b");
    assert!(is_let_be(&server, "pv-b").await);
    assert_eq!(annotation(&server), reported);
    send(&server, Method::Delete, LEASE, Value::Null);
    assert!(is_let_be(&server, "pv-b").await);
    assert_eq!(annotation(&server), reported);
    running.stop().await;
}

/// Every replica sees the write; what one of them saw must not undo the clearance when it takes over.
#[tokio::test(start_paused = true)]
async fn what_is_cleared_is_cleared_for_the_replica_that_takes_over() {
    let server = server();
    let (first, _) = start(&server, Some("first"));
    sleep(Duration::from_secs(1)).await;
    let (second, probe) = start(&server, Some("second"));
    sleep(Duration::from_secs(5)).await;
    reserve_by_other(&server, "pv-a").await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(mode(&probe).await, "observe", "it would begin in this mode");
    clear(&server);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(mode(&probe).await, "full");
    first.stop().await;
    make_pair(&server, "pv-b");
    until(&server, &format!("{CLAIMS}/pv-b"), "Bound").await;
    assert_eq!(annotation(&server), None);
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_lease_a_restart_forgets_the_other_binder() {
    let server = server();
    let (first, probe) = start(&server, None);
    reserve_by_other(&server, "pv-a").await;
    make_pair(&server, "pv-b");
    assert!(is_let_be(&server, "pv-b").await);
    assert_eq!(mode(&probe).await, "observe");
    first.stop().await;
    let (second, _) = start(&server, None);
    until(&server, &format!("{CLAIMS}/pv-b"), "Bound").await;
    second.stop().await;
}

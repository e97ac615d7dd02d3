//! The real controller recycling volumes over the simulated server; the kubelet is played here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bindery::controller::mode::ControllerMode;
use bindery_sim::{ApiRequest, ApiServer, Method, Response, ReviewOutcome, Reviewer};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::controller::{
    CLAIMS, Running, VOLUMES, claim, election, phase, probed, send, server, until, volume,
};

const PODS: &str = "/api/v1/namespaces/kube-system/pods";
const VOLUME: &str = "/api/v1/persistentvolumes/pv-a";
const MARK: &str = "bindery.dev/recycles-volume";

/// Longer than anything that is to happen soon, shorter than the pause after a failure.
const SOON: Duration = Duration::from_secs(10);

fn merge(server: &ApiServer, path: &str, patch: Value) -> Response {
    server.with(|cluster| cluster.handle(ApiRequest::merge_patch(path, patch)))
}

/// A volume that a claim had, and whose claim is deleted.
async fn release(server: &ApiServer, source: &Value) {
    let mut object = volume("pv-a", "10Gi");
    object["spec"]["persistentVolumeReclaimPolicy"] = json!("Recycle");
    if !source.is_null() {
        object["spec"]["nfs"] = Value::Null;
        json_patch::merge(&mut object["spec"], source);
    }
    send(server, Method::Post, VOLUMES, object);
    send(server, Method::Post, CLAIMS, claim("a", "5Gi"));
    until(server, &format!("{CLAIMS}/a"), "Bound").await;
    let claim = format!("{CLAIMS}/a");
    merge(server, &claim, json!({"metadata": {"finalizers": null}}));
    send(server, Method::Delete, &claim, Value::Null);
    while phase(server, VOLUME) == "Bound" {
        sleep(Duration::from_millis(1)).await;
    }
}

fn list(server: &ApiServer, path: &str) -> Vec<Value> {
    let list = send(server, Method::Get, path, Value::Null);
    list["items"].as_array().expect("a list").clone()
}

fn pods(server: &ApiServer) -> Vec<Value> {
    list(server, PODS)
}

/// Waits for a pod that is not on its way out.
async fn pod(server: &ApiServer) -> Value {
    let start = Instant::now();
    loop {
        let is_new = |pod: &Value| pod["metadata"]["deletionTimestamp"].is_null();
        if let Some(pod) = pods(server).into_iter().find(is_new) {
            return pod;
        }
        assert!(start.elapsed() < Duration::from_mins(5), "there is no pod");
        sleep(Duration::from_millis(100)).await;
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().expect("a name")
}

fn path(pod: &Value) -> String {
    format!("{PODS}/{}", name(pod))
}

/// What a kubelet says of a pod.
fn report(server: &ApiServer, pod: &Value, status: &Value) {
    let reply = merge(server, &format!("{}/status", path(pod)), json!({"status": status}));
    assert_eq!(reply.code, 200, "{reply:?}");
}

/// Puts a pod onto a node, where it takes its time to end.
fn place(server: &ApiServer, pod: &Value) {
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "target": {"name": "node"}});
    send(server, Method::Post, &format!("{}/binding", path(pod)), binding);
}

/// A kubelet that has ended a pod removes it.
fn remove(server: &ApiServer, pod: &Value) {
    send(server, Method::Delete, &path(pod), json!({"gracePeriodSeconds": 0}));
}

/// An event of a kubelet about a pod: "it" and the reason.
fn record_event(server: &ApiServer, pod: &Value, reason: &str, kind: &str) {
    let event = json!({
        "metadata": {"generateName": "pod."}, "reason": reason, "type": kind,
        "message": format!("it {reason}"),
        "involvedObject":
            {"kind": "Pod", "namespace": "kube-system", "uid": pod["metadata"]["uid"]},
    });
    send(server, Method::Post, "/api/v1/namespaces/kube-system/events", event);
}

/// The texts of the events of this reason.
fn reported(server: &ApiServer, reason: &str) -> Vec<String> {
    let events = list(server, "/api/v1/namespaces/default/events");
    let ours = events.iter().filter(|event| event["reason"] == reason);
    ours.map(|event| event["message"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Waits until the volume has failed with this message.
async fn until_failed(server: &ApiServer, message: &str) {
    until(server, VOLUME, "Failed").await;
    let volume = send(server, Method::Get, VOLUME, Value::Null);
    assert_eq!(volume["status"]["message"], message);
    sleep(SOON).await;
    assert_eq!(reported(server, "VolumeFailedRecycle"), [message]);
    let ours = |pod: &&Value| pod["metadata"]["labels"][MARK].is_string();
    assert_eq!(pods(server).iter().find(ours), None, "it is removed, and none follows at once");
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_emptied_offered_and_bound_again() {
    let server = server();
    let (running, probe) = Running::probed(&server, ControllerMode::Full);
    release(&server, &Value::Null).await;
    let made = pod(&server).await;
    assert!(name(&made).starts_with("recycler-for-pv-a-"), "{made}");
    let source = json!([{"name": "vol", "nfs": {"server": "nfs.example.com", "path": "/pv-a"}}]);
    assert_eq!(made["spec"]["volumes"], source);
    record_event(&server, &made, "Pulled", "Normal");
    record_event(&server, &made, "FailedMount", "Warning");
    report(&server, &made, &json!({"phase": "Running"}));
    sleep(SOON).await;
    assert_eq!(phase(&server, VOLUME), "Released", "it goes on");
    report(&server, &made, &json!({"phase": "Succeeded"}));
    until(&server, VOLUME, "Available").await;
    let volume = send(&server, Method::Get, VOLUME, Value::Null);
    assert_eq!(volume["spec"]["claimRef"], Value::Null);
    assert_eq!(pods(&server), [] as [Value; 0]);
    sleep(SOON).await;
    assert_eq!(reported(&server, "VolumeRecycled"), ["Volume recycled"]);
    // It took SOON until the pod had succeeded.
    let (_, metrics) = probed(&probe, "/metrics").await;
    for (bound, count) in [(5, 0), (15, 1)] {
        let line = format!(
            "bindery_controller_recycling_duration_seconds_bucket{{outcome=\"recycled\",\
             le=\"{bound}\"}} {count}"
        );
        assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    }
    let mut passed_on = reported(&server, "RecyclerPod");
    passed_on.sort();
    assert_eq!(passed_on, ["Recycler pod: it FailedMount", "Recycler pod: it Pulled"]);
    let events = list(&server, "/api/v1/namespaces/default/events");
    let kinds = events.iter().filter(|event| event["reason"] == "RecyclerPod");
    assert_eq!(kinds.filter(|event| event["type"] == "Warning").count(), 1);
    send(&server, Method::Post, CLAIMS, claim("b", "5Gi"));
    until(&server, &format!("{CLAIMS}/b"), "Bound").await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_reported_and_retried_after_a_pause() {
    let server = server();
    let running = Running::start(&server, ControllerMode::Full, None);
    release(&server, &Value::Null).await;
    let first = pod(&server).await;
    let failed = Instant::now();
    report(&server, &first, &json!({"phase": "Failed", "message": "no such export"}));
    until_failed(&server, "Recycle failed: failed to recycle volume: no such export").await;
    let second = pod(&server).await;
    assert!(failed.elapsed() >= Duration::from_secs(30), "{:?}", failed.elapsed());
    assert_ne!(name(&first), name(&second));
    report(&server, &second, &json!({"phase": "Succeeded"}));
    until(&server, VOLUME, "Available").await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_gone_has_failed_even_if_another_has_its_name() {
    let server = server();
    let running = Running::start(&server, ControllerMode::Full, None);
    // Names that look like ours, and success before ours was made.
    for (namespace, name) in
        [("default", "recycler-for-pv-a"), ("kube-system", "recycler-for-pv-a-x")]
    {
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        let forged = json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "a"}]}});
        send(&server, Method::Post, &path, forged);
        let done = json!({"status": {"phase": "Succeeded"}});
        assert_eq!(merge(&server, &format!("{path}/{name}/status"), done).code, 200);
    }
    release(&server, &Value::Null).await;
    sleep(SOON).await;
    let ours = |pod: &Value| pod["metadata"]["labels"][MARK].is_string();
    let made = pods(&server).into_iter().find(ours).expect("a pod of ours");
    assert_eq!(phase(&server, VOLUME), "Released", "another pod's success does not count");
    // Within one of our looks, another pod takes the name.
    remove(&server, &made);
    let forged = json!({"metadata": {"name": name(&made)}, "spec": made["spec"]});
    let forged = send(&server, Method::Post, PODS, forged);
    report(&server, &forged, &json!({"phase": "Succeeded"}));
    until_failed(&server, "Recycle failed: failed to recycle volume: recycler pod was deleted")
        .await;
    assert!(pods(&server).iter().any(|pod| name(pod) == name(&made)), "not ours to delete");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_never_ends_is_given_up_and_none_follows_before_it_is_gone() {
    let server = server();
    let running = Running::start(&server, ControllerMode::Full, None);
    release(&server, &Value::Null).await;
    let stuck = pod(&server).await;
    let begun = Instant::now();
    place(&server, &stuck);
    while phase(&server, VOLUME) == "Released" && begun.elapsed() < Duration::from_mins(10) {
        sleep(Duration::from_millis(100)).await;
    }
    // Its deadline, its time to end, and the time to be scheduled.
    let expected = Duration::from_secs(300 + 1 + 15);
    let elapsed = begun.elapsed();
    assert!((expected..expected + SOON * 2).contains(&elapsed), "{elapsed:?}");
    let volume = send(&server, Method::Get, VOLUME, Value::Null);
    let message = volume["status"]["message"].as_str().unwrap_or_default();
    let first_reported =
        "Recycle failed: failed to recycle volume: recycler pod did not end within 316 s; ";
    assert!(message.starts_with(first_reported), "{message}");
    // Its node is away: it ends when the node is back.
    let later = |count: u32| Duration::from_secs(45) * count;
    sleep(later(3)).await;
    let left = pods(&server);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(!left[0]["metadata"]["deletionTimestamp"].is_null(), "{left:?}");
    let waiting = "Recycle failed: old recycler pod found, will retry later";
    assert_eq!(reported(&server, "VolumeFailedRecycle"), [waiting]);
    remove(&server, &stuck);
    let next = pod(&server).await;
    assert_ne!(name(&next), name(&stuck));
    report(&server, &next, &json!({"phase": "Succeeded"}));
    until(&server, VOLUME, "Available").await;
    running.stop().await;
}

/// A pod of a former leader, at work on its node.
async fn leave_over(server: &ApiServer) -> Value {
    let running = Running::start(server, ControllerMode::Full, None);
    release(server, &Value::Null).await;
    let left = pod(server).await;
    place(server, &left);
    running.stop().await;
    assert!(pods(server)[0]["metadata"]["deletionTimestamp"].is_null(), "it goes on");
    left
}

#[tokio::test(start_paused = true)]
async fn a_pod_of_a_former_leader_is_removed_before_another_is_made() {
    let server = server();
    let left = leave_over(&server).await;
    let running = Running::start(&server, ControllerMode::Full, None);
    sleep(SOON).await;
    let still = pods(&server);
    assert_eq!(still.len(), 1, "{still:?}");
    assert!(!still[0]["metadata"]["deletionTimestamp"].is_null(), "it was terminated");
    remove(&server, &left);
    let next = pod(&server).await;
    assert_ne!(name(&next), name(&left));
    report(&server, &next, &json!({"phase": "Succeeded"}));
    until(&server, VOLUME, "Available").await;
    running.stop().await;
}

/// Configured before, its pod may still remove files, those of the next owner too.
#[tokio::test(start_paused = true)]
async fn a_pod_of_a_former_namespace_is_waited_for() {
    let server = server();
    let mut left = leave_over(&server).await;
    remove(&server, &left);
    left["metadata"] = json!({"name": "left", "labels": left["metadata"]["labels"]});
    send(&server, Method::Post, "/api/v1/namespaces/default/pods", left);
    let running = Running::start(&server, ControllerMode::Full, None);
    sleep(SOON * 30).await;
    assert_eq!(pods(&server), [] as [Value; 0], "none is made beside it");
    let waiting = "Recycle failed: old recycler pod found in namespace default, will retry later";
    assert!(reported(&server, "VolumeFailedRecycle").iter().any(|reason| reason == waiting));
    let status = json!({"status": {"phase": "Succeeded"}});
    merge(&server, "/api/v1/namespaces/default/pods/left/status", status);
    pod(&server).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_changes_before_its_pod_is_made_gets_none() {
    let server = server();
    let left = leave_over(&server).await;
    let running = Running::start(&server, ControllerMode::Full, None);
    sleep(SOON).await;
    merge(&server, VOLUME, json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}}));
    remove(&server, &left);
    sleep(SOON).await;
    assert_eq!(pods(&server), [] as [Value; 0]);
    assert_eq!(phase(&server, VOLUME), "Released");
    // What only looks like a change is none: it begins again on the volume as it is.
    merge(&server, VOLUME, json!({"spec": {"persistentVolumeReclaimPolicy": "Recycle"}}));
    report(&server, &pod(&server).await, &json!({"phase": "Succeeded"}));
    until(&server, VOLUME, "Available").await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_is_given_away_meanwhile_is_left_alone() {
    let server = server();
    let running = Running::start(&server, ControllerMode::Full, None);
    release(&server, &Value::Null).await;
    let made = pod(&server).await;
    merge(&server, VOLUME, json!({"metadata": {"labels": {"a": "b"}}}));
    sleep(SOON).await;
    assert_eq!(pods(&server).len(), 1, "a label stops nothing");
    merge(&server, VOLUME, json!({"spec": {"claimRef": null}}));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(pods(&server), [] as [Value; 0], "{made} is stopped");
    send(&server, Method::Post, CLAIMS, claim("b", "5Gi"));
    until(&server, &format!("{CLAIMS}/b"), "Bound").await;
    sleep(SOON).await;
    assert_eq!(phase(&server, VOLUME), "Bound");
    assert_eq!(reported(&server, "VolumeRecycled"), [""; 0]);
    assert_eq!(reported(&server, "VolumeFailedRecycle"), [""; 0]);
    running.stop().await;
}

/// The files of one volume inside those of another: removing all of the outer ones removes the inner ones.
#[tokio::test(start_paused = true)]
async fn a_volume_is_not_emptied_while_another_has_files_inside_it() {
    let server = server();
    let running = Running::start(&server, ControllerMode::Full, None);
    let mut inner = volume("pv-b", "20Gi");
    inner["spec"]["nfs"]["path"] = json!("/pv-a/b");
    send(&server, Method::Post, VOLUMES, inner);
    let inner = format!("{VOLUMES}/pv-b");
    until(&server, &inner, "Available").await;
    release(&server, &Value::Null).await;
    sleep(Duration::from_mins(2)).await;
    assert_eq!(pods(&server), [] as [Value; 0]);
    assert_eq!(phase(&server, VOLUME), "Released");
    let events = reported(&server, "VolumeFailedRecycle");
    assert!(
        events[0].contains("the files of PV \"pv-b\" are inside or around its path"),
        "{events:?}"
    );
    merge(&server, &inner, json!({"metadata": {"finalizers": null}}));
    send(&server, Method::Delete, &inner, Value::Null);
    report(&server, &pod(&server).await, &json!({"phase": "Succeeded"}));
    until(&server, VOLUME, "Available").await;
    running.stop().await;
}

/// Its files would be removed under it, or those that it has written.
#[tokio::test(start_paused = true)]
async fn a_claim_that_is_named_in_a_volume_waits_until_no_pod_recycles_it() {
    let server = server();
    let running = Running::start(&server, ControllerMode::Full, None);
    release(&server, &Value::Null).await;
    let made = pod(&server).await;
    place(&server, &made);
    send(&server, Method::Post, CLAIMS, claim("b", "5Gi"));
    let reference = json!({"namespace": "default", "name": "b", "uid": null});
    merge(&server, VOLUME, json!({"spec": {"claimRef": reference}}));
    sleep(Duration::from_mins(2)).await;
    assert_eq!(phase(&server, &format!("{CLAIMS}/b")), "Pending");
    let still = pods(&server);
    assert!(!still[0]["metadata"]["deletionTimestamp"].is_null(), "it is stopped: {still:?}");
    remove(&server, &made);
    until(&server, &format!("{CLAIMS}/b"), "Bound").await;
    sleep(SOON).await;
    assert_eq!(pods(&server), [] as [Value; 0], "none is made for what a claim has");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn storage_without_a_recycler_and_a_denied_pod_are_reported() {
    let reviewer: Reviewer = Arc::new(|review| {
        Box::pin(async move {
            if review.request()["kind"]["kind"] != "Pod" {
                return ReviewOutcome::allow();
            }
            let status = json!({"message": "no folders of nodes here", "code": 403});
            ReviewOutcome::Deny { webhook: "a.example".to_owned(), status, warnings: Vec::new() }
        })
    });
    let denied = "Recycle failed: unexpected error creating recycler pod:  admission webhook \
                  \"a.example\" denied the request: no folders of nodes here";
    let folder = json!({"nfs": null, "hostPath": {"path": "/a"}});
    let driver = json!({"nfs": null, "csi": {"driver": "a.example", "volumeHandle": "a"}});
    for (source, message) in
        [(folder, denied), (driver, "No recycler plugin found for the volume!")]
    {
        let server = server();
        let through = server.with_reviewer(Arc::clone(&reviewer));
        let running = Running::start(&through, ControllerMode::Full, None);
        release(&server, &source).await;
        until_failed(&server, message).await;
        running.stop().await;
    }
}

/// A new leader did not begin it, and its end is waited for all the same.
#[tokio::test(start_paused = true)]
async fn a_claim_that_is_named_in_a_volume_waits_for_the_pod_of_a_former_leader() {
    let server = server();
    let left = leave_over(&server).await;
    send(&server, Method::Post, CLAIMS, claim("b", "5Gi"));
    let reference = json!({"namespace": "default", "name": "b", "uid": null});
    merge(&server, VOLUME, json!({"spec": {"claimRef": reference}}));
    let running = Running::start(&server, ControllerMode::Full, None);
    sleep(Duration::from_mins(2)).await;
    assert_eq!(phase(&server, &format!("{CLAIMS}/b")), "Pending");
    assert_eq!(phase(&server, VOLUME), "Released", "nor is it offered");
    let still = pods(&server);
    assert!(!still[0]["metadata"]["deletionTimestamp"].is_null(), "it is stopped: {still:?}");
    remove(&server, &left);
    until(&server, &format!("{CLAIMS}/b"), "Bound").await;
    sleep(SOON).await;
    assert_eq!(pods(&server), [] as [Value; 0], "none is made for what a claim has");
    running.stop().await;
}

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/bindery-controller";

#[tokio::test(start_paused = true)]
async fn who_loses_the_lead_stops_and_the_next_starts_again() {
    let server = server();
    let first = Running::start(&server, ControllerMode::Full, Some(election("first")));
    release(&server, &Value::Null).await;
    let left = pod(&server).await;
    place(&server, &left);
    // Another process takes the lease, and holds it for its whole duration.
    merge(&server, LEASE, json!({"spec": {"holderIdentity": "thief"}}));
    sleep(Duration::from_secs(5)).await;
    record_event(&server, &left, "Started", "Normal");
    report(&server, &left, &json!({"phase": "Succeeded"}));
    sleep(Duration::from_secs(5)).await;
    assert_eq!(reported(&server, "RecyclerPod"), [""; 0]);
    assert_eq!(phase(&server, VOLUME), "Released", "a replica that does not lead reports nothing");
    let still = pods(&server);
    assert_eq!(still.iter().map(name).collect::<Vec<_>>(), [name(&left)]);
    assert!(still[0]["metadata"]["deletionTimestamp"].is_null(), "nor does it delete");
    // It leads again: what was before does not count.
    sleep(Duration::from_secs(10)).await;
    let next = pod(&server).await;
    assert_ne!(name(&next), name(&left));
    sleep(SOON).await;
    assert_eq!(phase(&server, VOLUME), "Released");
    report(&server, &next, &json!({"phase": "Succeeded"}));
    until(&server, VOLUME, "Available").await;
    first.stop().await;
}

/// A server on whose way writes of the lease are stuck while `is_stuck`.
fn stuck_lease(server: &ApiServer, is_stuck: &Arc<AtomicBool>) -> ApiServer {
    let is_stuck = Arc::clone(is_stuck);
    let reviewer: Reviewer = Arc::new(move |review| {
        let is_lease = review.request()["kind"]["kind"] == "Lease";
        let is_stuck = is_stuck.load(Ordering::Relaxed) && is_lease;
        Box::pin(async move {
            if is_stuck {
                std::future::pending::<()>().await;
            }
            ReviewOutcome::allow()
        })
    });
    server.with_reviewer(reviewer)
}

#[tokio::test(start_paused = true)]
async fn no_pod_is_made_on_the_last_seconds_of_a_lease() {
    let server = server();
    let left = leave_over(&server).await;
    let is_stuck = Arc::new(AtomicBool::new(false));
    let through = stuck_lease(&server, &is_stuck);
    let running = Running::start(&through, ControllerMode::Full, Some(election("first")));
    sleep(SOON).await;
    assert!(!pods(&server)[0]["metadata"]["deletionTimestamp"].is_null(), "it works");
    is_stuck.store(true, Ordering::Relaxed);
    sleep(Duration::from_secs(6)).await;
    let lease = send(&server, Method::Get, LEASE, Value::Null);
    assert_eq!(lease["spec"]["holderIdentity"], "first");
    // Less than five of the ten seconds are left, and the lead is lost after them.
    remove(&server, &left);
    for _ in 0..20 {
        sleep(Duration::from_millis(500)).await;
        let pods: Vec<Value> = pods(&server);
        assert_eq!(pods, [] as [Value; 0]);
    }
    is_stuck.store(false, Ordering::Relaxed);
    report(&server, &pod(&server).await, &json!({"phase": "Succeeded"}));
    until(&server, VOLUME, "Available").await;
    running.stop().await;
}

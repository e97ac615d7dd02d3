//! What the simulated server remembers of accepted writes.

use std::sync::{Arc, Mutex};

use bindery_sim::{ApiRequest, ClusterState, Method, RequestUser};
use serde_json::{Value, json};

const VOLUMES: &str = "/api/v1/persistentvolumes";

fn volume(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                 "nfs": {"server": "a", "path": "/"}},
    })
}

#[test]
fn each_stored_write_is_passed_on_once_with_its_author_and_both_states() {
    let mut cluster = ClusterState::new(1, "2026-11-21T05:00:00Z".parse().expect("a time"));
    cluster.keep_history();
    let reported = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&reported);
    cluster.on_accepted(Box::new(move |write| received.lock().expect("whole").push(write.version)));
    let tenant = RequestUser::named("tenant", &[]);
    let path = format!("{VOLUMES}/a");
    cluster.handle(ApiRequest::new(Method::Post, VOLUMES, volume("a")).by(tenant.clone()));
    cluster.set_now("2026-11-21T06:00:00Z".parse().expect("a time"));
    let bare = json!({"metadata": {"finalizers": null}});
    cluster.handle(ApiRequest::merge_patch(path.clone(), bare.clone()));
    // Neither a write that changes nothing, nor one that is rejected, nor a dry run.
    cluster.handle(ApiRequest::merge_patch(path.clone(), bare.clone()));
    cluster.handle(ApiRequest::merge_patch(path.clone(), json!({"spec": {"volumeMode": "Block"}})));
    cluster.handle(ApiRequest::new(Method::Delete, format!("{path}?dryRun=All"), Value::Null));
    cluster.handle(ApiRequest::new(
        Method::Delete,
        path,
        json!({"propagationPolicy": "Background"}),
    ));

    let history = cluster.history();
    let line = |write: &bindery_sim::Accepted| {
        (write.user.clone(), write.method, write.before.is_some(), write.after.is_some())
    };
    let admin = "admin".to_owned();
    let expected = [
        ("tenant".to_owned(), Method::Post, false, true),
        (admin.clone(), Method::Patch, true, true),
        (admin, Method::Delete, true, false),
    ];
    assert_eq!(history.iter().map(line).collect::<Vec<_>>(), expected);
    assert_eq!(*history[1].sent, bare);
    assert_eq!(history[1].at.to_string(), "2026-11-21T06:00:00Z");
    assert_eq!(history[2].object()["metadata"]["name"], "a");
    let versions: Vec<u64> = history.iter().map(|write| write.version).collect();
    assert_eq!(*reported.lock().expect("whole"), versions);
    assert!(versions.is_sorted());
}

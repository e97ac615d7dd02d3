//! `check --live cluster` and `plan` against a server that speaks just enough of the API: lists, and one object.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use serde_json::{Value, json};

use super::bad_input::kubeconfig;
use crate::{Folder, LIVE, Output};

/// The objects of [`LIVE`] of one kind.
fn objects(kind: &str) -> Vec<Value> {
    let documents = bindery::document::read(LIVE).expect("YAML");
    let items = documents
        .iter()
        .flat_map(|document| document.to_json()["items"].as_array().cloned().unwrap_or_default());
    items.filter(|item| item["kind"] == kind).collect()
}

/// The pods that wait, of all namespaces.
const PODS: &str = "/api/v1/pods?fieldSelector=status.phase%3DPending";

/// Returns what the server answers to a path. `claim` is the claim as a live read finds it.
fn answer(path: &str, claim: Option<&Value>) -> (u16, Value) {
    let list = |kind: &str| {
        let name = format!("{kind}List");
        (200, json!({"apiVersion": "v1", "kind": name, "items": objects(kind)}))
    };
    match path {
        "/api/v1/persistentvolumes" => list("PersistentVolume"),
        "/api/v1/persistentvolumeclaims" => list("PersistentVolumeClaim"),
        "/apis/storage.k8s.io/v1/storageclasses" => list("StorageClass"),
        PODS => list("Pod"),
        _ => match claim.filter(|_| path == "/api/v1/namespaces/db/persistentvolumeclaims/data") {
            Some(claim) => (200, claim.clone()),
            None => (
                404,
                json!({"kind": "Status", "apiVersion": "v1", "code": 404,
                "status": "Failure", "reason": "NotFound", "message": "not found"}),
            ),
        },
    }
}

fn serve(stream: TcpStream, answer: &impl Fn(&str) -> (u16, Value), asked: &mpsc::Sender<String>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            match reader.read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line.trim().is_empty() => break,
                Ok(_) => head.push(line),
            }
        }
        let path = head[0].split(' ').nth(1).expect("a path").to_owned();
        let (code, body) = answer(&path);
        asked.send(path).expect("the test listens");
        let body = body.to_string();
        let length = body.len();
        let reply = format!(
            "HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        reader.get_mut().write_all(reply.as_bytes()).expect("the client reads");
    }
}

/// A server that answers so: its port, and the paths asked for.
pub(super) fn server(
    answer: impl Fn(&str) -> (u16, Value) + Send + 'static,
) -> (u16, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (asked, paths) = mpsc::channel();
    // The thread ends with the test process; the client may open any number of connections.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            serve(stream, &answer, &asked);
        }
    });
    (port, paths)
}

/// Runs `bindery` with a kubeconfig for a server that answers so; gives back what it printed, its code, and
/// the paths asked for.
pub(super) fn run_against(
    answer: impl Fn(&str) -> (u16, Value) + Send + 'static,
    arguments: &[&str],
) -> (Output, Vec<String>) {
    let (port, paths) = server(answer);
    let folder = Folder::new();
    folder.write("kubeconfig", kubeconfig(port));
    let output = folder.run(&[arguments, &["--kubeconfig", "kubeconfig"]].concat());
    (output, paths.try_iter().collect())
}

/// Runs `bindery` against the cluster of [`LIVE`]; gives back what it printed as JSON.
fn run(claim: Option<Value>, arguments: &[&str]) -> (Value, i32, Vec<String>) {
    let arguments = [arguments, &["-o", "json"]].concat();
    let (output, paths) = run_against(move |path| answer(path, claim.as_ref()), &arguments);
    let printed = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (printed, output.code, paths)
}

/// The report of `check --delete pv/pv-a`, and the paths asked for.
fn check(claim: Option<Value>) -> (Value, Vec<String>) {
    let (report, _, paths) = run(claim, &["check", "--delete", "pv/pv-a", "--live", "cluster"]);
    (report, paths)
}

/// Only a denial is a matter of permissions.
#[test]
fn an_error_of_the_api_server_is_reported_as_what_it_is() {
    for (code, reported) in [
        (403, "error: the cluster denies access to /"),
        (503, "error: the API server answered 503 for /"),
    ] {
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": "no"});
        let (output, _) = run_against(move |_| (code, status.clone()), &["plan"]);
        assert_eq!(output.code, 4, "{output:?}");
        assert!(output.stderr.starts_with(reported), "{output:?}");
    }
}

#[test]
fn a_denial_is_confirmed_live() {
    let claim = objects("PersistentVolumeClaim").remove(0);
    let (report, paths) = check(Some(claim));
    assert_eq!(report["live"], json!({"source": "cluster", "age": 0}));
    assert_eq!(report["findings"][0]["result"], "denied");
    assert_eq!(report["findings"][0]["rule"], "bound-volume-delete");
    assert_eq!(
        paths.last().map(String::as_str),
        Some("/api/v1/namespaces/db/persistentvolumeclaims/data")
    );
}

#[test]
fn a_claim_that_went_since_the_list_lets_the_deletion_pass() {
    let (report, _) = check(None);
    assert_eq!(report["findings"][0]["result"], "warned", "{report}");
    assert_eq!(report["summary"]["denied"], 0);
}

#[test]
fn a_plan_without_files_is_that_of_the_cluster() {
    let (plan, code, paths) = run(None, &["plan"]);
    assert_eq!((plan["kind"].as_str(), code), (Some("Plan"), 0), "{plan}");
    let claims = plan["claims"].as_array().expect("a list");
    assert_eq!(claims.len(), objects("PersistentVolumeClaim").len());
    // Both name each other, and no binder has marked the claim yet.
    assert_eq!(claims[0]["outcome"], "binds", "{plan}");
    assert_eq!(
        plan["volumes"].as_array().expect("a list").len(),
        objects("PersistentVolume").len()
    );
    assert_eq!(paths.len(), 4, "one list of each kind: {paths:?}");
}

/// A claim of a delayed class and a pod that uses it; the pods are answered to with `code`.
fn delayed(path: &str, code: u16) -> (u16, Value) {
    let list = |items: Value| (200, json!({"kind": "List", "items": items}));
    match path {
        "/api/v1/persistentvolumeclaims" => list(json!([{"kind": "PersistentVolumeClaim",
            "metadata": {"namespace": "db", "name": "data"}, "spec": {"storageClassName": "late"}}])),
        "/apis/storage.k8s.io/v1/storageclasses" => list(json!([{"kind": "StorageClass",
            "metadata": {"name": "late"}, "provisioner": "csi.example",
            "volumeBindingMode": "WaitForFirstConsumer"}])),
        PODS if code == 200 => {
            // As a real list: its items say no kind.
            let uses = json!([{"name": "a", "persistentVolumeClaim": {"claimName": "data"}}]);
            let pod = json!({"metadata": {"namespace": "db", "name": "web"}, "spec": {"volumes": uses},
                "status": {"phase": "Pending"}});
            (200, json!({"kind": "PodList", "items": [pod]}))
        }
        PODS => (
            code,
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                "message": "not yours"}),
        ),
        _ => list(json!([])),
    }
}

#[test]
fn pods_of_the_cluster_are_named_and_a_missing_right_is_reported() {
    let claim = "db/data  waits       it binds once";
    let (run, _) = run_against(|path| delayed(path, 200), &["plan"]);
    let expected = format!("{claim} pod \"web\" is scheduled\n");
    assert!(run.code == 0 && run.stdout.starts_with(&expected), "{run:?}");
    let (run, _) = run_against(|path| delayed(path, 200), &["explain", "pvc/db/data"]);
    assert!(run.code == 0 && run.stdout.contains("once pod \"web\" is scheduled\n"), "{run:?}");

    let note = "note: you may not list the pods of all namespaces: ";
    let (run, _) = run_against(|path| delayed(path, 403), &["plan"]);
    let expected = format!("{claim} a pod that uses it is scheduled\n{note}");
    assert!(run.code == 0 && run.stdout.starts_with(&expected), "{run:?}");
    let (run, _) = run_against(|path| delayed(path, 403), &["explain", "pvc/db/data"]);
    assert!(run.code == 0 && run.stdout.contains(note), "{run:?}");

    let (run, _) = run_against(|path| delayed(path, 500), &["plan"]);
    assert_eq!((run.code, run.stdout.as_str()), (4, ""), "{}", run.stderr);
}

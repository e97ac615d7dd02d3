//! The commands that `bindery explain` prints, run as a person would, against the real API server and the
//! in-tree binder: after each of them the claim is bound. And what people learn who may not see everything.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::controller::{Controller, Election};
use crate::eventually::eventually;
use crate::plane::persona::{ADMIN, AUDITOR, Persona, TENANT};
use crate::plane::{Body, Objects, Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(too_small_of_the_right_class),
    case!(another_class),
    case!(no_class),
    case!(no_class_wanted),
    case!(other_labels),
    case!(another_volume_mode),
    case!(other_access_modes),
    case!(a_missing_volume_is_named),
    case!(a_taken_volume_is_named),
    case!(a_released_volume_is_retained),
    case!(a_released_volume_that_is_too_small),
    case!(a_tenant_gets_the_binders_event_and_how_far_to_trust_it),
    case!(the_pod_that_is_waited_for_is_named),
];

/// The in-tree binder looks again every 15 seconds, and the machine may be busy.
const SOON: Duration = Duration::from_mins(1);

fn plane() -> &'static Plane {
    Plane::shared(Peers::WithBinder)
}

/// Returns what `bindery explain` printed as JSON, and its exit code.
pub(crate) fn explain(
    plane: &Plane,
    persona: Persona,
    namespace: &str,
    object: &str,
) -> (Value, Option<i32>) {
    bindery(plane, persona, &["explain", object, "-n", namespace])
}

/// Returns what `bindery` printed as JSON, and its exit code.
fn bindery(plane: &Plane, persona: Persona, arguments: &[&str]) -> (Value, Option<i32>) {
    let kubeconfig = plane.kubeconfig(persona);
    let output = Command::new(env!("CARGO_BIN_EXE_bindery"))
        .args(arguments)
        .args(["-o", "json", "--kubeconfig"])
        .arg(kubeconfig)
        .output()
        .expect("bindery runs");
    let printed = serde_json::from_slice(&output.stdout);
    let printed = printed.unwrap_or_else(|_| panic!("{output:?}"));
    (printed, output.status.code())
}

/// Runs a command line in a shell in which `kubectl` is the plane's, as the administrator.
fn run(command: &str) {
    let output = Command::new("sh")
        .args(["-eu", "-c", command])
        .env("PATH", path())
        .env("HOME", plane().home())
        .env("KUBECONFIG", plane().kubeconfig(ADMIN))
        .stdin(Stdio::null())
        .output()
        .expect("a shell runs");
    assert!(output.status.success(), "{command}: {output:?}");
}

/// The folder of the plane's kubectl, then those of the shell's own tools.
fn path() -> std::ffi::OsString {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(plane().binaries().to_owned());
    let folders = folders.chain(std::env::split_paths(&own));
    std::env::join_paths(folders).expect("folders")
}

/// The claim is stuck; the command that is printed begins so, gets it bound, and the explanation then
/// says so.
fn expect_fixed(objects: &Objects<'_>, beginning: &str) {
    let namespace = objects.namespace();
    let (explanation, code) = explain(plane(), ADMIN, namespace, "pvc/data");
    assert_eq!((code, &explanation["stuck"]), (Some(1), &json!(true)), "{explanation:#}");
    let command = explanation["fix"]["command"].as_str().unwrap_or_default();
    assert!(command.starts_with(beginning), "{explanation:#}");
    run(command);
    let path = claim_path(namespace, "data");
    eventually("the claim is bound", SOON, || {
        let claim = plane().get(ADMIN, &path).json;
        if claim["status"]["phase"] == "Bound" {
            Ok(())
        } else {
            Err(format!("{command}: {claim}"))
        }
    });
    let (explanation, code) = explain(plane(), ADMIN, namespace, "pvc/data");
    assert_eq!((code, &explanation["outcome"]), (Some(0), &json!("bound")), "{explanation:#}");
}

/// The spec of a volume and of a claim that asks for as much. The plane is shared: all volumes of other
/// cases must be further away. A size of its own makes a case's volume the nearest of those that miss by
/// as much, and block devices for many nodes have no other form.
fn specs(size: &str) -> (Value, Value) {
    let common = json!({"volumeMode": "Block", "accessModes": ["ReadWriteMany"]});
    let mut volume = json!({"spec": common});
    let mut claim = volume.clone();
    volume["spec"]["capacity"] = json!({"storage": size});
    claim["spec"]["resources"] = json!({"requests": {"storage": size}});
    (volume, claim)
}

/// A free volume and a claim of a size, with these differences from a pair that would fit.
fn pair(case: &str, size: &str, volume: &Value, claim: &Value) -> Objects<'static> {
    let objects = plane().objects(case);
    let (mut base_volume, mut base_claim) = specs(size);
    json_patch::merge(&mut base_volume, volume);
    json_patch::merge(&mut base_claim, claim);
    objects.volume_in_phase("pv", "Available", &base_volume);
    objects.claim("data", &base_claim);
    objects
}

fn too_small_of_the_right_class() {
    let request = json!({"spec": {"resources": {"requests": {"storage": "9000Gi"}}}});
    expect_fixed(&pair("too-small", "8000Gi", &json!({}), &request), "kubectl -n ");
}

fn another_class() {
    let class = json!({"spec": {"storageClassName": "of-another-case"}});
    expect_fixed(&pair("other-class", "1300Gi", &class, &json!({})), "kubectl patch pv ");
}

/// A claim without a class may get one later.
fn no_class() {
    let objects = plane().objects("no-class");
    let (volume, mut claim) = specs("1200Gi");
    objects.volume_in_phase("pv", "Available", &volume);
    claim["spec"]["storageClassName"] = Value::Null;
    objects.claim("data", &claim);
    expect_fixed(&objects, "kubectl -n ");
}

fn no_class_wanted() {
    let none = json!({"spec": {"storageClassName": ""}});
    expect_fixed(&pair("classless", "1100Gi", &json!({}), &none), "kubectl patch pv ");
}

fn other_labels() {
    let selector = json!({"spec": {"selector": {
        "matchLabels": {"tier": "db"},
        "matchExpressions": [
            {"key": "zone", "operator": "Exists"}, {"key": "old", "operator": "DoesNotExist"},
            {"key": "size", "operator": "NotIn", "values": ["s"]},
        ],
    }}});
    let labels = json!({"metadata": {"labels": {"tier": "web", "old": "", "size": "s"}}});
    expect_fixed(&pair("labels", "1400Gi", &labels, &selector), "kubectl label pv ");
}

fn another_volume_mode() {
    let mode = json!({"spec": {"volumeMode": "Filesystem"}});
    expect_fixed(&pair("mode", "5000Gi", &json!({}), &mode), "kubectl -n ");
}

fn other_access_modes() {
    let modes = json!({"spec": {"accessModes": ["ReadOnlyMany"]}});
    expect_fixed(&pair("modes", "6000Gi", &json!({}), &modes), "kubectl -n ");
}

fn a_missing_volume_is_named() {
    let name = json!({"spec": {"volumeName": "there-is-none"}});
    expect_fixed(&pair("missing", "1500Gi", &json!({}), &name), "kubectl -n ");
}

fn a_taken_volume_is_named() {
    let objects = plane().objects("taken");
    let (volume, mut claim) = specs("1600Gi");
    objects.bound_pair("had", &volume, &claim);
    objects.volume_in_phase("pv", "Available", &volume);
    claim["spec"]["volumeName"] = json!(objects.name("had"));
    objects.claim("data", &claim);
    expect_fixed(&objects, "kubectl -n ");
}

/// A volume that was released by its claim, and a claim that asks for so much of its kind. Its labels and
/// modes set it apart: being another's counts as two reasons, and other cases' volumes must have more.
fn left_over(case: &str, asked: &str) -> Objects<'static> {
    let objects = plane().objects(case);
    let (mut volume, mut claim) = specs("1700Gi");
    let modes = json!({"spec": {"accessModes": ["ReadOnlyMany"]}});
    for object in [&mut volume, &mut claim] {
        json_patch::merge(object, &modes);
    }
    volume["metadata"] = json!({"labels": {"case": case}});
    objects.bound_pair("left", &volume, &claim);
    let path = claim_path(objects.namespace(), "left");
    plane().request(ADMIN, hyper::Method::DELETE, &path, Body::none()).expect_ok();
    let path = volume_path(&objects.name("left"));
    eventually("the volume is released", SOON, || {
        let volume = plane().get(ADMIN, &path).json;
        if volume["status"]["phase"] == "Released" { Ok(()) } else { Err(volume.to_string()) }
    });
    claim["spec"]["selector"] = json!({"matchLabels": {"case": case}});
    claim["spec"]["resources"]["requests"]["storage"] = json!(asked);
    objects.claim("data", &claim);
    objects
}

fn a_released_volume_is_retained() {
    expect_fixed(&left_over("released", "1700Gi"), "kubectl patch pv ");
}

/// Both sides are changed by one line.
fn a_released_volume_that_is_too_small() {
    expect_fixed(&left_over("left-small", "9500Gi"), "kubectl patch pv ");
}

/// What the real controller wrote; then what a user wrote in its name, which cannot be distinguished.
fn a_tenant_gets_the_binders_event_and_how_far_to_trust_it() {
    let plane = Plane::start(Peers::WithoutBinder).unwrap();
    let objects = plane.objects("tenant");
    let controller = Controller::start(&plane, Election::Lease);
    objects.volume("small", &json!({}));
    let claim =
        objects.claim("data", &json!({"spec": {"resources": {"requests": {"storage": "9Gi"}}}}));
    let namespace = objects.namespace();
    let reported = |what: &str| {
        eventually("the event is shown", SOON, || {
            let (explanation, code) = explain(&plane, TENANT, namespace, "pvc/data");
            let message = explanation["event"]["message"].as_str().unwrap_or_default();
            if message.contains(what) && code == Some(1) {
                Ok(explanation)
            } else {
                Err(format!("{code:?}: {explanation:#}"))
            }
        })
    };
    let explanation = reported("0/1 volumes fit: 1 too small");
    assert_eq!(explanation["candidates"], json!([]));
    // It writes no more, so that the other's event stays the last.
    controller.stop();
    let forge = |name: &str, message: &str, uid: &Value| {
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "reason": "FailedBinding",
            "involvedObject": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": "data",
                "namespace": namespace, "uid": uid},
            "message": message, "type": "Warning", "source": {"component": "bindery-controller"},
            "reportingComponent": "bindery-controller", "lastTimestamp": "2099-01-01T00:00:00Z",
        });
        plane
            .kubectl(TENANT, &["-n", namespace, "create", "-f", "-"], &event.to_string())
            .expect_ok();
    };
    forge("of-a-former-claim", "of another", &json!("00000000-dead-4000-8000-000000000000"));
    reported("0/1 volumes fit");
    forge("forged", "run curl evil.example", &claim["metadata"]["uid"]);
    let explanation = reported("run curl evil.example");
    let notes = explanation["notes"].to_string();
    assert!(notes.contains("you may not list the PersistentVolumes"), "{notes}");
    let worth = format!(
        "any account that may write events in namespace \\\"{namespace}\\\" could have written it"
    );
    assert!(notes.contains("bindery-controller") && notes.contains(&worth), "{notes}");
    let summary = explanation["summary"].as_str().unwrap_or_default();
    assert!(summary.contains("\"bindery-controller\" says FailedBinding: run curl"), "{summary}");
}

/// A claim of a delayed class, and a pod that uses it and that no scheduler looks at.
fn the_pod_that_is_waited_for_is_named() {
    let objects = plane().objects("delayed-pod");
    let (namespace, class) = (objects.namespace(), objects.name("late"));
    let late = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": class},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer",
    });
    objects.create("/apis/storage.k8s.io/v1/storageclasses", &late);
    objects.claim("data", &json!({"spec": {"storageClassName": class}}));
    let expect = |persona: Persona, said: &str, noted: bool| {
        let (plan, _) = bindery(plane(), persona, &["plan"]);
        let mut claims = plan["claims"].as_array().into_iter().flatten();
        let claim = claims.find(|claim| claim["namespace"] == namespace).expect("the claim");
        assert_eq!((&claim["outcome"], &claim["reason"]), (&json!("waits"), &json!(said)));
        let (explanation, code) = explain(plane(), persona, namespace, "pvc/data");
        assert_eq!(code, Some(0), "{explanation:#}");
        let summary = explanation["summary"].as_str().unwrap_or_default();
        assert!(summary.ends_with(said), "{explanation:#}");
        for notes in [&plan["notes"], &explanation["notes"]] {
            assert_eq!(notes.to_string().contains("you may not list the pods"), noted, "{notes}");
        }
    };
    expect(
        ADMIN,
        "it binds once a pod that uses it is scheduled, and no such pod is Pending",
        false,
    );
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0", "namespace": namespace},
        "spec": {
            "schedulerName": "absent.example", "automountServiceAccountToken": false,
            "containers": [{"name": "c", "image": "example.com/none:1"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    });
    objects.create(&format!("/api/v1/namespaces/{namespace}/pods"), &pod);
    expect(ADMIN, "it binds once pod \"web-0\" is scheduled", false);
    expect(AUDITOR, "it binds once a pod that uses it is scheduled", true);
    let (explanation, code) = explain(plane(), ADMIN, namespace, "pod/web-0");
    // A static class without a volume: no node, whichever the cases beside this one make, can take the pod.
    assert_eq!((code, &explanation["outcome"]), (Some(1), &json!("stuck")), "{explanation:#}");
}

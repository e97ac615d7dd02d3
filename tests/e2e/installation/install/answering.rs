//! Nothing fails closed where no pod can answer: an image that does not exist, a Deployment without pods, a Namespace that was
//! deleted, and an uninstallation that stops half-way. While pods exist, guard denies, and fails closed.

use std::process::Command;
use std::time::Duration;

use bindery::document;
use hyper::Method;
use serde_json::{Value, json};

use super::doctor;
use super::load::{BOUND, bind_a_pair};
use super::site::{CHART, NAME, Site};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Reply};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(an_image_that_does_not_exist_denies_nothing),
    case!(a_deployment_without_pods_denies_nothing),
    case!(a_deleted_namespace_denies_nothing),
    case!(an_uninstallation_that_stops_half_way_denies_nothing),
    case!(the_controllers_account_makes_one_binding_and_no_volume),
];

/// The account of the pods, under which a stolen token would act.
const ACCOUNT: &str = "system:serviceaccount:bindery:bindery";

const REGISTRATIONS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

const VOLUMES: &str = "/api/v1/persistentvolumes?dryRun=All";

/// How long the garbage collector may take, beside the time in which pods end.
const COLLECTED_WITHIN: Duration = Duration::from_mins(1);

/// The order in which Helm 3 deletes kinds. It knows no webhook configurations and no admission policies: they go last.
///
/// Helm 3.12: `pkg/releaseutil/kind_sorter.go`, `UninstallOrder`.
const HELM_3_UNINSTALLS: [&str; 12] = [
    "APIService",
    "Service",
    "Deployment",
    "RoleBinding",
    "Role",
    "ClusterRoleBinding",
    "ClusterRole",
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "PodDisruptionBudget",
    "NetworkPolicy",
];

fn an_image_that_does_not_exist_denies_nothing() {
    let site = Site::empty();
    bind_a_pair(site.plane);
    site.helm(&[
        "install",
        NAME,
        CHART,
        "-n",
        NAME,
        "--set",
        "image.repository=missing.invalid/bindery",
    ]);
    eventually("no image can be pulled", Duration::from_secs(30), || {
        let pods = site.pods();
        let is_waiting =
            |pod: &Value| pod["status"]["message"].to_string().contains("ErrImagePull");
        if pods.len() == 2 && pods.iter().all(is_waiting) {
            Ok(())
        } else {
            Err(json!(pods).to_string())
        }
    });
    expect_open(&site);
    assert_eq!(guard_policy(&site), "Fail");
    // The chart with an image that exists: guard denies by itself.
    site.helm(&["upgrade", NAME, CHART, "-n", NAME, "--reset-values"]);
    await_guarded(&site);
}

fn a_deployment_without_pods_denies_nothing() {
    let site = Site::install(&["webhook.drainDelay=1s"]);
    bind_a_pair(site.plane);
    await_guarded(&site);
    site.await_closed();
    expect_closed_while_frozen(&site);
    let path = format!("/apis/apps/v1/namespaces/{NAME}/deployments/{NAME}");
    let scale = |replicas: u8| {
        let patch = Body::merge_patch(&json!({"spec": {"replicas": replicas}}));
        site.plane.request(ADMIN, Method::PATCH, &path, patch).expect_ok();
    };
    scale(0);
    await_open(&site);
    let (is_well, report) = doctor(&site, &[]);
    assert!(!is_well && report.contains(" fail open"), "{report}");
    expect_doctor_sees_rights_of_all(&site);
    scale(2);
    await_guarded(&site);
    await_metric(&site, "1");
    let registration = format!("{REGISTRATIONS}/{NAME}");
    site.plane.request(ADMIN, Method::DELETE, &registration, Body::none()).expect_ok();
    await_metric(&site, "0");
}

/// Waits until the leader's metric of the probe has this value.
fn await_metric(site: &Site, value: &str) {
    let line = "bindery_admission_probe_success{webhook=\"guard\"} ";
    eventually(&format!("the metric is {value}"), Duration::from_mins(1), || {
        let texts = site.node.running().into_iter().filter_map(|pod| pod.get(8082, "/metrics"));
        let lines = texts.flat_map(|(_, text)| text.lines().map(str::to_owned).collect::<Vec<_>>());
        let values: Vec<String> =
            lines.filter_map(|found| found.strip_prefix(line).map(str::to_owned)).collect();
        if values == [value] { Ok(()) } else { Err(format!("{values:?}")) }
    });
}

/// Where every account may do anything, the condition holds without a pod.
fn expect_doctor_sees_rights_of_all(site: &Site) {
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let all = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "every-account"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:serviceaccounts"}],
    });
    site.plane.request(ADMIN, Method::POST, bindings, Body::json(&all)).expect_ok();
    eventually("the doctor sees it", Duration::from_secs(30), || {
        let (is_well, report) = doctor(site, &[]);
        if !is_well && report.contains("fail closed whether guard answers or not") {
            Ok(())
        } else {
            Err(report)
        }
    });
    let path = format!("{bindings}/every-account");
    site.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
}

fn a_deleted_namespace_denies_nothing() {
    let site = Site::install(&["webhook.drainDelay=1s"]);
    bind_a_pair(site.plane);
    await_guarded(&site);
    let namespace = format!("/api/v1/namespaces/{NAME}");
    site.plane.request(ADMIN, Method::DELETE, &namespace, Body::none()).expect_ok();
    await_open(&site);
    eventually("the Namespace is gone", COLLECTED_WITHIN, || {
        let reply = site.plane.get(ADMIN, &namespace);
        if reply.code == 404 { Ok(()) } else { Err(reply.to_string()) }
    });
    expect_open(&site);
    assert_eq!(guard_policy(&site), "Fail", "the registration is left");
}

/// In the order of Helm 3 the registrations go last. It stops before them.
fn an_uninstallation_that_stops_half_way_denies_nothing() {
    let site = Site::install(&["webhook.drainDelay=1s"]);
    bind_a_pair(site.plane);
    await_guarded(&site);
    let manifest = site.helm(&["get", "manifest", NAME, "-n", NAME]);
    let objects = document::read(&manifest).expect("a manifest is YAML");
    let objects: Vec<Value> = objects.iter().map(document::TreeNode::to_json).collect();
    let mut deleted = 0;
    for kind in HELM_3_UNINSTALLS {
        for object in objects.iter().filter(|object| object["kind"] == kind) {
            let name = object["metadata"]["name"].as_str().expect("a name");
            let arguments = ["delete", kind, name, "-n", NAME, "--wait=false"];
            site.plane.kubectl(ADMIN, &arguments, "").expect_ok();
            deleted += 1;
        }
    }
    let has_order = |object: &&Value| HELM_3_UNINSTALLS.iter().any(|kind| object["kind"] == *kind);
    let left: Vec<&str> =
        objects.iter().filter(|it| !has_order(it)).filter_map(|it| it["kind"].as_str()).collect();
    assert!(
        deleted >= 15 && left.contains(&"ValidatingWebhookConfiguration"),
        "{deleted}, {left:?}"
    );
    let others = ["Configuration", "AdmissionPolicy", "AdmissionPolicyBinding", "Lease"];
    assert!(left.iter().all(|kind| others.iter().any(|end| kind.ends_with(end))), "{left:?}");
    await_open(&site);
    assert_eq!(guard_policy(&site), "Fail", "the registration is left");
}

/// A token of a pod could otherwise store volumes, and hand on its rights.
fn the_controllers_account_makes_one_binding_and_no_volume() {
    let site = Site::install(&[]);
    bind_a_pair(site.plane);
    await_guarded(&site);
    let as_account = format!("--as={ACCOUNT}");
    let create = |object: &Value, flags: &[&str]| {
        let arguments = [&["create", "-f", "-", as_account.as_str()], flags].concat();
        site.plane.kubectl(ADMIN, &arguments, &object.to_string())
    };
    let probe = probe("bindery-guard-probe");
    eventually("the policy is in force", Duration::from_secs(30), || {
        let output = create(&probe, &[]);
        if output.stderr.contains("as a dry run only") {
            Ok(())
        } else {
            Err(format!("{output:?}"))
        }
    });
    let other = self::probe("other");
    let denied = create(&other, &["--dry-run=server"]).expect_failed();
    assert!(denied.contains("as a dry run only"), "{denied}");
    let answered = create(&probe, &["--dry-run=server"]).expect_failed();
    assert!(answered.contains("[guard-probe] guard answers"), "{answered}");
    let apply = |role: &str, subject: &Value| {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "bindery-answering", "namespace": NAME},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
            "subjects": [subject],
        });
        let arguments = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--dry-run=server",
            "-f",
            "-",
            as_account.as_str(),
        ];
        site.plane.kubectl(ADMIN, &arguments, &binding.to_string())
    };
    let own = json!({"kind": "ServiceAccount", "name": "bindery-answering", "namespace": NAME});
    apply("bindery-answering", &own).expect_ok();
    let everybody = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"});
    let denied = apply("bindery-answering", &everybody).expect_failed();
    assert!(denied.contains("to the account of that name only"), "{denied}");
    let path = format!(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{NAME}/rolebindings/bindery-answering"
    );
    let delete = || site.plane.request(ADMIN, Method::DELETE, &path, Body::none());
    delete().expect_ok();
    // Guard answers, and is called without the binding too.
    for _ in 0..20 {
        delete_bound(&site).expect_denied(403);
    }
    // The role that it has itself, under the name that it may write.
    eventually(
        "it is sent before the leader has written its own again",
        Duration::from_secs(30),
        || {
            delete();
            let denied = apply("bindery-controller", &own).expect_failed();
            if denied.contains("to the account of that name only") { Ok(()) } else { Err(denied) }
        },
    );
    site.await_closed();
}

/// A volume like that of the probe.
fn probe(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "probe",
                 "nfs": {"server": "192.0.2.1", "path": "/probe"}},
    })
}

/// What the API server answers to the deletion of a bound volume.
fn delete_bound(site: &Site) -> Reply {
    let path = format!("/api/v1/persistentvolumes/{BOUND}?dryRun=All");
    site.plane.request(ADMIN, Method::DELETE, &path, Body::none())
}

/// Waits until guard denies.
fn await_guarded(site: &Site) {
    eventually("guard denies", Duration::from_mins(1), || {
        let reply = delete_bound(site);
        let is_denied = reply.code == 403 && reply.text.contains("[bound-volume-delete]");
        if is_denied { Ok(()) } else { Err(format!("{reply}\n{}", site.node.logs())) }
    });
}

/// Waits until guard is not called any more, and its registration still is in force.
fn await_open(site: &Site) {
    eventually("the deletion is admitted", COLLECTED_WITHIN, || {
        let reply = delete_bound(site);
        if reply.code == 200 { Ok(()) } else { Err(format!("{reply}\n{}", site.node.logs())) }
    });
    expect_open(site);
}

/// The API server knows the registration, by which the probe alone fails closed; and everything that guard would look at is
/// admitted.
#[track_caller]
fn expect_open(site: &Site) {
    eventually("the probe is not answered", Duration::from_secs(30), || {
        let probe = Body::json(&probe("bindery-guard-probe"));
        let reply = site.plane.request(ADMIN, Method::POST, VOLUMES, probe);
        let is_unanswered = reply.text.contains("failed calling webhook \\\"guard.bindery.dev");
        if is_unanswered { Ok(()) } else { Err(reply.to_string()) }
    });
    assert_eq!(delete_bound(site).code, 200);
    let shrunk = Body::merge_patch(&json!({"spec": {"capacity": {"storage": "1Mi"}}}));
    let path = format!("/api/v1/persistentvolumes/{BOUND}?dryRun=All");
    site.plane.request(ADMIN, Method::PATCH, &path, shrunk).expect_ok();
    let bare = Body::merge_patch(&json!({"metadata": {"finalizers": null}}));
    let path = format!("/api/v1/namespaces/default/persistentvolumeclaims/{BOUND}?dryRun=All");
    site.plane.request(ADMIN, Method::PATCH, &path, bare).expect_ok();
    let mut marked = probe("marked");
    marked["metadata"]["labels"] = json!({"bindery.dev/tenant": "a"});
    marked["spec"]["claimRef"] = json!({"namespace": "default", "name": "x"});
    site.plane.request(ADMIN, Method::POST, VOLUMES, Body::json(&marked)).expect_ok();
}

/// Pods that hang exist: what is not answered is denied.
fn expect_closed_while_frozen(site: &Site) {
    let processes = site.node.processes();
    let signal = |name: &str| {
        for process in &processes {
            let status = Command::new("kill").args([name, &process.to_string()]).status();
            assert!(status.is_ok_and(|status| status.success()), "kill {name} {process}");
        }
    };
    signal("-STOP");
    let reply = delete_bound(site);
    signal("-CONT");
    let is_closed = reply.code != 200 && reply.text.contains("failed calling webhook");
    assert!(is_closed, "{reply}");
}

/// The failure policy of guard, as it is registered.
fn guard_policy(site: &Site) -> String {
    let object = site.plane.get(ADMIN, &format!("{REGISTRATIONS}/{NAME}")).expect_ok();
    let mut entries = object["webhooks"].as_array().into_iter().flatten();
    let guard = entries.find(|entry| entry["name"] == "guard.bindery.dev").expect("an entry");
    guard["failurePolicy"].as_str().unwrap_or_default().to_owned()
}

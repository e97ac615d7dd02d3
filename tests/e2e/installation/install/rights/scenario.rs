//! A short scenario in which everything that an installation may do is needed once.

use std::time::Duration;

use hyper::Method;
use serde_json::json;

use super::super::site::{NAME, Site};
use crate::eventually::eventually;
use crate::plane::persona::{ADMIN, PROVISIONER};
use crate::plane::{Body, Plane};

/// A class whose claims wait for their pod's node.
const WAITING: &str = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: waiting}\nprovisioner: \
    kubernetes.io/no-provisioner\nvolumeBindingMode: WaitForFirstConsumer\n";

/// What happens in a cluster: pairs are bound, released and recycled, hazards are denied, certificates
/// renewed.
pub(super) fn run_scenario(site: &Site) {
    let apply = |text: &str| site.plane.kubectl(ADMIN, &["apply", "-f", "-"], text);
    let recycle = ", persistentVolumeReclaimPolicy: Recycle";
    apply(&[volume("one", recycle), claim("one", "")].concat()).expect_ok();
    await_phase(site.plane, "one", "Bound");
    // In use: the webhook looks who uses it.
    apply(&user("one")).expect_ok();
    let kubectl = |words: &[&str]| site.plane.kubectl(ADMIN, words, "");
    kubectl(&["delete", "pvc", "one", "--wait=false", "--dry-run=server"]);
    kubectl(&["delete", "pod", "user-one", "--force", "--grace-period=0"]).expect_ok();
    // Of another class, a claim that is not there, a class and a node that are not there.
    apply(
        &claim("two", ", volumeName: one")
            .replace("storageClassName: static", "storageClassName: other"),
    );
    apply(&volume(
        "two",
        ", claimRef: {namespace: default, name: absent, uid: 00000000-0000-0000-0000-000000000000}",
    ));
    provision_unclaimed(site.plane);
    detach_by_hand(site.plane);
    apply(&claim("three", "").replace("storageClassName: static", "storageClassName: unknown"));
    let affinity = ", nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, \
        operator: In, values: [nowhere]}]}]}}";
    apply(&volume("three", affinity));
    kubectl(&["delete", "pvc", "one"]).expect_ok();
    await_phase(site.plane, "one", "Available");
    let renew = ["annotate", "secret", "bindery-tls", "bindery.dev/renew=certificate", "-n", NAME];
    kubectl(&renew).expect_ok();
    kubectl(&["annotate", "secret", "bindery-ca", "bindery.dev/renew=ca", "-n", NAME]).expect_ok();
    for lease in LEASES {
        kubectl(&["delete", "lease", lease, "-n", NAME]).expect_ok();
    }
    let here = "{required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, \
        values: [player]}]}]}}";
    apply(WAITING).expect_ok();
    apply(&waiting(&volume("five", &format!(", nodeAffinity: {here}")))).expect_ok();
    await_phase(site.plane, "five", "Available");
    // Another leader reports the same again.
    kubectl(&["rollout", "restart", "deployment/bindery-controller", "-n", NAME]).expect_ok();
    for lease in LEASES {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{NAME}/leases/{lease}");
        eventually("it is created again", Duration::from_secs(20), || {
            let reply = site.plane.get(ADMIN, &path);
            if reply.code == 200 { Ok(()) } else { Err(reply.to_string()) }
        });
    }
}

/// What a controller makes itself where no other does.
const LEASES: [&str; 2] = ["bindery-controller", "bindery-certificates"];

/// An account without any Lease creates a volume for a claim that is gone: the webhook asks whether it is the
/// driver's provisioner.
fn provision_unclaimed(plane: &Plane) {
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "name": "exported",
            "annotations": {"pv.kubernetes.io/provisioned-by": "disk.example.com"},
        },
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Delete",
            "csi": {"driver": "disk.example.com", "volumeHandle": "exported"},
            "claimRef": {"namespace": "default", "name": "forged",
                         "uid": "00000000-0000-4000-8000-000000000000"},
        },
    });
    let path = "/api/v1/persistentvolumes";
    let reply = plane.request(PROVISIONER, Method::POST, path, Body::json(&volume));
    assert_eq!(reply.code, 403, "{reply}");
}

/// A VolumeAttachment is deleted by hand: the webhook asks whether the machine of its node runs.
fn detach_by_hand(plane: &Plane) {
    let collection = "/apis/storage.k8s.io/v1/volumeattachments";
    let attachment = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "csi-one"},
        "spec": {"attacher": "disk.example.com", "nodeName": "player", "source": {"persistentVolumeName": "one"}},
    });
    plane.request(ADMIN, Method::POST, collection, Body::json(&attachment)).expect_ok();
    let path = format!("{collection}/csi-one");
    let attached = Body::merge_patch(&json!({"status": {"attached": true}}));
    plane.request(ADMIN, Method::PATCH, &format!("{path}/status"), attached).expect_ok();
    let reply = plane.request(ADMIN, Method::DELETE, &path, Body::none());
    assert_eq!(reply.code, 403, "{reply}");
}

/// A claim that comes right after its namespace: mostly before the webhook has seen that.
pub(super) fn in_a_new_namespace(plane: &Plane, name: &str) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    plane.request(ADMIN, Method::POST, "/api/v1/namespaces", Body::json(&namespace)).expect_ok();
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "first"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "unknown",
                 "resources": {"requests": {"storage": "1Gi"}}},
    });
    let path = format!("/api/v1/namespaces/{name}/persistentvolumeclaims");
    plane.request(ADMIN, Method::POST, &path, Body::json(&claim)).expect_ok();
}

/// A claim whose pod has a node, of which there is a free volume.
pub(super) fn prebind(site: &Site) {
    let label = ["label", "node", "player", "kubernetes.io/hostname=player"];
    site.plane.kubectl(ADMIN, &label, "").expect_ok();
    let objects = [waiting(&claim("five", "")), user("five")].concat();
    site.plane.kubectl(ADMIN, &["apply", "-f", "-"], &objects).expect_ok();
    eventually("it is reserved for its claim", Duration::from_mins(1), || {
        let volume = site.plane.get(ADMIN, "/api/v1/persistentvolumes/five").expect_ok();
        if volume["spec"]["claimRef"]["name"] == "five" {
            Ok(())
        } else {
            Err(volume["spec"].to_string())
        }
    });
}

fn volume(name: &str, more: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {name}}}\nspec: {{accessModes: \
         [ReadWriteOnce], capacity: {{storage: 1Gi}}, storageClassName: static, nfs: {{server: 192.0.2.1, path: \
         /{name}}}{more}}}\n"
    )
}

fn claim(name: &str, more: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}, namespace: default}}\nspec: \
         {{accessModes: [ReadWriteOnce], storageClassName: static, resources: {{requests: {{storage: 1Gi}}}}{more}}}\n"
    )
}

/// The same object in the class whose claims wait.
fn waiting(text: &str) -> String {
    text.replace("storageClassName: static", "storageClassName: waiting")
}

/// A pod on the node that uses a claim.
fn user(claim: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: user-{claim}, namespace: default}}\nspec: {{nodeName: \
         player, automountServiceAccountToken: false, containers: [{{name: a, image: a}}], volumes: [{{name: data, \
         persistentVolumeClaim: {{claimName: {claim}}}}}]}}\n"
    )
}

fn await_phase(plane: &Plane, name: &str, phase: &str) {
    eventually(&format!("{name} is {phase}"), Duration::from_mins(1), || {
        let volume = plane.get(ADMIN, &format!("/api/v1/persistentvolumes/{name}")).expect_ok();
        if volume["status"]["phase"] == phase { Ok(()) } else { Err(volume["status"].to_string()) }
    });
}

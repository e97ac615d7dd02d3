//! PVCs that differ from the `volumeClaimTemplates` of their StatefulSet, beside its real controller: `bindery scan` finds it,
//! its commands are run as they are written, and afterwards the two agree, with the same pods, PVCs and PVs.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::moves::bindery;
use crate::page::Shell;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Objects, Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(a_template_follows_claims_that_have_grown),
    case!(a_template_that_came_back_with_other_values_is_corrected),
];

/// How long the machine may take to do what takes milliseconds.
const PATIENCE: Duration = Duration::from_mins(1);

const SET: &str = "db";
const REPLICAS: usize = 3;

/// A StatefulSet whose replicas have claims and volumes.
struct Replicas<'a> {
    plane: &'a Plane,
    objects: Objects<'a>,
}

/// What must not change: the uids of pods and claims, and the uid and the claimRef of each volume.
type Identities = BTreeMap<String, Value>;

impl<'a> Replicas<'a> {
    /// Starts them; PVs would be deleted with their claims, and claims with the StatefulSet.
    fn start(plane: &'a Plane, case: &str, grows: bool) -> Self {
        let objects = plane.objects(case);
        let replicas = Self { plane, objects };
        let class = replicas.objects.namespace();
        replicas.objects.create(
            "/apis/storage.k8s.io/v1/storageclasses",
            &json!({"metadata": {"name": class}, "provisioner": "disk.example.com", "allowVolumeExpansion": grows}),
        );
        for ordinal in 0..REPLICAS {
            let name = format!("data-{SET}-{ordinal}");
            let handle = replicas.objects.name(&name);
            let volume = json!({"spec": {
                "persistentVolumeReclaimPolicy": "Delete", "nfs": null,
                "csi": {"driver": "disk.example.com", "volumeHandle": handle},
            }});
            replicas.objects.bound_pair(&name, &volume, &json!({}));
        }
        replicas.objects.create(&replicas.sets(), &stateful_set(class));
        replicas.until_settled(REPLICAS);
        replicas
    }

    fn namespace(&self) -> &str {
        self.objects.namespace()
    }

    fn sets(&self) -> String {
        format!("/apis/apps/v1/namespaces/{}/statefulsets", self.namespace())
    }

    fn set_path(&self) -> String {
        format!("{}/{SET}", self.sets())
    }

    fn get(&self, path: &str) -> Value {
        self.plane.get(ADMIN, path).expect_ok()
    }

    fn patch(&self, path: &str, patch: &Value) {
        self.plane.request(ADMIN, Method::PATCH, path, Body::merge_patch(patch)).expect_ok();
    }

    fn claim(&self, ordinal: usize) -> Value {
        self.get(&claim_path(self.namespace(), &format!("data-{SET}-{ordinal}")))
    }

    fn pods(&self) -> Vec<Value> {
        let list = self.get(&format!("/api/v1/namespaces/{}/pods", self.namespace()));
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until the StatefulSet controls so many pods, and owns the claims that it would delete with itself.
    fn until_settled(&self, count: usize) {
        eventually(
            &format!("{count} pods and their claims are those of the StatefulSet"),
            PATIENCE,
            || {
                let set = self.get(&self.set_path());
                let is_own = |object: &Value| {
                    object.pointer("/metadata/ownerReferences/0/uid")
                        == set.pointer("/metadata/uid")
                };
                let (pods, retention) =
                    (self.pods(), "/spec/persistentVolumeClaimRetentionPolicy/whenDeleted");
                let deletes = set.pointer(retention) == Some(&json!("Delete"));
                let is_settled = pods.len() == count
                    && pods.iter().all(is_own)
                    && set["status"]["observedGeneration"] == set["metadata"]["generation"]
                    && (!deletes || (0..count).all(|ordinal| is_own(&self.claim(ordinal))));
                if is_settled { Ok(()) } else { Err(format!("{set} {pods:?}")) }
            },
        );
    }

    fn identities(&self) -> Identities {
        let mut found = Identities::new();
        for pod in self.pods() {
            found.insert(pod["metadata"]["name"].to_string(), pod["metadata"]["uid"].clone());
        }
        for ordinal in 0..REPLICAS {
            let claim = self.claim(ordinal);
            let name = claim["spec"]["volumeName"].as_str().unwrap().to_owned();
            let volume = self.get(&volume_path(&name));
            assert_eq!(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"], "{volume}");
            assert_eq!(
                (&volume["status"]["phase"], &claim["status"]["phase"]),
                (&json!("Bound"), &json!("Bound"))
            );
            found.insert(claim["metadata"]["name"].to_string(), claim["metadata"]["uid"].clone());
            found.insert(name, json!([volume["metadata"]["uid"], volume["spec"]["claimRef"]]));
        }
        assert_eq!(found.len(), 3 * REPLICAS);
        found
    }

    /// The findings of a scan on `StatefulSet`s of this rule.
    fn found(&self, rule: &str) -> Vec<Value> {
        let printed = bindery(&self.plane.kubeconfig(ADMIN), &["scan", "-o", "json"]);
        let report: Value =
            serde_json::from_str(&printed.text).unwrap_or_else(|_| panic!("{printed:?}"));
        let findings = report["findings"].as_array().cloned().unwrap_or_default().into_iter();
        let own = findings
            .filter(|one| one["kind"] == "StatefulSet" && one["namespace"] == self.namespace());
        own.filter(|one| one["rule"] == rule).collect()
    }

    fn explained(&self, target: &str) -> String {
        let arguments = ["explain", target, "-n", self.namespace()];
        bindery(&self.plane.kubeconfig(ADMIN), &arguments).text
    }

    /// Finds the drift, runs the commands of its advice as they are written, and finds it no more.
    fn repair(&self, differs: &str) {
        let (found, before) = (self.found("claim-template-drift"), self.identities());
        let former = self.get(&self.set_path());
        let [finding] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(finding["result"], "warned");
        assert!(finding["message"].as_str().unwrap().contains(differs), "{finding}");
        for target in ["pvc/data-db-0", "statefulset/db"] {
            let explained = self.explained(target);
            assert!(explained.contains(differs), "{target}: {explained}");
        }
        let fix = finding["fix"].as_str().unwrap();
        let commands: Vec<&str> = fix.split('`').skip(1).step_by(2).collect();
        let folder = self.plane.home().join(self.namespace());
        std::fs::create_dir_all(&folder).unwrap();
        let shell = Shell { plane: self.plane, folder: &folder, user: ADMIN };
        for command in commands {
            shell.run(command);
        }
        let set = self.get(&self.set_path());
        assert_ne!(set["metadata"]["uid"], former["metadata"]["uid"], "{fix}");
        let retention = "/spec/persistentVolumeClaimRetentionPolicy";
        assert_eq!(set.pointer(retention), former.pointer(retention), "{set}");
        self.until_settled(REPLICAS);
        assert_eq!(self.identities(), before, "{fix}");
        for volume in before.keys().filter(|name| name.starts_with(self.namespace())) {
            let volume = self.get(&volume_path(volume));
            assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{volume}");
        }
        assert_eq!(self.found("claim-template-drift"), Vec::<Value>::new());
        assert!(!self.explained("pvc/data-db-0").contains("volumeClaimTemplate"));
    }

    fn scale(&self, replicas: usize) {
        self.patch(&self.set_path(), &json!({"spec": {"replicas": replicas}}));
        self.until_settled(replicas);
    }
}

fn stateful_set(class: &str) -> Value {
    let labels = json!({"app": SET});
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": SET},
        "spec": {
            // No pod gets ready: there is no node.
            "replicas": REPLICAS, "podManagementPolicy": "Parallel",
            "serviceName": SET, "selector": {"matchLabels": labels},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "none.example/none"}]},
            },
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"], "storageClassName": class,
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }],
        },
    })
}

/// The operator has enlarged two of three claims by hand. Afterwards a replica that is added gets a claim of the new size;
/// one that is removed leaves its claim where claims stay.
fn a_template_follows_claims_that_have_grown() {
    let plane = Plane::start(Peers::Everyone).unwrap_or_else(|error| panic!("{error}"));
    let replicas = Replicas::start(&plane, "grown-claims", true);
    assert_eq!(replicas.found("claim-template-drift"), Vec::<Value>::new());
    let larger = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
    for ordinal in 0..2 {
        let name = format!("data-{SET}-{ordinal}");
        replicas.patch(&claim_path(replicas.namespace(), &name), &larger);
    }
    replicas.repair("PVCs \"data-db-0\", \"data-db-1\" differ from volumeClaimTemplate \"data\" in size (2Gi, not 1Gi)");
    replicas.scale(REPLICAS + 1);
    for ordinal in 0..=REPLICAS {
        let claim = replicas.claim(ordinal);
        assert_eq!(
            claim.pointer("/spec/resources/requests/storage"),
            Some(&json!("2Gi")),
            "{claim}"
        );
    }
    assert_eq!(replicas.found("claim-of-no-replica"), Vec::<Value>::new());
    let stay = json!({"whenDeleted": "Retain", "whenScaled": "Retain"});
    let keep = json!({"spec": {"persistentVolumeClaimRetentionPolicy": stay}});
    replicas.patch(&replicas.set_path(), &keep);
    replicas.scale(1);
    let left = replicas.found("claim-of-no-replica");
    let [left] = left.as_slice() else { panic!("{left:?}") };
    let text = format!(
        "PVCs \"data-db-1\", \"data-db-2\", \"data-db-3\" are of no replica: StatefulSet \"{}/db\" has replica 0 only",
        replicas.namespace()
    );
    assert!(left["message"].as_str().unwrap().contains(&text), "{left}");
    // All volumes are retained by now, and the claim that was added has none: nothing is to be done before they go.
    assert!(
        left["fix"].as_str().unwrap().ends_with("change nothing, else delete the PVCs"),
        "{left}"
    );
}

/// Somebody has deleted the StatefulSet without its pods, and created it again with other templates. The claims cannot
/// become what those say.
fn a_template_that_came_back_with_other_values_is_corrected() {
    let plane = Plane::start(Peers::Everyone).unwrap_or_else(|error| panic!("{error}"));
    let replicas = Replicas::start(&plane, "other-template", false);
    let namespace = replicas.namespace();
    let orphan = json!({"propagationPolicy": "Orphan"});
    let path = replicas.set_path();
    plane.request(ADMIN, Method::DELETE, &path, Body::json(&orphan)).expect_ok();
    eventually("the StatefulSet is gone", PATIENCE, || {
        let reply = plane.get(ADMIN, &path);
        if reply.code == 404 { Ok(()) } else { Err(reply.to_string()) }
    });
    let mut other = stateful_set("another-class");
    other["spec"]["volumeClaimTemplates"][0]["spec"] = json!({
        "accessModes": ["ReadWriteMany"], "storageClassName": "another-class", "volumeMode": "Block",
        "resources": {"requests": {"storage": "5Gi"}},
    });
    plane.request(ADMIN, Method::POST, &replicas.sets(), Body::json(&other)).expect_ok();
    replicas.until_settled(REPLICAS);
    replicas.repair(&format!(
        "differ from volumeClaimTemplate \"data\" in size (1Gi, not 5Gi) and StorageClass (\"{namespace}\", not \
         \"another-class\") and access modes (RWO, not RWX) and volume mode (Filesystem, not Block)"
    ));
}

//! An installation by helm on a plane of its own, with the node that runs its pods.

use std::process::Command;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bindery::api::installation::Installation;
use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::network;
use crate::node::Node;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane};
use crate::secrets;

/// Namespace and name of the installation.
pub(super) const NAME: &str = "bindery";

/// Where the chart is.
pub(super) const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/charts/bindery");

/// An installation whose pods run.
pub(super) struct Site {
    pub(super) plane: &'static Plane,
    pub(super) node: Node,
}

impl Site {
    /// Installs the chart with these values, into a namespace that lets restricted pods in only, and waits until all
    /// pods are ready and something is denied.
    pub(super) fn install(values: &[&str]) -> Self {
        Self::empty().with(values)
    }

    /// Installs the chart with these values, and waits until all pods are ready and something is denied.
    pub(super) fn with(self, values: &[&str]) -> Self {
        let site = self;
        let settings = values.iter().flat_map(|value| ["--set", *value]);
        let arguments: Vec<&str> =
            ["install", NAME, CHART, "-n", NAME].into_iter().chain(settings).collect();
        site.helm(&arguments);
        site.await_ready();
        site.await_denial();
        site.await_closed();
        site
    }

    /// A plane with the namespace, and nothing in it.
    pub(super) fn empty() -> Self {
        Self::on(Peers::Cluster, "restricted")
    }

    /// A plane with these peers, and the namespace, which lets pods of this profile in.
    pub(super) fn on(peers: Peers, profile: &str) -> Self {
        network::expect_own();
        let plane = Plane::start(peers).unwrap_or_else(|error| panic!("{error}"));
        // The node's thread speaks of it; it is stopped with this.
        let plane: &'static Plane = Box::leak(Box::new(plane));
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": NAME, "labels": {"pod-security.kubernetes.io/enforce": profile}}});
        plane
            .request(ADMIN, Method::POST, "/api/v1/namespaces", Body::json(&namespace))
            .expect_ok();
        // Other cases run Bindery under these names; here they have what the chart grants.
        for binding in ["e2e:bindery:e2e:storage", "e2e:bindery-controller:e2e:binds"] {
            let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{binding}");
            plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
        }
        Self { node: Node::start(plane, NAME), plane }
    }

    /// Returns what all entries of both registrations trust; nothing while they disagree.
    pub(super) fn bundle(&self) -> Option<String> {
        let kinds = ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"];
        let paths =
            kinds.map(|kind| format!("/apis/admissionregistration.k8s.io/v1/{kind}/{NAME}"));
        let objects = paths.map(|path| self.plane.get(ADMIN, &path).expect_ok());
        let entries =
            objects.iter().flat_map(|object| object["webhooks"].as_array().into_iter().flatten());
        let mut bundles: Vec<&str> = entries
            .map(|entry| entry["clientConfig"]["caBundle"].as_str().unwrap_or_default())
            .collect();
        bundles.dedup();
        let [bundle] = bundles.as_slice() else { return None };
        Some(String::from_utf8(STANDARD.decode(bundle).ok()?).expect("PEM is text"))
    }

    /// One text of a Secret of the installation.
    pub(super) fn secret(&self, name: &str, key: &str) -> Option<String> {
        let secret = self.plane.get(ADMIN, &installation().secret_path(name)).json;
        let bytes = STANDARD.decode(secret["data"][key].as_str()?).ok()?;
        Some(String::from_utf8(bytes).expect("PEM is text"))
    }

    /// Runs helm as the administrator.
    #[track_caller]
    pub(super) fn helm(&self, arguments: &[&str]) -> String {
        let output = Command::new(self.plane.binaries().join("helm"))
            .args(arguments)
            .env_clear()
            .env("HOME", self.plane.home())
            .env("KUBECONFIG", self.plane.kubeconfig(ADMIN))
            .output()
            .expect("helm was built");
        let reported = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "helm {}: {reported}", arguments.join(" "));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The webhook's pods.
    pub(super) fn pods(&self) -> Vec<Value> {
        let selector = "labelSelector=app.kubernetes.io/component%3Dwebhook";
        let path = format!("/api/v1/namespaces/{NAME}/pods?{selector}");
        let list = self.plane.get(ADMIN, &path).expect_ok();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until as many pods are ready as the Deployment wants, and no other is left.
    pub(super) fn await_ready(&self) {
        eventually("all pods are ready", Duration::from_secs(90), || {
            let path = format!("/apis/apps/v1/namespaces/{NAME}/deployments/{NAME}");
            let deployment = self.plane.get(ADMIN, &path).expect_ok();
            let number = |pointer: &str| deployment.pointer(pointer).and_then(Value::as_u64);
            let wanted = number("/spec/replicas");
            let is_seen = number("/status/observedGeneration") == number("/metadata/generation");
            let states = ["updatedReplicas", "readyReplicas", "replicas"];
            let is_whole = states.iter().all(|state| number(&format!("/status/{state}")) == wanted);
            let is_alone = wanted == u64::try_from(self.pods().len()).ok();
            if is_seen && is_whole && is_alone {
                return Ok(());
            }
            Err(format!("{}\n{}", deployment["status"], self.node.logs()))
        });
    }

    /// Waits until the API server learns that nothing is to be sent to an address.
    pub(super) fn await_left_out(&self, address: &str) {
        eventually("the pod is left out of the endpoints", Duration::from_secs(30), || {
            let selector = format!("labelSelector=kubernetes.io/service-name%3D{NAME}");
            let path =
                format!("/apis/discovery.k8s.io/v1/namespaces/{NAME}/endpointslices?{selector}");
            let slices = self.plane.get(ADMIN, &path).expect_ok();
            let slices = slices["items"].as_array().into_iter().flatten();
            let endpoints =
                slices.flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
            let mut here = endpoints.filter(|endpoint| {
                endpoint["addresses"][0] == address && endpoint["conditions"]["ready"] == true
            });
            here.next().map_or(Ok(()), |endpoint| Err(endpoint.to_string()))
        });
    }

    /// Waits until the API server asks, and gets a denial.
    pub(super) fn await_denial(&self) {
        eventually("a volume without a claim is denied", Duration::from_secs(20), || {
            let reply = self.plane.request(
                ADMIN,
                Method::POST,
                "/api/v1/persistentvolumes?dryRun=All",
                Body::json(&unclaimed_volume()),
            );
            if reply.text.contains("[prebind-incomplete]") {
                Ok(())
            } else {
                Err(reply.to_string())
            }
        });
    }

    /// Waits until the API server sends requests to what fails closed.
    pub(super) fn await_closed(&self) {
        eventually(
            "the account that stands for an answer may answer",
            Duration::from_secs(30),
            || {
                if self.is_answered() { Ok(()) } else { Err(self.node.logs()) }
            },
        );
    }

    /// Returns whether the API server holds that the webhook answers.
    pub(super) fn is_answered(&self) -> bool {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": format!("system:serviceaccount:{NAME}:{}", installation().answering()),
                "resourceAttributes": {"group": "bindery.dev", "resource": "webhooks", "verb": "answer", "namespace": NAME}},
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer = self.plane.request(ADMIN, Method::POST, path, Body::json(&review)).expect_ok();
        answer["status"]["allowed"] == true
    }

    /// Restarts all pods, one after the other, as `kubectl rollout restart` does.
    pub(super) fn roll(&self, mark: &str) {
        let path = format!("/apis/apps/v1/namespaces/{NAME}/deployments/{NAME}");
        let patch = json!({"spec": {"template": {"metadata": {"annotations": {"rolled": mark}}}}});
        self.plane.request(ADMIN, Method::PATCH, &path, Body::merge_patch(&patch)).expect_ok();
    }
}

impl Site {
    /// Looks for its keys, and others, in all of its output.
    fn look_for_secrets(&self) {
        let own = installation();
        let stored = [(own.serving_secret(), "tls.key"), (own.ca_secret(), "ca.key")];
        let keys: Vec<String> =
            stored.iter().filter_map(|(name, key)| self.secret(name, key)).collect();
        secrets::look_for(&keys, "a log", &self.node.logs());
        for pod in self.node.running() {
            for port in [8081, 8082] {
                let metrics = pod.get(port, "/metrics").map(|(_, text)| text).unwrap_or_default();
                secrets::look_for(&keys, "a metric", &metrics);
            }
        }
        let events = self.plane.get(ADMIN, "/api/v1/events");
        secrets::look_for(&keys, "an event", &events.text);
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.look_for_secrets();
        }
        // Before the API server, whose secrets its pods hold.
        self.node.stop();
        self.plane.end();
    }
}

/// The installation, as its own parts call it.
pub(super) fn installation() -> Installation {
    format!("{NAME}/{NAME}").parse().expect("a name")
}

/// A volume that is reserved for a claim without a name.
pub(super) fn unclaimed_volume() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "unclaimed"},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "",
                 "claimRef": {"namespace": "forged"}, "nfs": {"server": "192.0.2.1", "path": "/x"}},
    })
}

//! The conditions of the registration, which the API server evaluates, against the predicates of the code, over
//! every request that is made while a recorder listens.
//!
//! A recorder takes the place of the webhook: one entry without conditions is sent everything, and one entry
//! per real one, with its conditions, is sent what they let through. It may listen beside an installed
//! webhook. Not here: who makes requests (`cases`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use bindery::api::registration::{Registration, WebhookTarget};
use bindery::api::review::{AdmissionRequest, AdmissionResponse, parse_request, response_bytes};
use bindery::rules::judging::filter::{OWN_CONTROLLER, reaches};
use bindery::rules::mutations::all_on;
use bindery::rules::{Endpoint, ReadAccess};
use bindery::webhook::transport::PortServer;
use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::installed::{MUTATING, VALIDATING, pair, register, serve};
use crate::plane::persona::{ALL, TENANT};
use crate::plane::{Body, Persona, Plane};

/// Bodies by the endpoint to which they were sent.
type Reply = Arc<Mutex<BTreeMap<String, Vec<Vec<u8>>>>>;

/// Each endpoint, its path here, and that of the one that is sent everything in the same configuration.
const ENDPOINTS: [(Endpoint, &str, &str); 6] = [
    (Endpoint::Guard, "guard", "all-validating"),
    (Endpoint::Advise, "advise", "all-validating"),
    (Endpoint::Restricted, "restricted", "all-validating"),
    (Endpoint::Tenancy, "tenancy", "all-validating"),
    (Endpoint::Mutate, "mutate", "all-mutating"),
    (Endpoint::Restore, "restore", "all-mutating"),
];

/// A listening recorder; it ends when dropped.
pub(crate) struct Recorder {
    received: Reply,
    _server: PortServer,
}

/// What came of a comparison.
pub(crate) struct Compared {
    /// How many requests were looked at, once an endpoint.
    pub(crate) count: usize,
    /// Those of which condition and predicate say different things.
    pub(crate) differences: Vec<String>,
}

impl Recorder {
    /// Starts it, registers it and waits until it is asked.
    pub(crate) fn on(plane: &Plane) -> Self {
        let pair = pair();
        let received = Reply::default();
        let router = Router::new()
            .route("/{*endpoint}", axum::routing::post(receive))
            .with_state(Arc::clone(&received));
        let server = serve("recorder", &pair, router);
        let address = server.address();
        let registration = registration(format!("https://{address}"), pair.ca);
        let validating = serde_json::to_value(registration.validating()).unwrap();
        let mutating = serde_json::to_value(registration.mutating()).unwrap();
        register(plane, VALIDATING, &with_recorder(validating, &address.to_string()));
        register(plane, MUTATING, &with_recorder(mutating, &address.to_string()));
        let recorder = Self { received, _server: server };
        recorder.await_registration(plane);
        recorder
    }

    /// Forgets what it has received so far.
    pub(crate) fn forget(&self) {
        self.received.lock().unwrap().clear();
    }

    /// Compares what each endpoint was sent with what its predicate says of all that was sent anywhere.
    pub(crate) fn compare(&self) -> Compared {
        let received = self.received.lock().unwrap();
        let of = |endpoint: &str| received.get(endpoint).map_or(&[][..], Vec::as_slice);
        let mut compared = Compared { count: 0, differences: Vec::new() };
        for (endpoint, name, all) in ENDPOINTS {
            // How often each is expected, less how often it was sent.
            let mut open = BTreeMap::<String, i64>::new();
            for body in of(all).iter().filter(|body| is_registered(endpoint, body)) {
                let read = parse_request(body, &all_on()).unwrap();
                let is_expected = reaches(endpoint, &read.change, OWN_CONTROLLER, access(&read));
                *open.entry(line(body)).or_default() += i64::from(is_expected);
            }
            for body in of(name) {
                *open.entry(line(body)).or_default() -= 1;
            }
            compared.count += of(all).len();
            let differing = open.into_iter().filter(|(_, count)| *count != 0);
            compared.differences.extend(differing.map(|(line, count)| {
                let who = if count > 0 { "predicate" } else { "condition" };
                format!("only the {who} of {name} lets through: {line}")
            }));
        }
        compared
    }

    fn await_registration(&self, plane: &Plane) {
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "probe"},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "none-such",
                "resources": {"requests": {"storage": "1Gi"}},
            },
        });
        let path = "/api/v1/namespaces/default/persistentvolumeclaims?dryRun=All";
        eventually("the API server asks the recorder", Duration::from_secs(20), || {
            self.forget();
            plane.request(TENANT, Method::POST, path, Body::json(&claim));
            let received = self.received.lock().unwrap();
            let endpoints = ["advise", "mutate", "all-validating", "all-mutating"];
            let silent: Vec<&str> = endpoints
                .into_iter()
                .filter(|endpoint| !received.contains_key(*endpoint))
                .collect();
            if silent.is_empty() { Ok(()) } else { Err(format!("silent: {silent:?}")) }
        });
        self.forget();
    }
}

fn registration(url: String, ca_pem: String) -> Registration {
    let policy = all_on();
    Registration {
        target: WebhookTarget::Url(url),
        ca_pem,
        own_controller: OWN_CONTROLLER.to_owned(),
        namespace_labels: policy.parameters.namespace_labels,
        tenant_label: policy.parameters.tenant_label.as_str().to_owned(),
    }
}

/// Returns what its asker may read, by the roles that the plane gives; who is no persona may everything.
fn access(read: &AdmissionRequest) -> ReadAccess {
    let asks = |persona: &&Persona| persona.user == &*read.change.user.name;
    match ALL.iter().find(asks) {
        Some(persona) if !persona.reads_volumes() => ReadAccess::Namespaces,
        Some(_) | None => ReadAccess::Volumes,
    }
}

/// A request in a line. Two of one line differ in nothing that a condition reads but the content.
fn line(body: &[u8]) -> String {
    let review: Value = serde_json::from_slice(body).unwrap();
    let request = &review["request"];
    let old = &request["oldObject"]["metadata"]["resourceVersion"];
    let new = &request["object"]["metadata"]["managedFields"];
    let times = new.as_array().map_or(0, Vec::len);
    format!(
        "{} {} {} {} {}/{} of version {old}, {times} managers",
        request["userInfo"]["username"],
        request["operation"],
        request["resource"]["resource"],
        request["subResource"],
        request["namespace"],
        request["name"],
    )
}

/// Returns whether the endpoint's rules (not its conditions) include the request.
fn is_registered(endpoint: Endpoint, body: &[u8]) -> bool {
    let registration = registration(String::new(), String::new());
    let (configuration, index) = match endpoint {
        Endpoint::Guard => (serde_json::to_value(registration.validating()).unwrap(), 0),
        Endpoint::Advise => (serde_json::to_value(registration.validating()).unwrap(), 1),
        Endpoint::Restricted => (serde_json::to_value(registration.validating()).unwrap(), 2),
        Endpoint::Tenancy => (serde_json::to_value(registration.validating()).unwrap(), 3),
        Endpoint::Mutate => (serde_json::to_value(registration.mutating()).unwrap(), 0),
        Endpoint::Restore => (serde_json::to_value(registration.mutating()).unwrap(), 1),
    };
    let review: Value = serde_json::from_slice(body).unwrap();
    let mut resource = review["request"]["resource"]["resource"].as_str().unwrap().to_owned();
    if let Some(subresource) = review["request"]["subResource"].as_str() {
        resource.push('/');
        resource.push_str(subresource);
    }
    let rules = configuration["webhooks"][index]["rules"].as_array().unwrap();
    rules.iter().any(|rule| {
        let has = |list: &Value, value: &Value| list.as_array().unwrap().contains(value);
        has(&rule["resources"], &json!(resource))
            && has(&rule["operations"], &review["request"]["operation"])
    })
}

/// Adds an endpoint without conditions, and gives every endpoint a path of its own.
fn with_recorder(mut configuration: Value, address: &str) -> Value {
    configuration["metadata"]["name"] = json!("recorder");
    let mutates = configuration["webhooks"][0].get("reinvocationPolicy").is_some();
    let all = if mutates { "all-mutating" } else { "all-validating" };
    let webhooks = configuration["webhooks"].as_array_mut().unwrap();
    let mut everything = webhooks[0].clone();
    everything["name"] = json!(format!("{all}.bindery.dev"));
    everything["matchConditions"] = json!([]);
    let rule = |group: &str, resources: &[&str]| {
        json!({"apiGroups": [group], "apiVersions": ["v1"], "resources": resources,
            "operations": ["CREATE", "UPDATE", "DELETE"]})
    };
    let core = [
        "persistentvolumes",
        "persistentvolumes/status",
        "persistentvolumeclaims",
        "persistentvolumeclaims/status",
        "namespaces",
        "namespaces/status",
        "namespaces/finalize",
        "nodes",
    ];
    everything["rules"] = json!([
        rule("", &core),
        rule("storage.k8s.io", &["storageclasses", "volumeattachments", "csidrivers"]),
        rule("snapshot.storage.k8s.io", &["volumesnapshotcontents"]),
    ]);
    // Mutating webhooks run in order; none has changed the object before the first.
    webhooks.insert(0, everything);
    for webhook in webhooks {
        let name = webhook["name"].as_str().unwrap().split('.').next().unwrap().to_owned();
        webhook["clientConfig"]["url"] = json!(format!("https://{address}/{name}"));
        // A question that is not answered in time would be missed on one side only.
        webhook["failurePolicy"] = json!("Fail");
        webhook["timeoutSeconds"] = json!(10);
    }
    configuration
}

async fn receive(
    State(received): State<Reply>,
    Path(endpoint): Path<String>,
    body: axum::body::Bytes,
) -> ([(&'static str, &'static str); 1], Vec<u8>) {
    let uid = serde_json::from_slice::<Value>(&body)
        .ok()
        .and_then(|review| review["request"]["uid"].as_str().map(str::to_owned))
        .unwrap_or_default();
    received.lock().unwrap().entry(endpoint).or_default().push(body.to_vec());
    ([("content-type", "application/json")], response_bytes(&uid, &AdmissionResponse::default()))
}

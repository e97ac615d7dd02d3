//! The conditions of the registration, which the API server evaluates, against the predicates of the
//! code, over every request of every example.
//!
//! A recorder takes the place of the webhook: one entry without conditions is sent everything, and
//! one entry per real one, with its conditions, is sent what they let through.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, State};
use bindery::k8s::registration::{Registration, Target};
use bindery::k8s::review::{Answer, answer, request};
use bindery::rules::edits::REPAIRS;
use bindery::rules::judging::filter::{OWN_CONTROLLER, reaches};
use bindery::rules::{Entry, Example, Policy, RULES};
use bindery::webhook::transport::tls::ServingPair;
use bindery::webhook::transport::{Endpoint, Limits, Security, Server, Silent};
use serde_json::{Value, json};

use super::routes::{Route, shot};
use super::stage::{Run, Stage, fire, persona};
use crate::installed::{MUTATING, VALIDATING, pair, register};
use crate::plane::persona::BREAK_GLASS;
use crate::plane::{Peers, Plane};

/// Bodies by the entry to which they were sent.
type Heard = Arc<Mutex<BTreeMap<String, Vec<Vec<u8>>>>>;

pub(crate) fn conditions_and_predicates_agree() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let mut stage = Stage::on(&plane);
    let recorder = Recorder::on(&plane);
    recorder.await_registration(&mut stage);
    let of_rules = RULES.iter().flat_map(|rule| rule.refuses.iter().chain(rule.allows));
    let of_repairs = REPAIRS.iter().flat_map(|repair| repair.edits.iter().chain(repair.leaves));
    let mut compared = 0;
    for example in of_rules.chain(of_repairs) {
        stage.set(example.given);
        for who in [persona(example.by), BREAK_GLASS] {
            for route in Route::ALL {
                let Ok(shot) = shot(&stage, example.send, route) else { continue };
                recorder.forget();
                // Dry, so that the next route finds the same stage.
                fire(&stage, who, shot, Run::Dry);
                compared += recorder.compare(example, route);
            }
        }
    }
    println!("{compared} comparisons of condition and predicate");
    assert!(compared > 1000, "only {compared} comparisons");
}

struct Recorder {
    heard: Heard,
    _server: Server,
}

impl Recorder {
    fn on(plane: &Plane) -> Self {
        let pair = pair();
        let serving = ServingPair::load(&pair.files).unwrap_or_else(|error| panic!("{error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Heard::default();
        let router = Router::new()
            .route("/{*entry}", axum::routing::post(hear))
            .with_state(Arc::clone(&heard));
        let endpoint = Endpoint {
            name: "recorder",
            listener,
            security: Security::Tls(Arc::new(arc_swap::ArcSwap::new(serving.config()))),
            router,
            limits: Limits::reviews(),
        };
        let server = Server::start(endpoint, NonZeroUsize::MIN, Arc::new(Silent)).unwrap();
        let registration = Registration {
            target: Target::Url(format!("https://{address}")),
            ca_pem: pair.authority,
            own_controller: OWN_CONTROLLER.to_owned(),
        };
        let validating = serde_json::to_value(registration.validating()).unwrap();
        let mutating = serde_json::to_value(registration.mutating()).unwrap();
        register(plane, VALIDATING, &with_recorder(validating, &address.to_string()));
        register(plane, MUTATING, &with_recorder(mutating, &address.to_string()));
        Self { heard, _server: server }
    }

    fn forget(&self) {
        self.heard.lock().unwrap().clear();
    }

    fn count(&self, entry: &str) -> usize {
        self.heard.lock().unwrap().get(entry).map_or(0, Vec::len)
    }

    /// Compares what was sent everywhere with what the predicates say of it.
    #[track_caller]
    fn compare(&self, example: &Example, route: Route) -> usize {
        let mut compared = 0;
        let pairs = [
            (Entry::Guard, "guard", "all-validating"),
            (Entry::Advise, "advise", "all-validating"),
            (Entry::Mutate, "mutate", "all-mutating"),
            (Entry::Restore, "restore", "all-mutating"),
        ];
        for (entry, name, all) in pairs {
            let heard = self.heard.lock().unwrap().get(all).cloned().unwrap_or_default();
            let registered = heard.iter().filter(|body| is_registered(entry, body));
            let expected = registered.filter(|body| {
                let read = request(body, &Policy::default()).unwrap();
                reaches(entry, &read.change, OWN_CONTROLLER)
            });
            let expected = expected.count();
            let sent = self.count(name);
            let title = example.title;
            assert_eq!(
                sent,
                expected,
                "{title} by {}: the conditions of {name} let {sent} through, the predicate {expected}",
                route.title()
            );
            compared += heard.len();
        }
        compared
    }

    fn await_registration(&self, stage: &mut Stage<'_>) {
        stage.set("");
        let line = "claim db/probe 1Gi RWO class=none-such";
        crate::eventually::eventually(
            "the API server asks the recorder",
            std::time::Duration::from_secs(20),
            || {
                let made = shot(stage, bindery::rules::Send::Create(line), Route::Create)?;
                let path = format!("{}?dryRun=All", made.path);
                let who = crate::plane::persona::TENANT;
                self.forget();
                stage.plane.request(who, made.method, &path, made.body);
                let counts = ["advise", "mutate", "all-validating", "all-mutating"]
                    .map(|entry| self.count(entry));
                if counts.iter().all(|count| *count > 0) {
                    Ok(())
                } else {
                    Err(format!("{counts:?}"))
                }
            },
        );
    }
}

/// Whether the entry's rules (not its conditions) include the request.
fn is_registered(entry: Entry, body: &[u8]) -> bool {
    let registration = Registration {
        target: Target::Url(String::new()),
        ca_pem: String::new(),
        own_controller: OWN_CONTROLLER.to_owned(),
    };
    let (configuration, index) = match entry {
        Entry::Guard => (serde_json::to_value(registration.validating()).unwrap(), 0),
        Entry::Advise => (serde_json::to_value(registration.validating()).unwrap(), 1),
        Entry::Mutate => (serde_json::to_value(registration.mutating()).unwrap(), 0),
        Entry::Restore => (serde_json::to_value(registration.mutating()).unwrap(), 1),
    };
    let review: Value = serde_json::from_slice(body).unwrap();
    let mut resource = review["request"]["resource"]["resource"].as_str().unwrap().to_owned();
    if review["request"]["subResource"] == json!("status") {
        resource.push_str("/status");
    }
    let rules = configuration["webhooks"][index]["rules"].as_array().unwrap();
    rules.iter().any(|rule| {
        let has = |list: &Value, value: &Value| list.as_array().unwrap().contains(value);
        has(&rule["resources"], &json!(resource))
            && has(&rule["operations"], &review["request"]["operation"])
    })
}

/// Adds an entry without conditions, and gives every entry a path of its own.
fn with_recorder(mut configuration: Value, address: &str) -> Value {
    let mutates = configuration["webhooks"][0].get("reinvocationPolicy").is_some();
    let all = if mutates { "all-mutating" } else { "all-validating" };
    let webhooks = configuration["webhooks"].as_array_mut().unwrap();
    let mut everything = webhooks[0].clone();
    everything["name"] = json!(format!("{all}.bindery.dev"));
    everything["matchConditions"] = json!([]);
    everything["failurePolicy"] = json!("Fail");
    everything["rules"] = json!([{
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE", "DELETE"],
        "resources": ["persistentvolumes", "persistentvolumes/status", "persistentvolumeclaims",
            "persistentvolumeclaims/status", "namespaces"],
    }]);
    // Mutating webhooks run in order; nobody has changed the object before the first.
    webhooks.insert(0, everything);
    for webhook in webhooks {
        let name = webhook["name"].as_str().unwrap().split('.').next().unwrap().to_owned();
        webhook["clientConfig"]["url"] = json!(format!("https://{address}/{name}"));
    }
    configuration
}

async fn hear(
    State(heard): State<Heard>,
    Path(entry): Path<String>,
    body: axum::body::Bytes,
) -> ([(&'static str, &'static str); 1], Vec<u8>) {
    let uid = serde_json::from_slice::<Value>(&body)
        .ok()
        .and_then(|review| review["request"]["uid"].as_str().map(str::to_owned))
        .unwrap_or_default();
    heard.lock().unwrap().entry(entry).or_default().push(body.to_vec());
    ([("content-type", "application/json")], answer(&uid, &Answer::default()))
}

//! What each Kubernetes version offers without Bindery: feature gates, API fields, whether it accepts the webhook
//! registrations, and how it answers requests that the rules are about.
//!
//! Not here: what is on record of each version, and the page of the differences (`record`).

mod page;
pub(crate) mod record;

use bindery::api::registration::{Registration, WebhookTarget};
use bindery::rules::judging::filter::OWN_CONTROLLER;
use bindery::rules::{Parameters, Send};
use hyper::Method;
use serde_json::json;

use crate::denials::rules::{Run, Stage, fire, natural, shot};
use crate::installed::{MUTATING, VALIDATING, pair};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, Reply};
use crate::runner::{Case, case};
use record::{Facts, Topic, release, verify, version};

pub(crate) const CASES: &[Case] = &[
    case!(the_gates_are_as_recorded),
    case!(the_fields_are_as_recorded),
    case!(the_conditions_are_accepted),
    case!(the_answers_are_as_recorded),
];

/// The gates that change fields which rules read, or who writes to volumes and claims.
const GATES: [&str; 9] = [
    "AnyVolumeDataSource",
    "CSIVolumeHealth",
    "CrossNamespaceVolumeDataSource",
    "HonorPVReclaimPolicy",
    "MutablePVNodeAffinity",
    "PersistentVolumeClaimUnusedSinceTime",
    "RecoverVolumeExpansionFailure",
    "StatefulSetAutoDeletePVC",
    "VolumeAttributesClass",
];

fn the_gates_are_as_recorded() {
    let plane = Plane::shared(Peers::WithBinder);
    let release = release(plane);
    verify(&version(plane), Topic::Release, &Facts::from([("release".to_owned(), release)]));
    let metrics = plane.get(ADMIN, "/metrics").text;
    let state = |gate: &str| {
        let series = format!("kubernetes_feature_enabled{{name=\"{gate}\",stage=\"");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&series))?;
        let (stage, value) = line.split_once("\"} ")?;
        let state = if value == "1" { "on" } else { "off" };
        let stage = if stage.is_empty() { "GA" } else { stage };
        Some((format!("`{gate}`"), format!("{state} ({stage})")))
    };
    let facts: Facts = GATES.into_iter().filter_map(state).collect();
    assert!(!facts.is_empty(), "the API server reports no gate");
    verify(&version(plane), Topic::Gates, &facts);
}

/// The types whose fields rules and controllers read, each with the document that describes it.
const TYPES: [(&str, &str); 7] = [
    ("/openapi/v3/api/v1", "PersistentVolumeSpec"),
    ("/openapi/v3/api/v1", "PersistentVolumeStatus"),
    ("/openapi/v3/api/v1", "PersistentVolumeClaimSpec"),
    ("/openapi/v3/api/v1", "PersistentVolumeClaimStatus"),
    ("/openapi/v3/api/v1", "ModifyVolumeStatus"),
    ("/openapi/v3/apis/storage.k8s.io/v1", "StorageClass"),
    ("/openapi/v3/apis/storage.k8s.io/v1", "VolumeAttributesClass"),
];

fn the_fields_are_as_recorded() {
    let plane = Plane::shared(Peers::WithBinder);
    let mut facts = Facts::new();
    for (document, kind) in TYPES {
        let schemas = plane.get(ADMIN, document).expect_ok()["components"]["schemas"].clone();
        let suffix = format!(".v1.{kind}");
        let schemas = schemas.as_object().cloned().unwrap_or_default();
        let schema =
            schemas.iter().find_map(|(name, schema)| name.ends_with(&suffix).then_some(schema));
        let Some(fields) = schema.and_then(|schema| schema["properties"].as_object()) else {
            continue;
        };
        let fields: Vec<&str> = fields.keys().map(String::as_str).collect();
        facts.insert(kind.to_owned(), fields.join(" "));
    }
    assert!(facts.len() >= TYPES.len() - 1, "only {:?} have fields", facts.keys());
    verify(&version(plane), Topic::Fields, &facts);
}

/// The API server compiles the CEL expressions of a configuration before it accepts it, also in a dry run.
fn the_conditions_are_accepted() {
    let plane = Plane::shared(Peers::WithBinder);
    let registration = Registration {
        target: WebhookTarget::Url("https://127.0.0.1:9".to_owned()),
        ca_pem: pair().ca,
        own_controller: OWN_CONTROLLER.to_owned(),
        namespace_labels: Parameters::default().namespace_labels,
        tenant_label: Parameters::default().tenant_label.as_str().to_owned(),
    };
    let configurations = [
        (VALIDATING, serde_json::to_value(registration.validating()).unwrap()),
        (MUTATING, serde_json::to_value(registration.mutating()).unwrap()),
    ];
    let mut facts = Facts::new();
    for (path, configuration) in configurations {
        let webhooks = configuration["webhooks"].as_array().cloned().unwrap_or_default();
        for webhook in webhooks {
            let mut alone = configuration.clone();
            alone["webhooks"] = json!([webhook]);
            let path = format!("{path}?dryRun=All");
            let reply = plane.request(ADMIN, Method::POST, &path, Body::json(&alone));
            let count = webhook["matchConditions"].as_array().map_or(0, Vec::len);
            assert_eq!(reply.code, 201, "{}: {reply}", webhook["name"]);
            let name = webhook["name"].as_str().unwrap_or_default();
            facts.insert(format!("`{name}`"), format!("{count} accepted"));
        }
    }
    verify(&version(plane), Topic::Conditions, &facts);
}

/// Changes of bound pairs whose answer depends on a gate, or on which the predictions of `check` rest: what is changed,
/// the objects, the request.
const CHANGES: [(&str, &str, Send); 6] = [
    (
        "another node in spec.nodeAffinity of a bound PV",
        "pair pv-a db/data 10Gi RWO csi=disk.example.com node=n1",
        Send::Merge {
            target: "pv/pv-a",
            patch: r#"{"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["n2"]}]}]}}}}"#,
        },
    ),
    (
        "spec.nodeAffinity of a bound PV removed",
        "pair pv-a db/data 10Gi RWO csi=disk.example.com node=n1",
        Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"nodeAffinity":null}}"# },
    ),
    (
        "the request of a bound PVC lowered to more than it has",
        "class fast expand\npair pv-a db/data 10Gi RWO class=fast request=20Gi",
        Send::Merge {
            target: "pvc/db/data",
            patch: r#"{"spec":{"resources":{"requests":{"storage":"15Gi"}}}}"#,
        },
    ),
    (
        "the request of a bound PVC lowered to less than it has",
        "class fast expand\npair pv-a db/data 10Gi RWO class=fast request=20Gi",
        Send::Merge {
            target: "pvc/db/data",
            patch: r#"{"spec":{"resources":{"requests":{"storage":"5Gi"}}}}"#,
        },
    ),
    (
        "another VolumeAttributesClass of a bound PVC",
        "pair pv-a db/data 10Gi RWO csi=disk.example.com attributes=silver",
        Send::Merge {
            target: "pvc/db/data",
            patch: r#"{"spec":{"volumeAttributesClassName":"gold"}}"#,
        },
    ),
    (
        "spec.csi of a bound PV changed",
        "pair pv-a db/data 10Gi RWO csi=disk.example.com",
        Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"csi":{"volumeHandle":"other"}}}"# },
    ),
];

fn the_answers_are_as_recorded() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let mut stage = Stage::on(&plane);
    let mut facts = Facts::new();
    for (what, given, send) in CHANGES {
        stage.set(given);
        let made = shot(&stage, send, natural(send)).unwrap();
        let reply = fire(&stage, ADMIN, made, Run::Dry);
        facts.insert(what.to_owned(), outcome(&reply));
    }
    verify(&version(&plane), Topic::Answers, &facts);
}

/// `accepted`, or the status and the fields that the server denies.
fn outcome(reply: &Reply) -> String {
    if reply.code < 300 {
        return "accepted".to_owned();
    }
    let causes = reply.json["details"]["causes"].as_array().cloned().unwrap_or_default();
    let fields: Vec<&str> = causes.iter().filter_map(|cause| cause["field"].as_str()).collect();
    format!("denied ({}): {}", reply.code, fields.join(", "))
}

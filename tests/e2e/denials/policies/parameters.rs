//! What a PVC waits for a policy that has the PVs as parameters, so that it can compare the PVC with the PV that it names.

use std::fmt::Write as _;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use super::{GROUP, page};
use crate::denials::rules::Stage;
use crate::eventually::eventually;
use crate::plane::persona::{ADMIN, ARRANGER, TENANT};
use crate::plane::{Body, Peers, Plane, Reply};
use crate::runner::extent;

/// PVs in the cluster, and requests of each kind; those of the last take long and are made in a full run.
const STAGES: [(usize, usize); 4] = [(0, 100), (100, 100), (1_000, 30), (10_000, 10)];

/// Which PVs a binding selects; a PVC has this label to be judged by it.
const BINDINGS: [&str; 2] = ["none", "all"];

/// Times of a PVC's creation.
struct Figures {
    volumes: usize,
    alone: Duration,
    /// What each of [`BINDINGS`] adds.
    added: [Duration; 2],
}

pub(super) fn volumes_as_parameters_cost_a_claim_by_their_number() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let _stage = Stage::on(&plane);
    create_policy(&plane);
    let stages = if extent().is_full { &STAGES[..] } else { &STAGES[..3] };
    let mut made = 0;
    let mut figures = Vec::new();
    for (volumes, requests) in stages {
        create_volumes(&plane, made..*volumes);
        made = *volumes;
        figures.push(measured(&plane, *volumes, *requests));
    }
    let table = table(&figures);
    println!("{table}");
    let [_, hundred, thousand, ..] = figures.as_slice() else { panic!("{table}") };
    // Each selected PV costs, so that this is for few. Without that, `bindery generate policies` could always do it.
    assert!(thousand.added[1] > 4 * hundred.added[1].max(thousand.added[0]), "{table}");
    assert!(hundred.added[1] < 10 * hundred.alone, "{table}");
    page::verify_parameters(&table, extent().is_full);
}

/// The policy, with a condition that keeps what it does for one PV small, and its bindings.
fn create_policy(plane: &Plane) {
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "parameters"},
        "spec": {
            "failurePolicy": "Fail",
            "paramKind": {"apiVersion": "v1", "kind": "PersistentVolume"},
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["persistentvolumeclaims"],
            }]},
            "matchConditions": [{
                "name": "names-it",
                "expression": "object.spec.?volumeName.orValue('') == params.metadata.name",
            }],
            "validations": [{
                "expression": "object.spec.?storageClassName.orValue('') == params.spec.?storageClassName.orValue('')",
            }],
        },
    });
    let path = format!("{GROUP}/validatingadmissionpolicies");
    plane.request(ADMIN, Method::POST, &path, Body::json(&policy)).expect_ok();
    for selected in BINDINGS {
        let labels = if selected == "all" { json!({}) } else { json!({"none": "has-it"}) };
        let binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": format!("parameters-{selected}")},
            "spec": {
                "policyName": "parameters", "validationActions": ["Deny"],
                "paramRef": {"selector": {"matchLabels": labels}, "parameterNotFoundAction": "Allow"},
                "matchResources": {"objectSelector": {"matchLabels": {"judged": selected}}},
            },
        });
        let path = format!("{GROUP}/validatingadmissionpolicybindings");
        plane.request(ADMIN, Method::POST, &path, Body::json(&binding)).expect_ok();
    }
}

/// Creates the PVs of these numbers, and waits until the policy sees them.
fn create_volumes(plane: &Plane, numbers: Range<usize>) {
    const THREADS: usize = 4;
    thread::scope(|scope| {
        for first in 0..THREADS {
            let own = numbers.clone().skip(first).step_by(THREADS);
            scope.spawn(move || {
                for number in own {
                    let path = "/api/v1/persistentvolumes";
                    let volume = Body::json(&volume(number));
                    plane.request(ARRANGER, Method::POST, path, volume).expect_ok();
                }
            });
        }
    });
    for number in numbers.rev().take(2 * THREADS) {
        eventually("the policy sees a PV", Duration::from_secs(60), || {
            let reply = create(plane, "all", Some(number), "another");
            if reply.code == 422 { Ok(()) } else { Err(reply.to_string()) }
        });
        let reply = create(plane, "all", Some(number), "");
        assert_eq!(reply.code, 201, "{reply}");
    }
}

fn volume(number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": format!("pv-{number}")},
        "spec": {
            "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": "disk.example.com", "volumeHandle": format!("vol-{number}")},
            "claimRef": {"namespace": "db", "name": format!("data-{number}")},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]},
            ]}]}},
        },
    })
}

fn create(plane: &Plane, judged: &str, names: Option<usize>, class: &str) -> Reply {
    let mut claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "labels": {"judged": judged}},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": {"requests": {"storage": "10Gi"}},
        },
    });
    if let Some(number) = names {
        claim["spec"]["volumeName"] = json!(format!("pv-{number}"));
    }
    let path = "/api/v1/namespaces/db/persistentvolumeclaims?dryRun=All";
    plane.request(TENANT, Method::POST, path, Body::json(&claim))
}

/// The times of a PVC that names no PV, as most do, in turns.
fn measured(plane: &Plane, volumes: usize, requests: usize) -> Figures {
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..requests {
        for (judged, times) in ["", BINDINGS[0], BINDINGS[1]].iter().zip(&mut times) {
            let begun = Instant::now();
            create(plane, judged, None, "").expect_ok();
            times.push(begun.elapsed());
        }
    }
    let [alone, none, all] = times.map(|mut times| {
        times.sort_unstable();
        times[requests / 2]
    });
    Figures { volumes, alone, added: [none, all].map(|with| with.saturating_sub(alone)) }
}

fn table(figures: &[Figures]) -> String {
    let mut table = String::from(
        "| PVs in the cluster | creation of a PVC | added if the binding selects none | added if it selects all |\n\
         |---|---|---|---|\n",
    );
    let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1_000.0);
    for Figures { volumes, alone, added: [none, all] } in figures {
        let _ = writeln!(table, "| {volumes} | {} | {} | {} |", ms(*alone), ms(*none), ms(*all));
    }
    table
}

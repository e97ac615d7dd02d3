//! What a PVC waits for a policy that has the PVs as parameters, so that it can compare the PVC with the PV that it names.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use bindery::rules::judging::volume_parameters::VOLUMES_MAX;
use hyper::Method;
use serde_json::{Value, json};

use super::{generated, page};
use crate::denials::rules::Stage;
use crate::eventually::eventually;
use crate::plane::persona::{ARRANGER, VOLUME_VIEWER};
use crate::plane::{Body, Peers, Plane, Reply};
use crate::runner::extent;

/// PVs in the cluster, and requests of each kind; those of the last take long and are made in a full run.
const STAGES: [(usize, usize); 4] = [(0, 100), (VOLUMES_MAX, 100), (1_000, 30), (10_000, 10)];

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

/// The policy of rules that deny, with a binding for each of [`BINDINGS`].
fn create_policy(plane: &Plane) {
    let items = generated(&BTreeMap::new(), &["--volumes-as-parameters"]);
    let with_volumes = |item: &&Value| {
        item["metadata"]["name"].as_str().unwrap_or_default().starts_with("bindery-volumes-")
    };
    let items: Vec<&Value> = items.iter().filter(with_volumes).collect();
    let [policy, binding] = items.as_slice() else { panic!("{items:?}") };
    super::create(plane, policy);
    for selected in BINDINGS {
        let labels = if selected == "all" { json!({}) } else { json!({"none": "has-it"}) };
        let mut binding = (*binding).clone();
        binding["metadata"]["name"] = json!(format!("parameters-{selected}"));
        binding["spec"]["paramRef"]["selector"] = json!({"matchLabels": labels});
        binding["spec"]["matchResources"] =
            json!({"objectSelector": {"matchLabels": {"judged": selected}}});
        super::create(plane, &binding);
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
        eventually("the policy sees a PV", Duration::from_mins(1), || {
            let reply = create(plane, "all", Some(number), "another");
            if reply.code == 403 { Ok(()) } else { Err(reply.to_string()) }
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
    plane.request(VOLUME_VIEWER, Method::POST, path, Body::json(&claim))
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
    let ms = |time: Duration| {
        let tenths = time.as_micros() / 100;
        format!("{}.{} ms", tenths / 10, tenths % 10)
    };
    for Figures { volumes, alone, added: [none, all] } in figures {
        let _ = writeln!(table, "| {volumes} | {} | {} | {} |", ms(*alone), ms(*none), ms(*all));
    }
    table
}

//! PVs with random marks: whom the policy about tenants lets name them, and whom their marks admit.

use std::collections::{BTreeMap, BTreeSet};

use bindery::api::volume::{Wanted, volume as read};
use bindery::rules::judging::volume_parameters::VOLUMES_MAX;
use bindery_sim::SeededRng;
use hyper::Method;
use serde_json::{Value, json};

use super::verdicts::ids;
use super::volumes::Sight;
use super::{apply_with, await_force};
use crate::denials::rules::Stage;
use crate::plane::persona::{ARRANGER, VOLUME_VIEWER};
use crate::plane::{Body, Peers, Plane, Reply};

/// Namespaces, and the tenants to whom they belong.
const NAMESPACES: [(&str, Option<&str>); 4] =
    [("blue-1", Some("blue")), ("blue-2", None), ("red-1", Some("red")), ("blue", Some(""))];

/// What an annotation lists. Between and around, there may be what Unicode calls whitespace, and what only looks so.
const PATTERNS: [&str; 11] =
    ["blue", "blue-*", "blue-1", "b*", "red-*", "*", "", "**", "*-1", "re*d", "blüe*"];
const AROUND: [&str; 7] = ["", "", " ", "\t", "\u{a0}", "\u{85}", "\u{180e}"];

pub(super) fn a_policy_reads_random_marks_as_its_rule_does() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let mut stage = Stage::on(&plane);
    apply_with(&plane, &BTreeMap::new(), &["--volumes-as-parameters"]);
    let mut sight = Sight::of(&plane);
    await_force(&mut stage);
    for (name, tenant) in NAMESPACES {
        let labels: BTreeMap<&str, &str> =
            tenant.map(|tenant| ("bindery.dev/tenant", tenant)).into_iter().collect();
        let namespace = json!({"metadata": {"name": name, "labels": labels}});
        let path = "/api/v1/namespaces";
        plane.request(ARRANGER, Method::POST, path, Body::json(&namespace)).expect_ok();
    }
    let mut rng = SeededRng::new(1);
    let volumes: Vec<Value> = (0..VOLUMES_MAX).map(|number| marked(&mut rng, number)).collect();
    for volume in &volumes {
        let path = "/api/v1/persistentvolumes";
        plane.request(ARRANGER, Method::POST, path, Body::json(volume)).expect_ok();
    }
    sight.wait(&stage);
    let (mut wrong, mut admitted, mut denied) = (Vec::new(), 0, 0);
    for volume in &volumes {
        let text = volume.to_string();
        let model = read(&text, Wanted::Both).unwrap().volume;
        for (namespace, tenant) in NAMESPACES {
            let is_admitted = model.audience(namespace).admits(|of| tenant == Some(of));
            let reply = named(&plane, namespace, &volume["metadata"]["name"]);
            let expected =
                if is_admitted { BTreeSet::new() } else { BTreeSet::from(["prebind-taken"]) };
            if ids(&reply) != expected || (reply.code == 201) != is_admitted {
                wrong.push(format!("{namespace}: {}: {reply}", volume["metadata"]));
            }
            *if is_admitted { &mut admitted } else { &mut denied } += 1;
        }
    }
    println!("of PVs with random marks, {admitted} PVCs may name one and {denied} may not");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(admitted > VOLUMES_MAX && denied > VOLUMES_MAX, "{admitted} {denied}");
}

/// A PV with random marks; some have none.
fn marked(rng: &mut SeededRng, number: usize) -> Value {
    let mut metadata = json!({"name": format!("marked-{number}"), "annotations": {}, "labels": {}});
    if rng.happens(750) {
        let count = 1 + rng.below(3);
        let patterns: Vec<String> = (0..count).map(|_| pattern(rng)).collect();
        metadata["annotations"]["bindery.dev/allowed-namespaces"] = json!(patterns.join(","));
    }
    if let Some(tenant) = rng.pick(&[None, Some(""), Some("red"), Some("blue")]).unwrap() {
        metadata["labels"]["bindery.dev/tenant"] = json!(tenant);
    }
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata,
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp"}},
    })
}

fn pattern(rng: &mut SeededRng) -> String {
    [&AROUND[..], &PATTERNS, &AROUND].map(|texts| *rng.pick(texts).unwrap()).concat()
}

/// What a PVC gets that is created in a namespace and names a PV.
fn named(plane: &Plane, namespace: &str, volume: &Value) -> Reply {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": volume,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    });
    let path = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims?dryRun=All");
    plane.request(VOLUME_VIEWER, Method::POST, &path, Body::json(&claim))
}

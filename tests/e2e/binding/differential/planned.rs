//! What `bindery plan` says of a dump, the controller does when it is started on that state.
//!
//! The clusters are made of the same scenarios as the histories, all at once, while no binder runs; some of
//! their pairs are bound, half bound, left or lost already.

use std::path::Path;
use std::process::Command;

use bindery_sim::SeededRng;
use hyper::Method;
use serde_json::{Value, json};

use super::scenario::{Scenario, scenario};
use super::scene::{Scene, name_of};
use super::stage::{Binder, PATIENCE, Stage, await_quiet};
use super::step::Step;
use super::{QUIET, seeds};
use crate::controller::{Controller, Election};
use crate::eventually::poll;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, claim_path, volume_path};

/// Clusters that share a dump, a plan and a start of the controller.
const ROUND: usize = 5;

pub(super) fn what_a_plan_says_the_controller_does() {
    let stage = Stage::new(Binder::None);
    let seeds: Vec<u64> = seeds(10, 100).collect();
    let mut fates = std::collections::BTreeMap::<String, usize>::new();
    for round in seeds.chunks(ROUND) {
        let scenarios: Vec<Scenario> = round.iter().map(|seed| scenario(*seed)).collect();
        for scenario in &scenarios {
            store(&stage, scenario);
        }
        let plan = plan(&stage);
        let controller = Controller::start(stage.plane(), Election::None);
        for scenario in &scenarios {
            let done = poll(PATIENCE, || broken_promises(&plan, &stage.scene(scenario)));
            let replay = format!(
                "make e2e CASES='--seeds={}..{} plan'",
                round[0],
                round[round.len() - 1] + 1
            );
            assert_eq!(
                done,
                Ok(()),
                "seed {}; replay: {replay}\n{}",
                scenario.seed,
                controller.log()
            );
        }
        for scenario in &scenarios {
            await_quiet(&[&stage], &scenario.tag, QUIET);
            assert_eq!(
                broken_promises(&plan, &stage.scene(scenario)),
                Ok(()),
                "seed {}",
                scenario.seed
            );
        }
        *fates.entry("undecided".to_owned()).or_default() += listed(&plan, "undecided").count();
        for object in ["claims", "volumes"].iter().flat_map(|kind| listed(&plan, kind)) {
            *fates.entry(text(&object["outcome"]).to_owned()).or_default() += 1;
        }
        controller.stop();
        for scenario in &scenarios {
            stage.clear(scenario);
        }
    }
    println!("{} clusters ended as planned: {fates:?}", seeds.len());
    // One of 100 clusters has such a claim: a plan that names many promises nothing.
    let undecided = fates.get("undecided").copied().unwrap_or_default();
    assert!(undecided * 10 <= seeds.len().max(100), "{undecided} claims are undecided");
}

/// Stores the objects of a scenario, in whatever state.
fn store(stage: &Stage, scenario: &Scenario) {
    stage.prepare(scenario);
    let created = scenario.volumes.iter().cloned().map(Step::Create);
    let created = created
        .chain(scenario.steps.iter().filter(|step| matches!(step, Step::Create(_))).cloned());
    for step in created {
        // What a server rejects is not there: the plan is made of what is.
        drop(stage.act(&scenario.tag, &step.acts(&stage.scene(scenario))));
    }
    let mut rng = SeededRng::new(scenario.seed);
    for round in 0..2 {
        let scene = stage.scene(scenario);
        let claims: Vec<&Value> =
            scene.claims.values().filter(|claim| claim["spec"]["volumeName"].is_null()).collect();
        let volumes: Vec<&Value> =
            scene.volumes.values().filter(|volume| volume["spec"]["claimRef"].is_null()).collect();
        let (Some(claim), Some(volume)) = (rng.pick(&claims), rng.pick(&volumes)) else {
            return;
        };
        pair_up(stage, scenario, claim, volume, rng.below(7) + round);
    }
}

/// As far as a binder came with a pair, or what was left of it.
fn pair_up(stage: &Stage, scenario: &Scenario, claim: &Value, volume: &Value, progress: u64) {
    let (claim_name, name) = (name_of(claim), name_of(volume));
    let (claim_at, volume_at) = (claim_path(&scenario.tag, claim_name), volume_path(name));
    let uid = if progress == 5 {
        json!("00000000-dead-4000-8000-000000000000")
    } else {
        claim["metadata"]["uid"].clone()
    };
    let bound = json!({"pv.kubernetes.io/bound-by-controller": "yes"});
    let reference = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": scenario.tag,
        "name": claim_name, "uid": uid,
    });
    let reserve = json!({"metadata": {"annotations": bound}, "spec": {"claimRef": reference}});
    let phase = json!({"status": {"phase": "Bound"}});
    let pointer = json!({
        "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"volumeName": name},
    });
    let spec = &volume["spec"];
    let status = json!({"status": {
        "phase": "Bound", "accessModes": spec["accessModes"], "capacity": spec["capacity"],
    }});
    let patch = |path: &str, patch: &Value| {
        stage.write(Method::PATCH, path, Body::merge_patch(patch));
    };
    if progress == 6 {
        // Its volume is not there.
        patch(
            &claim_at,
            &json!({
                "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
                "spec": {"volumeName": format!("{name}-gone")},
            }),
        );
        return;
    }
    patch(&volume_at, &reserve);
    if progress > 0 {
        patch(&format!("{volume_at}/status"), &phase);
    }
    if progress > 1 && progress != 5 {
        patch(&claim_at, &pointer);
    }
    if progress > 2 && progress != 5 {
        patch(&format!("{claim_at}/status"), &status);
    }
}

/// The plan of everything that the server has, made of a dump.
fn plan(stage: &Stage) -> Value {
    let mut dump =
        stage.plane().kubectl(ADMIN, &["get", "pv,pvc,sc", "-A", "-o", "json"], "").expect_ok();
    // Claims of one namespace alone, and no class, could be a list that leaves others out.
    for kind in ["PersistentVolumeList", "PersistentVolumeClaimList", "StorageClassList"] {
        dump += &json!({"kind": kind, "items": []}).to_string();
    }
    // It stays behind to find out why a plan was not kept.
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("planned.json");
    std::fs::write(&file, dump).unwrap();
    let output = Command::new(Path::new(env!("CARGO_BIN_EXE_bindery")))
        .args(["plan", "-o", "json", "-f"])
        .arg(&file)
        .output()
        .unwrap();
    // 1 says that a claim needs action.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns what is not as planned.
fn broken_promises(plan: &Value, scene: &Scene) -> Result<(), String> {
    let claims =
        listed(plan, "claims").filter(|planned| planned["namespace"] == scene.tag.as_str());
    let prefix = format!("{}-", scene.tag);
    let volumes =
        listed(plan, "volumes").filter(|planned| text(&planned["name"]).starts_with(&prefix));
    let (mut broken, mut counts) = (Vec::new(), (0, 0));
    for planned in claims {
        counts.0 += 1;
        let ends = ends(plan, planned);
        let kept = scene
            .claims
            .get(text(&planned["name"]))
            .is_some_and(|claim| ends.iter().any(|end| keeps_claim(end, claim)));
        if !kept {
            broken.push(format!(
                "{planned} {:?}",
                scene.claims.get(text(&planned["name"])).map(brief)
            ));
        }
    }
    for planned in volumes {
        counts.1 += 1;
        let kept = scene
            .volumes
            .get(text(&planned["name"]))
            .is_some_and(|volume| keeps_volume(planned, volume) || is_undecided(plan, volume));
        if !kept {
            broken.push(format!(
                "{planned} {:?}",
                scene.volumes.get(text(&planned["name"])).map(brief)
            ));
        }
    }
    assert_eq!(counts, (scene.claims.len(), scene.volumes.len()), "the plan names everything");
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n")) }
}

/// How a claim may end: as the plan shows, and otherwise where the plan says that this is not decided.
fn ends<'a>(plan: &'a Value, claim: &'a Value) -> Vec<&'a Value> {
    let others = listed(plan, "undecided")
        .filter(|other| other["namespace"] == claim["namespace"] && other["name"] == claim["name"]);
    let others = others.flat_map(|other| other["ends"].as_array().into_iter().flatten());
    std::iter::once(claim).chain(others).collect()
}

/// Returns whether a volume is free, or bound to a claim that may have it as the plan says, where it is not decided which
/// claim has it.
fn is_undecided(plan: &Value, volume: &Value) -> bool {
    let may_have = |claim: &&Value| {
        let ends = ends(plan, claim);
        ends.len() > 1 && ends.iter().any(|end| end["volume"] == volume["metadata"]["name"])
    };
    let mut claims = listed(plan, "claims").filter(may_have).peekable();
    let reference = &volume["spec"]["claimRef"];
    let has_it = |claim: &Value| {
        claim["namespace"] == reference["namespace"] && claim["name"] == reference["name"]
    };
    claims.peek().is_some()
        && match text(&volume["status"]["phase"]) {
            "Available" => reference.is_null(),
            "Bound" => claims.any(has_it),
            _ => false,
        }
}

/// Returns what a plan speaks of.
fn brief(object: &Value) -> String {
    let (spec, phase) = (&object["spec"], &object["status"]["phase"]);
    format!("{phase} {} {}", spec["volumeName"], spec["claimRef"])
}

fn keeps_claim(planned: &Value, claim: &Value) -> bool {
    let (phase, named) = (text(&claim["status"]["phase"]), &claim["spec"]["volumeName"]);
    let annotations = &claim["metadata"]["annotations"];
    let is_asked = annotations["volume.kubernetes.io/storage-provisioner"].is_string();
    match text(&planned["outcome"]) {
        "bound" | "binds" => phase == "Bound" && planned["volume"] == *named,
        "provisions" => phase == "Pending" && is_asked,
        "waits" | "unmatched" => phase == "Pending" && !is_asked,
        "conflict" => phase == "Pending" && named.is_string(),
        "lost" => phase == "Lost",
        other => panic!("a plan says {other}"),
    }
}

fn keeps_volume(planned: &Value, volume: &Value) -> bool {
    let (phase, reference) = (text(&volume["status"]["phase"]), &volume["spec"]["claimRef"]);
    let holder = format!("{}/{}", text(&reference["namespace"]), text(&reference["name"]));
    match text(&planned["outcome"]) {
        "bound" | "binds" => phase == "Bound" && planned["claim"] == holder.as_str(),
        "free" => phase == "Available" && reference.is_null(),
        "released" => phase == "Released",
        "reserved" => planned["claim"] == holder.as_str() && phase != "Released",
        "failed" => phase == "Failed",
        other => panic!("a plan says {other}"),
    }
}

fn listed<'a>(plan: &'a Value, kind: &str) -> impl Iterator<Item = &'a Value> {
    plan[kind].as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
